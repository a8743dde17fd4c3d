import { bool, int, oneOf, str } from '../../../core/field.ts';
import { AppError } from '../../../core/problem.ts';
import { storedObject } from '../../../core/stored-text.ts';
import { type Result, recordResult } from '../../../core/result.ts';
import type { Rehearsal, RehearsalOptions } from '../../../etcd-sim/cluster/layout.ts';
import type { Content } from '../../../etcd-sim/cluster/start.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../../cli/command.ts';
import { chosen, dirFlag, directoryOf, memberFlag, rehearsalIn } from './directory.ts';

const DEFAULT = { version: '3.2.32', newVersion: '3.3.27' };

/** Of each minor the one whose answers were seen on real servers. */
const versions = ['3.2.32', '3.3.27', '3.4.23', '3.5.16', '3.5.33', '3.6.14'];

const flags = {
  dir: dirFlag,
  members: { field: int({ min: 1, max: 9 }), summary: 'How many members (default 3)', value: 'n' },
  version: {
    field: str(undefined, { pattern: '^3\\.[2-6]\\.\\d+$' }),
    summary: `Version of the members and of the old binary (default ${DEFAULT.version})`,
    value: '3.x.y',
    suggest: versions,
  },
  'new-version': {
    field: str(undefined, { pattern: '^3\\.[2-6]\\.\\d+$' }),
    summary: `Version of the new binary (default ${DEFAULT.newVersion})`,
    value: '3.x.y',
    suggest: versions,
  },
  'v2-size': {
    field: int({ min: 0 }),
    summary: 'Bytes of v2 data that the members claim to hold',
    value: 'bytes',
  },
  auth: { field: bool(), summary: 'Switch authentication on (user root, password in a file)' },
  quota: {
    field: int({ min: 1 }),
    summary: 'Quota of the database; a write past it raises NOSPACE',
    value: 'bytes',
  },
  'config-files': {
    field: bool(),
    summary: 'Members read configuration files of the old version instead of flags',
  },
  'field-words': {
    field: oneOf('kv', 'etcd'),
    summary: 'Word in the fields of /version and in logs',
    value: 'kv|etcd',
  },
  'monitor-ms': {
    field: int({ min: 50, max: 60_000 }),
    summary: "How often the leader looks at the members' versions (default 5000, with 3.6 4000)",
    value: 'ms',
  },
  'heartbeat-ms': {
    field: int({ min: 10, max: 10_000 }),
    summary: 'Time between heartbeats (default 100)',
    value: 'ms',
  },
  'election-ms': {
    field: int({ min: 50, max: 50_000 }),
    summary: 'Time without a leader before an election (default 1000)',
    value: 'ms',
  },
  keys: {
    field: str(),
    summary: 'JSON file with `revision` and `keys` to begin with',
    value: 'file',
    complete: 'file',
    hidden: true,
  },
  replace: { field: bool(), summary: 'Remove a stopped rehearsal cluster from the directory first' },
  again: { field: bool(), summary: 'Start the stopped members of the directory again, with their data' },
  member: { ...memberFlag, summary: 'Start only this stopped member of the directory again' },
  binary: {
    field: oneOf('old', 'new'),
    summary: 'Binary for --again and --member (default old)',
    value: 'old|new',
  },
  wait: {
    field: bool(),
    negated: true,
    summary: 'Do not wait until the members are healthy (--again, --member)',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const optionsOf = (values: Given): RehearsalOptions => ({
  members: values.members ?? 3,
  version: values.version ?? DEFAULT.version,
  newVersion: values['new-version'] ?? DEFAULT.newVersion,
  word: values['field-words'] ?? 'kv',
  monitorMs: values['monitor-ms'] ?? (values['new-version']?.startsWith('3.6.') ? 4_000 : 5_000),
  heartbeatMs: values['heartbeat-ms'] ?? 100,
  electionMs: values['election-ms'] ?? 1_000,
  v2Bytes: values['v2-size'] ?? 0,
  quotaBytes: values.quota,
  auth: values.auth ?? false,
  configFiles: values['config-files'] ?? false,
});

const contentOf = async (context: Context, path: string | undefined): Promise<Content | undefined> => {
  if (path === undefined) return undefined;
  const text = await context.host.files.read(path);
  if (text === undefined)
    throw new AppError('config', `--keys: there is no file ${path}`, { code: 'NO_KEYS_FILE' });
  return storedObject<Content>(
    path,
    text,
    ['revision', 'keys'],
    ['--keys names a JSON file with `revision` and `keys`'],
  );
};

const shown = (rehearsal: Rehearsal): Result => {
  const { directory, members, options } = rehearsal;
  const file = `${directory}/cluster.yaml`;
  const data = {
    simulated: true,
    dir: directory,
    cluster_file: file,
    version: options.version,
    new_version: options.newVersion,
    members: members.map((member) => ({
      name: member.name,
      client_url: member.clientUrl,
      peer_url: member.peerUrl,
      data_dir: member.dataDir,
      pid_file: member.pidFile,
      log_file: member.logFile,
    })),
    endpoints: members.map((member) => member.clientUrl),
  };
  const text = [
    `${members.length} simulated members of version ${options.version} run. This is a rehearsal, not a database.`,
    ...members.map(({ name, clientUrl }) => `  ${name}  ${clientUrl}`),
    `Next: opsctl kv check --cluster ${file}`,
    `      opsctl kv upgrade --cluster ${file}`,
    `End:  opsctl mock kv stop --dir ${directory}`,
  ].join('\n');
  return recordResult(data, { text, name: 'cluster_file' });
};

const startAgain = async (context: Context, values: Given): Promise<Result> => {
  const { pidOf, startProcess } = await import('../../../etcd-sim/cluster/processes.ts');
  const { waitHealthy } = await import('../../../etcd-sim/cluster/start.ts');
  const rehearsal = await rehearsalIn(context, values);
  const members = chosen(rehearsal, values.member).filter(
    (member) => pidOf(context.host, member) === undefined,
  );
  await Promise.all(
    members.map((member) => startProcess(context.host, rehearsal, member, values.binary ?? 'old')),
  );
  if (values.wait !== false) await waitHealthy(context.host, members, context.signal);
  return shown(rehearsal);
};

const run = async (context: Context, values: Given): Promise<Result> => {
  if (values.again || values.member !== undefined) return startAgain(context, values);
  const { startRehearsal } = await import('../../../etcd-sim/cluster/start.ts');
  const content = await contentOf(context, values.keys);
  const more = { mayReplace: values.replace ?? false, content, signal: context.signal };
  return shown(await startRehearsal(context.host, directoryOf(context, values), optionsOf(values), more));
};

export const start = defineCommand({
  path: ['mock', 'kv', 'start'],
  noDryRun: 'opsctl mock kv start --help',
  summary: 'Start a simulated cluster to rehearse an upgrade on',
  about:
    'Each member is a process of its own that speaks the interfaces of its version and agrees with the others like real servers do. It is a rehearsal, not a database. The directory gets a cluster.yaml for `opsctl kv … --cluster`, with an old and a new binary.',
  flags,
  examples: [
    { line: 'opsctl mock kv start --members 3 --dir ./rehearsal', says: 'three members of 3.2' },
    { line: 'opsctl kv upgrade --cluster ./rehearsal/cluster.yaml', says: 'the upgrade itself' },
  ],
  run,
});
