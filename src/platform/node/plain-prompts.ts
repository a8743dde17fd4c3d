import type { Interface } from 'node:readline';
import type { Choice, Prompts } from '../terminal.ts';
import { askAllowed, interrupted } from './ask-allowed.ts';
import { builtin } from './builtin.ts';

const log = (text: string): void => void process.stderr.write(text);

/** One line from the terminal; nothing is redrawn, so that a screen reader reads each text once. */
const readLine = (question: string, isSecret = false, signal?: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    askAllowed();
    // A terminal in raw mode whose output goes nowhere does not show what is typed.
    const nowhere = new builtin.stream.Writable({ write: (_chunk, _encoding, done) => done() });
    const reader: Interface = builtin.readline.createInterface({
      input: process.stdin,
      output: isSecret ? nowhere : process.stderr,
      terminal: isSecret,
    });
    let line: string | undefined;
    reader.once('line', (typed) => {
      line = typed;
      reader.close();
    });
    reader.once('SIGINT', () => reader.close());
    const takenBack = (): void => reader.close();
    signal?.addEventListener('abort', takenBack, { once: true });
    reader.once('close', () => {
      signal?.removeEventListener('abort', takenBack);
      process.stdin.pause();
      if (isSecret) log('\n');
      if (line === undefined) reject(interrupted());
      else resolve(line);
    });
    // Only now: what somebody types at once must not be shown either.
    log(question);
  });

const confirm = async (question: string, fallback: boolean): Promise<boolean> => {
  for (;;) {
    const answer = (await readLine(`${question} Type y or n, or Enter for ${fallback ? 'yes' : 'no'}: `))
      .trim()
      .toLowerCase();
    if (answer === '') return fallback;
    if (answer === 'y' || answer === 'yes') return true;
    if (answer === 'n' || answer === 'no') return false;
  }
};

const select = async (question: string, choices: readonly Choice[]): Promise<string> => {
  const list = `${question}\n${choices.map(({ label }, i) => `  ${i + 1}. ${label}\n`).join('')}`;
  const prompt = `Type a number from 1 to ${choices.length}: `;
  for (let text = list + prompt; ; text = prompt) {
    const chosen = choices[Number((await readLine(text)).trim()) - 1];
    if (chosen !== undefined) return chosen.value;
  }
};

/** Questions as plain lines on stderr, choices by number. */
export const plainPrompts = (): Prompts => ({
  confirm,
  select,
  async text(question, { secret, fallback, signal } = {}) {
    const prompt = fallback === undefined ? `${question} ` : `${question} (Enter for ${fallback}) `;
    return (await readLine(prompt, secret, signal)) || (fallback ?? '');
  },
});
