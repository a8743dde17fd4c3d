import { call, mapCall, type ProgramCall, trustCall, trustWords } from '../../src/core/program-call.ts';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

let real: RealHost;
let host: Host;
beforeEach(async () => {
  real = await realHost({ GIVEN: 'from host' });
  host = real.host;
});
const node = (code: string): ProgramCall => trustCall([process.execPath, '-e', code]);

test('run gives output, exit code and both streams apart', async () => {
  const done = await host.processes.run(
    ...node('process.stdout.write("out\\n"); process.stderr.write("err"); process.exit(3)'),
  );
  expect(done).toEqual({ code: 3, signal: null, stdout: 'out\n', stderr: 'err', timedOut: false });
});

test('run passes input, directory and environment; undefined removes a name', async () => {
  const code =
    'process.stdin.on("data", d => console.log(String(d), process.cwd(), process.env.GIVEN, process.env.MORE))';
  const directory = await host.files.realPath(real.directory);
  const given = await host.processes.run(...node(code), {
    input: 'hi',
    cwd: real.directory,
    env: { MORE: 'more' },
  });
  expect(given.stdout.trim()).toBe(`hi ${directory} from host more`);
  const removed = await host.processes.run(...node(code), {
    input: 'hi',
    cwd: real.directory,
    env: { GIVEN: undefined },
  });
  expect(removed.stdout.trim()).toBe(`hi ${directory} undefined undefined`);
});

test('a child that reads without input sees the end of it', async () => {
  expect(
    (await host.processes.run(...node('process.stdin.on("end", () => console.log("end")).resume()'))).stdout,
  ).toBe('end\n');
});

test('a missing command is a result, not an exception', async () => {
  const done = await host.processes.run(...trustCall(['no-such-command-anywhere']));
  expect(done).toMatchObject({ code: null, signal: null });
  expect(done.startError).toContain('ENOENT');
});

test('output over the limit is cut and never counts as complete', async () => {
  const done = await host.processes.run(
    ...node('for (let i = 0; i < 1e4; i++) console.log("x".repeat(100))'),
    { maxBytes: 1000 },
  );
  expect(done).toMatchObject({ code: null, isCut: true });
  expect(done.stdout).toHaveLength(1000);
});

test('a child that takes too long is ended', async () => {
  const done = await host.processes.run(...node('setInterval(() => {}, 1000)'), { timeoutMs: 200 });
  expect(done).toMatchObject({
    code: null,
    timedOut: true,
    signal: expect.stringMatching(/^SIG(TERM|KILL)$/),
  });
});

test('a grandchild that keeps the output open does not block the result', async () => {
  const done = await host.processes.run(...trustCall(['/bin/sh', '-c', 'sleep 600 & echo "$!"; wait']), {
    timeoutMs: 3000,
  });
  const left = Number(done.stdout);
  expect(done).toMatchObject({ code: null, timedOut: true });
  expect(host.processes.isAlive(left)).toBe(true);
  host.processes.signal(left, 'SIGKILL');
});

test('a grandchild that keeps the output open does not block an aborted run', async () => {
  const started = join(real.directory, 'started');
  const controller = new AbortController();
  const running = host.processes.run(
    ...trustCall(['/bin/sh', '-c', `sleep 600 & echo "$!"; : > '${started}'; wait`]),
    {
      signal: controller.signal,
    },
  );
  await expect.poll(() => !existsSync(started), { interval: 5 }).toBe(false);
  controller.abort();
  const done = await running;
  const left = Number(done.stdout);
  expect(done).toMatchObject({ code: null });
  expect(host.processes.isAlive(left)).toBe(true);
  host.processes.signal(left, 'SIGKILL');
});

test('a child that keeps running on Ctrl-C, and its own children, ignore the signals of the terminal', async () => {
  const script =
    'kill -INT $$; kill -HUP $$; sh -c \'kill -INT $$; kill -HUP $$; echo "$1"; cat\' sh "$1"; exit 3';
  const words = ['-c', script, 'sh', "it's one"];
  const options = { input: 'read', keepsRunningOnCtrlC: true };
  const done = await host.processes.run(...trustCall(['/bin/sh', ...words]), options);
  expect(done).toMatchObject({ code: 3, signal: null, stdout: "it's one\nread", stderr: '' });
  expect(await host.processes.run(...trustCall(['/bin/sh', ...words]), { input: 'read' })).toMatchObject({
    signal: 'SIGINT',
  });
});

test('a child that keeps running on Ctrl-C still ends at its time limit and at an abort', async () => {
  const wait = ['-c', 'while :; do sleep 0.05; done'];
  const kept = { keepsRunningOnCtrlC: true } as const;
  const late = await host.processes.run(...trustCall(['/bin/sh', ...wait]), { ...kept, timeoutMs: 200 });
  expect(late).toMatchObject({ code: null, timedOut: true });
  const controller = new AbortController();
  const running = host.processes.run(...trustCall(['/bin/sh', ...wait]), {
    ...kept,
    signal: controller.signal,
    onStart: () => controller.abort(),
  });
  expect(await running).toMatchObject({ code: null, timedOut: false });
});

