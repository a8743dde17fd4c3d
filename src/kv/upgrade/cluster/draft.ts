import { call } from '../../../core/program-call.ts';
import { basename, dirname, join, resolve } from 'node:path';
import {
  FILE_VARIABLE,
  findServerFile,
  isPathVariable,
  isServerVariable,
  variableOf,
} from '../../../api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import {
  childPath,
  type FileName,
  fileNameKey,
  pathPart,
  safeFileName,
  uniqueFileName,
} from '../../../core/file-name.ts';
import { next } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { oneLine } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { containedPath, findTrustProblem, userText } from '../../../platform/trust.ts';
import { hexId } from '../../client/messages.ts';
import type { ListedMember } from '../../client/etcd-client.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';
import { flagsOf, parseConfig } from '../configuration/configuration.ts';
import { clusterProblems, clusterSchema } from './cluster-file.ts';
import { namePattern } from './drivers.ts';
import { servesUrl } from './listening-sockets.ts';
import { stringify } from '../../../platform/yaml.ts';

/** A member's process on this machine, with the settings to start it again from any directory. */
export type FoundProcess = {
  readonly pid: number;
  /** The effective user of the process. */
  readonly uid?: number;
  readonly binary: string;
  /** Flags without the program; paths are absolute. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly data_dir: string;
  readonly config_file?: string;
  readonly log_file?: string;
  readonly pid_file?: string;
  /** The systemd unit whose main process this is. */
  readonly unit?: string;
  /** Settings of its configuration file that are valid only in its working directory. */
  readonly relative: readonly string[];
};
type Running = { readonly pid: number; readonly uid?: number | undefined; readonly argv: readonly string[] };
const wordsAt = (host: Host, path: string): string[] => {
  let text: string | undefined;
  try {
    text = host.files.readNow(path);
  } catch {
    // opsctl cannot read the environment of another user's process.
  }
  return text === undefined || text === '' ? [] : text.replace(/\0$/, '').split('\0');
};
const effectiveUser = (status: string): number | undefined => {
  const uid = /^Uid:\t\d+\t(\d+)/m.exec(status)?.[1];
  return uid === undefined ? undefined : Number(uid);
};
const running = async (host: Host): Promise<Running[]> => {
  const names = await host.files.list('/proc').catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      uid: effectiveUser(wordsAt(host, `/proc/${name}/status`).join('')),
      argv: wordsAt(host, `/proc/${name}/cmdline`),
    }))
    .filter(({ argv }) => argv.length > 0);
};
/**
 * Settings in the environment count only for a server: a shell that exports them is not a server. Relative
 * paths are made absolute, because the successor may start in another directory. Other variables are left
 * out: images keep passwords in them.
 */
const environmentOf = (host: Host, { pid, argv }: Running, cwd: string): Record<string, string> =>
  /etcd/.test(basename(argv[0] as string))
    ? Object.fromEntries(
        wordsAt(host, `/proc/${pid}/environ`)
          .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const)
          .filter(([name]) => isServerVariable(name))
          .map(([name, value]) => [name, isPathVariable(name) && value !== '' ? resolve(cwd, value) : value]),
      )
    : {};
/** Requests the version that a member runs; undefined if it does not respond. */
type RequestMinor = () => Promise<Minor | undefined>;
type Settings = { readonly config_file?: string; get(key: string): string | undefined };
/**
 * Reads settings as the server does: only the configuration file if one is set, otherwise flags before the
 * environment.
 */
const settingsOf = async (
  host: Host,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
  requestMinor: RequestMinor,
): Promise<Settings> => {
  const flags = flagsOf(argv.slice(1));
  const variable = env[FILE_VARIABLE] ?? '';
  const given = findServerFile(flags, variable, variable === '' ? undefined : await requestMinor());
  if (given === undefined) return { get: (key) => flags.get(key) ?? env[variableOf(key)] };
  const config_file = resolve(cwd, given);
  const text = await host.files.read(config_file).catch(() => undefined);
  const read = text === undefined ? { broken: 'not there' } : await parseConfig(text);
  return {
    config_file,
    get: (key) => ('broken' in read || read.file[key] === undefined ? undefined : String(read.file[key])),
  };
};
const isPathFlag = (name: string): boolean => /^(data-dir|wal-dir|config-file)$|-file$/.test(name);
/** The driver starts members in a separate directory. */
const withAbsolutePaths = (words: readonly string[], cwd: string): string[] =>
  words.map((word, i) => {
    const [, dashes, name, value] = /^(--?)([a-z][a-z0-9-]*)=([\s\S]+)$/.exec(word) ?? [];
    if (name !== undefined)
      return isPathFlag(name) ? `${dashes}${name}=${resolve(cwd, value as string)}` : word;
    const before = /^--?([a-z][a-z0-9-]*)$/.exec(words[i - 1] ?? '')?.[1];
    return before !== undefined && isPathFlag(before) ? resolve(cwd, word) : word;
  });
