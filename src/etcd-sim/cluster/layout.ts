import { trustCall } from '../../core/program-call.ts';
import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { after } from '../../core/next.ts';
import { AppError } from '../../core/problem.ts';
import { sh, shellWord } from '../../core/shell.ts';
import { storedObject } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { isAliveWith } from '../../platform/process-identity.ts';
import { bumpsRevisions, formOf, restoresWithUtl } from '../forms.ts';

/** All options of `mock kv start`. */
export type RehearsalOptions = {
  readonly members: number;
  /** Versions of the old and the new binary, `3.2.32` and `3.3.27`. */
  readonly version: string;
  readonly newVersion: string;
  /** Versions after `newVersion`, for an upgrade over several minor versions. Absent in older directories. */
  readonly laterVersions?: readonly string[];
  readonly word: 'kv' | 'etcd';
  readonly monitorMs: number;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  readonly v2Bytes: number;
  readonly quotaBytes: number | undefined;
  readonly auth: boolean;
  /** Members read a configuration file, written for the old version, instead of flags. */
  readonly configFiles: boolean;
};
export type RehearsalMember = {
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  readonly pidFile: string;
  readonly logFile: string;
  readonly configFile?: string;
  readonly args: readonly string[];
};
/** The content of `rehearsal.json`, by which the other commands recognize the directory. */
export type Rehearsal = {
  readonly simulated: true;
  readonly options: RehearsalOptions;
  readonly directory: string;
  readonly members: readonly RehearsalMember[];
};
export const markerFile = (directory: string): string => `${directory}/rehearsal.json`;
export const faultsDirectory = (directory: string): string => `${directory}/faults`;
/** The file in which a member records its version, so that it is started again with the same version. */
export const versionFile = (directory: string, member: string): string =>
  childPath(directory, pathPart(`${member}.version`));
export const passwordFile = (directory: string): string => `${directory}/password`;
export const binaryPath = (directory: string, version: string, word: string): string =>
  childPath(`${directory}/bin`, pathPart(`${word}-${version}`));
export type CtlTool = 'ctl' | 'utl';
/** The ctl programs of a version. */
export const ctlTools = (version: string): readonly CtlTool[] =>
  restoresWithUtl(version) ? ['ctl', 'utl'] : ['ctl'];
export const ctlPath = (directory: string, version: string, word: string, tool: CtlTool): string =>
  childPath(`${directory}/bin`, pathPart(`${word}${tool}-${version}`));
/** The program that builds data directories from snapshots, of one version as the real one. */
const restoreToolPath = (directory: string, version: string, word: string): string =>
  ctlPath(directory, version, word, restoresWithUtl(version) ? 'utl' : 'ctl');
