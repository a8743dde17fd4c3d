import { trustCall } from '../../../../src/core/program-call.ts';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { wordsOf } from '../../../../src/core/shell.ts';
import { hooksService, openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import { versionInText } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { sshWords } from '../../../../src/kv/upgrade/supervisors/ssh.ts';
import { factsFrom } from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import type { ClusterFile, MemberSpec, StepKind } from '../../../../src/kv/engine/model.ts';
import { patient, realHost, type RealHost } from '../../../support/real-host.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';
import { watchProcesses } from '../../../support/secret-markers.ts';
import { makeDirectory } from '../../../support/directory.ts';

let real: RealHost;
let bin: string;
const alive: number[] = [];
beforeEach(async () => {
  bin = makeDirectory();
  real = patient(await realHost({ PATH: `${bin}:${process.env.PATH}` }));
});
afterEach(() => {
  for (const pid of alive.splice(0))
    if (real.host.processes.isAlive(pid)) real.host.processes.signal(pid, 'SIGKILL');
});

const program = (name: string, body: string): string => {
  const path = join(bin, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
};
/** A server that prints its version and, with `--stubborn`, ignores the stop signal. */
const serverProgram = (name: string, version: string): string =>
  program(
    name,
    `[ "$1" = --version ] && { echo "kv Version: ${version}"; exit 0; }\n[ "$1" = --stubborn ] && trap '' TERM || trap 'echo bye; exit 0' TERM\necho "${name} $*"\nwhile :; do sleep 0.05; done`,
  );
const directory = (): string => {
  const data = join(real.directory, 'data');
  mkdirSync(join(data, 'member', 'snap'), { recursive: true });
  writeFileSync(join(data, 'member', 'snap', 'db'), 'x'.repeat(1000));
  writeFileSync(join(data, 'member', 'snap', '1.snap'), 'x'.repeat(300));
  writeFileSync(join(data, 'member', 'snap', '2.snap'), 'x'.repeat(200));
  return data;
};
const member = (more: Partial<MemberSpec> = {}): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  data_dir: directory(),
  pid_file: join(real.directory, 'n1.pid'),
  log_file: join(real.directory, 'n1.log'),
  old_binary: serverProgram('old', '3.3.25'),
  new_binary: serverProgram('new', '3.4.23'),
  old_command: ['--data-dir', join(real.directory, 'data')],
  new_command: ['--data-dir', join(real.directory, 'data')],
  ...more,
});
/** A shell sets its traps shortly after its start and before its first output line. */
const isUp = async (spec: MemberSpec, lines: number): Promise<void> => {
  const said = () =>
    readFileSync(spec.log_file as string, 'utf8')
      .split('\n')
      .filter((line) => line.includes('--data-dir')).length;
  for (let i = 0; i < 12_000 && said() < lines; i += 1) await real.host.sleep(5);
  expect(said()).toBeGreaterThanOrEqual(lines);
};
const open = (spec: MemberSpec, more: Partial<ClusterFile> = {}) =>
  openDriver(real.host, { name: 'c', members: [spec], ...more });
const pidOf = (spec: MemberSpec): number => {
  const pid = Number(readFileSync(spec.pid_file as string, 'utf8'));
  alive.push(pid);
  return pid;
};

it.skipIf(process.platform !== 'linux').each(['local', 'ssh'] as const)(
  'driver %s: no process list contains the environment of a member',
  async (kind) => {
    const lines: string[] = [];
    const watching = watchProcesses((words) => lines.push(words));
    sshStandIn();
    const spec = { ...member({ env: { API_TOKEN: 'mark-env-1', KEYS: 'mark-env-2 "a" $b' } }), host: 'h' };
    try {
      const driver = await open(spec, kind === 'ssh' ? { driver: 'ssh' } : {});
      await driver.start(spec, 'old');
      const path = `/proc/${pidOf(spec)}/environ`;
      // The shell that starts the server has the environment of the server only after it replaced itself.
      await expect
        .poll(() => !readFileSync(path, 'latin1').includes('API_TOKEN=mark-env-1'), { interval: 5 })
        .toBe(false);
      expect(readFileSync(path, 'latin1')).toContain('KEYS=mark-env-2 "a" $b');
      await driver.kill(spec);
    } finally {
      watching.stop();
    }
    expect(lines.filter((words) => words.includes('mark-env'))).toEqual([]);
  },
);

