import { join, resolve } from 'node:path';
import { defaultRow, minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, str } from '../../core/field.ts';
import type { Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { next } from '../../core/next.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import { shellWord } from '../../core/shell.ts';
import type { Rehearsal, RehearsalMember, RehearsalOptions } from '../../etcd-sim/cluster/layout.ts';
import type { HistoryRow } from '../../kv/operations/record.ts';

export const dirFlag = {
  effects: ['reads', 'writes'],
  field: str(),
  summary: 'Directory of the rehearsal cluster (default: in the state directory)',
  value: 'directory',
  complete: 'file',
} as const satisfies Flag;
const directoryOf = (context: Context, values: { readonly dir?: string | undefined }): string =>
  values.dir === undefined
    ? join(context.settings.directories.state, 'mock-kv')
    : resolve(context.host.cwd, values.dir);
/** Returns the cluster in the directory. Throws an error that names the command to create one. */
export const rehearsalIn = async (
  context: Context,
  values: { readonly dir?: string | undefined },
): Promise<Rehearsal> => {
  const { readRehearsal } = await import('../../etcd-sim/cluster/layout.ts');
  const directory = directoryOf(context, values);
  const rehearsal = await readRehearsal(context.host, directory);
  if (rehearsal !== undefined) return rehearsal;
  throw new AppError('not-found', `no rehearsal cluster in ${directory}`, {
    code: 'NO_REHEARSAL',
    tryThis: [next(['mock', 'kv', 'start', '--members', '3', '--dir', shellWord(directory)])],
  });
};
/** The simulated clusters of this machine: the version and the processes of their members, without a request. */
const simulatedClusters = async ({ host, settings, log }: Context) => {
  const { clusterName, detectLastVersion, findRehearsals, pidOf } = await import(
    '../../etcd-sim/cluster/layout.ts'
  );
  const leaveOut = (where: string, error: unknown): void =>
    log.warn(`a simulated cluster is left out: ${where}: ${messageOf(error)}`);
  return findRehearsals(
    host,
    settings.directories.state,
    async (rehearsal) => {
      const { members, directory } = rehearsal;
      const versions = await Promise.all(members.map((one) => detectLastVersion(host, rehearsal, one)));
      const running = members.filter((one) => pidOf(host, one) !== undefined).length;
      return {
        addresses: members.map(({ clientUrl }) => clientUrl),
        row: {
          cluster: clusterName(directory),
          version: [...new Set(versions.map((one) => minorOf(one) ?? one))].sort().join(' or '),
          simulated: running === 0 ? 'stopped' : `${running} of ${members.length} running`,
          cluster_file: join(directory, 'cluster.yaml'),
        },
      };
    },
    leaveOut,
  );
};
/** An upgrade that rolled back by itself returned to its first version; a rollback that was requested leads to its last. */
const versionAfter = ({ outcome, action, from, to }: HistoryRow): string => {
  if (outcome === 'done') return to;
  if (outcome === 'rolled-back') return action === 'rollback' ? to : from;
  return `${from} or ${to}`;
};
/** What the newest run of a cluster left behind, from its journal. */
const clusterRow = async ({ host, settings }: Context, cluster: string) => {
  const [{ findRuns }, { historyRow }, { readMachineLock }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/operations/record.ts'),
    import('../../kv/engine/locks.ts'),
  ]);
  const state = settings.directories.clusters;
  const runs = await findRuns(host, state, cluster);
  const [newest] = runs.flatMap((run) => historyRow(run) ?? []);
  const first = runs[0]?.entries[0];
  const opened = first?.kind === 'opened' ? first : undefined;
  const planned = opened?.plan.observation.members ?? [];
  const isAtWork = (await readMachineLock(host, state, cluster)) !== undefined;
  const row = {
    cluster,
    version: newest === undefined ? null : versionAfter(newest),
    state: isAtWork ? 'running' : (newest?.outcome ?? 'none'),
    action: newest?.action ?? null,
    last_run: newest?.run ?? null,
    last_activity: newest?.ended_at ?? newest?.started_at ?? null,
    simulated: null,
    cluster_file: opened?.cluster_file ?? null,
  };
  return { row, addresses: planned.map(({ client_url }) => client_url) };
};
const isSameList = (left: readonly string[], right: readonly string[]): boolean =>
  left.toSorted().join(' ') === right.toSorted().join(' ');
