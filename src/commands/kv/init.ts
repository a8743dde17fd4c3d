import { basename, dirname, join, resolve } from 'node:path';
import { str, oneOf } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import type { FoundProcess } from '../../kv-upgrade/cluster/find-members.ts';
import type { ClusterFile, ListedMember, MemberSpec } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';

const flags = {
  ...endpointFlags,
  out: {
    field: str(undefined, { min: 1 }),
    summary: 'File to write (default: standard output)',
    value: 'file',
    complete: 'file',
  },
  name: {
    field: str(128, { pattern: '^[A-Za-z0-9._-]+$' }),
    summary: 'Name of the cluster',
    value: 'name',
  },
  driver: {
    field: oneOf('local', 'hooks', 'systemd', 'ssh', 'docker', 'podman', 'static-pod'),
    summary: 'How members are stopped and started',
    value: 'driver',
  },
  'new-binary': {
    field: str(undefined, { min: 1 }),
    summary: 'Server program of the version to go to',
    value: 'file',
    complete: 'file',
  },
  'old-binary': {
    field: str(undefined, { min: 1 }),
    summary: 'Server program of the running version',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const endpointsOf = async (context: Context, values: Given): Promise<string> => {
  if (values.endpoints !== undefined) return values.endpoints;
  if (!context.isInteractive)
    throw new AppError('usage', '--endpoints is required where nobody can be asked', {
      tryThis: ['--endpoints HOST:PORT of one running member'],
    });
  return context.host.terminal.prompts.text('Client address of a running member (host:port):', {
    fallback: '127.0.0.1:2379',
  });
};

type Described = { readonly spec: MemberSpec; readonly left: readonly string[]; readonly isSeen: boolean };
type Driver = NonNullable<ClusterFile['driver']>;
type Place = { readonly directory: string; readonly driver: Driver };
/** Processes of this machine; whether they are those of units decides how they are stopped and started, unless that was said. */
const seenHere = async ({ host }: Context, listed: readonly ListedMember[], values: Given) => {
  const { findProcess } = await import('../../kv-upgrade/cluster/find-members.ts');
  const isLooked = values.driver === undefined || values.driver === 'local' || values.driver === 'systemd';
  const found = await Promise.all(
    listed.map(async (member) => (isLooked ? findProcess(host, member) : undefined)),
  );
  const units = found.flatMap((one) => (one === undefined ? [] : [one.unit !== undefined]));
  const driver: Driver = values.driver ?? (units.length > 0 && units.every(Boolean) ? 'systemd' : 'local');
  return { found, driver };
};

/** A member that runs on this machine is described to its last flag; of any other only the addresses are known. */
const memberOf = async (
  context: Context,
  listed: ListedMember,
  found: FoundProcess | undefined,
  { directory, driver }: Place,
  values: Given,
): Promise<Described> => {
  const common = {
    name: listed.name,
    client_url: listed.client_urls[0] ?? '',
    peer_url: listed.peer_urls[0],
  };
  const [fresh, old] = [values['new-binary'], values['old-binary']];
  const binaries = {
    ...(old === undefined ? {} : { old_binary: resolve(context.host.cwd, old) }),
    ...(fresh === undefined ? {} : { new_binary: resolve(context.host.cwd, fresh) }),
  };
  if (found === undefined) return { spec: { ...common, ...binaries }, left: [], isSeen: false };
  const left = found.relative.map((key) => `${found.config_file}: ${key} is relative; write the whole path`);
  if (driver === 'systemd') {
    const { unit, binary: binary_path, data_dir, config_file } = found;
    return {
      spec: {
        ...common,
        unit,
        binary_path,
        ...binaries,
        data_dir,
        ...(config_file === undefined ? {} : { config_file }),
      } as MemberSpec,
      left,
      isSeen: true,
    };
  }
  const pid_file = found.pid_file ?? join(directory, `${listed.name}.pid`);
  if (found.pid_file === undefined) await context.host.files.replace(pid_file, `${found.pid}\n`);
  const { data_dir, config_file, env, flags } = found;
  const spec = {
    ...common,
    ...{
      old_binary: found.binary,
      ...binaries,
      data_dir,
      pid_file,
      log_file: found.log_file ?? join(directory, `${listed.name}.log`),
    },
    ...(config_file === undefined ? {} : { config_file }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...{ old_command: flags, new_command: flags },
  };
  return { spec, left, isSeen: true };
};

/** The old version's ctl program usually lies beside its server; `kv restore` and `kv rehearse` need it. */
const ctlBeside = async ({ host }: Context, members: readonly MemberSpec[]): Promise<string | undefined> => {
  for (const directory of new Set(
    members.flatMap(({ old_binary, binary_path }) =>
      [old_binary, binary_path].flatMap((path) => (path === undefined ? [] : [dirname(path)])),
    ),
  )) {
    const path = join(directory, 'etcdctl');
    if ((await host.files.info(path))?.kind === 'file') return path;
  }
  return undefined;
};

/** Runs and snapshots are kept by this name: the directory's says more than that of the file that everybody calls cluster.yaml. */
const nameFor = (file: string | undefined): string => {
  const own = basename(file ?? 'cluster').replace(/\.ya?ml$/, '');
  const name = own === 'cluster' && file !== undefined ? basename(dirname(file)) : own;
  return /^[A-Za-z0-9._-]+$/.test(name) ? name : 'cluster';
};

/** Editors complete and check the values of a YAML file whose first line names its schema. */
const head = async ({ host, settings }: Context): Promise<string> => {
  const { clusterSchema } = await import('../../kv-upgrade/cluster/cluster-file.ts');
  const path = join(settings.directories.cache, 'cluster.schema.json');
  await host.files.makeDirectory(settings.directories.cache, 0o700);
  await host.files.replace(path, `${JSON.stringify(clusterSchema(), null, 2)}\n`);
  return `# yaml-language-server: $schema=${path}\n# Cluster file of opsctl. Its JSON Schema: opsctl kv schema`;
};

export const init = defineCommand({
  path: ['kv', 'init'],
  noDryRun: 'without --out the file is only printed',
  summary: 'Write a cluster file from a running cluster',
  about:
    'Reads the member list. Members that run on this machine get their data directory, binary and command line too; what cannot be seen is left for you to fill in. Certificates and user go into the file too, a password never.',
  flags,
  examples: [
    {
      line: 'opsctl kv init --endpoints 127.0.0.1:2379 --new-binary ./etcd-3.4 --out cluster.yaml',
      says: 'then kv check --cluster cluster.yaml',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, {
      ...values,
      endpoints: await endpointsOf(context, values),
      cluster: undefined,
    });
    const listed = await askAny(context, opened, (store) => store.members());
    const file = values.out === undefined ? undefined : resolve(context.host.cwd, values.out);
    const directory = file === undefined ? context.host.cwd : dirname(file);
    if (file !== undefined) await context.host.files.makeDirectory(directory);
    const sorted = listed.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
    const { found, driver } = await seenHere(context, sorted, values);
    const described = await Promise.all(
      sorted.map((member, i) => memberOf(context, member, found[i], { directory, driver }, values)),
    );
    const members = described.map(({ spec }) => spec);
    const name = values.name ?? nameFor(file);
    const { stringify } = await import('../../kv-upgrade/cluster/yaml.ts');
    const { clusterProblems } = await import('../../kv-upgrade/cluster/cluster-file.ts');
    const { tls, user } = opened.cluster;
    const ctl_binary = await ctlBeside(context, members);
    const content = JSON.parse(JSON.stringify({ name, driver, tls, user, ctl_binary, members }));
    const text = `${await head(context)}\n${stringify(content, { lineWidth: 0 })}`;
    const left = [
      ...clusterProblems(content).map(({ path, message }) => `${path} ${message}`),
      ...described.flatMap((one) => one.left),
    ];
    for (const line of left) context.log.warn(`to fill in: ${line}`);
    const unseen = described.filter(({ isSeen }) => !isSeen).map(({ spec }) => spec.name);
    if (unseen.length > 0 && values.driver === undefined)
      context.log.warn(
        `no process of ${unseen.join(', ')} is seen on this machine; for members on other hosts: --driver ssh`,
      );
    if (file === undefined) return rawResult(text);
    if ((await context.host.files.info(file)) !== undefined)
      await context.confirm(`${file} is there already. Replace it?`);
    await context.host.files.replace(file, text, 0o600);
    return recordResult(
      { cluster_file: file, members: members.map((member) => member.name), to_fill_in: left },
      { text: `${file} written; next: opsctl kv check --cluster ${values.out}`, name: 'cluster_file' },
    );
  },
});

export const schema = defineCommand({
  path: ['kv', 'schema'],
  summary: 'Print the JSON Schema of cluster files, for editors',
  run: async () => {
    const { clusterSchema } = await import('../../kv-upgrade/cluster/cluster-file.ts');
    return recordResult(clusterSchema(), { text: JSON.stringify(clusterSchema(), null, 2) });
  },
});