/** A replacement of ssh that drops the arguments up to the destination and runs the rest in a local shell. */
const sshStandIn = (): string =>
  program('ssh', 'while [ "$1" != -- ]; do shift; done; shift 2; exec /bin/sh -c "$*"');

describe.each(['local', 'ssh'] as const)('processes with a pid file, driver %s', (kind) => {
  const opened = async (spec: MemberSpec) => {
    if (kind === 'local') return open(spec);
    sshStandIn();
    return openDriver(real.host, { name: 'c', driver: 'ssh', members: [spec] });
  };
  it('start, look, stop', async () => {
    const spec = { ...member(), host: 'h' };
    const driver = await opened(spec);
    expect((await driver.process(spec)).state).toBe('gone');
    await driver.start(spec, 'old');
    await isUp(spec, 1);
    const pid = pidOf(spec);
    expect((await driver.process(spec)).state).toBe('running');
    await expect(driver.start(spec, 'new')).rejects.toThrow(/already running/);
    expect(await driver.facts(spec, { sizes: true })).toMatchObject({
      ...{
        is_running: true,
        old_binary_version: '3.3.25',
        new_binary_version: '3.4.23',
        data_dir_exists: true,
        data_dir_writable: true,
      },
      ...{ has_db_file: true, db_file_bytes: 1000, v2_bytes: 300, clock_skew_ms: 0 },
    });
    expect(await driver.stop(spec, 60_000)).toBe(true);
    expect(real.host.processes.isAlive(pid)).toBe(false);
    await driver.start(spec, 'new');
    await isUp(spec, 2);
    pidOf(spec);
    expect(await driver.stop(spec, 60_000)).toBe(true);
    expect((await driver.logTail(spec, 10)).filter((line) => line === 'bye')).toHaveLength(2);
  });
  it('a process that ignores the stop is left alone until it is killed', async () => {
    const spec = {
      ...member({ old_command: ['--stubborn', '--data-dir', join(real.directory, 'data')] }),
      host: 'h',
    };
    const driver = await opened(spec);
    await driver.start(spec, 'old');
    await isUp(spec, 1);
    pidOf(spec);
    expect(await driver.stop(spec, 300)).toBe(false);
    expect((await driver.process(spec)).state).toBe('running');
    await driver.kill(spec);
    expect((await driver.process(spec)).state).toBe('gone');
  });
  it('a pid that another program has by now is never signalled', async () => {
    const spec = { ...member(), host: 'h' };
    const driver = await opened(spec);
    const other = await real.host.processes.start(...trustCall(['/bin/sleep', '30']));
    alive.push(other.pid);
    writeFileSync(spec.pid_file as string, String(other.pid));
    await driver.stop(spec, 300).catch(() => {});
    expect(real.host.processes.isAlive(other.pid)).toBe(true);
  });
  it('configuration files are read, written and linted, data directories copied', async () => {
    const config_file = join(real.directory, "it's.yaml");
    writeFileSync(config_file, 'auto-compaction-retention: 1\n', { mode: 0o640 });
    const spec = { ...member({ config_file }), host: 'h' };
    const driver = await opened(spec);
    expect((await driver.facts(spec, { sizes: false })).config).toEqual({ 'auto-compaction-retention': 1 });
    expect(await driver.readFile(spec, config_file)).toBe('auto-compaction-retention: 1\n');
    await driver.writeFile(spec, config_file, 'a: "$x `y`"\n');
    expect(readFileSync(config_file, 'utf8')).toBe('a: "$x `y`"\n');
    const copy = `${spec.data_dir}.copy`;
    expect(await driver.copyData(spec, '.copy', undefined)).toMatchObject({ path: copy });
    expect(readFileSync(join(copy, 'member', 'snap', '2.snap'), 'utf8')).toHaveLength(200);
  });
  it('missing keys are reported', async () => {
    const spec = {
      ...member({ new_binary: join(bin, 'nothing'), data_dir: join(real.directory, 'none') }),
      host: 'h',
    };
    const driver = await opened(spec);
    const facts = await driver.facts(spec, { sizes: false });
    expect(facts).toMatchObject({ data_dir_exists: false, is_running: false });
    expect(facts.new_binary_version).toBeUndefined();
    expect(facts.new_binary_error).toMatch(/nothing|not found/);
  });
});