/** Returns the file that receives the output of the process. */
const logOf = async (host: Host, pid: number): Promise<string | undefined> => {
  for (const fd of [2, 1]) {
    const path = await host.files.realPath(`/proc/${pid}/fd/${fd}`).catch(() => undefined);
    if (path !== undefined && (await host.files.info(path))?.kind === 'file') return path;
  }
  return undefined;
};
/**
 * Returns the path of a file with the process ID of the member: in a directory of the member, or in /run or
 * /var/run.
 */
const pidFileOf = async (host: Host, pid: number, near: readonly string[]): Promise<string | undefined> => {
  for (const directory of new Set([...near, '/run', '/var/run'])) {
    const names = (await host.files.list(directory).catch(() => [])).filter((name) => /pid$/i.test(name));
    const found = names
      .map((name) => childPath(directory, pathPart(name)))
      .find((path) => wordsAt(host, path)[0]?.trim() === String(pid));
    if (found !== undefined) return found;
  }
  return undefined;
};
/**
 * Returns the service whose main process this is. The control group of a service also contains the processes
 * that a shell or a job starts, and stopping the service would end the job. So the service manager must name
 * this process.
 */
const unitOf = async (host: Host, pid: number): Promise<string | undefined> => {
  const group = wordsAt(host, `/proc/${pid}/cgroup`).join('').split('\n');
  const unit = group
    .map((line) => /^(?:0:|\d+:name=systemd):.*\/([^/]+\.service)$/.exec(line)?.[1])
    .find((name) => name !== undefined);
  if (unit === undefined) return undefined;
  const { code, stdout } = await host.processes.run(
    ...call`systemctl show --property=MainPID --value -- ${unit}`,
    { timeoutMs: 2000 },
  );
  return code === 0 && stdout.trim() === String(pid) ? unit : undefined;
};
const isMember = ({ get }: Settings, { client_urls, name }: ListedMember): boolean => {
  const urls = `${get('advertise-client-urls') ?? ''},${get('listen-client-urls') ?? ''}`
    .split(',')
    .map((url) => url.trim());
  return client_urls.some((url) => urls.includes(url)) && (get('name') ?? name) === name;
};
const describeRunningMember = async (
  host: Host,
  { pid, uid, argv }: Running,
  settings: Settings,
  env: Record<string, string>,
  cwd: string,
  name: string,
): Promise<FoundProcess> => {
  const { config_file, get } = settings;
  const given = get('data-dir');
  const data_dir = resolve(cwd, given ?? `${get('name') ?? name}.etcd`);
  const log_file = await logOf(host, pid);
  const pid_file = await pidFileOf(host, pid, [
    ...(log_file === undefined ? [] : [dirname(log_file)]),
    data_dir,
    dirname(data_dir),
    cwd,
  ]);
  const unit = await unitOf(host, pid);
  const flags = withAbsolutePaths(argv.slice(1), cwd);
  // Without a data directory the server creates it in its working directory.
  const isImplied = given === undefined && config_file === undefined;
  const relative = ['data-dir', 'wal-dir'].filter(
    (key) => config_file !== undefined && get(key) !== undefined && !(get(key) as string).startsWith('/'),
  );
  return {
    pid,
    ...(uid === undefined ? {} : { uid }),
    binary: (await host.files.realPath(`/proc/${pid}/exe`).catch(() => undefined)) ?? (argv[0] as string),
    flags: isImplied ? [...flags, '--data-dir', data_dir] : flags,
    env,
    data_dir,
    relative,
    ...(config_file === undefined ? {} : { config_file }),
    ...(log_file === undefined ? {} : { log_file }),
    ...(pid_file === undefined ? {} : { pid_file }),
    ...(unit === undefined ? {} : { unit }),
  };
};
/**
 * Any user can start a process whose arguments name a client URL. A process of root or of this user counts. A process of another user
 * counts only if it owns the socket of the URL. The kernel always shows the user of a process whose arguments it shows.
 */
