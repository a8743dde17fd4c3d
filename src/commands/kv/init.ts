import { dirname, join, resolve } from 'node:path';
import { str, oneOf } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import type { Described } from '../../kv-upgrade/cluster/describe-members.ts';
import { driverKinds } from '../../kv-upgrade/cluster/drivers.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { askAny } from './ask.ts';
import { addressFlags } from './cluster-flags.ts';
import { openCluster } from './open-cluster.ts';

const flags = {
  ...addressFlags,
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
    field: oneOf(...driverKinds),
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

/** Editors complete and check the values of a YAML file whose first line names its schema. */
const head = async ({ host, settings }: Context): Promise<string> => {
  const { clusterSchema } = await import('../../kv-upgrade/cluster/cluster-file.ts');
  const path = join(settings.directories.cache, 'cluster.schema.json');
  await host.files.makeDirectory(settings.directories.cache, 0o700);
  await host.files.replace(path, `${JSON.stringify(clusterSchema(), null, 2)}\n`);
  return `# yaml-language-server: $schema=${path}\n# Cluster file of opsctl. Its JSON Schema: opsctl kv schema`;
};

const toFillIn = async (content: unknown, members: readonly Described[]): Promise<string[]> => {
  const { clusterProblems } = await import('../../kv-upgrade/cluster/cluster-file.ts');
  return [
    ...clusterProblems(content).map(({ path, message }) => `${path} ${message}`),
    ...members.flatMap(({ left }) => left),
  ];
};

const warnOfUnseen = ({ log }: Context, members: readonly Described[]): void => {
  const unseen = members.filter(({ isSeen }) => !isSeen).map(({ spec }) => spec.name);
  if (unseen.length > 0)
    log.warn(
      `no process of ${unseen.join(', ')} is seen on this machine; for members on other hosts: --driver ssh`,
    );
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
    const { host, log } = context;
    const endpoints = await endpointsOf(context, values);
    const opened = await openCluster(context, { ...values, endpoints });
    const listed = await askAny(context, opened, (store) => store.members());
    const file = values.out === undefined ? undefined : resolve(host.cwd, values.out);
    const directory = file === undefined ? host.cwd : dirname(file);
    if (file !== undefined) await host.files.makeDirectory(directory);
    const { describeMembers, ctlBeside, nameFor } = await import(
      '../../kv-upgrade/cluster/describe-members.ts'
    );
    const { driver, members } = await describeMembers(
      host,
      listed.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true })),
      {
        directory,
        driver: values.driver,
        newBinary: values['new-binary'],
        oldBinary: values['old-binary'],
      },
    );
    const specs = members.map(({ spec }) => spec);
    const { tls, user } = opened.cluster;
    const ctl_binary = await ctlBeside(host, specs);
    const name = values.name ?? nameFor(file);
    const content = JSON.parse(JSON.stringify({ name, driver, tls, user, ctl_binary, members: specs }));
    const left = await toFillIn(content, members);
    for (const line of left) log.warn(`to fill in: ${line}`);
    if (values.driver === undefined) warnOfUnseen(context, members);
    const { stringify } = await import('../../kv-upgrade/cluster/yaml.ts');
    const text = `${await head(context)}\n${stringify(content, { lineWidth: 0 })}`;
    if (file === undefined) return rawResult(text);
    if ((await host.files.info(file)) !== undefined)
      await context.confirm(`${file} is there already. Replace it?`);
    await host.files.replace(file, text, 0o600);
    return recordResult(
      { cluster_file: file, members: specs.map((member) => member.name), to_fill_in: left },
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