describe('static pods', () => {
  it(
    'static pods remove the manifest, and write it with the other image',
    covers('spec/store#measured-service-managers-5'),
    async () => {
      const manifests = join(real.directory, 'etc', 'manifests');
      mkdirSync(manifests, { recursive: true });
      const manifest = join(manifests, 'kv.yaml');
      writeFileSync(manifest, 'spec:\n  containers:\n  - image: registry/kv:3.3.25 # pinned\n    name: kv\n');
      const spec = member({
        manifest,
        old_image: 'registry/kv:3.3.25',
        new_image: 'registry/kv:3.4.23',
        new_binary: undefined,
        old_binary: undefined,
      });
      const driver = await openDriver(real.host, {
        name: 'c',
        members: [spec],
        driver: 'static-pod',
      });
      expect(await driver.facts(spec, { sizes: false })).toMatchObject({
        old_binary_version: '3.3.25',
        new_binary_version: '3.4.23',
      });
      const placement = await driver.stage(spec, { from: '3.3', to: '3.4', run: 'r' });
      expect(readdirSync(manifests)).toEqual(['kv.yaml']);
      expect(readFileSync(manifest, 'utf8')).toContain('3.3.25');
      expect(await driver.stop(spec, 60_000)).toBe(true);
      expect(existsSync(manifest)).toBe(false);
      await driver.start(spec, 'new', placement);
      expect(readFileSync(manifest, 'utf8')).toBe(
        'spec:\n  containers:\n  - image: registry/kv:3.4.23 # pinned\n    name: kv\n',
      );
      expect((await driver.process(spec)).state).toBe('starting');
      await driver.stop(spec, 1000);
      await driver.start(spec, 'old', placement);
      expect(readFileSync(manifest, 'utf8')).toContain('registry/kv:3.3.25 # pinned');
      expect(readdirSync(manifests)).toEqual(['kv.yaml']);
    },
  );
});

