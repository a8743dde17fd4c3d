/** Runs the built program in a separate terminal, types replies when a text has appeared, and returns the screen. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeCache } from './code-cache.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor is no text
const CONTROL = /\u001b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\u0007]*\u0007|[()][A-Z0-9]|[=>])/g;
/** A sequence that has arrived in part. The rest comes with the next output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what moves the cursor is no text
const UNFINISHED = /\u001b(?:\[[0-9;?<>=]*|\][^\u0007]*|[()])?$/;

export type AtTerminal = { readonly screen: string; readonly code: number | null };

/** A reaction to a text on the screen: typed input, or a signal to the program. */
export type Reply = string | { readonly signal: NodeJS.Signals };
/**
 * The terminal has 80 columns and 24 rows. Each reply is sent when its text has appeared after the previous reply. Arguments
 * must not need quotes.
 */
export const atTerminal = (
  home: string,
  words: readonly string[],
  dialogue: readonly (readonly [text: string, reply: Reply])[],
  more: Readonly<Record<string, string>> = {},
): Promise<AtTerminal> =>
  new Promise((resolve, reject) => {
    const pidFile = join(home, `terminal-${process.pid}.pid`);
    const line = `stty cols 80 rows 24; echo $$ > ${pidFile}; exec ${process.execPath} ${BIN} ${words.join(' ')}`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: home,
      env: {
        ...{ PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home, ...codeCache },
        ...{ TERM: 'xterm', LANG: 'C.UTF-8', NO_COLOR: '1', OPSCTL_PAGER: 'cat' },
        ...more,
      },
    });
    let [screen, held, from] = ['', '', 0];
    const rest = [...dialogue];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const text = (held + chunk).replaceAll(CONTROL, '');
      held = UNFINISHED.exec(text)?.[0] ?? '';
      screen += text.slice(0, text.length - held.length).replaceAll('\r', '');
      for (;;) {
        const next = rest[0];
        const at = next === undefined ? -1 : screen.indexOf(next[0], from);
        if (next === undefined || at < 0) break;
        from = at + next[0].length;
        rest.shift();
        if (typeof next[1] === 'string') child.stdin.write(next[1]);
        else process.kill(Number(readFileSync(pidFile, 'utf8')), next[1].signal);
      }
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ screen, code }));
  });
