/** Three real members under each kind of driver, on one machine: what the driver matrix runs its scenarios on. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freePorts } from '../../src/platform/node/free-ports.ts';
import { binariesOf, call, pause } from './cluster.ts';
import type { Binaries } from './cluster.ts';
import { startDocker } from './docker-host.ts';
import type { DockerHost } from './docker-host.ts';
import { startLoopbackSsh } from './loopback-ssh.ts';
import { startSystemd } from './systemd-host.ts';
import type { SystemdHost } from './systemd-host.ts';

const BIN = process.env['OPSCTL_TEST_BIN'] ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));

export type BedKind = 'local' | 'ssh + local' | 'systemd' | 'ssh + systemd' | 'hooks' | 'docker';
export type Place = {
  readonly name: string;
  readonly url: string;
  readonly directory: string;
  readonly data: string;
  /** Words after the program. */
  readonly flags: readonly string[];
};
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
/** What is special about the servers of a scenario. */
export type BedOptions = { readonly uid?: number; readonly cwd?: true; readonly restart?: 'always' };
export type Bed = {
  readonly kind: BedKind;
  readonly directory: string;
  readonly places: readonly Place[];
  /** The program that a member would get: a server of that minor, or a shell script around one. */
  offer(from: string, to: string, wrap?: (place: Place, server: string) => string | undefined): void;
  opsctl(...words: readonly string[]): Promise<Ended>;
  /** The program as a process of its own, to be killed. */
  begin(...words: readonly string[]): ChildProcess;
  /** `3.4`, or `off`. */
  versions(): Promise<string[]>;
  /** SIGKILL of the server, as a crash would do it. */
  crash(place: Place): void;
  pid(place: Place): number | undefined;
  journal(): string;
  close(): Promise<void>;
};

const places = async (directory: string): Promise<Place[]> => {
  const ports = await freePorts(6);
  const url = (i: number): string => `http://127.0.0.1:${ports[i]}`;
  const all = [0, 1, 2].map((i) => `n${i + 1}=${url(2 * i + 1)}`).join(',');
  return [0, 1, 2].map((i) => {
    const [name, own] = [`n${i + 1}`, join(directory, `n${i + 1}`)];
    mkdirSync(own, { recursive: true });
    return {
      name,
      url: url(2 * i),
      directory: own,
      data: join(own, 'data'),
      flags: [
        ...['--name', name, '--data-dir', join(own, 'data')],
        ...['--listen-client-urls', url(2 * i), '--advertise-client-urls', url(2 * i)],
        ...['--listen-peer-urls', url(2 * i + 1), '--initial-advertise-peer-urls', url(2 * i + 1)],
        ...['--initial-cluster', all],
      ],
    };
  });
};

const put = (text: string | { readonly from: string }, path: string): void => {
  if (typeof text === 'string') writeFileSync(`${path}.new`, `#!/bin/sh\n${text}\n`);
  else copyFileSync(text.from, `${path}.new`);
  chmodSync(`${path}.new`, 0o755);
  renameSync(`${path}.new`, path);
};
export const serverOf = (minor: string): string => (binariesOf(minor) as Binaries).server;