describe('another manifest of the same pod', () => {
  const pod = (name: string, namespace = 'kube-system'): string =>
    `apiVersion: v1\nmetadata:\n  labels:\n    name: ${namespace}\n  name: "${name}"\n  namespace: ${namespace}\nspec:\n  containers:\n  - image: registry/kv:3.4.23\n    name: kv\n`;
  const problemsWith = async (files: Readonly<Record<string, string>>, own = pod('etcd')) => {
    const manifests = join(real.directory, 'manifests of it');
    mkdirSync(join(manifests, 'older'), { recursive: true });
    for (const [name, text] of Object.entries({ 'kv.yaml': own, ...files }))
      writeFileSync(join(manifests, name), text);
    const [old_image, new_image] = ['registry/kv:3.4.23', 'registry/kv:3.5.16'];
    const spec = member({ manifest: join(manifests, 'kv.yaml'), old_image, new_image });
    const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
    return (await driver.facts(spec, { sizes: false })).problems ?? [];
  };
  it('a backup in the directory of the kubelet is a problem that names the file, the pod and the fix', async () => {
    const problems = await problemsWith({ 'kv.yaml.bak': pod('etcd').replace('3.4.23', '3.3.25') });
    expect(problems).toEqual([naming('/manifests of it/kv.yaml.bak', 'pod etcd', 'kubelet', 'move it')]);
  });
  it('a backup is found in both formats, and in the default namespace', async () => {
    const container = { image: 'registry/kv:3.4.23', name: 'kv' };
    const json = (metadata: object): string =>
      JSON.stringify({ metadata, spec: { containers: [container] } });
    const backup = { 'kv.json': json({ name: 'etcd', namespace: 'default' }) };
    const found = [naming('/kv.json', 'pod etcd')];
    expect(await problemsWith(backup, json({ name: 'etcd' }))).toEqual(found);
    expect(
      await problemsWith({ 'kv.json': json({ name: 'etcd', namespace: '' }) }, pod('etcd', 'default')),
    ).toEqual(found);
  });
  it.each([
    ['a longer tag', 'registry/kv:3.4.23-0'],
    ['a digest', 'registry/kv:3.4.23@sha256:00'],
    ['another image', 'registry/kv:3.3.25'],
  ])('%s is not the image of the cluster file', async (_, image) => {
    const text = pod('etcd').replace('registry/kv:3.4.23', image);
    expect(await problemsWith({}, text)).toEqual([naming(image, 'old_image')]);
    const spec = member({
      manifest: join(real.directory, 'manifests of it', 'kv.yaml'),
      ...{ old_image: 'registry/kv:3.4.23', new_image: 'registry/kv:3.5.16' },
    });
    const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
    await expect(driver.stage(spec, { from: '3.4', to: '3.5', run: 'r' })).rejects.toThrow('exactly once');
  });
  it('other pods, a pod of another namespace, directories and hidden files are not a problem', async () => {
    const others = {
      ...{ '.kv.yaml.swp': pod('etcd'), 'older/kv.yaml': pod('etcd'), 'events.yaml': pod('etcd-events') },
      ...{ 'tenant.yaml': pod('etcd', 'tenant'), 'README.txt': 'metadata\n' },
    };
    expect(await problemsWith(others)).toEqual([]);
  });
  it('a manifest whose pod name opsctl cannot read does not pass the check', async () =>
    expect(await problemsWith({}, 'metadata: [name\nspec: {}\n')).toEqual([
      naming('cannot read', 'kv.yaml'),
    ]));
});

describe('a manifest in JSON', () => {
  it('gets the other image in its only place', async () => {
    const manifest = join(real.directory, 'manifests', 'kv.json');
    mkdirSync(join(real.directory, 'manifests'));
    const text = (image: string): string =>
      JSON.stringify({ metadata: { name: 'kv' }, spec: { containers: [{ name: 'kv', image }] } });
    writeFileSync(manifest, text('registry/kv:3.3.25'));
    const spec = member({ manifest, old_image: 'kv:3.3.25', new_image: 'kv:3.4.23' });
    const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
    expect((await driver.facts(spec, { sizes: false })).problems).toBeUndefined();
    const placement = await driver.stage(spec, { from: '3.3', to: '3.4', run: 'r' });
    await driver.stop(spec, 1000);
    await driver.start(spec, 'new', placement);
    expect(readFileSync(manifest, 'utf8').trimEnd()).toBe(text('registry/kv:3.4.23'));
  });
});

