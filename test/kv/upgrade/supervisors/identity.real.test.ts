/**
 * Detection of the member process and inheritance by its successor, with the same results locally and over
 * ssh.
 */
import { trustCall } from '../../../../src/core/program-call.ts';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
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
import { hangTimer } from '../../../support/hang.ts';
import { patient } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';

/** A control group for this test in the memory hierarchy or in the unified hierarchy. */
const group = `${existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup'}/opsctl-test-${process.pid}`;
let real: ProgramHost;
const alive = new Set<number>();
beforeEach(async () => {
  real = patient(await programHost());
  real.program(
    'ssh',
    'case " $* " in *" -O "*) exit 0;; esac\nwhile [ "$1" != -- ]; do shift; done; shift 2; exec /bin/sh -c "$*"',
  );
});
afterEach(async () => {
  for (const pid of alive) if (real.host.processes.isAlive(pid)) real.host.processes.signal(pid, 'SIGKILL');
  alive.clear();
  // The kernel keeps the group until its last process has exited.
  while (existsSync(group)) {
    try {
      rmdirSync(group);
    } catch {
      await real.host.sleep(20);
    }
  }
});

/** A server that writes its user, directory and ETCD_ variables into its data directory. */
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
  for (const isHung = hangTimer(); !isHung(); ) {
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
  const { pid } = await real.host.processes.start(...trustCall([command as string, ...words]), {
    detached: true,
    ...options,
  });
  writeFileSync(spec.pid_file as string, `${pid}\n`);
  return up();
};
const ask = async (script: unknown): Promise<string> =>
  (await real.host.processes.run(...trustCall(['/bin/sh', '-s']), { input: String(script) })).stdout;
