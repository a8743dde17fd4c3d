/** Three real members under each kind of driver, on one machine. The driver matrix runs its scenarios on them. */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { codeCache } from './code-cache.ts';
import { freePorts } from '../../src/platform/node/ports.ts';
import { type Binaries, binariesOf, call, hasBinaries, pause } from './cluster.ts';
import { type DockerHost, startDocker, startPodman } from './docker-host.ts';
import { type SshOptions, startLoopbackSsh } from './loopback-ssh.ts';
import { startSystemd, type SystemdHost } from './systemd-host.ts';
import { hangTimer } from './hang.ts';
import { makeDirectory } from './directory.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));

export type BedKind = 'local' | 'ssh + local' | 'systemd' | 'ssh + systemd' | 'hooks' | 'docker' | 'podman';
export type Place = {
  readonly name: string;
  readonly url: string;
  readonly directory: string;
  /** Directory of the programs. The user of the test owns it, because opsctl runs no program that the user of a server can replace. */
  readonly programs: string;
  readonly data: string;
  /** Arguments of the program. */
  readonly flags: readonly string[];
};
export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
/** Options of the servers of a scenario. */
export type BedOptions = {
  readonly uid?: number;
  readonly cwd?: true;
  readonly restart?: 'always';
  /** The restart policy of containers: otherwise `no` for podman, and `always` for docker. */
  readonly policy?: 'always' | 'unless-stopped';
  /** Units do not change their program: a drop-in selects the new version. */
  readonly dropIn?: true;
  /** Members read a configuration file. Its data directory is an absolute path, or relative to the working directory of the member. */
  readonly config?: 'whole' | 'relative';
  readonly stopSeconds?: number;
  /** All upgraded members must be healthy at the same time for this duration before the last one is stopped. */
  readonly stableSeconds?: number;
  /** Number of log entries between two snapshots of a member. */
  readonly snapshotCount?: number;
  readonly ssh?: SshOptions;
};
export type Bed = {
  readonly kind: BedKind;
  readonly directory: string;
  readonly places: readonly Place[];
  /** Sets the program that a member would get: a server of that minor version, or a shell script that wraps the server. */
  offer(from: string, to: string, wrap?: (place: Place, server: string) => string | undefined): void;
  opsctl(...words: readonly string[]): Promise<Ended>;
  /** Runs opsctl as on the machine of another operator: another host name, no state, and another jump host if the bed has a jump host. */
  elsewhere(...words: readonly string[]): Promise<Ended>;
  /** Closes every ssh connection and refuses new connections until the promise settles. */
  cut(until: Promise<unknown>): Promise<void>;
  /** Returns the text of the drop-in that selects a version, if it exists. */
  dropIn(place: Place, minor: string): string | undefined;
  /** Starts the program as a separate process that a scenario can kill. */
  begin(...words: readonly string[]): ChildProcess;
  /**
   * Sends SIGKILL to the program itself. The process that enters the namespaces of a service manager is a separate process that
   * waits for it.
   */
  kill(child: ChildProcess): void;
  /** Returns the minor version of each member, for example `3.4`, or `off`. */
  versions(): Promise<string[]>;
  /** Returns the patch version of each member, for example `3.4.23`. */
  patches(): Promise<string[]>;
  /** Stops the member as an operator would. No service manager starts it again. */
  stop(place: Place): void;
  /** Sends SIGKILL to the server, which simulates a crash. */
  crash(place: Place): void;
  pid(place: Place): number | undefined;
  /** Returns the journal of the first operator, or of the second operator. */
  journal(home?: 'second-home'): string;
  close(): Promise<void>;
};

const configText = (flags: readonly string[]): string =>
  flags
    .flatMap((flag, i) =>
      flag.startsWith('--') ? [`${flag.slice(2)}: ${JSON.stringify(flags[i + 1])}\n`] : [],
    )
    .join('');
/** Writes the configuration file of a member and returns the member with the flags that use the file. */
const fromFile = (place: Place, config: BedOptions['config']): Place => {
  if (config === undefined) return place;
  const path = join(place.directory, 'etcd.yaml');
  const flags = place.flags.map((word) => (word === place.data && config === 'relative' ? 'data' : word));
  writeFileSync(path, configText(flags));
  return { ...place, flags: ['--config-file', path] };
};