describe('the process of a static pod', () => {
  it('the process is the server that has the database open, wherever its directory is configured', async () => {
    const spec = member({ manifest: join(real.directory, 'kv.yaml'), old_image: 'a:1', new_image: 'a:2' });
    const path = join(bin, 'etcd');
    if (!existsSync(path)) symlinkSync(process.execPath, path);
    const start = async (database: string, ...words: string[]): Promise<number> => {
      mkdirSync(join(database, 'member', 'snap'), { recursive: true });
      // A file exists a moment before its process has it open.
      const code = `fs.openSync('${database}/member/snap/db', 'w'); fs.writeFileSync('${database}/opened', ''); setInterval(() => {}, 1000)`;
      const { pid } = await real.host.processes.start(...trustCall([path, '-e', code, '--', ...words]), {
        detached: true,
      });
      alive.push(pid);
      await expect.poll(() => existsSync(join(database, 'opened'))).toBe(true);
      return pid;
    };
    const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
    // Its pod has the directory of another member at the same path.
    await start(join(real.directory, 'events'), '--data-dir', spec.data_dir as string);
    expect((await driver.process(spec)).state).toBe('gone');
    const pid = await start(spec.data_dir as string, '--config-file', '/etc/kv.yaml');
    expect(await driver.process(spec)).toEqual({ state: 'running', pid });
  });
  it.each([
    ['etcdutl', true],
    ['etcdctl', true],
    ['etcdutl-3.5.16', true],
    ['etcdctl', false],
  ])('%s of a backup is not the server (reads the database: %s)', async (name, reads) => {
    const spec = member({ manifest: join(real.directory, 'kv.yaml'), old_image: 'a:1', new_image: 'a:2' });
    const path = join(bin, name);
    symlinkSync(process.execPath, path);
    const [data, ready] = [spec.data_dir as string, join(real.directory, 'ready')];
    mkdirSync(join(data, 'member', 'snap'), { recursive: true });
    const opens = reads ? `fs.openSync('${data}/member/snap/db', 'w'); ` : '';
    const code = `${opens}fs.writeFileSync('${ready}', ''); setInterval(() => {}, 1000)`;
    const words = [path, '-e', code, '--', '--data-dir', data, 'http://127.0.0.1:2379'];
    const { pid } = await real.host.processes.start(...trustCall(words), { detached: true });
    alive.push(pid);
    await expect.poll(() => existsSync(ready)).toBe(true);
    const { data_dir: _, ...without } = spec;
    const members = [spec, { ...without, name: 'n2' }];
    const driver = await openDriver(real.host, { name: 'c', members, driver: 'static-pod' });
    for (const one of members) {
      expect((await driver.process(one)).state).toBe('gone');
      await driver.kill(one);
    }
    expect(real.host.processes.isAlive(pid)).toBe(true);
  });
  it(
    'the process is matched by exactly its data directory: a longer path and a mere mention are not matches',
    covers('defect/U-34'),
    async () => {
      const spec = member({ manifest: join(real.directory, 'kv.yaml'), old_image: 'a:1', new_image: 'a:2' });
      const start = async (name: string, ...words: string[]): Promise<number> => {
        const path = join(bin, name);
        if (!existsSync(path)) symlinkSync(process.execPath, path);
        const argv = ['-e', 'setInterval(() => {}, 1000)', '--', ...words];
        const { pid } = await real.host.processes.start(...trustCall([path, ...argv]), { detached: true });
        alive.push(pid);
        return pid;
      };
      await start('etcd', '--data-dir', `${spec.data_dir}-events`);
      await start('backup', '--data-dir', spec.data_dir as string);
      const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
      expect((await driver.process(spec)).state).toBe('gone');
      const pid = await start('etcd', '--data-dir', spec.data_dir as string);
      expect(await driver.process(spec)).toEqual({ state: 'running', pid });
    },
  );
});