const isBelievable = async (host: Host, { pid, uid }: Running, urls: readonly string[]): Promise<boolean> =>
  uid === undefined || uid === 0 || uid === host.uid || servesUrl(host, { pid, uid }, urls);
/**
 * Finds the process of a member on this machine: its flags, environment or configuration file contain the
 * member's client URL. The version of the member decides which of them its process has read. A request for it may
 * last until its time limit, so it is sent only if a variable names a file.
 */
export const findProcess = async (
  host: Host,
  listed: ListedMember,
  requestMinor: RequestMinor,
): Promise<FoundProcess | undefined> => {
  let minor: ReturnType<RequestMinor> | undefined;
  for (const one of await running(host)) {
    if (!(await isBelievable(host, one, listed.client_urls))) continue;
    const cwd = (await host.files.realPath(`/proc/${one.pid}/cwd`).catch(() => undefined)) ?? '/';
    const env = environmentOf(host, one, cwd);
    const settings = await settingsOf(host, one.argv, env, cwd, () => (minor ??= requestMinor()));
    if (isMember(settings, listed)) return describeRunningMember(host, one, settings, env, cwd, listed.name);
  }
  return undefined;
};

export type ClusterDescription = {
  readonly spec: MemberSpec;
  /** Values that only the operator can fill in or correct. */
  readonly left: readonly string[];
  readonly isSeen: boolean;
  /**
   * The process of the member on this machine and its user, for messages: `process 812 of etcd (uid 112)`.
   */
  readonly process?: string;
};
type Driver = NonNullable<ClusterFile['driver']>;
export type Describing = {
  /** Directory for the pid files of members that do not have one. */
  readonly directory: string;
  readonly driver?: Driver | undefined;
  readonly newBinary?: string | undefined;
  readonly oldBinary?: string | undefined;
  /** Requests the version that a member runs; undefined if it does not respond. */
  readonly minorOf?: ((listed: ListedMember) => Promise<Minor | undefined>) | undefined;
};
/**
 * Finds the processes on this machine. If no driver is named, their units decide how opsctl stops and starts
 * them.
 */
const seenHere = async (
  host: Host,
  listed: readonly ListedMember[],
  { driver: named, minorOf }: Pick<Describing, 'driver' | 'minorOf'>,
) => {
  const isLooked = named === undefined || named === 'local' || named === 'systemd';
  const found = await Promise.all(
    listed.map(async (member) =>
      isLooked ? findProcess(host, member, async () => minorOf?.(member)) : undefined,
    ),
  );
  const units = found.flatMap((one) => (one === undefined ? [] : [one.unit !== undefined]));
  const driver: Driver = named ?? (units.length > 0 && units.every(Boolean) ? 'systemd' : 'local');
  return { found, driver };
};
type Common = Partial<MemberSpec> & Pick<MemberSpec, 'name' | 'client_url'>;
/**
 * A program that a drop-in of an earlier upgrade selects cannot be replaced at its path: the next drop-in
 * selects the next program.
 */
