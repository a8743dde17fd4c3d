/** Which process is a member and what its successor takes over: the same answers here and over ssh. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import { remoteProcesses } from '../../../../src/kv/upgrade/supervisors/pid-file.ts';
import { localProcesses } from '../../../../src/kv/upgrade/supervisors/process-record.ts';
import { processesOf } from '../../../../src/kv/upgrade/supervisors/member-process.ts';
import type { ClusterFile, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { programHost, type ProgramHost } from '../../../support/programs.ts';

let real: ProgramHost;
const alive = new Set<number>();
beforeEach(async () => {
  real = await programHost();
  real.program(
    'ssh',
    'case " $* " in *" -O "*) exit 0;; esac\nwhile [ "$1" != -- ]; do shift; done; shift 2; exec /bin/sh -c "$*"',
  );
});
afterEach(async () => {
  for (const pid of alive) if (real.host.processes.isAlive(pid)) real.host.processes.signal(pid, 'SIGKILL');
  alive.clear();
  await real.close();
});

/** A server that writes down as whom, where and with which ETCD_ variables it runs, into its data directory. */
const server = (): string => {
  const [program, code] = [real.at('kvserver'), real.at('server.cjs')];
  if (!existsSync(program)) {
    symlinkSync(process.execPath, program);
    writeFileSync(
      code,
      `const fs = require('node:fs'); const at = process.argv.indexOf('--data-dir');
const directory = at > 0 ? process.argv[at + 1] : process.env.ETCD_DATA_DIR ?? ${JSON.stringify(real.at('n1.data'))};
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(ETCD|ETCDCTL|OPSCTL)_/.test(name)));
fs.writeFileSync(directory + '/up', JSON.stringify({ pid: process.pid, uid: process.getuid(), cwd: process.cwd(), env }));
setInterval(() => {}, 1000); process.on('SIGTERM', () => process.exit(0));`,
    );
    chmodSync(real.directory, 0o755);
  }
  return program;
};
const member = (words: readonly string[], more: Partial<MemberSpec> = {}): MemberSpec => {
  const program = server();
  const command = [program, real.at('server.cjs'), ...words];
  mkdirSync(real.at('n1.data'), { recursive: true });
  return {
    ...{ name: 'n1', client_url: 'http://127.0.0.1:2379', host: 'h1', data_dir: real.at('n1.data') },
    ...{ pid_file: real.at('n1.pid'), log_file: real.at('n1.log') },
    ...{ old_binary: program, new_binary: program, old_command: command, new_command: command },
    ...more,
  };
};
type Up = { pid: number; uid: number; cwd: string; env: Record<string, string> };
const up = async (): Promise<Up> => {
  for (let i = 0; i < 2000; i += 1) {
    const path = real.at('n1.data/up');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    if (text.endsWith('}')) {
      const seen = JSON.parse(text) as Up;
      alive.add(seen.pid);
      return seen;
    }
    await real.host.sleep(10);
  }
  throw new Error('the server did not start');
};
const started = async (spec: MemberSpec, options: { cwd?: string; env?: Record<string, string> } = {}) => {
  const [command, ...words] = spec.old_command as string[];
  const { pid } = await real.host.processes.start(command as string, words, { detached: true, ...options });
  writeFileSync(spec.pid_file as string, `${pid}\n`);
  return up();
};
const ask = async (script: unknown): Promise<string> =>
  (await real.host.processes.run('/bin/sh', ['-s'], { input: String(script) })).stdout;
const open = (spec: MemberSpec, driver: 'local' | 'ssh', env: Record<string, string> = {}) => {
  const host = { ...real.host, env: { ...real.host.env, ...env } };
  return openDriver(host, { name: 'c', driver, members: [spec] } satisfies ClusterFile, real.at('state'));
};
const move = { from: '3.3', to: '3.4', run: 'r' } as const;

it.each([
  [' 4711', '4711'],
  [' ', undefined],
  ['', undefined],
])('a process of another host whose line ends with %j began at %s', async (end, mark) => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const line = `process=7 ${base64('PPid:\t1\n')} ${base64('/srv')} ${base64('etcd\0')} -${end}`;
  const table = await remoteProcesses({ name: 'n1', client_url: '' }, async () => `uid=0\npid=7\n${line}\n`);
  const found = await table.get(7);
  expect(found).toMatchObject({ pid: 7, cwd: '/srv', words: ['etcd'] });
  expect(found !== undefined && 'startMark' in found ? found.startMark : undefined).toBe(mark);
  expect(Object.keys(found ?? {}).includes('startMark')).toBe(mark !== undefined);
});