/** Ports come in pairs: client, peer. */
export const rehearsalOf = (
  directory: string,
  options: RehearsalOptions,
  ports: readonly number[],
): Rehearsal => {
  const url = (port: number | undefined): string => `http://127.0.0.1:${port}`;
  const names = Array.from({ length: options.members }, (_, i) => `n${i + 1}`);
  const initial = names.map((name, i) => `${name}=${url(ports[2 * i + 1])}`).join(',');
  const members = names.map((name, i): RehearsalMember => {
    const own = {
      name,
      clientUrl: url(ports[2 * i]),
      peerUrl: url(ports[2 * i + 1]),
      dataDir: childPath(directory, pathPart(`${name}.data`)),
    };
    const configFile = options.configFiles ? childPath(directory, pathPart(`${name}.conf.yaml`)) : undefined;
    const settings = serverSettings(own, initial, options);
    const args =
      configFile === undefined
        ? Object.entries(settings).flatMap(([key, value]) => [`--${key}`, String(value)])
        : ['--config-file', configFile];
    return {
      ...own,
      pidFile: childPath(directory, pathPart(`${name}.pid`)),
      logFile: childPath(directory, pathPart(`${name}.log`)),
      ...(configFile === undefined ? {} : { configFile }),
      args,
    };
  });
  return { simulated: true, options, directory, members };
};
const serverSettings = (
  own: Pick<RehearsalMember, 'name' | 'clientUrl' | 'peerUrl' | 'dataDir'>,
  initial: string,
  o: RehearsalOptions,
): Record<string, string | number> => ({
  name: own.name,
  'data-dir': own.dataDir,
  'listen-client-urls': own.clientUrl,
  'advertise-client-urls': own.clientUrl,
  'listen-peer-urls': own.peerUrl,
  'initial-advertise-peer-urls': own.peerUrl,
  'initial-cluster': initial,
  'initial-cluster-token': 'rehearsal',
  'initial-cluster-state': 'new',
  ...(o.heartbeatMs === 100 ? {} : { 'heartbeat-interval': o.heartbeatMs }),
  ...(o.electionMs === 1000 ? {} : { 'election-timeout': o.electionMs }),
  ...(o.quotaBytes === undefined ? {} : { 'quota-backend-bytes': o.quotaBytes }),
});
/** A configuration file as 3.2 wants it: the retention is a number (spec/store#items). */
export const configText = (member: RehearsalMember, rehearsal: Rehearsal): string => {
  const initial = rehearsal.members.map((one) => `${one.name}=${one.peerUrl}`).join(',');
  const settings = serverSettings(member, initial, rehearsal.options);
  const lines = Object.entries(settings).map(
    ([key, value]) => `${key}: ${typeof value === 'number' ? value : JSON.stringify(value)}`,
  );
  const isOld = formOf(rehearsal.options.version)?.minor === '3.2';
  const retention = isOld
    ? ['auto-compaction-retention: 24']
    : ['auto-compaction-mode: periodic', 'auto-compaction-retention: "24h"'];
  return [
    '# Member of a rehearsal cluster; not a database.',
    ...lines,
    '# hours of history that are kept',
    ...retention,
    '',
  ].join('\n');
};
/** A tiny program that prints its version, or otherwise becomes a simulated member of that version. */
export const binaryText = (self: readonly string[], rehearsal: Rehearsal, version: string): string => {
  const { word, monitorMs } = rehearsal.options;
  const flags = [
    '--binary-version',
    version,
    '--field-words',
    word,
    '--monitor-ms',
    String(monitorMs),
    '--faults',
    faultsDirectory(rehearsal.directory),
    '--records',
    rehearsal.directory,
  ];
  return String(sh`#!/bin/sh
# A simulated server for rehearsals. It is not a database: do not keep data in it.
case "$1" in
  --version|-version) printf '%s\\n' ${`${word} Version: ${version}`} 'Git SHA: simulated' 'Go Version: none' 'Go OS/Arch: any'; exit 0 ;;
esac
exec ${[...self, 'mock', 'kv', 'member', ...flags]} -- "$@"
`);
};
/** A program that reports its version, prints its flags, and restores snapshots for simulated members. */
export const ctlText = (
  self: readonly string[],
  rehearsal: Rehearsal,
  version: string,
  tool: CtlTool,
): string => {
  const { word } = rehearsal.options;
  const head = sh`#!/bin/sh
# The ctl program of simulated servers. It builds data directories for simulated members only.
case "$1" in
  version) printf '%s\n' ${`${word}${tool} version: ${version}`} 'API version: 3'; exit 0 ;;
esac`;
  if (tool === 'ctl' && restoresWithUtl(version))
    return String(sh`${head}
for one in "$@"; do
  if [ "$one" = --help ]; then printf '%s\n' 'Available Commands:' '  save'; exit 0; fi
done
echo 'Error: unknown command or flag: this version restores with the utl program' >&2
exit 1
`);
  const flags = [
    '--skip-hash-check',
    ...(bumpsRevisions(version) ? ['--bump-revision', '--mark-compacted'] : []),
  ];
  return String(sh`${head}
for one in "$@"; do
  if [ "$one" = --help ]; then printf '      %s\n' ${flags}; exit 0; fi
done
exec ${[...self, 'mock', 'kv', 'ctl', '--binary-version', version]} -- "$@"
`);
};
/**
 * Runs and locks are kept under this name: rehearsal clusters of two directories are two clusters. A
 * directory with the default name adds no information.
 */