const unitSpec = (common: Common, { unit, binary, data_dir, config_file }: FoundProcess): MemberSpec => ({
  ...common,
  ...(unit === undefined ? {} : { unit }),
  ...(binary.includes('.opsctl-') ? {} : { binary_path: binary }),
  data_dir,
  ...(config_file === undefined ? {} : { config_file }),
});
type Files = { readonly directory: string; readonly pid: FileName; readonly log: FileName };
const processSpec = async (
  host: Host,
  common: Common,
  found: FoundProcess,
  { directory, pid, log }: Files,
): Promise<MemberSpec> => {
  const pid_file = found.pid_file ?? (await containedPath(host.files, directory, pid));
  if (found.pid_file === undefined) await host.files.replace(pid_file, `${found.pid}\n`);
  const { data_dir, config_file, env, flags } = found;
  return {
    old_binary: found.binary,
    ...common,
    data_dir,
    pid_file,
    log_file: found.log_file ?? childPath(directory, log),
    ...(config_file === undefined ? {} : { config_file }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...{ old_command: flags, new_command: flags },
  };
};
/**
 * If another user can replace the program, the file does not contain its path, because the operator would run
 * it.
 */
const withoutProgram = (spec: MemberSpec, program: string): MemberSpec => {
  const { old_binary, binary_path, ...others } = spec;
  return {
    ...others,
    ...(old_binary === undefined || old_binary === program ? {} : { old_binary }),
    ...(binary_path === undefined || binary_path === program ? {} : { binary_path }),
  };
};
/** Describes a member on this machine completely. Of other members only the addresses are known. */
const describeMember = async (
  host: Host,
  listed: ListedMember,
  found: FoundProcess | undefined,
  { files, driver, newBinary, oldBinary }: Omit<Describing, 'directory'> & { readonly files: Files },
): Promise<ClusterDescription> => {
  const [peer_url] = listed.peer_urls;
  const common: Common = {
    name: listed.name,
    client_url: listed.client_urls[0] ?? '',
    ...(peer_url === undefined ? {} : { peer_url }),
    ...(oldBinary === undefined ? {} : { old_binary: resolve(host.cwd, oldBinary) }),
    ...(newBinary === undefined ? {} : { new_binary: resolve(host.cwd, newBinary) }),
  };
  if (found === undefined) return { spec: common, left: [], isSeen: false };
  const distrust = await findTrustProblem(host, found.binary);
  const left = [
    ...found.relative.map((key) => `${found.config_file}: ${key} is relative; write the absolute path`),
    ...(distrust === undefined
      ? []
      : [`the program of ${listed.name}: ${distrust.reason}; if you trust its content: ${distrust.fix}`]),
  ];
  const all = driver === 'systemd' ? unitSpec(common, found) : await processSpec(host, common, found, files);
  return {
    spec: distrust === undefined ? all : withoutProgram(all, found.binary),
    left,
    isSeen: true,
    ...(found.uid === undefined ? {} : { process: `process ${found.pid} of ${userText(host, found.uid)}` }),
  };
};
/** A member that never started has no name, no client URL and no process, so the file cannot describe it. */
const refuseNeverStarted = (listed: readonly ListedMember[]): void => {
  const [first] = listed.filter(({ name }) => name === '');
  if (first === undefined) return;
  const id = hexId(first.id);
  throw new AppError(
    'unsafe',
    `member ${id} (${first.peer_urls.join(', ')}) was added but never started; no file was written`,
    {
      code: 'MEMBER_NOT_STARTED',
      tryThis: ['start the member', next(['kv', 'member', 'remove', id])],
    },
  );
};
/** Any client of the cluster can name a member. */
const refuseWrongNames = (listed: readonly ListedMember[]): void => {
  const wrong = listed.filter(({ name }) => !new RegExp(namePattern).test(name));
  if (wrong.length === 0) return;
  throw new AppError(
    'unsafe',
    `invalid member name ${wrong.map(({ name }) => JSON.stringify(name)).join(', ')}: a cluster file accepts letters, digits, ".", "_" and "-", and neither "." nor "-" as the first character; no file was written`,
    {
      code: 'MEMBER_NAME',
      tryThis: ['restart the member with another name: etcd --name NAME', 'etcdctl member list'],
    },
  );
};
/**
 * Returns a unique name for the files of each member: names that differ only in case are the same file on
 * some file systems.
 */
const fileStems = (listed: readonly ListedMember[]): readonly FileName[] => {
  const taken = new Set<string>();
  return listed.map(({ name }) => {
    const stem = uniqueFileName([name], '', taken);
    taken.add(fileNameKey(stem));
    return stem;
  });
};
export const describeMembers = async (
  host: Host,
  listed: readonly ListedMember[],
  describing: Describing,
): Promise<{ readonly driver: Driver; readonly members: readonly ClusterDescription[] }> => {
  refuseNeverStarted(listed);
  refuseWrongNames(listed);
  const { found, driver } = await seenHere(host, listed, describing);
  const stems = fileStems(listed);
  const filesOf = (stem: string): Files => ({
    directory: describing.directory,
    pid: safeFileName(`${stem}.pid`, 'member.pid'),
    log: safeFileName(`${stem}.log`, 'member.log'),
  });
  const members = await Promise.all(
    listed.map((member, i) =>
      describeMember(host, member, found[i], {
        ...describing,
        driver,
        files: filesOf(stems[i] ?? 'member'),
      }),
    ),
  );
  return { driver, members };
};
/** The programs next to each server that can restore a snapshot, in order: from 3.6 on, only etcdutl can. Pure. */
export const ctlPrograms = (servers: readonly (string | undefined)[]): string[] => {
  const directories = servers.flatMap((path) => (path === undefined ? [] : [dirname(path)]));
  return [...new Set(directories)].flatMap((directory) => [
    join(directory, 'etcdutl'),
    join(directory, 'etcdctl'),
  ]);
};
/**
 * The ctl program of the old version is usually in the directory of its server. `kv restore` and `kv
 * rehearse` need it.
 */
export const findCtlNextTo = async (
  host: Host,
  members: readonly MemberSpec[],
): Promise<string | undefined> => {
  const programs = members.flatMap(({ old_binary, binary_path }) => [old_binary, binary_path]);
  for (const path of ctlPrograms(programs)) {
    if ((await host.files.info(path))?.kind === 'file' && (await findTrustProblem(host, path)) === undefined)
      return path;
  }
  return undefined;
};
/**
 * Runs and snapshots are stored under this name. The name of the directory is more specific than the common
 * file name cluster.yaml.
 */
export const nameFor = (file: string | undefined): string => {
  const own = basename(file ?? 'cluster').replace(/\.ya?ml$/, '');
  const name = own === 'cluster' && file !== undefined ? basename(dirname(file)) : own;
  return new RegExp(namePattern).test(name) ? name : 'cluster';
};

type Given = Parameters<typeof describeMembers>[2] & {
  /** Path of the file to write. The default name of the cluster derives from it. */
  readonly file: string | undefined;
  readonly name: string | undefined;
};
export type Draft = {
  readonly content: unknown;
  readonly members: readonly string[];
  /** Values that opsctl could not determine. */
  readonly left: readonly string[];
  /** Members without a process on this machine. */
  readonly unseen: readonly string[];
  /** Members with their processes on this machine and the users of these processes. */
  readonly processes: readonly { readonly member: string; readonly process: string }[];
};
/** Builds the content of a cluster file from the member list and the processes on this machine. */
export const draftCluster = async (
  host: Host,
  listed: readonly ListedMember[],
  { tls, user }: Pick<ClusterFile, 'tls' | 'user'>,
  given: Given,
): Promise<Draft> => {
  const sorted = listed.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  const { driver, members } = await describeMembers(host, sorted, given);
  const specs = members.map(({ spec }) => spec);
  const ctl_binary = await findCtlNextTo(host, specs);
  const name = given.name ?? nameFor(given.file);
  const content = JSON.parse(JSON.stringify({ name, driver, tls, user, ctl_binary, members: specs }));
  return {
    content,
    members: specs.map((member) => member.name),
    left: [
      ...clusterProblems(content).map(({ path, message }) => `${path} ${message}`),
      ...members.flatMap(({ left }) => left),
    ],
    processes: members.flatMap(({ spec, process }) =>
      process === undefined ? [] : [{ member: spec.name, process }],
    ),
    unseen: members.filter(({ isSeen }) => !isSeen).map(({ spec }) => spec.name),
  };
};
/** Editors complete and check the values of a YAML file whose first line names its schema. */
const head = async (host: Host, cache: string): Promise<string> => {
  const path = join(cache, 'cluster.schema.json');
  await host.files.makeDirectory(cache, 0o700);
  await host.files.replace(path, `${JSON.stringify(clusterSchema(), null, 2)}\n`);
  return `# yaml-language-server: $schema=${oneLine(path)}\n# Cluster file of opsctl. Its JSON Schema: opsctl kv schema`;
};
/** Returns the text of the file and writes its schema to the cache. */
export const draftText = async (host: Host, cache: string, { content }: Draft): Promise<string> =>
  `${await head(host, cache)}\n${stringify(content, { lineWidth: 0 })}`;
