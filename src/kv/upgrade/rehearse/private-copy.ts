import {
  FILE_VARIABLE,
  findServerFile,
  settingOf,
  variableOf,
} from '../../../api-specs/etcd/server-settings.ts';
import { args, type ProgramArguments, trustCall } from '../../../core/program-call.ts';
import { join, relative } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { AppError } from '../../../core/problem.ts';
import { lossyText } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { recordChild } from '../../../platform/process-identity.ts';
import type { ClusterFile, MemberSpec, Report, UpgradeEvent } from '../../engine/model.ts';
import { argvOf, scriptText, sh } from '../../../core/shell.ts';
import { flagsOf } from '../configuration/configuration.ts';
import {
  emptyEnvironment,
  findServers,
  readFiles,
  type ServerCommand,
  serversInScript,
} from '../configuration/server-command.ts';
import { isScript } from '../configuration/variables.ts';
import { hopView } from '../plan-kind.ts';

/** One member of the private copy: its paths, and the command that creates its data from the snapshot. */
type PrivateMember = {
  readonly spec: MemberSpec;
  readonly restore: ProgramArguments;
  readonly settings: Readonly<Record<string, string>>;
};
export type PrivateCopy = { readonly cluster: ClusterFile; readonly members: readonly PrivateMember[] };
/** Settings that name addresses, directories or the cluster: the copy replaces them. */
const ownSettings = [
  'name',
  'data-dir',
  'wal-dir',
  'listen-client-urls',
  'advertise-client-urls',
  'listen-peer-urls',
  'initial-advertise-peer-urls',
  'initial-cluster',
  'initial-cluster-token',
  'initial-cluster-state',
  'listen-client-http-urls',
  'listen-metrics-urls',
  'discovery',
  'discovery-srv',
  'force-new-cluster',
];
/** Certificate settings: the copy uses plain HTTP on loopback. */
const isSecurity = (name: string): boolean =>
  /(^|-)(cert|key|ca)-file$|client-cert-auth$|auto-tls$|cipher-suites$|crl-file$|cert-allowed/.test(name);
const isOwn = (name: string): boolean => ownSettings.includes(name) || isSecurity(name);
/** Returns the arguments of a command without the flags that the copy sets. Pure. */
export const withoutOwnFlags = (words: readonly string[]): string[] => {
  const kept: string[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as string;
    const name = /^--?([a-z0-9-]+)(=.*)?$/s.exec(word);
    if (name === null || !isOwn(name[1] as string)) kept.push(word);
    else if (name[2] === undefined && words[i + 1]?.startsWith('-') === false) i += 1;
  }
  return kept;
};
/** The server reads `ETCD_CERT_FILE` as `--cert-file`, and so on. A configuration file is the file of the copy. */
const withoutReplacedSettings = (
  env: Readonly<Record<string, string>>,
  config: string,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => !name.startsWith('ETCD_') || !isOwn(settingOf(name)))
      .map(([name, value]) => [name, name === FILE_VARIABLE && value !== '' ? config : value]),
  );
