import ora from 'ora';
import type { Interface } from 'node:readline';
import { confirm, input, password, search, select } from '@inquirer/prompts';
import { AppError } from '../../core/problem.ts';
import type { Choice, Prompts } from '../host.ts';
import { builtin } from './builtin.ts';
import { wrapQuestion } from '../../core/format.ts';

/** Prompts need a person at both ends: the question goes to stderr, the reply comes from stdin. */
export const askAllowed = (): void => {
  if (builtin.tty.isatty(0) && builtin.tty.isatty(2)) return;
  throw new AppError('usage', 'cannot ask a question: stdin and stderr are not both terminals', {
    code: 'NOT_INTERACTIVE',
    tryThis: ['give the value with a flag', '--yes to confirm'],
  });
};
export const makeInterruptedError = (
  cause?: unknown,
  category: 'interrupted' | 'terminated' = 'interrupted',
): AppError => new AppError(category, 'canceled at the prompt', { code: 'CANCELLED', cause });
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Runs a prompt that a signal or the end of the terminal cancels. A run that handles signals between its
 * steps does not reach its next step while a prompt waits, possibly without a user.
 */
const untilStopped = async <T>(
  prompt: (signal: AbortSignal) => Promise<T>,
  given?: AbortSignal,
): Promise<T> => {
  const controller = new AbortController();
  const { stdin } = process;
  const cancel = (): void => controller.abort(makeInterruptedError());
  const handlers = stopSignals.map(
    (name) =>
      [
        name,
        () =>
          controller.abort(makeInterruptedError(undefined, name === 'SIGINT' ? 'interrupted' : 'terminated')),
      ] as const,
  );
  for (const [name, handler] of handlers) process.on(name, handler);
  for (const event of ['end', 'error'] as const) stdin.on(event, cancel);
  try {
    return await prompt(
      given === undefined ? controller.signal : AbortSignal.any([controller.signal, given]),
    );
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    for (const [name, handler] of handlers) process.off(name, handler);
    for (const event of ['end', 'error'] as const) stdin.off(event, cancel);
  }
};

/** More choices than this are searched by typing. */
const LONG_LIST = 12;
/** Its own default is stdout, which belongs to the data. */
const context = () => ({ input: process.stdin, output: process.stderr });
type Context = ReturnType<typeof context> & { readonly signal: AbortSignal };
const ask = async <T>(question: (context: Context) => Promise<T>, given?: AbortSignal): Promise<T> => {
  askAllowed();
  try {
    return await untilStopped((signal) => question({ ...context(), signal }), given);
  } catch (error) {
    const { name } = error as Error;
    if (name === 'ExitPromptError' || name === 'AbortPromptError' || name === 'CancelPromptError')
      throw makeInterruptedError(error);
    throw error;
  } finally {
    process.stdin.pause();
  }
};
const onScreen = (question: string): string => wrapQuestion(question, process.stderr.columns);
/** Questions drawn by @inquirer/prompts. */
export const inquirerPrompts = (): Prompts => ({
  confirm: (question, fallback) =>
    ask((at) => confirm({ message: onScreen(question), default: fallback }, at)),
  text: (question, { secret, fallback, signal } = {}) => {
    const message = onScreen(question);
    return ask(
      (at) => (secret ? password({ message, mask: '*' }, at) : input({ message, default: fallback }, at)),
      signal,
    );
  },
  select: (question, choices) => {
    const message = onScreen(question);
    const all = choices.map(({ value, label }) => ({ value, name: label }));
    if (all.length <= LONG_LIST) return ask((at) => select({ message, choices: all }, at));
    // A part of the title finds a record in a long list.
    const source = (typed = '') => all.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()));
    return ask((at) => search({ message, source: async (typed) => source(typed) }, at));
  },
});

const log = (text: string): void => void process.stderr.write(text);
/** Reads one line from the terminal without redrawing, so that a screen reader reads each text once. */
const readLine = (question: string, isSecret = false, given?: AbortSignal): Promise<string> =>
  untilStopped((signal) => readTyped(question, isSecret, signal), given);
const readTyped = (question: string, isSecret: boolean, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    askAllowed();
    // A terminal in raw mode with discarded output does not show typed text.
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
    signal.addEventListener('abort', takenBack, { once: true });
    reader.once('close', () => {
      signal.removeEventListener('abort', takenBack);
      process.stdin.pause();
      if (isSecret) log('\n');
      if (line === undefined) reject(makeInterruptedError());
      else resolve(line);
    });
    // Only now, because early typing must not be shown either.
    log(onScreen(question));
  });
const confirmInPlainText = async (question: string, fallback: boolean): Promise<boolean> => {
  for (;;) {
    const answer = (await readLine(`${question} Type y or n, or Enter for ${fallback ? 'yes' : 'no'}: `))
      .trim()
      .toLowerCase();
    if (answer === '') return fallback;
    if (answer === 'y' || answer === 'yes') return true;
    if (answer === 'n' || answer === 'no') return false;
  }
};
const selectInPlainText = async (question: string, choices: readonly Choice[]): Promise<string> => {
  const list = `${question}\n${choices.map(({ label }, i) => `  ${i + 1}. ${label}\n`).join('')}`;
  const prompt = `Type a number from 1 to ${choices.length}: `;
  for (let text = list + prompt; ; text = prompt) {
    const chosen = choices[Number((await readLine(text)).trim()) - 1];
    if (chosen !== undefined) return chosen.value;
  }
};
/** Questions as plain lines on stderr, choices by number. */
export const plainPrompts = (): Prompts => ({
  confirm: confirmInPlainText,
  select: selectInPlainText,
  async text(question, { secret, fallback, signal } = {}) {
    const prompt = fallback === undefined ? `${question} ` : `${question} (Enter for ${fallback}) `;
    return (await readLine(prompt, secret, signal)) || (fallback ?? '');
  },
});

/**
 * A turning line on stderr. Only for terminals with a width: ora colors by the environment, not by the stream it writes to,
 * and divides by the width, so that it would clear lines without end on a terminal that reports 0 columns.
 */
export const spinner = (text: string, isColored: boolean): { update(text: string): void; stop(): void } => {
  // Raw mode would swallow Ctrl-C while a request is waiting.
  const line = ora({
    text,
    stream: process.stderr,
    discardStdin: false,
    color: isColored ? 'cyan' : false,
  }).start();
  return {
    update(next) {
      line.text = next;
    },
    stop: () => void line.stop(),
  };
};