describe('a static pod whose container ended', () => {
  it.each([
    ['block style', 'metadata:\n  name: kv\nspec:\n  containers:\n  - name: kv\n    image: a:1\n'],
    ['flow style', 'metadata: {labels: {name: other}, name: kv}\nspec: {}\n'],
    ['JSON', '{"metadata":{"labels":{"name":"other"},"name":"kv"},"spec":{}}'],
    ['indented JSON', '{\n  "metadata": {\n    "name": "kv"\n  },\n  "spec": {}\n}\n'],
  ])('is gone, as crictl reports, although the kubelet has its manifest in %s', async (_, text) => {
    const manifest = join(real.directory, 'kv.yaml');
    writeFileSync(manifest, text);
    const ended = {
      state: 'CONTAINER_EXITED',
      metadata: { attempt: 0 },
      labels: { 'io.kubernetes.pod.name': 'kv-node1' },
      createdAt: `${Date.now() + 60_000}000000`,
    };
    const answer = JSON.stringify({ containers: [ended] }, null, 2);
    const spec = member({ manifest, old_image: 'a:1', new_image: 'a:2' });
    const driver = await openDriver(real.host, { name: 'c', members: [spec], driver: 'static-pod' });
    expect((await driver.process(spec)).state).toBe('starting');
    program('crictl', `cat <<'END'\n${answer}\nEND`);
    expect(await driver.process(spec)).toEqual({
      state: 'gone',
      reason: 'its container has exited; crictl logs shows the cause',
    });
  });
});

describe('the definition of a stopped member', () => {
  const startWith = async (driver: ClusterFile['driver'] & string, more: Partial<MemberSpec>) => {
    const { old_command: _, new_command: __, pid_file: ___, ...spec } = member(more);
    const opened = await openDriver(real.host, { name: 'c', members: [spec], driver });
    return (await opened.facts(spec, { sizes: false })).stopped_start;
  };
  const unreadFile = { problem: naming('configuration file') };
  it.each([
    ['absent', 'ExecStart=/usr/bin/etcd --data-dir /d\n# --force-new-cluster', '', { is_forced: false }],
    ['a flag', 'ExecStart=/usr/bin/etcd --force-new-cluster --name n1', '', { is_forced: true }],
    ['a flag that is off', 'ExecStart=/usr/bin/etcd --force-new-cluster=false', '', { is_forced: false }],
    ['a variable', 'Environment="ETCD_FORCE_NEW_CLUSTER=true"', '', { is_forced: true }],
    ['a file of variables', 'ExecStart=/usr/bin/etcd', 'ETCD_FORCE_NEW_CLUSTER=1', { is_forced: true }],
    ['a configuration file', 'ExecStart=/usr/bin/etcd --config-file=CONF', '', { is_forced: true }],
    ['an unread configuration file', 'ExecStart=/usr/bin/etcd --config-file=$FILE', '', unreadFile],
  ])('of systemd: %s', async (_, unit, variables, expected) => {
    const [file, config] = [join(real.directory, 'kv.env'), join(real.directory, 'conf.yml')];
    writeFileSync(file, `${variables}\n`);
    writeFileSync(config, 'name: n1\nforce-new-cluster: true\n');
    program(
      'systemctl',
      `case "$*" in
cat*) cat <<'END'
${unit.replace('CONF', config)}
END
;; *EnvironmentFiles*) echo 'EnvironmentFiles=${file} (ignore_errors=no)'; echo 'EnvironmentFiles=/no (ignore_errors=yes)';;
*--value*) echo 0;; show-environment) echo PATH=/bin;; show*) echo LoadState=loaded; echo ActiveState=inactive;; esac`,
    );
    expect(await startWith('systemd', { unit: 'kv' })).toEqual(expected);
  });
  it('of systemd: a unit that cannot be read is unknown', async () => {
    program('systemctl', 'case "$*" in cat*) exit 1;; *MainPID*) echo 0;; esac');
    expect(await startWith('systemd', { unit: 'kv' })).toEqual({ problem: naming('definition') });
  });
  it.each([
    ['["etcd","--name","n1"]', { is_forced: false }],
    ['["etcd","--force-new-cluster","--name","n1"]', { is_forced: true }],
    ['["etcd","--config-file","/etc/kv.yml"]', unreadFile],
  ])('of docker: %s', async (words, expected) => {
    program(
      'docker',
      `case "$*" in *Entrypoint*) echo 'null ${words} ["PATH=/bin"]';; *Pid*) echo 0;; *) exit 1;; esac`,
    );
    expect(await startWith('docker', { container: 'kv', new_image: 'a:2' })).toEqual(expected);
  });
  it.each([
    [
      'block style',
      'metadata:\n  name: kv\nspec:\n  containers:\n  - command:\n    - etcd\n    - --force-new-cluster\n',
      true,
    ],
    ['JSON', '{"metadata":{"name":"kv"},"spec":{"containers":[{"command":["etcd","--name=n1"]}]}}', false],
  ])('of a static pod in %s, also while it is stopped', async (_, text, is_forced) => {
    mkdirSync(join(real.directory, 'manifests'));
    const manifest = join(real.directory, 'manifests', 'kv.yaml');
    const spec = { manifest, old_image: 'a:1', new_image: 'a:2' };
    writeFileSync(manifest, text);
    expect(await startWith('static-pod', spec)).toEqual({ is_forced });
    renameSync(manifest, join(real.directory, 'kv.yaml.opsctl-parked'));
    expect(await startWith('static-pod', spec)).toEqual({ is_forced });
  });
});