export type CopyOptions = {
  readonly directory: string /** Client and peer port of each member, in pairs. */;
  readonly ports: readonly number[];
  readonly snapshot: string;
};
const urlAt = (port: number | undefined): string => `http://127.0.0.1:${port}`;
type Own = { readonly name: string; readonly client: string; readonly peer: string; readonly data: string };
const settingsOf = ({ name, client, peer, data }: Own, initial: string): Record<string, string> => ({
  name,
  'data-dir': data,
  'listen-client-urls': client,
  'advertise-client-urls': client,
  'listen-peer-urls': peer,
  'initial-advertise-peer-urls': peer,
  'initial-cluster': initial,
  'initial-cluster-token': 'rehearsal',
  'initial-cluster-state': 'new',
});
type Copied = { readonly own: Own; readonly initial: string; readonly directory: string };
const commandOf = (
  member: MemberSpec,
  which: 'old' | 'new',
  { own, initial, directory }: Copied,
): string[] => {
  const [binary = '', ...words] = argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? [];
  if (member.config_file !== undefined) return [binary, ...withConfig(words, member, directory)];
  return [
    binary,
    ...withoutOwnFlags(words),
    ...Object.entries(settingsOf(own, initial)).flatMap(([key, value]) => [`--${key}`, value]),
  ];
};
/** The table of versions for one member of the copy, with the addresses and directories of the copy. */
const tableOf = (cluster: ClusterFile, member: MemberSpec, copied: Copied): Pick<MemberSpec, 'versions'> => {
  const minors = Object.keys({ ...cluster.versions, ...member.versions });
  if (minors.length === 0) return {};
  const rows = minors.map((minor) => {
    const { members } = hopView({ ...cluster, members: [member] }, minor, minor);
    const command = commandOf(members[0] as MemberSpec, 'new', copied);
    return [minor, { binary: command[0] as string, command }] as const;
  });
  return { versions: Object.fromEntries(rows) };
};
const specOf = (cluster: ClusterFile, member: MemberSpec, copied: Copied): MemberSpec => {
  const { own, directory } = copied;
  return {
    ...tableOf(cluster, member, copied),
    name: own.name,
    client_url: own.client,
    peer_url: own.peer,
    data_dir: own.data,
    pid_file: childPath(directory, pathPart(`${own.name}.pid`)),
    log_file: childPath(directory, pathPart(`${own.name}.log`)),
    ...(member.old_binary === undefined ? {} : { old_binary: member.old_binary }),
    ...(member.new_binary === undefined ? {} : { new_binary: member.new_binary }),
    old_command: commandOf(member, 'old', copied),
    new_command: commandOf(member, 'new', copied),
    ...(member.config_file === undefined ? {} : { config_file: configAt(directory, own.name) }),
    ...(member.env === undefined
      ? {}
      : { env: withoutReplacedSettings(member.env, configAt(directory, own.name)) }),
  };
};
const restoreWords = ({ name, data, peer }: Own, initial: string, snapshot: string): ProgramArguments =>
  args`snapshot restore ${snapshot} --name ${name} --data-dir ${data} --initial-cluster ${initial}
    --initial-cluster-token rehearsal --initial-advertise-peer-urls ${peer}`;
/** The commands that start a member, by their names in the cluster file, which may have a table of versions. */
const listCommands = (
  cluster: ClusterFile,
  member: MemberSpec,
): (readonly [name: string, words: readonly string[]])[] => {
  const { old_command, old_binary, new_command, new_binary, versions } = member;
  const rows = Object.keys({ ...cluster.versions, ...versions }).flatMap((minor) =>
    hopView({ ...cluster, members: [member] }, minor, minor).members.map(
      (row) => [`versions."${minor}".command`, argvOf(row.new_command, row.new_binary) ?? []] as const,
    ),
  );
  return [
    ['old_command', argvOf(old_command, old_binary) ?? []],
    ['new_command', argvOf(new_command, new_binary) ?? []],
    ...rows,
  ];
};
/**
 * A server takes all settings from its configuration file. The copy replaces only `config_file`: with any other file,
 * it would use the addresses and the data of the real member.
 */
const refuseOtherFile = (cluster: ClusterFile, member: MemberSpec): void => {
  const { name, config_file, env } = member;
  for (const [command, words] of listCommands(cluster, member)) {
    const path = findServerFile(flagsOf(words), env?.[FILE_VARIABLE], undefined);
    if (path === undefined || (config_file !== undefined && relative(path, config_file) === '')) continue;
    throw new AppError(
      'config',
      `${command} of ${name} reads the configuration file ${path}, and ${config_file === undefined ? 'the cluster file has no config_file' : `config_file is ${config_file}`}: a copy with it would use the addresses and the data of the real member`,
      { code: 'CLUSTER_FILE', tryThis: [`set config_file: ${path} for ${name}`] },
    );
  }
};
/**
 * Returns a cluster file for the same members on this machine with the same binaries and settings, and the
 * commands that fill their data directories. Pure.
 */
