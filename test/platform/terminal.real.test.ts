import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';

let directory = '';
let fixture = '';
beforeAll(async () => {
  directory = makeDirectory();
  fixture = join(directory, 'terminal-fixture.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('../support/terminal-fixture.ts', import.meta.url))],
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['@napi-rs/keyring'],
    banner: { js: "const require=process.getBuiltinModule('node:module').createRequire(import.meta.url);" },
  });
});

const cleanEnv = (env: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: directory,
  TERM: 'xterm',
  ...env,
});
const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('close', resolve));

/** Types each text after the expected output has appeared on the terminal. stdout of the program goes to a file, as in `x=$(…)`. */
const onTerminal = async (
  act: string,
  dialogue: readonly [appears: string, typed: string][],
  env: Record<string, string> = {},
  columns = 100,
) => {
  const out = join(directory, `${act}-${Math.random()}.out`);
  const command = `stty cols ${columns}; ${process.execPath} ${fixture} ${act} > ${out}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let screen = '';
  const rest = [...dialogue];
  const answer = (): void => {
    const next = rest[0];
    if (next === undefined || !screen.includes(next[0])) return;
    rest.shift();
    child.stdin.write(next[1]);
    answer();
  };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    screen += chunk;
    answer();
  });
  await ended(child);
  return { screen, out: readFileSync(out, 'utf8') };
};
const inPipes = async (act: string, input = '', env: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [fixture, act], {
    env: cleanEnv(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.on('data', (chunk) => out.push(String(chunk)));
  child.stderr.on('data', (chunk) => err.push(String(chunk)));
  // A child that reads no input may exit before the test writes to it.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  await ended(child);
  return { out: out.join(''), err: err.join('') };
};

describe('terminal in pipes', () => {
  test('a pipe is not a terminal, and COLUMNS sets the width', async () => {
    expect((await inPipes('facts')).out).toBe('answer=false,false,false,80\n');
    expect((await inPipes('facts', '', { COLUMNS: '132' })).out).toBe('answer=false,false,false,132\n');
  });

  test.each(['confirm', 'text', 'secret', 'select'])('%s is refused instead of drawn', async (act) => {
    for (const env of [{}, { ACCESSIBLE: '1' }] as Record<string, string>[])
      expect(await inPipes(act, 'y\n', env)).toEqual({ out: 'failed=usage\n', err: '' });
  });

  test('a spinner is one plain line', async () => {
    expect(await inPipes('spinner')).toEqual({ out: 'answer=stopped\n', err: 'working\n' });
  });

  test('lines of stdin, with and without an end, and stopping early', async () => {
    expect((await inPipes('lines', 'a\r\nb\nc')).out).toBe('answer=["a","b","c"]\n');
    expect((await inPipes('lines', 'a\nstop\nmore\n')).out).toBe('answer=["a","stop"]\n');
    expect((await inPipes('lines', '')).out).toBe('answer=[]\n');
  });

  test('a closed reader causes an error with code EPIPE, not a crash', async () => {
    const shell = spawn(
      'sh',
      ['-c', `(${process.execPath} ${fixture} flood; echo "exit $?" >&2) | head -1`],
      {
        env: cleanEnv({}),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let err = '';
    shell.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
    shell.stdout.resume();
    await ended(shell);
    expect(err).toBe('closed quietly\nexit 0\n');
  });

  test('signals are delivered to the listener, and not otherwise', async () => {
    const child = spawn(process.execPath, [fixture, 'signals'], {
      env: cleanEnv({}),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
      if (out === 'ready\n') child.kill('SIGTERM');
      if (out === 'ready\nheard one\n') child.kill('SIGINT');
    });
    await ended(child);
    expect(out).toBe('ready\nheard one\nanswer=SIGTERM,SIGINT\n');
  });
});

// `script` creates a terminal. Every Debian includes it, and macOS includes another form.
describe.runIf(existsSync('/usr/bin/script') && process.platform === 'linux')('real terminal', () => {
  test('all but the redirected stdout are terminals', async () => {
    expect((await onTerminal('facts', [])).out).toBe('answer=true,false,true,80\n');
  });

  test.each<[string, Record<string, string>, [string, string][], string]>([
    ['confirm', {}, [['Go on?', 'y\r']], 'answer=true'],
    ['confirm', {}, [['Go on?', '\r']], 'answer=false'],
    ['text', {}, [['Name?', 'Ann\r']], 'answer=Ann'],
    ['text', {}, [['Name?', '\r']], 'answer=nobody'],
    ['select', {}, [['Alpha', '\u001b[B\r']], 'answer=b'],
    ['secret', {}, [['Token?', 'hush-1\r']], 'answer=hush-1'],
    ['confirm', {}, [['Go on?', '\u0003']], 'failed=interrupted'],
    [
      'confirm',
      { ACCESSIBLE: '1' },
      [
        ['y or n', 'maybe\r'],
        ['y or n', 'yes\r'],
      ],
      'answer=true',
    ],
    ['confirm', { ACCESSIBLE: '1' }, [['Enter for no', '\r']], 'answer=false'],
    ['text', { ACCESSIBLE: '1' }, [['Enter for nobody', 'Ann\r']], 'answer=Ann'],
    [
      'select',
      { ACCESSIBLE: '1' },
      [
        ['  2. Beta', '7\r'],
        ['1 to 2', '2\r'],
      ],
      'answer=b',
    ],
    ['secret', { ACCESSIBLE: '1' }, [['Token?', 'hush-1\r']], 'answer=hush-1'],
    ['secret', { ACCESSIBLE: '1' }, [['Token?', '\u0003']], 'failed=interrupted'],
    ['text', { TERM: 'dumb' }, [['Name?', '\u0004']], 'failed=interrupted'],
  ])('%s with %j: %j', async (act, env, dialogue, answer) => {
    const { out, screen } = await onTerminal(act, dialogue, env);
    expect(out).toBe(`${answer}\n`);
    expect(screen).not.toContain('hush-1');
  });

  test('questions for a screen reader are not redrawn', async () => {
    const { screen } = await onTerminal('select', [['1 to 2', '1\r']], { ACCESSIBLE: '1' });
    expect(screen).not.toContain('\u001b');
    expect(screen.split('Alpha')).toHaveLength(2);
  });

  test('a spinner removes its line, and is disabled without color', async () => {
    const { screen } = await onTerminal('spinner', [], { NO_COLOR: '1' });
    expect(screen).toContain('still working');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: color codes are what is looked for
    expect(screen).not.toMatch(/\u001b\[3\d/);
    expect((await onTerminal('spinner', [], { ACCESSIBLE: '1' })).screen).toBe('working\r\n');
  });

  test('a terminal that reports 0 columns gets plain lines and questions', async () => {
    expect((await onTerminal('spinner', [], {}, 0)).screen).toBe('working\r\n');
    const { out, screen } = await onTerminal('select', [['Which?', '\u001b[B\r']], {}, 0);
    expect([out, screen.length < 2000]).toEqual(['answer=b\n', true]);
  });
});
