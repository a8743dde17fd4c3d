import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { slice, testInTurn } from '../support/slice.ts';
import { codeCache } from '../support/code-cache.ts';
import { type Program, program } from '../support/built-program.ts';
import { type Simulated, complaint, lostAt, simulated, startWriting } from '../support/simulated.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let home: Program;
let cluster: Simulated;
beforeEach(async () => {
  home = program();
  cluster = await simulated(home, '--monitor-ms', '300', '--members', '3');
});
afterEach(async () => {
  await cluster?.stop();
});

/** Verifies a run that was stopped while the first member was down: it finished that member and did not change the others. */
const isStoppedBetweenMembers = async (): Promise<void> => {
  expect((await cluster.versions()).sort()).toEqual(['3.2.32', '3.2.32', '3.3.27']);
  const status = JSON.parse((await cluster.kv('status')).stdout);
  expect(status.last_run.outcome).toBe('stopped');
  const writer = startWriting(cluster.urls);
  const resumed = await cluster.kv('resume');
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await cluster.versions()).toEqual(['3.3.27', '3.3.27', '3.3.27']);
  const history = await writer.stop();
  expect(history.failed).toBe(0);
  for (const url of cluster.urls) expect(await lostAt(url, history)).toEqual([]);
};
const upgrading = (...more: string[]) =>
  home.start(['kv', 'upgrade', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', ...more]);

/** Ctrl-C on a terminal: every process of the foreground group gets the signal, so also the scripts that a driver started. */
const inOwnGroup = (...words: string[]) => {
  const env = { PATH: process.env.PATH, HOME: home.home, OPSCTL_HOME: home.home, ...codeCache };
  const child = spawn(process.execPath, [BIN, ...words], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const sees = async (isSeen: (stderr: string) => boolean): Promise<void> => {
    while (!isSeen(stderr)) {
      if (child.exitCode !== null) expect.fail(`ended with ${child.exitCode}: ${stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return { ended, sees, signal: (name: NodeJS.Signals) => process.kill(-(child.pid as number), name) };
};
/** The hooks of a cluster file. `stop` writes a file when it begins, and waits for another one before it stops the member. */
const useHooks = (begun: string, go: string): void => {
  const text = readFileSync(cluster.file, 'utf8');
  const flagsOf = /^ {2}- name: (\S+)[\s\S]*?new_command: (\[.*\])/gm;
  for (const [, name, flags] of text.matchAll(flagsOf))
    writeFileSync(join(cluster.dir, `${name}.flags`), (JSON.parse(flags as string) as string[]).join(' '));
  const at = join(cluster.dir, '{name}');
  const start = `{ nohup {binary} $(cat ${at}.flags) >> ${at}.log 2>&1 < /dev/null & echo $! > ${at}.pid; }`;
  const sh = (script: string): readonly string[] => ['sh', '-c', script];
  const hooks = {
    stop: sh(
      `touch ${begun}; while [ ! -e ${go} ]; do sleep 0.05; done; kill -TERM $(cat ${at}.pid); echo {name} >> ${go}`,
    ),
    start_old: sh(start),
    start_new: sh(start),
    is_running: sh(`p=$(cat ${at}.pid); kill -0 $p 2>/dev/null && ! grep -q "^State:.Z" /proc/$p/status`),
    new_version: sh('{binary} --version'),
  };
  writeFileSync(
    cluster.file,
    text
      .replace('driver: local', `driver: hooks\nhooks: ${JSON.stringify(hooks)}`)
      .replace(/^ {4}(pid_file|log_file|old_command|new_command): .*\n/gm, ''),
  );
};

describe('an upgrade that is asked to stop while a member is down', () => {
  it.each(
    slice<[string, NodeJS.Signals[]]>(
      [
        ['one Ctrl-C that arrives twice', ['SIGINT', 'SIGINT']],
        ['the end of its terminal, which signals twice', ['SIGHUP', 'SIGHUP']],
      ],
      1,
    ),
  )(
    'a run that is stopped by %s finishes the member, reports it, and exits with code 8',
    async (_, signals) => {
      const running = upgrading('-o', 'json');
      await running.said(/stop n\d/);
      for (const signal of signals) running.kill(signal);
      const ended = await running.ended;
      expect(ended.code).toBe(8);
      expect(complaint(ended)).toMatchObject({
        code: 'STOPPED',
        message: expect.stringContaining('stopped after the current step, as requested'),
      });
      expect(ended.stderr).toContain('opsctl first finishes the member that is down');
      await isStoppedBetweenMembers();
    },
  );

  it.each(slice(['SIGHUP', 'SIGINT'] as const, 1))(
    'the stop script of a driver ends its work although the terminal sends it %s too',
    async (signal) => {
      const [begun, go] = [join(home.home, 'begun'), join(home.home, 'go')];
      useHooks(begun, go);
      const words = ['--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'];
      const running = inOwnGroup('kv', 'upgrade', ...words);
      await running.sees(() => existsSync(begun));
      running.signal(signal);
      await running.sees((stderr) => stderr.includes('opsctl first finishes the member that is down'));
      writeFileSync(go, '');
      expect(await running.ended).toBe(8);
      expect(readFileSync(go, 'utf8')).toMatch(/^n\d\n$/);
      await isStoppedBetweenMembers();
    },
  );

  testInTurn(0, 2)(
    'a closed reader of the events never leaves a member down, and the run does not report success',
    async () => {
      const child = spawn(
        process.execPath,
        [
          BIN,
          'kv',
          'upgrade',
          '--cluster',
          cluster.file,
          '--yes',
          '--accept-point-of-no-return',
          '-o',
          'ndjson',
        ],
        {
          env: { PATH: process.env.PATH, HOME: home.home, OPSCTL_HOME: home.home, ...codeCache },
          stdio: ['ignore', 'pipe', 'ignore'],
        },
      );
      let seen = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        seen += chunk;
        if (seen.includes('"member-down"')) child.stdout.destroy();
      });
      expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(8);
      await isStoppedBetweenMembers();
    },
  );

  testInTurn(1, 2)('a stop before the first member leaves all members unchanged', async () => {
    await cluster.mock('fault', 'slow', '--ms', '150');
    const running = upgrading('-o', 'json', '--no-canary');
    await running.said(/verified snapshot|save and verify/);
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(8);
    await cluster.mock('fault', 'clear');
    expect(await cluster.versions()).toEqual(['3.2.32', '3.2.32', '3.2.32']);
  });

  it('a second stop after a pause exits immediately, and a resume completes the run', async () => {
    await cluster.mock('fault', 'never-healthy', '--only-version', '3.3');
    const running = upgrading('-o', 'json');
    await running.said(/check that n\d is healthy/);
    running.kill('SIGINT');
    await running.said(/stopping: opsctl first/);
    await new Promise((resolve) => setTimeout(resolve, 600));
    running.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    await cluster.mock('fault', 'clear');
    const resumed = await cluster.kv('resume');
    expect(resumed.code, resumed.stderr).toBe(0);
  });
});