const places = async (directory: string, { snapshotCount }: BedOptions): Promise<Place[]> => {
  const ports = await freePorts(6);
  const url = (i: number): string => `http://127.0.0.1:${ports[i]}`;
  const all = [0, 1, 2].map((i) => `n${i + 1}=${url(2 * i + 1)}`).join(',');
  return [0, 1, 2].map((i) => {
    const name = `n${i + 1}`;
    const [own, programs] = [join(directory, name), join(directory, 'programs', name)];
    for (const path of [own, programs]) mkdirSync(path, { recursive: true });
    return {
      name,
      url: url(2 * i),
      directory: own,
      programs,
      data: join(own, 'data'),
      flags: [
        ...['--name', name, '--data-dir', join(own, 'data')],
        ...['--listen-client-urls', url(2 * i), '--advertise-client-urls', url(2 * i)],
        ...['--listen-peer-urls', url(2 * i + 1), '--initial-advertise-peer-urls', url(2 * i + 1)],
        ...['--initial-cluster', all],
        ...(snapshotCount === undefined ? [] : ['--snapshot-count', String(snapshotCount)]),
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
const minorText = (name: string): string => name.slice(0, 3);
/** `3.5` is the latest patch version that is available, because earlier patches must not be upgraded to 3.6. */
export const serverOf = (name: string): string => {
  const latest = name === '3.5' && hasBinaries('3.5-late') ? '3.5-late' : name;
  return (binariesOf(latest === '3.5-early' ? '3.5' : latest) as Binaries).server;
};

const versionAt = async ({ url }: Place): Promise<string> => {
  const reply = await call(`${url}/version`).catch(() => undefined);
  return reply === undefined ? 'off' : (JSON.parse(reply.text).etcdserver as string);
};
const minorAt = async (place: Place): Promise<string> => (await versionAt(place)).slice(0, 3);
/**
 * Returns whether the member is healthy and the cluster version is decided. Before that, members report 3.0 and may not know
 * each other's names.
 */
const isReady = async ({ url }: Place, from: string): Promise<boolean> => {
  const [health, version] = await Promise.all([call(`${url}/health`), call(`${url}/version`)]);
  const members = await call(`${url}/v2/members`).catch(() => undefined);
  const names = members?.status === 200 ? (JSON.parse(members.text) as MembersText).members : undefined;
  return (
    health.status === 200 &&
    (JSON.parse(version.text) as { etcdcluster: string }).etcdcluster.startsWith(`${minorText(from)}.`) &&
    names?.every(({ name }) => name !== '') !== false
  );
};
type MembersText = { readonly members: readonly { readonly name: string }[] };
const healthy = async (all: readonly Place[], from: string): Promise<void> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    const states = await Promise.all(all.map((place) => isReady(place, from).catch(() => false)));
    if (states.every(Boolean)) return;
    await pause(50);
  }
  throw new Error('the cluster did not become healthy');
};

const isContainers = (kind: BedKind): boolean => kind === 'docker' || kind === 'podman';
const isUnits = (kind: BedKind): boolean => kind.endsWith('systemd');
/**
 * Returns the settings of one member in the cluster file, per driver. Programs of processes with a PID file have one path per
 * version.
 */
const specOf = (
  kind: BedKind,
  place: Place,
  { from, to, dropIn, config }: { readonly from: string; readonly to: string } & BedOptions,
): Record<string, unknown> => {
  const file = (name: string): string => join(place.directory, name);
  const configured = config === undefined ? {} : { config_file: file('etcd.yaml') };
  const renewed = existsSync(file('new.yaml')) ? { new_config_file: file('new.yaml') } : {};
  const common = {
    name: place.name,
    client_url: place.url,
    data_dir: place.data,
    ...configured,
    ...renewed,
    host: 'bed',
  };
  const { host: _, ...here } = common;
  const base = kind.startsWith('ssh') ? common : here;
  const next = join(place.programs, 'next');
  if (isContainers(kind)) return { ...base, container: place.name, new_image: `kv-${place.name}:${to}` };
  if (isUnits(kind))
    return {
      ...base,
      unit: `${place.name}.service`,
      ...(dropIn === undefined ? { binary_path: join(place.programs, 'etcd') } : {}),
      new_binary: next,
    };
  const [old_binary, new_binary] = [from, to].map((minor) => join(place.programs, `etcd-${minor}`));
  const files = { pid_file: join(place.directory, 'pid'), log_file: join(place.directory, 'log') };
  return { ...base, ...files, old_binary, new_binary, old_command: place.flags, new_command: place.flags };
};
const settingsOf = (
  kind: BedKind,
  config: string | undefined,
  { ssh: { jump, sudo } = {}, uid }: BedOptions,
): Record<string, unknown> => {
  const then = kind === 'ssh + systemd' ? 'systemd' : 'local';
  const more = { ...(jump ? { proxy_jump: 'jump' } : {}), ...(sudo ? { sudo } : {}) };
  // On a busy machine, a connection may take longer than the default timeout of the program.
  const ssh = { options: ['-F', config, '-o', 'ConnectTimeout=60'], then, ...more };
  if (kind.startsWith('ssh')) return { driver: 'ssh', ssh };
  if (kind !== 'hooks') return { driver: kind };
  const pid = '$(cat {data_dir}/../pid)';
  // A hook runs its own command, so the hook itself selects the user of the server.
  const as = uid === undefined ? '' : `setpriv --reuid=${uid} --regid=${uid} --clear-groups `;
  const start = `cd {data_dir}/.. && { nohup ${as}{binary} $(cat flags) >> log 2>&1 < /dev/null & echo $! > pid; }`;
  return {
    driver: 'hooks',
    hooks: {
      // Sends the signal and does not wait, like a job of a scheduler.
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
ExecStart=${join(place.programs, 'etcd')} ${place.flags.join(' ')}
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
const startContainers = (
  kind: BedKind,
  docker: DockerHost,
  all: readonly Place[],
  from: string,
  { uid, cwd, policy }: BedOptions,
): void => {
  docker.image('kv:old', serverOf(from));
  const own = uid === undefined ? [] : ['--user', `${uid}:${uid}`];
  for (const { name, directory, flags } of all)
    docker.docker(
      ...[
        'run',
        '-d',
        '--name',
        name,
        '--network',
        'host',
        '--restart',
        policy ?? (kind === 'podman' ? 'no' : 'always'),
        '-v',
        `${directory}:${directory}`,
      ],
      ...[...own, ...(cwd === undefined ? [] : ['-w', directory])],
      ...['-e', 'ETCD_QUOTA_BACKEND_BYTES=1073741824', 'kv:old', ...flags],
    );
};
const startProcesses = (all: readonly Place[], from: string, { uid, cwd }: BedOptions): void => {
  for (const place of all) {
    const become = uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const script = `cd ${cwd === undefined ? '/' : place.directory}; echo $$ > ${place.directory}/pid; exec "$@" >> ${place.directory}/log 2>&1`;
    const words = ['-c', script, 'sh', ...become, join(place.programs, `etcd-${from}`), ...place.flags];
    spawn('/bin/sh', words, { detached: true, stdio: 'ignore' }).unref();
  }
};

/** Waits for the program to exit and returns its exit code and output. */
export const collected = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve) => {
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });

/** Starts a bed. Returns undefined and prints the reason to stderr if a part of the bed is unavailable. */
export const startBed = async (
  kind: BedKind,
  from: string,
  options: BedOptions = {},
): Promise<Bed | undefined> => {
  const directory = makeDirectory('kv-bed-');
  chmodSync(directory, 0o755);
  const systemd = isUnits(kind) ? await startSystemd(directory) : undefined;
  const ssh = kind.startsWith('ssh')
    ? await startLoopbackSsh(join(directory, 'ssh'), systemd?.prefix ?? [], options.ssh)
    : undefined;
  const docker =
    kind === 'docker'
      ? await startDocker(join(directory, 'docker'))
      : kind === 'podman'
        ? startPodman(join(directory, 'podman'))
        : undefined;
  const close = async (): Promise<void> => {
    for (const place of all) crash(place);
    await docker?.close();
    ssh?.close();
    await systemd?.close();
    rmSync(directory, { recursive: true, force: true });
  };
  const all = (await places(directory, options)).map((place) => fromFile(place, options.config));
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
      // The process has already exited.
    }
  };
  const isMissing =
    (isUnits(kind) && systemd === undefined) ||
    (kind.startsWith('ssh') && ssh === undefined) ||
    (isContainers(kind) && docker === undefined);
  if (isMissing) {
    await close();
    return undefined;
  }
  for (const place of all) {
    put({ from: serverOf(from) }, join(place.programs, isUnits(kind) ? 'etcd' : `etcd-${from}`));
    writeFileSync(join(place.directory, 'flags'), place.flags.join(' '));
    mkdirSync(place.data, { mode: 0o700 });
    if (options.uid === undefined) continue;
    for (const path of [place.directory, place.data]) chownSync(path, options.uid, options.uid);
  }
  const [file, fileElsewhere] = [join(directory, 'cluster.yaml'), join(directory, 'elsewhere.yaml')];
  const offer: Bed['offer'] = (old, to, wrap = () => undefined) => {
    for (const place of all) {
      const script = wrap(place, docker === undefined ? serverOf(to) : 'etcd-server');
      docker?.image(`kv-${place.name}:${to}`, serverOf(to), script);
      const path = join(place.programs, isUnits(kind) ? 'next' : `etcd-${to}`);
      put(script ?? { from: serverOf(to) }, path);
    }
    const members = all.map((place) => specOf(kind, place, { ...options, from: old, to }));
    const timeouts = {
      stop_seconds: options.stopSeconds ?? 60,
      gate_seconds: 90,
      stable_before_last_seconds: options.stableSeconds ?? 1,
    };
    const settings = settingsOf(kind, ssh?.config, options);
    writeFileSync(file, stringify({ name: 'bed', to: minorText(to), ...settings, timeouts, members }));
    // The other machine reaches the same hosts through another jump host.
    const there = readFileSync(file, 'utf8').replace('proxy_jump: jump', 'proxy_jump: second-jump');
    writeFileSync(fileElsewhere, there);
  };
  if (systemd !== undefined) startUnits(systemd, all, options);
  else if (docker !== undefined) startContainers(kind, docker, all, from, options);
  else startProcesses(all, from, options);
  await healthy(all, from).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  // The units belong to this systemd, so local commands run inside its namespaces.
  const prefix = kind === 'systemd' ? (systemd?.prefix ?? []) : [];
  const { uid, gid } = userInfo();
  const itself = uid === 0 ? 'exec "$@"' : `exec unshare --user --map-user=${uid} --map-group=${gid} "$@"`;
  // Sets a separate host name. A user without root privileges can set it in a user namespace.
  const renamed = [
    ...['unshare', ...(uid === 0 ? [] : ['--map-root-user']), '--uts'],
    ...['sh', '-c', `hostname bastion-2 && ${itself}`, 'sh'],
  ];
  const beginIn = (home: string, words: readonly string[], isElsewhere = false): ChildProcess => {
    const program = [...(isElsewhere ? renamed : []), process.execPath, BIN, ...words];
    const argv = [...prefix, ...program, '--cluster', isElsewhere ? fileElsewhere : file];
    return spawn(argv[0] as string, argv.slice(1), {
      env: {
        PATH: process.env.PATH,
        ...codeCache,
        ...docker?.env,
        HOME: directory,
        OPSCTL_HOME: join(directory, home),
        CI: 'true',
      },
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  const begin: Bed['begin'] = (...words) => beginIn('home', words);
  return {
    kind,
    directory,
    places: all,
    offer,
    begin,
    opsctl: (...words) => collected(begin(...words, '-o', 'json')),
    elsewhere: (...words) => collected(beginIn('second-home', [...words, '-o', 'json'], true)),
    kill: (child) => {
      const { pid } = child;
      const inside =
        prefix.length === 0 ? '' : readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
      if (inside === '') child.kill('SIGKILL');
      else process.kill(Number(inside), 'SIGKILL');
    },
    cut: async (until) => ssh?.cut(until),
    dropIn: ({ name }, minor) => {
      const path = join(systemd?.units ?? '', `${name}.service.d`, `90-opsctl-${minor}.conf`);
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    },
    versions: () => Promise.all(all.map(minorAt)),
    patches: () => Promise.all(all.map(versionAt)),
    stop: (place) => {
      if (systemd !== undefined) systemd.systemctl('stop', `${place.name}.service`);
      else if (docker !== undefined) docker.docker('stop', place.name);
      else crash(place);
    },
    crash,
    pid,
    journal: (home) => journalIn(join(directory, home ?? 'home', 'state', 'kv-clusters', 'bed')),
    close,
  };
};

const journalIn = (state: string): string => {
  const runs = existsSync(state) ? readdirSync(state).filter((name) => /^\d{8}T/.test(name)) : [];
  const path = join(state, runs.sort().at(-1) ?? '', 'journal.jsonl');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};