const open = (spec: MemberSpec, driver: 'local' | 'ssh', env: Record<string, string> = {}) => {
  const host = { ...real.host, env: { ...real.host.env, ...env } };
  return openDriver(host, { name: 'c', driver, members: [spec] } satisfies ClusterFile, real.at('state'));
};
const statusLine = (pid: number, key: string): string =>
  new RegExp(`^${key}:\\s*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.trim() ?? '';
const propertiesOf = (pid: number) => ({
  uid: statusLine(pid, 'Uid'),
  gid: statusLine(pid, 'Gid'),
  groups: statusLine(pid, 'Groups'),
  umask: statusLine(pid, 'Umask'),
  capabilities: ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((key) => statusLine(pid, key)),
  privileges: statusLine(pid, 'NoNewPrivs'),
  // Masks the last signals, which the C library uses, and SIGHUP, which every child of nohup ignores.
  ignored: (BigInt(`0x${statusLine(pid, 'SigIgn')}`) & 0x7f_ff_ff_fen).toString(16),
  cpus: statusLine(pid, 'Cpus_allowed_list'),
  nice: readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')[16],
  scheduling: readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(37, 39),
  oom: readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'),
  io: spawnSync('ionice', ['-p', String(pid)], { encoding: 'utf8' }).stdout,
  limits: readFileSync(`/proc/${pid}/limits`, 'utf8'),
  cgroup: readFileSync(`/proc/${pid}/cgroup`, 'utf8'),
  cwd: readlinkSync(`/proc/${pid}/cwd`),
  args: readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
  env: readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .filter((word) => word !== '' && !word.startsWith('OPSCTL_'))
    .sort(),
});
/**
 * Starts a process with as many special properties as this machine supports. The control group is optional.
 */
const startSpecial = async (spec: MemberSpec): Promise<number> => {
  const script = `cd ${real.at('elsewhere')}; umask 0027; trap '' 10
mkdir -p ${group} 2>/dev/null && echo $$ > ${group}/cgroup.procs
prlimit --pid $$ --nofile=5000:6000 --core=0:0; renice -n 3 -p $$ >/dev/null; echo 7 > /proc/$$/oom_score_adj
ionice -c 2 -n 6 -p $$; chrt --batch -p 0 $$; taskset -pc 0 $$ >/dev/null; unset PWD OLDPWD
exec setpriv --reuid 65534 --regid 65534 --groups 7,8 --bounding-set=-cap_21,-cap_22 --inh-caps=-all,+cap_10 --ambient-caps=-all,+cap_10 --no-new-privs -- "$@"`;
  const words = ['-c', script, 'sh', ...(spec.old_command as string[])];
  const own = Object.fromEntries(Object.keys(real.host.env).map((name) => [name, undefined]));
  await real.host.processes.start(...trustCall(['/bin/sh', ...words]), {
    detached: true,
    env: { ...own, PATH: '/usr/bin:/bin:/usr/sbin', GODEBUG: 'x509ignoreCN=0', GOGC: '80' },
  });
  const { pid } = await up();
  writeFileSync(spec.pid_file as string, `${pid}\n`);
  return pid;
};
const move = { from: '3.3', to: '3.4', run: 'r' } as const;

it.each([
  [' 4711', '4711'],
  [' ', undefined],
  ['', undefined],
])('a process of another host whose line ends with %j started at %s', async (end, mark) => {
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
  ])('a member is known %s, and stopped', async (_, make, env) => {
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

  it('a suspended member is distinguished from a running one', async () => {
    const spec = member(['--data-dir', real.at('n1.data')]);
    const { pid } = await started(spec);
    const opened = await open(spec, driver);
    expect(await opened.facts(spec, { sizes: false })).not.toHaveProperty('is_suspended');
    real.host.processes.signal(pid, 'SIGSTOP');
    const isSuspended = async () => (await opened.facts(spec, { sizes: false })).is_suspended;
    await expect.poll(async () => (await isSuspended()) === undefined, { interval: 10 }).toBe(false);
    expect(await isSuspended()).toBe(true);
  });

  it(
    'the successor runs in the same directory and with the environment of the cluster file, not of the operator',
    covers('defect/U-24'),
    async () => {
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
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'the successor runs as the same user, including after a crash of opsctl',
    covers('defect/U-23'),
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

  it.runIf(process.getuid?.() === 0)(
    'restarts with every property of the process: user, groups, directory, limits, capabilities, priority',
    async () => {
      const spec = member(['--data-dir', real.at('n1.data')]);
      for (const path of ['n1.data', 'elsewhere']) {
        mkdirSync(real.at(path), { recursive: true });
        chownSync(real.at(path), 65_534, 65_534);
      }
      const opened = await open(spec, driver);
      const before = propertiesOf(await startSpecial(spec));
      expect(before).toMatchObject({ umask: '0027', groups: '7 8', nice: '3', cwd: real.at('elsewhere') });
      expect(before.env).toContain('GODEBUG=x509ignoreCN=0');
      expect((await opened.facts(spec, { sizes: false })).problems).toBeUndefined();
      const placement = await opened.stage(spec, move);
      const stopAndStart = async (which: 'old' | 'new', known: typeof placement | undefined) => {
        expect(await opened.stop(spec, 20_000)).toBe(true);
        writeFileSync(real.at('n1.data/up'), '');
        await opened.start(spec, which, known);
        return propertiesOf((await up()).pid);
      };
      // An upgrade, a rollback, and a start that uses only the record of the last stop.
      expect(await stopAndStart('new', placement)).toEqual(before);
      expect(await stopAndStart('old', placement)).toEqual(before);
      expect(await stopAndStart('old', undefined)).toEqual(before);
      await opened.stop(spec, 20_000);
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'a successor of root restarts as root, although its data belongs to another user',
    async () => {
      const spec = member(['--data-dir', real.at('n1.data')]);
      chownSync(real.at('n1.data'), 65_534, 65_534);
      await started(spec);
      const opened = await open(spec, driver);
      await opened.stop(spec, 20_000);
      writeFileSync(real.at('n1.data/up'), '');
      await opened.start(spec, 'old');
      expect((await up()).uid).toBe(0);
      await opened.stop(spec, 20_000);
    },
  );

  it('starts with a record of an earlier version, which has fewer fields', async () => {
    const spec = member(['--data-dir', real.at('n1.data')]);
    const record = { env: { PATH: '/usr/bin:/bin', ETCD_LOG_LEVEL: 'debug' }, umask: '0027', limits: {} };
    for (const ending of ['', '-3.3'])
      writeFileSync(`${spec.pid_file}.opsctl-process${ending}`, JSON.stringify(record), { mode: 0o600 });
    const opened = await open(spec, driver);
    const identity = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, cwd: real.directory };
    await opened.start(spec, 'old', {
      ...{ member: 'n1', previous: { minor: '3.3' }, next: { minor: '3.4' } },
      runs_as: identity,
    });
    const { pid, env, cwd } = await up();
    expect([env, cwd]).toEqual([{ ETCD_LOG_LEVEL: 'debug' }, real.directory]);
    expect(statusLine(pid, 'Umask')).toBe('0027');
  });

  it('returns to the arguments that its process had, not to those of the cluster file', async () => {
    const spec = member(['--data-dir', real.at('n1.data')]);
    const running = [...(spec.old_command as string[]), '--quota-backend-bytes', '7'];
    await started({ ...spec, old_command: running });
    const opened = await open(spec, driver);
    const placement = await opened.stage(spec, move);
    await opened.stop(spec, 20_000);
    const argsAfter = async (which: 'old' | 'new', known: typeof placement | undefined) => {
      writeFileSync(real.at('n1.data/up'), '');
      await opened.start(spec, which, known);
      const { pid } = await up();
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1);
      await opened.stop(spec, 20_000);
      return words;
    };
    expect(await argsAfter('new', placement)).toEqual(spec.new_command?.slice(1));
    expect(await argsAfter('old', placement)).toEqual(running.slice(1));
    expect(await argsAfter('old', undefined)).toEqual(spec.old_command?.slice(1));
  });

  it.runIf(process.getuid?.() === 0)(
    'a member is refused by name if its successor would lack a property',
    async () => {
      const spec = member(['--data-dir', real.at('n1.data')]);
      const [command, ...words] = spec.old_command as [string, ...string[]];
      const inside = ['--net', '--uts', '--fork', '--kill-child', command, ...words];
      await real.host.processes.start(...trustCall(['unshare', ...inside]), { detached: true });
      const { pid } = await up();
      writeFileSync(spec.pid_file as string, `${pid}\n`);
      const { problems = [] } = await (await open(spec, driver)).facts(spec, { sizes: false });
      expect(problems.join('\n')).toMatch(/namespaces \(net\).*\bsystemd\b/);
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

  it('a relative data directory means the one of the running process', covers('defect/U-8'), async () => {
    const spec = member(['--data-dir', 'n1.data']);
    await started(spec, { cwd: real.directory });
    const opened = await open(spec, driver);
    expect((await opened.facts(spec, { sizes: false })).problems).toBeUndefined();
    const placement = await opened.stage(spec, move);
    await opened.stop(spec, 20_000);
    // Its record contains the working directory of the next start.
    expect((await opened.facts(spec, { sizes: false })).problems).toBeUndefined();
    writeFileSync(real.at('n1.data/up'), '');
    await opened.start(spec, 'new', placement);
    expect((await up()).cwd).toBe(real.directory);
    expect(existsSync(join(real.directory, 'n1.data', 'up'))).toBe(true);
  });
});