describe('hooks', () => {
  it('hooks are any commands, with the values of the member', async () => {
    const calls = join(real.directory, 'calls');
    const log = program(
      'log',
      `echo "$*" >> ${calls}; [ "$1" = running ] && exit 1; [ "$1" = version ] && echo "version 3.4.23"; exit 0`,
    );
    const hooks = {
      stop: `${log} stop {name} {data_dir}`,
      start_old: [log, 'start', '{version}', '{name}'],
      start_new: [log, 'start', '{version}', '{binary}'],
      is_running: `${log} running`,
      new_version: `${log} version`,
      log: `${log} log`,
    };
    const spec = member();
    const driver = await open(spec, { driver: 'hooks', hooks });
    expect((await driver.process(spec)).state).toBe('gone');
    expect(await driver.stop(spec, 60_000)).toBe(true);
    expect((await driver.facts(spec, { sizes: false })).new_binary_version).toBe('3.4.23');
    expect(driver.describe('stop', spec, 'new')).toEqual([`${log} stop n1 ${spec.data_dir}`]);
    expect(readFileSync(calls, 'utf8')).toContain(`stop n1 ${spec.data_dir}\n`);
  });
  it('does not get the variables of this program, which may be secrets', async () => {
    const spec = member();
    const hooks = { stop: 'true', start_old: 'env', start_new: 'env' };
    const script = hooksService({ name: 'c', members: [spec], hooks }).start(spec, 'new', undefined);
    const { stdout } = await real.host.processes.run(...trustCall(['/bin/sh', '-s']), {
      input: String(script),
      env: { OPSCTL_KV_PASSWORD: 's3cret', ETCD_OWN: '1' },
    });
    expect(stdout).toContain('ETCD_OWN=1');
    expect(stdout).not.toContain('s3cret');
  });
  it(
    'a member is stopped when is_running reports it, and not when its stop hook returned',
    covers('defect/U-20'),
    async () => {
      // The stop hook returns without waiting, as a job scheduler does. The process still runs for three more
      // checks.
      const left = join(real.directory, 'left');
      const countdown = program(
        'countdown',
        `n=$(cat ${left} 2>/dev/null || echo 3); [ "$n" -gt 0 ] || exit 1; echo $((n-1)) > ${left}; exit 0`,
      );
      const hooks = { stop: 'true', start_old: 'true', start_new: 'true', is_running: countdown };
      const spec = member();
      const driver = await open(spec, { driver: 'hooks', hooks });
      expect(await driver.stop(spec, 60_000)).toBe(true);
      expect(readFileSync(left, 'utf8')).toBe('0\n');
      const stubborn = await open(spec, { driver: 'hooks', hooks: { ...hooks, is_running: 'true' } });
      expect(await stubborn.stop(spec, 100)).toBe(false);
    },
  );
  it(
    'a member is killed only by the hook kill: a stop hook does not kill',
    covers('defect/U-21'),
    async () => {
      const killed = join(real.directory, 'killed');
      const hooks = { stop: 'true', start_old: 'true', start_new: 'true' };
      const spec = member();
      await expect((await open(spec, { driver: 'hooks', hooks })).kill(spec)).rejects.toThrow(
        'the cluster file has no hook kill',
      );
      await (await open(spec, { driver: 'hooks', hooks: { ...hooks, kill: ['touch', killed] } })).kill(spec);
      expect(existsSync(killed)).toBe(true);
    },
  );
  it('the state is unknown without is_running', async () => {
    const spec = member();
    const driver = await open(spec, {
      driver: 'hooks',
      hooks: { stop: 'true', start_old: 'true', start_new: 'true' },
    });
    expect((await driver.process(spec)).state).toBe('unknown');
  });
});