export const privateCopy = (
  cluster: ClusterFile,
  { directory, ports, snapshot }: CopyOptions,
): PrivateCopy => {
  const places = cluster.members.map(({ name }, i): Own => {
    return {
      name,
      client: urlAt(ports[2 * i]),
      peer: urlAt(ports[2 * i + 1]),
      data: childPath(directory, pathPart(`${name}.data`)),
    };
  });
  const initial = places.map(({ name, peer }) => `${name}=${peer}`).join(',');
  for (const member of cluster.members) refuseOtherFile(cluster, member);
  const members = cluster.members.map((member, i): PrivateMember => {
    const own = places[i] as Own;
    return {
      spec: specOf(cluster, member, { own, initial, directory }),
      restore: restoreWords(own, initial, snapshot),
      settings: settingsOf(own, initial),
    };
  });
  const { to, user, timeouts } = cluster;
  const kept = {
    ...(to === undefined ? {} : { to }),
    ...(user === undefined ? {} : { user }),
    ...(timeouts === undefined ? {} : { timeouts }),
  };
  const specs = members.map(({ spec }) => spec);
  return {
    cluster: {
      name: `${cluster.name}-rehearsal`,
      ...kept,
      driver: 'local',
      snapshot_dir: join(directory, 'snapshots'),
      members: specs,
    },
    members,
  };
};
/** Shells that opsctl can read. Of another script, only whether it uses its arguments is known. */
const isShellText = (text: string): boolean => /^#![^\n]*\b(?:ba|da|k|a)?sh\b/.test(text);
const usesArguments = (text: string): boolean =>
  /\$\{?[@*1-9]|\bargv\b|\bARGV\b/.test(text.replaceAll(/^\s*#.*$/gm, ''));
/** Why a start would not use the directory of the copy: the place and the setting. Undefined if it uses that directory. */
const findForeign = (
  { words, env, isContained }: ServerCommand,
  own: { readonly data: string; readonly config: string },
): string | undefined => {
  if (isContained) return undefined;
  const flags = flagsOf(words.slice(1));
  const config = findServerFile(flags, env[FILE_VARIABLE], undefined);
  if (config !== undefined)
    return config === own.config ? undefined : `reads the configuration file ${config}`;
  const read = (key: string): string | undefined => flags.get(key) ?? env[variableOf(key)];
  const data = read('data-dir') ?? own.data;
  if (data !== own.data) return `starts ${words[0]} with the data directory ${data}`;
  const wal = read('wal-dir') ?? '';
  return wal === '' ? undefined : `starts ${words[0]} with the WAL directory ${wal}`;
};
/** Why this start of a member of the copy would use other data. Undefined if it would not, or if that is unknown. */
const findForeignStart = async (
  host: Host,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  own: { readonly data: string; readonly config: string },
): Promise<string | undefined> => {
  const text = await readScript(host, words[0] ?? '');
  if (text !== undefined && !usesArguments(text)) return 'is a script that does not use its arguments';
  const reader = {
    read: (path: string) => host.files.read(path).catch(() => undefined),
    list: async () => [],
  };
  const servers = await readFiles(reader, (read) => {
    const around = { ...emptyEnvironment, env, read };
    if (text === undefined) return findServers(words, around);
    return isShellText(text) ? serversInScript(text, around, words.slice(1)) : [];
  });
  return servers.map((server) => findForeign(server, own)).find((why) => why !== undefined);
};
/**
 * Refuses a start command of the copy that would not use its directory, for example a script that ignores its arguments:
 * it would start the real member, on its data, perhaps with the new version.
 */
export const refuseForeignStart = async (
  host: Host,
  { cluster }: PrivateCopy,
  directory: string,
): Promise<void> => {
  const inherited = Object.fromEntries(
    Object.entries(host.env).flatMap(([name, value]) =>
      value === undefined || name.startsWith('ETCD_') ? [] : [[name, value]],
    ),
  );
  for (const { name, env, data_dir = '', ...spec } of cluster.members)
    for (const [command, words] of listCommands(cluster, { ...spec, name })) {
      const own = { data: data_dir, config: configAt(directory, name) };
      const why = await findForeignStart(host, words, { ...inherited, ...env }, own);
      if (why === undefined) continue;
      throw new AppError(
        'config',
        `no changes were made: ${command} of ${name} (${words[0]}) ${why}: the rehearsal would use the data of the real member, not of the copy`,
        {
          code: 'REHEARSAL_NOT_PRIVATE',
          tryThis: [
            'pass the arguments on, so that the settings of the copy are the last ones: exec etcd "$@"',
            `set ${command}: [SERVER, FLAGS] for ${name}`,
          ],
        },
      );
    }
};
/** The text of a script of limited size; undefined for another program or a file that cannot be read. */
const readScript = async ({ files }: Host, named: string): Promise<string | undefined> => {
  const path = named.startsWith('/') ? ((await files.realPath(named)) ?? named) : undefined;
  if (path === undefined) return undefined;
  const info = await files.info(path).catch(() => undefined);
  if (info?.kind !== 'file' || info.sizeBytes > maxScriptBytes) return undefined;
  const text = await files.read(path).catch(() => undefined);
  return text !== undefined && isScript(text) ? text : undefined;
};
const maxScriptBytes = 1_000_000;
export const configAt = (directory: string, name: string): string =>
  childPath(directory, pathPart(`${name}.conf.yaml`));
/** If the command names a configuration file, the copy uses its own file. Its path may have another spelling. */
const withConfig = (words: readonly string[], member: MemberSpec, directory: string): string[] => {
  const own = configAt(directory, member.name);
  const named = findServerFile(flagsOf(words), undefined, undefined);
  return words.map((word) => {
    const path = named !== undefined && word.includes(named) ? named : member.config_file;
    return path === undefined ? word : word.replaceAll(path, own);
  });
};
/**
 * Returns the member's configuration with the addresses and directories of the copy. Comments and other
 * settings stay.
 */
export const privateConfig = async (
  text: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> => {
  const { parseDocument } = await import('../../../platform/yaml.ts');
  const document = parseDocument(text);
  // A setting with a new value keeps its position and its comments. A file that contains only comments has no
  // keys to delete.
  for (const name of [...ownSettings, 'client-transport-security', 'peer-transport-security'])
    if (settings[name] === undefined && document.has(name)) document.delete(name);
  for (const [name, value] of Object.entries(settings)) document.set(name, value);
  return document.toString();
};

export type ChildRun = {
  readonly code: number | null;
  /** The reports of all hops; `report` is the last one. */
  readonly reports: readonly Report[];
  readonly report?: Report /** Its stderr, if it refused before the run started */;
  readonly complaint?: string;
};
/**
 * Runs this program again with a separate home directory, so that the rehearsal does not mix with real runs.
 */
const environment = (home: string): Record<string, string | undefined> => ({
  OPSCTL_HOME: home,
  OPSCTL_PROFILE: undefined,
  OPSCTL_KV_CLUSTER: undefined,
});
export const runSelf = async (
  host: Host,
  home: string,
  words: ProgramArguments,
  signal?: AbortSignal,
): Promise<string> => {
  const done = await host.processes.run(...trustCall(host.self, words), { env: environment(home), signal });
  if (done.code !== 0)
    throw new AppError(
      'unknown',
      `opsctl ${words.slice(0, 3).join(' ')} failed: ${lastLine(done.stderr) ?? done.startError ?? `code ${done.code}`}`,
      {
        code: 'REHEARSAL_FAILED',
      },
    );
  return done.stdout;
};
const lastLine = (text: string): string | undefined => text.trim().split('\n').at(-1) || undefined;
/** Runs `kv upgrade` on the copy and forwards every event immediately. */
export const upgradeCopy = async (
  host: Host,
  home: string,
  words: ProgramArguments,
  onEvent: (event: UpgradeEvent) => void,
): Promise<ChildRun> => {
  const complaints = `${home}/stderr.log`;
  // stdout contains one event per line; stderr is redirected to a file.
  const script = scriptText(sh`log="$1"; shift; exec "$@" 2> "$log"`);
  const started = await host.processes.start(
    ...trustCall(['/bin/sh', '-c', script, 'sh', complaints, ...host.self], args`${words} -o ndjson`),
    {
      env: environment(home),
    },
  );
  await recordChild(host, home, 'upgrade', started.pid);
  const reports: Report[] = [];
  for await (const line of started.lines()) {
    const event = eventIn(line);
    if (event === undefined) continue;
    if (event.event === 'run-finished') reports.push(event.report);
    onEvent(event);
  }
  const { code } = await started.exited;
  const report = reports.at(-1);
  const complaint =
    report === undefined || code !== 0
      ? complaintIn(lossyText(await host.files.readBytes(complaints)))
      : undefined;
  return {
    code,
    reports,
    ...(report === undefined ? {} : { report }),
    ...(complaint === undefined ? {} : { complaint }),
  };
};
/** Returns the message of the error object at the end of stderr. */
const complaintIn = (stderr: string): string | undefined => {
  const last = lastLine(stderr);
  try {
    return (JSON.parse(last ?? '') as { message?: string }).message;
  } catch {
    return last;
  }
};
const eventIn = (line: string): UpgradeEvent | undefined => {
  try {
    const value = JSON.parse(line) as UpgradeEvent;
    return typeof value.event === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};