type Simulated = Awaited<ReturnType<typeof simulatedClusters>>[number];
/**
 * The rows of one name. A real cluster may have the name of a simulated one: the journals are of a simulated
 * cluster only if their newest plan has the addresses of its members.
 */
const rowsOf = async (context: Context, name: string, simulated: readonly Simulated[]) => {
  const { row, addresses } = await clusterRow(context, name);
  const none = { state: 'none', action: null, last_run: null, last_activity: null };
  const own = simulated.filter((one) => one.row.cluster === name);
  const isOfPlan = (one: Simulated): boolean => isSameList(one.addresses, addresses);
  const isListed = row.last_run === null ? own.length === 0 : !own.some(isOfPlan);
  return [
    ...(isListed ? [row] : []),
    ...own.map((one) => ({ ...row, ...(isOfPlan(one) ? {} : none), ...one.row })),
  ];
};
/** The clusters that this machine knows, from its journals and its records of simulated clusters. */
export const listClusters = async (context: Context) => {
  const simulated = await simulatedClusters(context);
  const known = await context.host.files.list(context.settings.directories.clusters);
  const names = [...new Set([...known, ...simulated.map(({ row }) => row.cluster)])].sort();
  return (await Promise.all(names.map((name) => rowsOf(context, name, simulated)))).flat();
};
/** The members that are meant: one by its name, or all. */
export const chooseMembers = (rehearsal: Rehearsal, name: string | undefined): readonly RehearsalMember[] => {
  if (name === undefined) return rehearsal.members;
  const found = rehearsal.members.filter((member) => member.name === name);
  if (found.length > 0) return found;
  const names = rehearsal.members.map((member) => member.name).join(', ');
  throw new AppError('usage', `--member ${name}: member not found`, {
    code: 'NO_SUCH_MEMBER',
    tryThis: [`one of ${names}`],
  });
};
export const memberFlag = {
  effects: [],
  field: str(),
  summary: 'Only this member',
  value: 'name',
  complete: 'kv-member',
} as const satisfies Flag;

const DEFAULT = { version: '3.2.32', newVersion: '3.3.27' };
/** For each minor version, the patch version whose responses were recorded from real servers; 3.7 responds like 3.6. */
const versions = ['3.2.32', '3.3.27', '3.4.23', '3.5.16', '3.5.33', '3.6.14', '3.7.1'];

/** A version that a simulated member can have. */
export const simulatedVersion = str(undefined, { pattern: '^3\\.[2-7]\\.\\d+$' });

const startFlags = {
  dir: dirFlag,
  members: { field: int({ min: 1, max: 9 }), summary: 'Number of members (default 3)', value: 'n' },
  version: {
    field: simulatedVersion,
    summary: `Version of the members and of the old binary (default ${DEFAULT.version})`,
    value: '3.x.y',
    suggest: versions,
  },
  'new-version': {
    field: simulatedVersion,
    summary: `Version of the new binary (default ${DEFAULT.newVersion})`,
    value: '3.x.y',
    suggest: versions,
  },
  'later-version': {
    effects: [],
    field: list(simulatedVersion),
    repeat: true,
    summary: 'A version after the new binary, for an upgrade over several minor versions',
    value: '3.x.y',
    suggest: versions,
  },
  'v2-size': {
    field: int({ min: 0 }),
    summary: 'Size of the v2 data that the members report, in bytes',
    value: 'bytes',
  },
  auth: { field: bool(), summary: 'Enable authentication (user root, password in a file)' },
  quota: {
    field: int({ min: 1 }),
    summary: 'Database quota; a write beyond it raises NOSPACE',
    value: 'bytes',
  },
  'config-files': {
    effects: [],
    field: bool(),
    summary: 'Start members with configuration files of the old version instead of flags',
  },
  'field-words': {
    field: oneOf('kv', 'etcd'),
    summary: 'Product name in the fields of /version and in logs',
    value: 'kv|etcd',
  },
  'monitor-ms': {
    field: int({ min: 50, max: 60_000 }),
    summary: "How often the leader compares the members' versions (default 5000, from 3.6 on 4000)",
    value: 'ms',
  },
  'heartbeat-ms': {
    field: int({ min: 10, max: 10_000 }),
    summary: 'Heartbeat interval (default 100)',
    value: 'ms',
  },
  'election-ms': {
    field: int({ min: 50, max: 50_000 }),
    summary: 'Election timeout (default 1000)',
    value: 'ms',
  },
  keys: {
    effects: ['reads'],
    field: str(),
    summary: 'JSON file with the initial `revision` and `keys`',
    value: 'file',
    complete: 'file',
    hidden: true,
  },
  replace: { field: bool(), summary: 'First remove a stopped rehearsal cluster from the directory' },
  again: { field: bool(), summary: 'Restart the stopped members of the directory with their data' },
  member: { ...memberFlag, summary: 'Restart only this stopped member of the directory' },
  binary: {
    field: oneOf('old', 'new'),
    summary: 'Binary for --again and --member (default: the version that the member ran)',
    value: 'old|new',
  },
  wait: {
    field: bool(),
    negated: true,
    summary: 'Do not wait for healthy members (--again, --member)',
  },
} as const satisfies Flags;
export type StartValues = ValuesOf<typeof startFlags>;