test('the start error of a program that would keep running on Ctrl-C is reported', async () => {
  for (const command of ['no-such-command-anywhere', './no-such-command', real.directory]) {
    const done = await host.processes.run(...trustCall([command]), { keepsRunningOnCtrlC: true });
    expect(done).toMatchObject({ code: null, startError: expect.stringMatching(/ENOENT|EACCES/) });
  }
});

test('an aborted run ends the child', async () => {
  const controller = new AbortController();
  const running = host.processes.run(...node('setInterval(() => {}, 1000)'), { signal: controller.signal });
  await host.sleep(100);
  controller.abort();
  expect(await running).toMatchObject({ code: null, timedOut: false });
});

test('start gives lines as they come, and the exit', async () => {
  const child = await host.processes.start(
    ...node(
      'console.log("ready"); process.stdin.resume(); setTimeout(() => { console.log("bye"); process.exit(4) }, 50)',
    ),
  );
  const lines: string[] = [];
  for await (const line of child.lines()) lines.push(line);
  expect(lines).toEqual(['ready', 'bye']);
  expect(await child.exited).toEqual({ code: 4, signal: null });
});

test('an unread child is not stopped by a full pipe', async () => {
  const child = await host.processes.start(
    ...node('for (let i = 0; i < 20000; i++) console.log("line " + i + "x".repeat(50))'),
  );
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('start rejects with the code of the system', async () => {
  await expect(host.processes.start(...trustCall(['no-such-command-anywhere']))).rejects.toMatchObject({
    code: 'ENOENT',
  });
});

test('a detached child writes to its log, lives on, and can be ended', async () => {
  const logFile = join(real.directory, 'child.log');
  const child = await host.processes.start(
    ...node('console.log("one"); console.error("two"); setInterval(() => {}, 1000)'),
    {
      detached: true,
      logFile,
    },
  );
  const mark = host.processes.startMark(child.pid);
  expect(mark).toBeTruthy();
  expect(host.processes.startMark(child.pid)).toBe(mark);
  expect(host.processes.startMark(process.pid)).not.toBe(mark);
  await expect.poll(() => !readFileSync(logFile, 'utf8').includes('two'), { interval: 10 }).toBe(false);
  expect(host.processes.isAlive(child.pid)).toBe(true);
  expect(host.processes.signal(child.pid, 'SIGKILL')).toBe(true);
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(host.processes.isAlive(child.pid)).toBe(false);
  expect(host.processes.startMark(child.pid)).toBeUndefined();
  expect(host.processes.signal(child.pid, 'SIGTERM')).toBe(false);
});

test.runIf(process.platform === 'linux')(
  'a child that has ended and was not collected is not alive',
  async () => {
    // The shell becomes sleep and never waits for its child, which exits after that.
    const shell = await host.processes.start(
      ...trustCall(['sh', '-c', 'sleep 600 & echo $!; exec sleep 600']),
    );
    const lines = shell.lines();
    const pid = Number((await lines[Symbol.asyncIterator]().next()).value);
    const isSleep = () => readFileSync(`/proc/${shell.pid}/cmdline`, 'utf8').startsWith('sleep');
    await expect.poll(isSleep, { interval: 5 }).toBe(true);
    host.processes.signal(pid, 'SIGKILL');
    await expect.poll(() => host.processes.isAlive(pid), { interval: 5 }).toBe(false);
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
    shell.kill('SIGKILL');
    await shell.exited;
  },
);

test('self starts this program again', () => {
  expect(host.self[0]).toBe(process.execPath);
  expect(host.self[1]).toMatch(/bin\/opsctl\.js$/);
});

test('a slow pager blocks many writes without a warning of Node about listeners', async () => {
  const { page } = await import('../../src/platform/node/programs.ts');
  const warnings: string[] = [];
  const note = ({ name }: Error): number => warnings.push(name);
  process.on('warning', note);
  // Each piece is longer than the buffer of the pipe, so each write blocks.
  async function* pieces(): AsyncGenerator<string> {
    for (let i = 0; i < 20; i++) yield 'x'.repeat(256 * 1024);
  }
  try {
    const file = join(real.directory, 'shown');
    expect(await page(`cat > '${file}'`, pieces(), {})).toBe(true);
    expect(readFileSync(file)).toHaveLength(20 * 256 * 1024);
    // Node emits a warning in the next tick.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});
test('a pager that leaves ends the text that it did not read', async () => {
  const { page } = await import('../../src/platform/node/programs.ts');
  let hasEnded = (): void => {};
  const ended = new Promise<void>((resolve) => (hasEnded = resolve));
  async function* pieces(): AsyncGenerator<string> {
    try {
      for (;;) yield 'x'.repeat(256 * 1024);
    } finally {
      hasEnded();
    }
  }
  expect(await page('head -c 10 > /dev/null', pieces(), {})).toBe(true);
  await ended;
});

test.each(['', '.', 'bin', './bin', 'bin/..'])(
  'a program of the source is not found through the entry "%s" of PATH; a program of a person is',
  async (entry) => {
    const cwd = real.directory;
    mkdirSync(join(cwd, 'bin'));
    for (const at of ['opsctl-planted', 'bin/opsctl-planted'])
      writeFileSync(join(cwd, at), '#!/bin/sh\necho planted\n', { mode: 0o755 });
    const options = { cwd, env: { PATH: `${entry}:/usr/bin:/bin` } };
    const { run, start } = host.processes;
    expect(await run(...call`opsctl-planted`, options)).toMatchObject({ code: null, stdout: '' });
    expect((await run(...call`opsctl-planted`, { cwd, env: { PATH: entry } })).stdout).toBe('');
    await expect(start(...call`opsctl-planted`, options)).rejects.toThrow();
    expect((await run(...trustCall(['opsctl-planted']), options)).stdout).toBe('planted\n');
    expect((await run(...call`cat /dev/null`, options)).code).toBe(0);
  },
);

test('ps and the shell of a pager are not found through a relative entry of PATH; the pager is', async () => {
  const { page } = await import('../../src/platform/node/programs.ts');
  const [ran, shown] = [join(real.directory, 'ran'), join(real.directory, 'shown')];
  for (const name of ['ps', 'sh'])
    writeFileSync(join(real.directory, name), `#!/bin/sh\necho ${name} >> '${ran}'\n`, { mode: 0o755 });
  writeFileSync(join(real.directory, 'opsctl-pager'), `#!/bin/sh\ncat > '${shown}'\n`, { mode: 0o755 });
  const path = `${relative(process.cwd(), real.directory)}:/usr/bin:/bin`;
  expect(await page('opsctl-pager', 'text', { PATH: path })).toBe(true);
  expect(readFileSync(shown, 'utf8')).toBe('text');
  vi.stubEnv('PATH', path);
  const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('darwin');
  try {
    host.processes.startMark(process.pid);
  } finally {
    platform.mockRestore();
    vi.unstubAllEnvs();
  }
  expect(existsSync(ran)).toBe(false);
});

test('without PATH, a program of the current directory is not found', async () => {
  writeFileSync(join(real.directory, 'opsctl-planted'), '#!/bin/sh\necho planted\n', { mode: 0o755 });
  const options = { cwd: real.directory, env: { PATH: undefined }, keepsRunningOnCtrlC: true };
  // A shell would report only exit code 127.
  const done = await host.processes.run(...call`opsctl-planted`, options);
  expect(done).toMatchObject({ code: null, stdout: '' });
});

const SECRET = 'OPSCTL_TRACKER_TOKEN';
test('only a program of a person gets the variables of opsctl', async () => {
  const env = { [SECRET]: 'secret', PATH: '/usr/bin:/bin' };
  const seen = async (made: ProgramCall) => (await host.processes.run(...made, { env })).stdout;
  const print = ['-c', `printf %s "$${SECRET}"`];
  expect(await seen(trustCall(['/bin/sh', ...print]))).toBe('secret');
  expect(await seen(mapCall(trustCall(['/bin/sh', ...print]), (word) => word))).toBe('secret');
  expect(await seen(trustWords('/bin/sh', print))).toBe('');
  expect(await seen(mapCall(trustWords('/bin/sh', print), (word) => word))).toBe('');
  expect(await seen(call`env`)).not.toContain('secret');
});
test('the pager without a setting gets no variables of opsctl, and another pager keeps them', async () => {
  const { page } = await import('../../src/platform/node/programs.ts');
  const shown = join(real.directory, 'shown');
  for (const name of ['less', 'opsctl-pager'])
    writeFileSync(join(real.directory, name), `#!/bin/sh\nprintf '%s ' "$0" "$${SECRET}" > '${shown}'\n`, {
      mode: 0o755,
    });
  const env = { PATH: `${real.directory}:/usr/bin:/bin`, [SECRET]: 'secret' };
  await page('less', '', env);
  expect(readFileSync(shown, 'utf8')).not.toContain('secret');
  await page('opsctl-pager', '', env);
  expect(readFileSync(shown, 'utf8')).toContain('secret');
  rmSync(shown);
  // The pager of the system, if there is one, reads the empty text and exits.
  await page('less', '', { ...env, PATH: `${relative(process.cwd(), real.directory)}:/usr/bin:/bin` });
  expect(existsSync(shown)).toBe(false);
});