export const clusterName = (directory: string): string => {
  const own = basename(directory);
  return own === 'mock-kv' || own === 'cluster' || !/^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(own)
    ? 'rehearsal'
    : own;
};
const versionsOf = ({ version, newVersion, laterVersions = [] }: RehearsalOptions): string[] => [
  ...new Set([version, newVersion, ...laterVersions]),
];
export const binaryVersions = ({ options }: Rehearsal): readonly string[] => versionsOf(options);
/** The programs of every version, if the directory has more than two. */
const versionRows = ({ directory, options }: Rehearsal): string[] =>
  (options.laterVersions ?? []).length === 0
    ? []
    : [
        'versions:',
        ...versionsOf(options).flatMap((version) => [
          `  "${minorIn(version)}":`,
          `    binary: ${JSON.stringify(binaryPath(directory, version, options.word))}`,
          `    ctl_binary: ${JSON.stringify(restoreToolPath(directory, version, options.word))}`,
        ]),
      ];
const minorIn = (version: string): string => version.split('.').slice(0, 2).join('.');
/** The cluster file for `opsctl kv … --cluster`. */
export const clusterText = (rehearsal: Rehearsal): string => {
  const { directory, options, members } = rehearsal;
  const minor = minorIn(options.newVersion);
  const text = JSON.stringify;
  const list = (words: readonly string[]): string => `[${words.map((word) => text(word)).join(', ')}]`;
  const member = (one: RehearsalMember): string[] => [
    `  - name: ${one.name}`,
    `    client_url: ${one.clientUrl}`,
    `    peer_url: ${one.peerUrl}`,
    `    data_dir: ${text(one.dataDir)}`,
    `    pid_file: ${text(one.pidFile)}`,
    `    log_file: ${text(one.logFile)}`,
    `    old_binary: ${text(binaryPath(directory, options.version, options.word))}`,
    `    new_binary: ${text(binaryPath(directory, options.newVersion, options.word))}`,
    `    old_command: ${list(one.args)}`,
    `    new_command: ${list(one.args)}`,
    ...(one.configFile === undefined ? [] : [`    config_file: ${text(one.configFile)}`]),
  ];
  return [
    '# A rehearsal cluster: every member is a simulated server. It is not a database.',
    `name: ${clusterName(directory)}`,
    `to: ${text(minor)}`,
    'driver: local',
    'simulated: true',
    `snapshot_dir: ${text(`${directory}/snapshots`)}`,
    `ctl_binary: ${text(restoreToolPath(directory, options.version, options.word))}`,
    ...versionRows(rehearsal),
    ...(options.auth ? ['user:', '  name: root', `  password_file: ${text(passwordFile(directory))}`] : []),
    'members:',
    ...members.flatMap(member),
    '',
  ].join('\n');
};

const shape = {
  directory: 'text',
  options: { version: 'text', newVersion: 'text', word: 'text', members: 'number' },
  members: [
    { name: 'text', clientUrl: 'text', dataDir: 'text', pidFile: 'text', logFile: 'text', args: ['text'] },
  ],
} as const;
export const readRehearsal = async (host: Host, directory: string): Promise<Rehearsal | undefined> => {
  const text = await host.files.read(markerFile(directory));
  return text === undefined
    ? undefined
    : storedObject<Rehearsal>(markerFile(directory), text, shape, [
        after('remove the directory, then', ['mock', 'kv', 'start', '--dir', shellWord(directory)]),
      ]);
};
/** Directories of simulated clusters, one small file for each: `kv clusters` finds them in every place. */
const recordsDirectory = (state: string): string => childPath(state, pathPart('simulated-clusters'));
export const recordRehearsal = async (host: Host, state: string, directory: string): Promise<void> => {
  const name = pathPart(hash('sha256', directory).slice(0, 16));
  await host.files.makeDirectory(recordsDirectory(state), 0o700);
  await host.files.replace(childPath(recordsDirectory(state), name), `${directory}\n`, 0o600);
};
/** The marker of another user could show any cluster: only the user who started a cluster lists it. */
const isOwnMarker = async (host: Host, directory: string): Promise<boolean> =>
  (await host.files.info(markerFile(directory)))?.uid === host.uid;
