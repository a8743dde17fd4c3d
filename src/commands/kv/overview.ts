import { minorOf, rowOf, versionRows } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { shortPath } from '../../config/settings.ts';
import { duration, req, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { parseDuration } from '../../core/format.ts';
import { next } from '../../core/next.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { type CheckFinding, type Result, recordResult, rowsResult } from '../../core/result.ts';
import type { Observation } from '../../kv/engine/model.ts';
import type { listClusters } from '../mock/kv-start.ts';
import { clusterFlags, endpointFlags } from './flags.ts';
import { type Opened, askAny, driverFor, openCluster } from './prepare.ts';

const dayMs = 86_400_000;
/** One row for each certificate, the next one to expire first. Pure. */
export const certificateRows = ({ members, client_certificate, taken_at }: Observation) =>
  [
    ...members.flatMap(({ name, certificates = [] }) => certificates.map((one) => ({ member: name, one }))),
    ...(client_certificate === undefined ? [] : [{ member: 'opsctl', one: client_certificate }]),
  ]
    .map(({ member, one }) => ({
      member,
      role: one.role,
      not_after: one.not_after,
      days_left: Math.floor((Date.parse(one.not_after) - Date.parse(taken_at)) / dayMs),
      subject: one.subject,
      has_names: one.has_names,
      source: one.source,
    }))
    .sort((a, b) => (a.not_after < b.not_after ? -1 : a.not_after > b.not_after ? 1 : 0));
type CertificateRow = ReturnType<typeof certificateRows>[number];
const certificateFindings = (
  { members }: Observation,
  rows: readonly CertificateRow[],
  untilMs: number,
): CheckFinding[] => [
  ...members
    .filter(({ is_reachable }) => !is_reachable)
    .map(
      ({ name, error }): CheckFinding => ({
        rule: 'certificates',
        level: 'fail',
        subject: name,
        message: `${name} did not respond, so its certificates are not known: ${error ?? 'unknown reason'}`,
      }),
    ),
  ...rows.map(
    ({ member, role, not_after, source }): CheckFinding => ({
      rule: 'certificates',
      level: Date.parse(not_after) <= untilMs ? 'fail' : 'pass',
      subject: member,
      message: `the ${role} certificate of ${member} (${source}) expires at ${not_after}`,
    }),
  ),
];
const certsFlags = {
  ...clusterFlags,
  'expires-within': {
    effects: [],
    field: str(16),
    summary: 'Exit with code 20 if a certificate expires within this time, such as 720h',
    value: 'duration',
  },
} as const satisfies Flags;
export const certs = defineCommand({
  path: ['kv', 'certs'],
  summary: 'List the certificates of all members and their expiry',
  about:
    'Reads the certificates that each member presents, the files that its next start reads, and the client certificate of the cluster file. Sorts by expiry. Makes no changes.',
  flags: certsFlags,
  isCheck: true,
  examples: [
    { line: 'opsctl kv certs --cluster cluster.yaml', says: 'Show which certificate expires next' },
    {
      line: 'opsctl kv certs --cluster cluster.yaml --expires-within 720h',
      says: 'Fail in a monitoring job 30 days before a certificate expires',
    },
  ],
  run: async (context, values) => {
    const withinMs =
      values['expires-within'] === undefined
        ? Number.NEGATIVE_INFINITY
        : parseDuration(values['expires-within'], '--expires-within', Number.MAX_SAFE_INTEGER);
    const { cluster, access } = await openCluster(context, values, 'upgrade');
    const { observe } = await import('../../kv/upgrade/observe/observe.ts');
    const driver = await driverFor(context, cluster);
    const observation = await observe({ host: context.host, cluster, access, driver, isDeep: true });
    const rows = certificateRows(observation);
    const findings = certificateFindings(observation, rows, Date.parse(observation.taken_at) + withinMs);
    for (const { level, message } of findings) if (level === 'fail') context.log.warn(message);
    const columns = ['member', 'role', 'not_after', 'days_left', 'subject', 'source'];
    return {
      ...rowsResult(rows, { columns, name: 'source', findings: () => findings }),
      // The certificates of a member that does not respond are unknown, which is not a success.
      exit: () => (findings.some(({ level }) => level !== 'pass') ? 'no' : 'done'),
    } as ReturnType<typeof rowsResult>;
  },
});

type ClusterRow = Awaited<ReturnType<typeof listClusters>>[number];
export const clusters = defineCommand({
  path: ['kv', 'clusters'],
  summary: 'List the clusters that this machine knows',
  about:
    'Reads the journals on this machine and connects to no cluster. Shows the version after the newest run, its result, and whether a command is running now. Lists the cluster file of the newest run for --cluster. Simulated clusters that were started here are listed without a run too. `kv history --all` lists all runs.',
  examples: [{ line: 'opsctl kv clusters', says: 'Find a cluster whose run is held or unfinished' }],
  run: async (context) => {
    const { listClusters } = await import('../mock/kv-start.ts');
    const rows = await listClusters(context);
    const columns = [
      'cluster',
      'version',
      'state',
      'simulated',
      'cluster_file',
      'action',
      'last_activity',
      'last_run',
    ];
    return rowsResult(rows, {
      columns,
      name: 'cluster',
      ifEmpty: next(['kv', 'init', '--help']),
      toTableRows: async (batch) =>
        (batch as readonly ClusterRow[]).map((row) => ({
          ...row,
          cluster_file: row.cluster_file && shortPath(context.host, row.cluster_file),
        })),
    });
  },
});

type Look = { readonly observation: Observation; readonly outcome: string | undefined };
/** Returns the reason why the condition does not hold yet; undefined if it holds. */
type Condition = (look: Look) => string | undefined;
const isHealthy: Condition = ({ observation: { members } }) => {
  const bad = members.filter((one) => !one.is_reachable || !one.is_healthy).map(({ name }) => name);
  return bad.length === 0 ? undefined : `${bad.join(', ')} not healthy`;
};
const isVersion =
  (version: string): Condition =>
  ({ observation: { members } }) => {
    const minor = version.split('.').slice(0, 2).join('.');
    const isThere = (text: string | undefined): boolean => text === version || minorOf(text) === version;
    const others = members.filter(
      ({ server_version, cluster_version }) => !isThere(server_version) || minorOf(cluster_version) !== minor,
    );
    if (others.length === 0) return undefined;
    return others.map(({ name, server_version: runs }) => `${name} runs ${runs ?? 'nothing'}`).join(', ');
  };
const isFinished: Condition = ({ outcome }) =>
  outcome === undefined
    ? 'no run of this cluster is known'
    : ['done', 'rolled-back', 'aborted'].includes(outcome)
      ? undefined
      : `the newest run is ${outcome}`;
/** `healthy`, `finished`, or `version=3.5`. */
export const readCondition = (text: string): Condition => {
  if (text === 'healthy') return isHealthy;
  if (text === 'finished') return isFinished;
  const version = /^version=(\d+\.\d+(?:\.\d+)?)$/.exec(text)?.[1];
  const isKnown = rowOf(version) !== undefined;
  if (version !== undefined && isKnown) return isVersion(version);
  throw invalidArguments([
    problem(
      '--for',
      'enum',
      `must be healthy, finished or version=MAJOR.MINOR, with a version from ${versionRows[0]?.minor} to ${versionRows.at(-1)?.minor}; got ${JSON.stringify(text)}`,
    ),
  ]);
};
const waitFlags = {
  ...endpointFlags,
  for: {
    effects: [],
    field: req(str(64, { min: 1 })),
    required: true,
    summary: 'Condition: healthy, finished or version=MAJOR.MINOR',
    value: 'condition',
    suggest: ['healthy', 'finished', 'version='],
    meanings: {
      healthy: 'every member responds and is healthy',
      finished: 'no run of the cluster is unfinished',
      'version=': 'every member and the cluster have this version',
    },
  },
  within: { field: duration(), summary: 'Longest time to wait (default 10m)', value: 'duration' },
} as const satisfies Flags;
const lookOnce = async (context: Context, { cluster, access }: Opened): Promise<Look> => {
  const { host, settings } = context;
  const [{ observe }, { findRuns }, { historyRow }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/engine/journal.ts'),
    import('../../kv/operations/record.ts'),
  ]);
  const [newest] = await findRuns(host, settings.directories.clusters, cluster.name);
  const observation = await observe({ host, cluster, access });
  return { observation, outcome: newest === undefined ? undefined : historyRow(newest)?.outcome };
};
const pollMs = 500;
const waitFor = async (context: Context, values: ValuesOf<typeof waitFlags>): Promise<Result> => {
  const { host, signal, log } = context;
  const opened = await openCluster(context, values);
  const condition = readCondition(values.for);
  const limitMs = parseDuration(values.within ?? '10m', '--within');
  const began = host.elapsed();
  let shown: string | undefined;
  for (;;) {
    const reason = condition(await lookOnce(context, opened));
    // A silent wait looks like a hang, and a held run needs a person.
    if (reason !== undefined && reason !== shown)
      log.info(`waiting for ${values.for} of ${opened.cluster.name}: ${reason}`);
    shown = reason;
    const waited_ms = Math.round(host.elapsed() - began);
    const { name } = opened.cluster;
    if (reason === undefined)
      return recordResult(
        { cluster: name, condition: values.for, ok: true, waited_ms },
        { message: `${name}: ${values.for}` },
      );
    if (waited_ms >= limitMs)
      throw new AppError('no', `${name} is not ${values.for} within ${values.within ?? '10m'}: ${reason}`, {
        code: 'NOT_YET',
        tryThis: [next(['kv', 'status']), '--within with more time'],
      });
    await host.sleep(Math.min(pollMs, limitMs - waited_ms), signal);
  }
};
export const wait = defineCommand({
  path: ['kv', 'wait'],
  summary: 'Wait until a cluster is healthy or has a version',
  about:
    'Waits until every member is healthy, until every member and the cluster have a version, or until the newest run on this machine is finished. Makes no changes. Exits with code 20 if the condition does not hold within the given time.',
  flags: waitFlags,
  examples: [
    {
      line: 'opsctl kv wait --for version=3.5 --within 1h --cluster cluster.yaml',
      says: 'Continue a script after the upgrade of another machine',
    },
    {
      line: 'opsctl kv wait --for healthy --endpoints localhost:2379',
      says: 'Wait for a cluster that starts',
    },
  ],
  run: waitFor,
});