const minorAt = async ({ url }: Place): Promise<string> => {
  const reply = await call(`${url}/version`).catch(() => undefined);
  return reply === undefined ? 'off' : (JSON.parse(reply.text).etcdserver as string).slice(0, 3);
};
const healthy = async (all: readonly Place[]): Promise<void> => {
  for (let i = 0; i < 1200; i += 1) {
    const states = await Promise.all(
      all.map(({ url }) =>
        call(`${url}/health`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      ),
    );
    if (states.every(Boolean)) return;
    await pause(50);
  }
  throw new Error('the cluster did not become healthy within 60 s');
};

const isUnits = (kind: BedKind): boolean => kind.endsWith('systemd');
/** What the cluster file says of one member, per driver. Programs of processes with a pid file have a path for each version. */
const specOf = (kind: BedKind, place: Place, from: string, to: string): Record<string, unknown> => {
  const common = { name: place.name, client_url: place.url, data_dir: place.data, host: 'bed' };
  const { host: _, ...here } = common;
  const base = kind.startsWith('ssh') ? common : here;
  const next = join(place.directory, 'next');
  if (kind === 'docker') return { ...base, container: place.name, new_image: `kv-${place.name}:${to}` };
  if (isUnits(kind))
    return {
      ...base,
      unit: `${place.name}.service`,
      binary_path: join(place.directory, 'etcd'),
      new_binary: next,
    };
  const [old_binary, new_binary] = [from, to].map((minor) => join(place.directory, `etcd-${minor}`));
  const files = { pid_file: join(place.directory, 'pid'), log_file: join(place.directory, 'log') };
  return { ...base, ...files, old_binary, new_binary, old_command: place.flags, new_command: place.flags };
};
const settingsOf = (kind: BedKind, config: string | undefined): Record<string, unknown> => {
  const then = kind === 'ssh + systemd' ? 'systemd' : 'local';
  // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
  const ssh = { options: ['-F', config], then };
  if (kind.startsWith('ssh')) return { driver: 'ssh', ssh };
  if (kind !== 'hooks') return { driver: kind };
  const pid = '$(cat {data_dir}/../pid)';
  const start =
    'cd {data_dir}/.. && { nohup {binary} $(cat flags) >> log 2>&1 < /dev/null & echo $! > pid; }';
  return {
    driver: 'hooks',
    hooks: {
      // Asks and does not wait, as a job of a scheduler does.
      stop: ['sh', '-c', `kill -TERM ${pid} 2>/dev/null; exit 0`],
      kill: ['sh', '-c', `kill -KILL ${pid} 2>/dev/null; exit 0`],
      start_old: ['sh', '-c', start],
      start_new: ['sh', '-c', start],
      is_running: ['sh', '-c', `kill -0 ${pid} 2>/dev/null && ! grep -q "^State:.Z" /proc/${pid}/status`],
      new_version: ['sh', '-c', '{binary} --version'],
    },
  };
};

const unit = (place: Place, { uid, restart, cwd }: BedOptions): string => `[Unit]
DefaultDependencies=no
[Service]
Type=notify
ExecStart=${join(place.directory, 'etcd')} ${place.flags.join(' ')}
${restart === undefined ? '' : `Restart=${restart}\nRestartSec=1`}
${uid === undefined ? '' : `User=${uid}`}
${cwd === undefined ? '' : `WorkingDirectory=${place.directory}`}
StandardOutput=append:${join(place.directory, 'log')}
StandardError=append:${join(place.directory, 'log')}
`;

const startUnits = (systemd: SystemdHost, all: readonly Place[], options: BedOptions): void => {
  for (const place of all) writeFileSync(join(systemd.units, `${place.name}.service`), unit(place, options));
  systemd.systemctl('daemon-reload');
  for (const { name } of all) systemd.systemctl('start', '--no-block', `${name}.service`);
};
const startContainers = (docker: DockerHost, all: readonly Place[], from: string): void => {
  docker.image('kv:old', serverOf(from));
  for (const { name, data, flags } of all)
    docker.docker(
      ...['run', '-d', '--name', name, '--network', 'host', '--restart', 'always', '-v', `${data}:${data}`],
      ...['-e', 'ETCD_QUOTA_BACKEND_BYTES=1073741824', 'kv:old', ...flags],
    );
};
const startProcesses = (all: readonly Place[], from: string, { uid, cwd }: BedOptions): void => {
  for (const place of all) {
    const become = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const script = `cd ${cwd === undefined ? '/' : place.directory}; echo $$ > ${place.directory}/pid; exec "$@" >> ${place.directory}/log 2>&1`;
    const words = ['-c', script, 'sh', ...become, join(place.directory, `etcd-${from}`), ...place.flags];
    spawn('/bin/sh', words, { detached: true, stdio: 'ignore' }).unref();
  }
};

const collected = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve) => {
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });

