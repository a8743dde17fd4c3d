/** The built program on a separate terminal, with interactive and plain prompts. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { codeCache } from '../support/code-cache.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let home: string;
beforeAll(() => {
  home = makeDirectory();
});

/** Types each text after the expected output before it has appeared. */
const onTerminal = (
  line: string,
  dialogue: readonly (readonly [appears: string, typed: string])[],
  env = {},
) =>
  new Promise<{ screen: string; code: number | null }>((resolve, reject) => {
    const child = spawn(
      'script',
      ['-qec', `stty cols 100; ${process.execPath} ${BIN} ${line}`, '/dev/null'],
      {
        env: {
          PATH: process.env.PATH,
          HOME: home,
          OPSCTL_HOME: home,
          TERM: 'xterm',
          NO_COLOR: '1',
          ...codeCache,
          ...env,
        },
      },
    );
    let screen = '';
    const rest = [...dialogue];
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk;
      while (rest[0] !== undefined && screen.includes(rest[0][0])) child.stdin.write(rest.shift()?.[1] ?? '');
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ screen, code }));
  });

it('asks for a missing name and prints the whole command', async () => {
  const { screen, code } = await onTerminal('tracker labels create -o name', [['(--name)', 'urgent\r']]);
  expect([code, screen]).toEqual([
    0,
    expect.stringContaining('opsctl tracker labels create --name urgent -o name'),
  ]);
});
it('numbers the choices in plain lines with ACCESSIBLE', async () => {
  const { screen, code } = await onTerminal(
    'tracker labels get --no-pager',
    [['Type a number from 1 to ', '1\r']],
    {
      ACCESSIBLE: '1',
    },
  );
  expect([code, screen]).toEqual([0, expect.stringMatching(/ {2}1\. \S+/)]);
  // The output does not move the cursor, so that a screen reader reads each line once.
  expect(screen.slice(0, screen.indexOf('Type a number'))).not.toContain('\u001b[');
  expect(screen).toMatch(/The same without questions: opsctl tracker labels get --no-pager \S+/);
});
it('Ctrl-C at a prompt exits with code 130', covers('exit/interrupted'), async () => {
  const { code } = await onTerminal('tracker labels create', [['(--name)', '\u0003']]);
  expect(code).toBe(130);
});
