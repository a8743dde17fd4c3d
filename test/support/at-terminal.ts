/** The built program at a terminal of its own: what it shows, and what is typed when something has appeared. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { codeCache } from './code-cache.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor is no text
const CONTROL = /\u001b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\u0007]*\u0007|[()][A-Z0-9]|[=>])/g;

export type AtTerminal = { readonly screen: string; readonly code: number | null };

/** 80 columns, 24 rows. Each answer is typed once its text has appeared after the one before; words need no quotes. */
export const atTerminal = (
  home: string,
  words: readonly string[],
  dialogue: readonly (readonly [text: string, answer: string])[],
): Promise<AtTerminal> =>
  new Promise((resolve, reject) => {
    const line = `stty cols 80 rows 24; ${process.execPath} ${BIN} ${words.join(' ')}`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: home,
      env: {
        ...{ PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home, ...codeCache },
        ...{ TERM: 'xterm', LANG: 'C.UTF-8', NO_COLOR: '1', OPSCTL_PAGER: 'cat' },
      },
    });
    let [screen, from] = ['', 0];
    const rest = [...dialogue];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk.replaceAll(CONTROL, '').replaceAll('\r', '');
      for (;;) {
        const next = rest[0];
        const at = next === undefined ? -1 : screen.indexOf(next[0], from);
        if (next === undefined || at < 0) break;
        from = at + next[0].length;
        rest.shift();
        child.stdin.write(next[1]);
      }
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ screen, code }));
  });
