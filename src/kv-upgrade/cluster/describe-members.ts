import { basename, dirname, join, resolve } from 'node:path';
import type { Host } from '../../platform/host.ts';
import type { ClusterFile, ListedMember, MemberSpec } from '../types.ts';
import { findProcess } from './find-members.ts';
import type { FoundProcess } from './find-members.ts';

export type Described = {
  readonly spec: MemberSpec;
  /** What nobody but the operator can fill in or set right. */
  readonly left: readonly string[];
  readonly isSeen: boolean;
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

const processSpec = async (
  host: Host,
  common: Common,
  found: FoundProcess,
  directory: string,
): Promise<MemberSpec> => {
  const pid_file = found.pid_file ?? join(directory, `${common.name}.pid`);
  if (found.pid_file === undefined) await host.files.replace(pid_file, `${found.pid}\n`);
  const { data_dir, config_file, env, flags } = found;
  return {
    old_binary: found.binary,
    ...common,
    data_dir,
    pid_file,
    log_file: found.log_file ?? join(directory, `${common.name}.log`),
    ...(config_file === undefined ? {} : { config_file }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...{ old_command: flags, new_command: flags },
  };
};

/** A member that runs on this machine is described to its last flag; of any other only the addresses are known. */
const described = async (
  host: Host,
  listed: ListedMember,
  found: FoundProcess | undefined,
  { directory, driver, newBinary, oldBinary }: Describing,
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
  const left = found.relative.map((key) => `${found.config_file}: ${key} is relative; write the whole path`);
  const spec =
    driver === 'systemd' ? unitSpec(common, found) : await processSpec(host, common, found, directory);
  return { spec, left, isSeen: true };
};

export const describeMembers = async (
  host: Host,
  listed: readonly ListedMember[],
  describing: Describing,
): Promise<{ readonly driver: Driver; readonly members: readonly Described[] }> => {
  const { found, driver } = await seenHere(host, listed, describing.driver);
  const members = await Promise.all(
    listed.map((member, i) => described(host, member, found[i], { ...describing, driver })),
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
    if ((await host.files.info(path))?.kind === 'file') return path;
  }
  return undefined;
};

/** Runs and snapshots are kept by this name: the directory's says more than that of the file that everybody calls cluster.yaml. */
export const nameFor = (file: string | undefined): string => {
  const own = basename(file ?? 'cluster').replace(/\.ya?ml$/, '');
  const name = own === 'cluster' && file !== undefined ? basename(dirname(file)) : own;
  return /^[A-Za-z0-9._-]+$/.test(name) ? name : 'cluster';
};