/** Undefined where a part of it cannot be had; the reason is on stderr. */
export const startBed = async (
  kind: BedKind,
  from: string,
  options: BedOptions = {},
): Promise<Bed | undefined> => {
  const directory = mkdtempSync(join(tmpdir(), 'kv-bed-'));
  chmodSync(directory, 0o755);
  const systemd = isUnits(kind) ? await startSystemd(directory) : undefined;
  const ssh = kind.startsWith('ssh')
    ? await startLoopbackSsh(join(directory, 'ssh'), systemd?.prefix ?? [])
    : undefined;
  const docker = kind === 'docker' ? await startDocker(join(directory, 'docker')) : undefined;
  const close = async (): Promise<void> => {
    for (const place of all) crash(place);
    await docker?.close();
    ssh?.close();
    await systemd?.close();
    rmSync(directory, { recursive: true, force: true });
  };
  const all = await places(directory);
  const pid = (place: Place): number | undefined => {
    if (systemd !== undefined) {
      const text = systemd.systemctl('show', '-p', 'MainPID', '--value', `${place.name}.service`);
      return Number(text) > 0 ? Number(text) : undefined;
    }
    if (docker !== undefined) return Number(docker.docker('inspect', '-f', '{{.State.Pid}}', place.name));
    const path = join(place.directory, 'pid');
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) : undefined;
  };
  const crash = (place: Place): void => {
    try {
      if (systemd !== undefined)
        systemd.systemctl('kill', '-s', 'KILL', '--kill-who=main', `${place.name}.service`);
      else process.kill(pid(place) as number, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  };
  const isMissing =
    (isUnits(kind) && systemd === undefined) ||
    (kind.startsWith('ssh') && ssh === undefined) ||
    (kind === 'docker' && docker === undefined);
  if (isMissing) {
    await close();
    return undefined;
  }
  for (const place of all) {
    put({ from: serverOf(from) }, join(place.directory, isUnits(kind) ? 'etcd' : `etcd-${from}`));
    writeFileSync(join(place.directory, 'flags'), place.flags.join(' '));
    mkdirSync(place.data, { mode: 0o700 });
    if (options.uid === undefined) continue;
    for (const path of [place.directory, place.data]) chownSync(path, options.uid, options.uid);
  }
  const file = join(directory, 'cluster.yaml');
  const offer: Bed['offer'] = (old, to, wrap = () => undefined) => {
    for (const place of all) {
      const script = wrap(place, docker === undefined ? serverOf(to) : 'etcd-server');
      docker?.image(`kv-${place.name}:${to}`, serverOf(to), script);
      const path = join(place.directory, isUnits(kind) ? 'next' : `etcd-${to}`);
      put(script ?? { from: serverOf(to) }, path);
    }
    const members = all.map((place) => specOf(kind, place, old, to));
    const timeouts = { stop_seconds: 60, gate_seconds: 90, stable_before_last_seconds: 1 };
    writeFileSync(file, stringify({ name: 'bed', to, ...settingsOf(kind, ssh?.config), timeouts, members }));
  };
  if (systemd !== undefined) startUnits(systemd, all, options);
  else if (docker !== undefined) startContainers(docker, all, from);
  else startProcesses(all, from, options);
  await healthy(all).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  // Units are those of this systemd: whoever speaks to it locally is inside.
  const prefix = kind === 'systemd' ? (systemd?.prefix ?? []) : [];
  const begin: Bed['begin'] = (...words) => {
    const argv = [...prefix, process.execPath, BIN, ...words, '--cluster', file];
    return spawn(argv[0] as string, argv.slice(1), {
      env: {
        PATH: process.env['PATH'],
        ...docker?.env,
        HOME: directory,
        OPSCTL_HOME: join(directory, 'home'),
        CI: 'true',
      },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  return {
    kind,
    directory,
    places: all,
    offer,
    begin,
    opsctl: (...words) => collected(begin(...words, '-o', 'json')),
    versions: () => Promise.all(all.map(minorAt)),
    crash,
    pid,
    journal: () => journalIn(join(directory, 'home', 'state', 'kv-clusters', 'bed')),
    close,
  };
};

const journalIn = (state: string): string => {
  const runs = existsSync(state) ? readdirSync(state).filter((name) => /^\d{8}T/.test(name)) : [];
  const path = join(state, runs.sort().at(-1) ?? '', 'journal.jsonl');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};