/**
 * Returns what `describe` makes of each recorded cluster whose directory still exists. `onDamaged` receives
 * why a cluster, or the list of clusters, is left out.
 */
export const findRehearsals = async <T>(
  host: Host,
  state: string,
  describe: (rehearsal: Rehearsal) => Promise<T>,
  onDamaged: (where: string, error: unknown) => void,
): Promise<T[]> => {
  const records = recordsDirectory(state);
  const leaveOut = (where: string, error: unknown): [] => {
    onDamaged(where, error);
    return [];
  };
  const read = async (name: string): Promise<T[]> => {
    let where = childPath(records, pathPart(name));
    try {
      const directory = (await host.files.read(where))?.trimEnd() ?? '';
      if (directory === '') return [];
      where = directory;
      if (!(await isOwnMarker(host, directory))) return [];
      const rehearsal = await readRehearsal(host, directory);
      return rehearsal === undefined ? [] : [await describe(rehearsal)];
    } catch (error) {
      return leaveOut(where, error);
    }
  };
  const names = await host.files.list(records).catch((error: unknown) => leaveOut(records, error));
  return (await Promise.all(names.toSorted().map(read))).flat();
};
/** The version that a member ran last; the old one before its first start. */
export const detectLastVersion = async (
  host: Host,
  rehearsal: Rehearsal,
  { name }: RehearsalMember,
): Promise<string> => {
  const text = await host.files.read(versionFile(rehearsal.directory, name)).catch(() => undefined);
  const version = text?.trim();
  return binaryVersions(rehearsal).find((one) => one === version) ?? rehearsal.options.version;
};
/** The process of a member, if the recorded process is still this member. */
export const pidOf = (host: Host, member: RehearsalMember): number | undefined => {
  const pid = Number.parseInt(host.files.readNow(member.pidFile) ?? '', 10);
  const texts = [member.dataDir, ...(member.configFile === undefined ? [] : [member.configFile])];
  return isAliveWith(host, pid, texts) ? pid : undefined;
};
export const startProcess = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  version: string,
): Promise<number> => {
  const binary = binaryPath(rehearsal.directory, version, rehearsal.options.word);
  const started = await host.processes.start(...trustCall([binary, ...member.args]), {
    detached: true,
    logFile: member.logFile,
    cwd: rehearsal.directory,
  });
  await host.files.replace(member.pidFile, `${started.pid}\n`);
  return started.pid;
};
const GRACE_MS = 5_000;
/** Ends a member: with SIGTERM, and with SIGKILL when it has not ended after the grace. */
export const stopProcess = async (
  host: Host,
  member: RehearsalMember,
): Promise<'stopped' | 'killed' | 'not running'> => {
  const pid = pidOf(host, member);
  if (pid === undefined) return 'not running';
  host.processes.signal(pid, 'SIGTERM');
  if (await waitForProcessEnd(host, pid, GRACE_MS)) return 'stopped';
  host.processes.signal(pid, 'SIGKILL');
  if (await waitForProcessEnd(host, pid, GRACE_MS)) return 'killed';
  throw new AppError(
    'stopped',
    `${member.name}: process ${pid} was killed, but did not end within ${GRACE_MS / 1000} s`,
    { code: 'STOP_IGNORED', tryThis: [after('when it has ended,', ['mock', 'kv', 'stop'])] },
  );
};
const waitForProcessEnd = async (host: Host, pid: number, withinMs: number): Promise<boolean> => {
  const until = host.elapsed() + withinMs;
  while (host.processes.isAlive(pid)) {
    if (host.elapsed() > until) return false;
    await host.sleep(10);
  }
  return true;
};
/** Returns one JSON response of a member; undefined if it does not respond. */
export const callMember = async <T>(
  host: Host,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; data: T } | undefined> => {
  try {
    const request = {
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers,
      timeoutMs: 2_000,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const reply = await host.network.request(request);
    return { status: reply.status, data: JSON.parse(await reply.text()) as T };
  } catch {
    return undefined;
  }
};