export const startOptions = (values: StartValues): RehearsalOptions => ({
  members: values.members ?? 3,
  version: values.version ?? DEFAULT.version,
  newVersion: values['new-version'] ?? DEFAULT.newVersion,
  laterVersions: values['later-version'] ?? [],
  word: values['field-words'] ?? 'kv',
  monitorMs: values['monitor-ms'] ?? (rowOf(values['new-version']) ?? defaultRow).monitorSeconds * 1000,
  heartbeatMs: values['heartbeat-ms'] ?? 100,
  electionMs: values['election-ms'] ?? 1_000,
  v2Bytes: values['v2-size'] ?? 0,
  quotaBytes: values.quota,
  auth: values.auth ?? false,
  configFiles: values['config-files'] ?? false,
});

const startAgain = async (context: Context, values: StartValues): Promise<Rehearsal> => {
  const { pidOf, startProcess, detectLastVersion } = await import('../../etcd-sim/cluster/layout.ts');
  const { waitHealthy } = await import('../../etcd-sim/cluster/start.ts');
  const rehearsal = await rehearsalIn(context, values);
  const members = chooseMembers(rehearsal, values.member).filter(
    (member) => pidOf(context.host, member) === undefined,
  );
  await Promise.all(
    members.map(async (member) => {
      const { version, newVersion } = rehearsal.options;
      const named = { old: version, new: newVersion };
      const ran = await detectLastVersion(context.host, rehearsal, member);
      return startProcess(
        context.host,
        rehearsal,
        member,
        values.binary === undefined ? ran : named[values.binary],
      );
    }),
  );
  if (values.wait !== false) await waitHealthy(context.host, members, context.signal);
  return rehearsal;
};
const startNew = async (context: Context, values: StartValues): Promise<Rehearsal> => {
  const [{ startRehearsal }, { readContent }] = await Promise.all([
    import('../../etcd-sim/cluster/start.ts'),
    import('../../etcd-sim/cluster/start.ts'),
  ]);
  const content = values.keys === undefined ? undefined : await readContent(context.host, values.keys);
  const more = { mayReplace: values.replace ?? false, content, signal: context.signal };
  return startRehearsal(context.host, directoryOf(context, values), startOptions(values), more);
};
export const start = defineCommand({
  path: ['mock', 'kv', 'start'],
  noDryRun: 'opsctl mock kv start --help',
  summary: 'Start a simulated cluster to rehearse an upgrade',
  about:
    'Each member is a separate process that implements the interfaces of its version and reaches consensus with the other members. Use it for rehearsals, not as a database. Writes a cluster.yaml with an old and a new binary for `opsctl kv … --cluster`.',
  flags: startFlags,
  examples: [
    { line: 'opsctl mock kv start --members 3 --dir ./rehearsal', says: 'Start three members of 3.2' },
    { line: 'opsctl kv upgrade --cluster ./rehearsal/cluster.yaml', says: 'Upgrade the simulated cluster' },
    {
      line: 'opsctl mock kv start --later-version 3.4.23 --later-version 3.5.33 --later-version 3.6.14',
      says: 'Prepare kv upgrade --to 3.6, over every minor version',
    },
  ],
  run: async (context, values) => {
    const isAgain = values.again || values.member !== undefined;
    const { recordRehearsal } = await import('../../etcd-sim/cluster/layout.ts');
    const rehearsal = await (isAgain ? startAgain : startNew)(context, values);
    await recordRehearsal(context.host, context.settings.directories.state, rehearsal.directory);
    return (await import('../../etcd-sim/cluster/start.ts')).startedRehearsal(rehearsal);
  },
});