const setFlags = {
  ...endpointFlags,
  reason: {
    effects: [],
    field: str(500, { min: 1 }),
    summary: 'Reason, which every refused run prints',
    value: 'text',
  },
} as const satisfies Flags;
export const holdSet = defineCommand({
  path: ['kv', 'hold', 'set'],
  noDryRun: 'opsctl kv hold show',
  summary: 'Store a hold in the cluster',
  about:
    'While the hold is stored, no upgrade of any machine passes the point of no return of this cluster: it holds before the last member, where a rollback is possible. No flag of the upgrade overrides it.',
  flags: setFlags,
  examples: [
    {
      line: 'opsctl kv hold set --reason "soak test until Friday" --cluster cluster.yaml',
      says: 'Keep the rollback possible for every operator',
    },
  ],
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { clusterHold, holdKey } = await import('../../kv/engine/locks.ts');
    const hold = clusterHold(context.host, values.reason);
    await askAny(context, opened, (store) => store.put(holdKey, JSON.stringify(hold)));
    const message = `${opened.cluster.name} is held: no upgrade passes its point of no return`;
    return recordResult({ cluster: opened.cluster.name, ...hold }, { message });
  },
});
export const holdShow = defineCommand({
  path: ['kv', 'hold', 'show'],
  summary: 'Show the hold of the cluster',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { holdKey, parseHold } = await import('../../kv/engine/locks.ts');
    const { kvs } = await askAny(context, opened, (store) => store.range(holdKey));
    const hold = parseHold(kvs[0]?.value);
    return recordResult(
      { cluster: opened.cluster.name, is_held: hold !== undefined, ...hold },
      { message: hold === undefined ? 'no hold' : `held by ${hold.by} since ${hold.since}: ${hold.reason}` },
    );
  },
});
export const holdRemove = defineCommand({
  path: ['kv', 'hold', 'remove'],
  noDryRun: 'opsctl kv hold show',
  summary: 'Remove the hold of the cluster',
  flags: endpointFlags,
  run: async (context, values) => {
    const opened = await openCluster(context, values);
    const { name } = opened.cluster;
    await context.confirm(`Remove the hold of ${name}? An upgrade can then pass the point of no return.`);
    const { holdKey } = await import('../../kv/engine/locks.ts');
    const { deleted } = await askAny(context, opened, (store) => store.del(holdKey));
    return recordResult(
      { cluster: name, was_held: deleted > 0 },
      { message: deleted > 0 ? `removed the hold of ${name}` : `${name} was not held` },
    );
  },
});
