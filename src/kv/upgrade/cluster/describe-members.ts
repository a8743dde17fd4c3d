import { basename, dirname, join, resolve } from 'node:path';
import {
  type FileName,
  childPath,
  fileNameKey,
  safeFileName,
  uniqueFileName,
} from '../../../core/file-name.ts';
import { AppError } from '../../../core/problem.ts';
import { containedPath } from '../../../platform/contained-path.ts';
import type { Host } from '../../../platform/host.ts';
import { findDistrust, userText } from '../../../platform/trust.ts';
import type { ClusterFile, ListedMember, MemberSpec } from '../../engine/types.ts';
import { namePattern } from './cluster-fields.ts';
import { findProcess } from './find-members.ts';
import type { FoundProcess } from './find-members.ts';

export type Described = {
  readonly spec: MemberSpec;
  /** What nobody but the operator can fill in or set right. */
  readonly left: readonly string[];
  readonly isSeen: boolean;
  /** The process of the member on this machine and its user, for people: `process 812 of etcd (uid 112)`. */
  readonly process?: string;
};
type Driver = NonNullable<ClusterFile['driver']>;
export type Describing = {
  /** Where pid files of members go that have none. */
  readonly directory: string;
  readonly driver?: Driver | undefined;
  readonly newBinary?: string | undefined;
  readonly oldBinary?: string | undefined;
};

/** Processes of this machine; whether they are those of units decides how they are stopped and started, when no driver is named. */
const seenHere = async (host: Host, listed: readonly ListedMember[], named: Driver | undefined) => {
  const isLooked = named === undefined || named === 'local' || named === 'systemd';
  const found = await Promise.all(
    listed.map(async (member) => (isLooked ? findProcess(host, member) : undefined)),
  );
  const units = found.flatMap((one) => (one === undefined ? [] : [one.unit !== undefined]));
  const driver: Driver = named ?? (units.length > 0 && units.every(Boolean) ? 'systemd' : 'local');
  return { found, driver };
};

type Common = Partial<MemberSpec> & Pick<MemberSpec, 'name' | 'client_url'>;
/** A program that a drop-in of an earlier upgrade selects is no path to put another one at: the next drop-in selects the next program. */
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

/** The operator would run the program: the file does not name one that another user can replace. */
const withoutProgram = (spec: MemberSpec, program: string): MemberSpec => {
  const { old_binary, binary_path, ...others } = spec;
  return {
    ...others,
    ...(old_binary === undefined || old_binary === program ? {} : { old_binary }),
    ...(binary_path === undefined || binary_path === program ? {} : { binary_path }),
  };
};

/** A member that runs on this machine is described to its last flag; of any other only the addresses are known. */
const described = async (
  host: Host,
  listed: ListedMember,
  found: FoundProcess | undefined,
  { files, driver, newBinary, oldBinary }: Omit<Describing, 'directory'> & { readonly files: Files },
): Promise<Described> => {
  const [peer_url] = listed.peer_urls;
  const common: Common = {
    name: listed.name,
    client_url: listed.client_urls[0] ?? '',
    ...(peer_url === undefined ? {} : { peer_url }),
    ...(oldBinary === undefined ? {} : { old_binary: resolve(host.cwd, oldBinary) }),
    ...(newBinary === undefined ? {} : { new_binary: resolve(host.cwd, newBinary) }),
  };
  if (found === undefined) return { spec: common, left: [], isSeen: false };
  const distrust = await findDistrust(host, found.binary);
  const left = [
    ...found.relative.map((key) => `${found.config_file}: ${key} is relative; write the whole path`),
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

/** Any client of the cluster can name a member. A member that never started has no name yet. */
const refuseWrongNames = (listed: readonly ListedMember[]): void => {
  const wrong = listed.filter(({ name }) => name !== '' && !new RegExp(namePattern).test(name));
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

/** One name for the files of each member: names that differ only in case are one file on some file systems. */
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
): Promise<{ readonly driver: Driver; readonly members: readonly Described[] }> => {
  refuseWrongNames(listed);
  const { found, driver } = await seenHere(host, listed, describing.driver);
  const stems = fileStems(listed);
  const filesOf = (stem: string): Files => ({
    directory: describing.directory,
    pid: safeFileName(`${stem}.pid`, 'member.pid'),
    log: safeFileName(`${stem}.log`, 'member.log'),
  });
  const members = await Promise.all(
    listed.map((member, i) =>
      described(host, member, found[i], { ...describing, driver, files: filesOf(stems[i] ?? 'member') }),
    ),
  );
  return { driver, members };
};

/** The old version's ctl program usually lies beside its server; `kv restore` and `kv rehearse` need it. */
export const ctlBeside = async (host: Host, members: readonly MemberSpec[]): Promise<string | undefined> => {
  const programs = members.flatMap(({ old_binary, binary_path }) =>
    [old_binary, binary_path].flatMap((path) => (path === undefined ? [] : [dirname(path)])),
  );
  for (const directory of new Set(programs)) {
    const path = join(directory, 'etcdctl');
    if ((await host.files.info(path))?.kind === 'file' && (await findDistrust(host, path)) === undefined)
      return path;
  }
  return undefined;
};

/** Runs and snapshots are kept by this name: the directory's says more than that of the file that everybody calls cluster.yaml. */
export const nameFor = (file: string | undefined): string => {
  const own = basename(file ?? 'cluster').replace(/\.ya?ml$/, '');
  const name = own === 'cluster' && file !== undefined ? basename(dirname(file)) : own;
  return new RegExp(namePattern).test(name) ? name : 'cluster';
};