describe('small parts', () => {
  it.each(['local', 'ssh'] as const)(
    '%s: lines of a plan can be pasted if a path has a space',
    async (kind) => {
      const paths = { pid_file: '/a b/n1.pid', log_file: '/a b/n1.log', data_dir: '/a b/n1' };
      const spec = member({ ...paths, ...(kind === 'ssh' ? { host: 'n1.example' } : {}) });
      const driver = await open(spec, { driver: kind });
      const lineOf = (kindOfStep: StepKind): string => {
        const words = wordsOf(driver.describe(kindOfStep, spec, 'new')[0] ?? '') ?? [];
        // ssh receives the whole line as one argument.
        return kind === 'ssh'
          ? (words.at(-1) as string)
          : (driver.describe(kindOfStep, spec, 'new')[0] ?? '');
      };
      expect(lineOf('stop')).toBe(`kill -TERM "$(cat '/a b/n1.pid')"`);
      expect(lineOf('start')).toContain(">> '/a b/n1.log' 2>&1 &");
    },
  );
  it.each([
    ['etcd Version: 3.4.23\nGit SHA: x', '3.4.23'],
    ['kv Version: 3.3.0-rc.1', '3.3.0-rc.1'],
    ['v3.5.16', '3.5.16'],
    ['Go Version: go1.15.9', undefined],
    ['nothing', undefined],
  ])('the version in %j is %s', (text, version) => {
    expect(versionInText(text)).toBe(version);
  });
  it('ssh never asks, and takes jump host and options from the cluster file', () => {
    const words = sshWords(
      { ssh: { proxy_jump: 'bastion', options: ['-p', '2222'] } },
      '/run/user/1/opsctl',
      'h',
    );
    expect(words.slice(0, 7)).toEqual(['-T', '-o', 'BatchMode=yes', '-J', 'bastion', '-p', '2222']);
  });
  it.each([
    [
      { state: 'running', pid: 2 },
      { is_running: true, pid: 2 },
    ],
    // The process is in a separate container, or its pid is unknown. opsctl cannot control it from this host.
    [{ state: 'running', pid: 1 }, { is_running: true }],
    [{ state: 'running' }, { is_running: true }],
  ] as const)('the facts of the process %j are %j', async (state, expected) => {
    const { is_running, pid } = await factsFrom('', member(), { fromMs: 0, untilMs: 0 }, state);
    expect({ is_running, ...(pid === undefined ? {} : { pid }) }).toEqual(expected);
  });
  it('a clock that is two seconds off is seen', async () => {
    expect(
      (
        await factsFrom(
          'now_s=1000\nrunning=0\n',
          member(),
          { fromMs: 996_000, untilMs: 997_000 },
          { state: 'running' },
        )
      ).clock_skew_ms,
    ).toBe(3000);
    expect(
      (
        await factsFrom(
          'now_s=1000\nrunning=0\n',
          member(),
          { fromMs: 1_000_900, untilMs: 1_009_000 },
          { state: 'running' },
        )
      ).clock_skew_ms,
    ).toBe(0);
  });
});