describe.each(['local', 'ssh'] as const)('a member of driver %s', (driver) => {
  const tableOf = async (spec: MemberSpec) =>
    driver === 'local' ? localProcesses(real.host) : remoteProcesses(spec, ask);

  it.each<[string, (config: string) => MemberSpec, Record<string, string>]>([
    ['by its data directory', () => member(['--data-dir', real.at('n1.data')]), {}],
    [
      'by its configuration file alone',
      (config) =>
        member(['--config-file', config], { config_file: config, client_url: 'http://127.0.0.1:1' }),
      {},
    ],
    ['by its environment alone', () => member([]), { ETCD_DATA_DIR: 'n1.data' }],
  ])('is known %s, and stopped', async (_, make, env) => {
    const spec = make(real.at('n1.yaml'));
    writeFileSync(real.at('n1.yaml'), `data-dir: ${real.at('n1.data')}\n`);
    const seen = await started(spec, { cwd: real.directory, env });
    const [found] = await processesOf(await tableOf(spec), spec);
    expect(found?.pid).toBe(seen.pid);
    const opened = await open(spec, driver);
    expect(await opened.process(spec)).toEqual({ state: 'running', pid: seen.pid });
    expect(await opened.stop(spec, 20_000)).toBe(true);
    expect(real.host.processes.isAlive(seen.pid)).toBe(false);
    expect(await opened.process(spec)).toEqual({ state: 'gone' });
  });

  it('that is suspended is told from one that runs', async () => {
    const spec = member(['--data-dir', real.at('n1.data')]);
    const { pid } = await started(spec);
    const opened = await open(spec, driver);
    expect(await opened.facts(spec, { sizes: false })).not.toHaveProperty('is_suspended');
    real.host.processes.signal(pid, 'SIGSTOP');
    const isSuspended = async () => (await opened.facts(spec, { sizes: false })).is_suspended;
    while ((await isSuspended()) === undefined) await real.host.sleep(10);
    expect(await isSuspended()).toBe(true);
  });

  it("its successor runs in the same directory and with the cluster file's environment, not with the operator's", async () => {
    const spec = member(['--data-dir', real.at('n1.data')], { env: { ETCD_QUOTA_BACKEND_BYTES: '1 2' } });
    mkdirSync(real.at('elsewhere'));
    await started(spec, { cwd: real.at('elsewhere') });
    const opened = await open(spec, driver, {
      ETCD_LISTEN_METRICS_URLS: 'http://127.0.0.1:1',
      ETCDCTL_API: '3',
      OPSCTL_KV_PASSWORD: 's3cret',
    });
    const placement = await opened.stage(spec, move);
    expect(JSON.stringify(placement)).not.toContain('ETCD_');
    expect(await opened.stop(spec, 20_000)).toBe(true);
    writeFileSync(real.at('n1.data/up'), '');
    await opened.start(spec, 'new', placement);
    expect(await up()).toMatchObject({
      cwd: real.at('elsewhere'),
      env: { ETCD_QUOTA_BACKEND_BYTES: '1 2' },
    });
    expect(Object.keys((await up()).env)).toEqual(['ETCD_QUOTA_BACKEND_BYTES']);
  });

  it.runIf(process.getuid?.() === 0)(
    'its successor runs as the same user, also after a crash of ours',
    async () => {
      const spec = member(['--data-dir', real.at('n1.data')]);
      const [uid, gid] = [65_534, 65_534];
      for (const path of ['n1.data']) chownSync(real.at(path), uid, gid);
      const command = [
        'setpriv',
        '--reuid=65534',
        '--regid=65534',
        '--clear-groups',
        ...(spec.old_command as string[]),
      ];
      await started({ ...spec, old_command: command });
      const opened = await open(spec, driver);
      const placement = await opened.stage(spec, move);
      expect(placement.runs_as).toMatchObject({ uid, gid, groups: [] });
      for (const known of [placement, undefined]) {
        await opened.stop(spec, 20_000);
        writeFileSync(real.at('n1.data/up'), '');
        await opened.start(spec, 'new', known);
        expect((await up()).uid).toBe(uid);
      }
      expect((await opened.facts(spec, { sizes: false })).problems).toBeUndefined();
      await opened.stop(spec, 20_000);
    },
  );

  it('settings of its environment that its successor would not have are refused by name, without their value', async () => {
    const spec = member(['--data-dir', real.at('n1.data')], { env: { ETCD_NAME: 'n1' } });
    await started(spec, {
      env: { ETCD_NAME: 'n1', ETCD_AUTH_TOKEN: 's3cret', ETCD_ROOT_PASSWORD: 'x', ETCD_MAX_WALS: '7' },
    });
    const { problems } = await (await open(spec, driver)).facts(spec, { sizes: false });
    expect(problems).toEqual([
      'its process has ETCD_AUTH_TOKEN in its environment; env in the cluster file has no such name',
      'its process has ETCD_MAX_WALS in its environment; env in the cluster file has no such name',
    ]);
  });

  it('a relative data directory means the one of the running process', async () => {
    const spec = member(['--data-dir', 'n1.data']);
    await started(spec, { cwd: real.directory });
    const opened = await open(spec, driver);
    expect((await opened.facts(spec, { sizes: false })).problems).toBeUndefined();
    const placement = await opened.stage(spec, move);
    await opened.stop(spec, 20_000);
    if (driver === 'ssh')
      expect((await opened.facts(spec, { sizes: false })).problems?.join()).toContain(
        'runs on the data directory n1.data, which is /n1.data from here',
      );
    writeFileSync(real.at('n1.data/up'), '');
    await opened.start(spec, 'new', placement);
    expect((await up()).cwd).toBe(real.directory);
    expect(existsSync(join(real.directory, 'n1.data', 'up'))).toBe(true);
  });
});
