import { after, next } from '../../core/next.ts';
import { resolve } from 'node:path';
import { type Minor, nextMinor, previousMinor } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { shortPath } from '../../config/settings.ts';
import { parseDuration, columnsOf, wrapMessage } from '../../core/format.ts';
import { AppError, invalidArguments, problem, reword } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import type { Store } from '../../kv/client/etcd-client.ts';
import type { Access } from '../../kv/engine/access.ts';
import type { FoundRun } from '../../kv/engine/journal.ts';
import type {
  ClusterFile,
  Finding,
  Observation,
  Plan,
  PlanKind,
  PlanOptions,
  Refusal,
  UpgradePath,
} from '../../kv/engine/model.ts';
import { crosses, refusalError, viewFor } from '../../kv/upgrade/plan-kind.ts';
import type { Driver } from '../../kv/upgrade/supervisors/driver.ts';
import { type EndpointValues, givenVersions, type PlanValues } from './flags.ts';

export const driverFor = async (context: Context, cluster: ClusterFile): Promise<Driver> =>
  (await import('../../kv/upgrade/supervisors/open.ts')).openDriver(
    context.host,
    cluster,
    context.settings.directories.state,
  );

export type Opened = {
  readonly cluster: ClusterFile;
  /** The cluster file as it was read, if `cluster` is a view of it for one plan. */
  readonly written?: ClusterFile;
  /** Absolute path of the cluster file; undefined when only endpoints were given. */
  readonly file?: string;
  readonly access: Access;
  /** Endpoints as they were typed, in the order of the members. */
  readonly typed: readonly string[];
};
const mostHints = 3;
/** The `--cluster` flags of clusters that this machine knows. A hint must not fail, so unreadable journals give none. */
const knownClusterHints = async (context: Context, name?: string): Promise<string[]> => {
  const rows = await (await import('../mock/kv-start.ts')).listClusters(context).catch(() => []);
  const files = rows.flatMap(({ cluster, cluster_file }) =>
    cluster_file !== null && (name === undefined || name === cluster)
      ? [`--cluster ${shellWord(cluster_file)} for cluster ${cluster}`]
      : [],
  );
  return files.length > mostHints
    ? [...files.slice(0, mostHints), 'opsctl kv clusters lists the others']
    : files;
};
const localFile = 'cluster.yaml';
const makeNoClusterError = async (context: Context): Promise<AppError> => {
  const { host } = context;
  const isHere = (await host.files.info(resolve(host.cwd, localFile))) !== undefined;
  const known = isHere ? [] : await knownClusterHints(context);
  const first = isHere ? [`--cluster ${localFile}`] : known;
  return new AppError('config', 'no cluster specified', {
    code: 'NO_CLUSTER',
    tryThis: [
      ...(first.length > 0 ? first : ['--cluster FILE']),
      '--endpoints HOST:PORT,… for read-only commands',
      next(['kv', 'init'], 'writes a cluster file'),
      ...(first.length > 0 ? [] : ['opsctl mock kv start makes a simulated cluster']),
    ],
  });
};
/** The default file if no flag specifies one. */
const defaultFile = async (context: Context): Promise<string> => {
  const { host, settings, log } = context;
  const named = host.env['OPSCTL_KV_CLUSTER'];
  if (named !== undefined && named !== '') {
    if ((await host.files.info(resolve(host.cwd, named))) !== undefined) return named;
    const why = `names ${named}, which does not exist`;
    throw new AppError('config', `OPSCTL_KV_CLUSTER ${why}`, {
      code: 'NO_CLUSTER_FILE',
      problems: [problem('OPSCTL_KV_CLUSTER', 'rule', why)],
      tryThis: ['--cluster FILE', 'unset OPSCTL_KV_CLUSTER'],
    });
  }
  const simulated = resolve(settings.directories.state, 'mock-kv', 'cluster.yaml');
  if ((await host.files.info(simulated)) !== undefined) {
    log.info(`using the simulated cluster of ${shortPath(host, simulated)}`);
    return simulated;
  }
  throw await makeNoClusterError(context);
};
/** `kv clusters` lists names, so a person gives a name where a file is needed. */
const withKnownFile = async (context: Context, name: string, error: unknown): Promise<unknown> => {
  if (!(error instanceof AppError) || error.detail.code !== 'NO_CLUSTER_FILE') return error;
  const known = await knownClusterHints(context, name);
  return known.length === 0 ? error : reword(error, { ...error.detail, tryThis: known });
};
export const openCluster = async (
  context: Context,
  values: EndpointValues,
  purpose: 'read' | 'upgrade' = 'read',
): Promise<Opened> => {
  const { host, log } = context;
  const [{ openAccess }, { nameFlags: flagged, fromEndpoints, withFlags }] = await Promise.all([
    import('../../kv/engine/access.ts'),
    import('../../kv/engine/access.ts'),
  ]);
  if (values.endpoints !== undefined && values.cluster !== undefined) {
    throw invalidArguments([problem('--endpoints', 'exclusive', 'cannot be combined with --cluster')]);
  }
  if (values.endpoints !== undefined) {
    const { cluster, typed } = fromEndpoints(values);
    const full = withFlags(cluster, values, host.cwd);
    const access = await openAccess(host, full, flagged(values));
    if (access.user !== undefined) log.hide(access.user.password);
    return { cluster: full, access, typed };
  }
  const { readCluster } = await import('../../kv/upgrade/cluster/cluster-file.ts');
  const file = resolve(host.cwd, values.cluster ?? (await defaultFile(context)));
  const read = await readCluster(host, file, purpose).catch(async (error: unknown) => {
    throw await withKnownFile(context, values.cluster ?? '', error);
  });
  const cluster = withFlags(read, values, host.cwd);
  const access = await openAccess(host, cluster, flagged(values));
  if (access.user !== undefined) log.hide(access.user.password);
  return {
    cluster,
    file,
    access,
    typed: cluster.members.map(({ client_url }) => client_url.replace(/^[a-z]+:\/\//, '').replace(/\/$/, '')),
  };
};

export type PreparedCommand = {
  readonly opened: Opened & { readonly file: string };
  readonly driver: Driver;
  readonly options: PlanOptions;
  readonly observation: Observation;
  readonly made: Plan | Refusal;
  readonly run: string;
};
/** `--keep-program`: the program of the cluster file that runs now. */
const keptProgram = async (
  context: Context,
  { cluster, access }: Opened,
  isKept: boolean | undefined,
): Promise<Pick<PlanOptions, 'keep_program'>> => {
  const [{ detectBinary }, { hasVersions }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/plan-kind.ts'),
  ]);
  if (isKept !== true && !hasVersions(cluster)) return {};
  const running = await detectBinary(cluster, access, await driverFor(context, cluster));
  // With a table, the new programs of the file may belong to another version: the row of this one remains.
  return isKept === true || running === 'old' ? { keep_program: running } : {};
};
/** The versions of the running members, if the cluster file has a table of versions for them. */
const tableRange = async ({
  cluster,
  access,
}: Opened): Promise<{ readonly lowest: Minor; readonly highest: Minor } | undefined> => {
  const { hasVersions, rangeOf } = await import('../../kv/upgrade/plan-kind.ts');
  if (!hasVersions(cluster)) return undefined;
  const versions = cluster.members.map(({ client_url }) =>
    access
      .store(client_url)
      .versions()
      .then(
        ({ server }) => server,
        () => undefined,
      ),
  );
  return rangeOf(await Promise.all(versions));
};
/**
 * The cluster file with the programs of the running versions, for a command that starts one of them. With `isNew`, the
 * programs of the running version are the new ones as well: the command checks whether the upgrade is complete.
 */
export const withRunningPrograms = async (opened: Opened, isNew = false): Promise<Opened> => {
  const range = await tableRange(opened);
  if (range === undefined) return opened;
  const { hopView, runningView } = await import('../../kv/upgrade/plan-kind.ts');
  const { lowest, highest } = range;
  const { cluster } = opened;
  const view = isNew ? hopView(cluster, lowest, lowest) : runningView(cluster, lowest, highest);
  return { ...opened, cluster: view, written: cluster };
};
/** The cluster file as a restart or a downgrade reads it. */
const findView = async (
  context: Context,
  opened: Opened,
  kind: Exclude<PlanKind, 'upgrade'>,
  isKept: boolean | undefined,
): Promise<{ readonly cluster: ClusterFile; readonly options: Pick<PlanOptions, 'keep_program'> }> => {
  const range = await tableRange(opened);
  const from = kind === 'downgrade' ? range?.highest : range?.lowest;
  const to = from === undefined ? undefined : kind === 'downgrade' ? previousMinor(from) : from;
  const way = { kind, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const { cluster } = opened;
  if (kind === 'downgrade') return { cluster: viewFor(cluster, { ...way, options: {} }), options: {} };
  const running = { ...opened, cluster: viewFor(cluster, { ...way, options: {} }) };
  const options = await keptProgram(context, running, isKept);
  return { cluster: viewFor(cluster, { ...way, options }), options };
};
export const optionsOf = async (
  context: Context,
  { cluster }: Opened,
  values: PlanValues,
  allowed?: readonly string[],
): Promise<PlanOptions> => {
  const { acceptedGuards, planOptions } = await import('../../kv/upgrade/plan.ts');
  const accept = acceptedGuards(values.accept, allowed);
  return planOptions({ ...values, accept }, cluster, await givenVersions(context, values['versions-file']));
};
/** Whether a restore could lead back, which only matters for an upgrade: everything else has no point of no return. */
export const checkRestore = async (
  { host, settings }: Context,
  cluster: ClusterFile,
  observation: Observation,
  from: Minor | undefined,
): Promise<Observation> => {
  if (cluster.ctl_binary === undefined || from === undefined) return observation;
  const [{ findRestoreProblem }, { shellsOf }] = await Promise.all([
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/supervisors/open.ts'),
  ]);
  const shellFor = await shellsOf(host, cluster, settings.directories.state);
  const members = await Promise.all(
    observation.members.map(async (seen) => {
      const spec = cluster.members.find(({ name }) => name === seen.name);
      if (spec === undefined) return seen;
      const wanted = { to: from, host: seen.host };
      const restore_check = await findRestoreProblem(shellFor(spec), cluster, spec, wanted);
      return { ...seen, host: { ...seen.host, restore_check } };
    }),
  );
  return { ...observation, members };
};
/** What the guards of this kind of plan read in addition. */
const observeMore = async (
  context: Context,
  { cluster }: Opened,
  kind: PlanKind | undefined,
  seen: Observation,
): Promise<Observation> => {
  if (kind === 'restart') {
    const { withNewConfiguration } = await import('../../kv/upgrade/configuration/configuration.ts');
    return withNewConfiguration(context.host, cluster, seen);
  }
  return kind === undefined ? checkRestore(context, cluster, seen, seen.lowest) : seen;
};
const defaultSoakSeconds = 600;
const soakSeconds = ({ soak }: Pick<PlanValues, 'soak'>, cluster: ClusterFile): number =>
  soak === undefined
    ? (cluster.timeouts?.soak_seconds ?? (cluster.simulated === true ? 2 : defaultSoakSeconds))
    : Math.round(parseDuration(soak, '--soak') / 1000);
/** The versions and programs of this upgrade, if the cluster file has a table of versions. */
const findWay = async (
  values: Pick<PlanValues, 'soak' | 'to'>,
  opened: Opened,
  given: PlanOptions | undefined,
): Promise<{ readonly cluster: ClusterFile; readonly options: Pick<PlanOptions, 'to' | 'path'> }> => {
  const { hopView, minorsBetween, pathFrom } = await import('../../kv/upgrade/plan-kind.ts');
  const { cluster } = opened;
  const last = given?.path?.to ?? given?.to ?? values.to ?? cluster.to;
  const from = (await tableRange(opened))?.lowest;
  if (from === undefined) return { cluster, options: {} };
  const to = (last ?? nextMinor(from)) as Minor | undefined;
  const target = to === undefined ? undefined : minorsBetween(from, to)[0];
  if (to === undefined || target === undefined) return { cluster: hopView(cluster, from, from), options: {} };
  const seconds = given?.path?.soak_seconds ?? soakSeconds(values, cluster);
  const path = pathFrom(cluster, from, to, seconds);
  if (path === undefined && target !== to) return { cluster, options: {} };
  return {
    cluster: hopView(cluster, from, target),
    options: path === undefined ? {} : { to: target, path },
  };
};
/** Requests the versions of the programs of the later hops, before the first member stops. */
const laterPrograms = async (
  context: Context,
  written: ClusterFile,
  path: UpgradePath | undefined,
): Promise<Pick<Observation, 'later_programs'>> => {
  if (path === undefined) return {};
  const { hopView } = await import('../../kv/upgrade/plan-kind.ts');
  const [, ...later] = path.hops;
  const rows = await Promise.all(
    later.map(async ({ from, to }) => {
      const view = hopView(written, from, to);
      const driver = await driverFor(context, view);
      return Promise.all(
        view.members.map(async (spec) => {
          const { new_binary_version: version, new_binary_error: error } = await driver.facts(spec, {
            sizes: false,
          });
          return {
            member: spec.name,
            to,
            ...(version === undefined ? {} : { version }),
            ...(error === undefined ? {} : { error }),
          };
        }),
      );
    }),
  );
  return { later_programs: rows.flat() };
};
/**
 * Inspects the cluster and plans: the common part of check, plan and upgrade. Makes no changes. `known`: the
 * cluster, if it is already open.
 */
export const prepare = async (
  context: Context,
  values: PlanValues & { readonly 'keep-program'?: boolean | undefined },
  given?: PlanOptions,
  kind?: PlanKind,
  known?: Opened,
): Promise<PreparedCommand> => {
  const { host } = context;
  const asWritten = known ?? (await openCluster(context, values, 'upgrade'));
  const way = await (kind === undefined || kind === 'upgrade'
    ? findWay(values, asWritten, given)
    : findView(context, asWritten, kind, values['keep-program']));
  const opened = { ...asWritten, cluster: way.cluster, written: asWritten.cluster };
  const [{ observe }, { planFrom }, { runDirectory, nextRunId }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/plan.ts'),
    import('../../kv/engine/journal.ts'),
  ]);
  const driver = await driverFor(context, opened.cluster);
  const wanted = given ?? (await optionsOf(context, opened, values));
  const options = { ...wanted, ...way.options };
  const run = await nextRunId(host, context.settings.directories.clusters, opened.cluster.name);
  const { cluster, access } = opened;
  const directory = runDirectory(context.settings.directories.clusters, cluster.name, run);
  const seen = await observe({
    host,
    cluster,
    access,
    driver,
    sizes: options.copy_data,
    isDeep: true,
    runDirectory: directory,
  });
  const more = await observeMore(context, opened, kind, seen);
  const observation = { ...more, ...(await laterPrograms(context, asWritten.cluster, options.path)) };
  const made = planFrom({ observation, cluster, options, describe: driver.describe, id: run, kind });
  return { opened: { ...opened, file: opened.file as string }, driver, options, observation, made, run };
};

/** The flags of commands that may send or take much. */
type Limits = {
  readonly 'max-send-bytes'?: number | undefined;
  readonly 'max-receive-bytes'?: number | undefined;
};
/** --timeout, if the user chose it. */
export const givenTimeout = async ({ settings }: Pick<Context, 'settings'>): Promise<number | undefined> => {
  const setting = settings.get('timeout');
  return setting === undefined || setting.origin === 'default'
    ? undefined
    : (await import('../../core/format.ts')).parseDuration(setting.value);
};
/** A hung member must not use up the time of a request that may be long: a hash, a large range, a snapshot. */
const contactMs = 5000;
/** The limits of requests to a member: --timeout, or 30 s with a short limit for the first response. */
export const timeoutsOf = async (
  context: Pick<Context, 'settings'>,
): Promise<{ readonly timeoutMs?: number; readonly contactMs?: number }> => {
  const timeoutMs = await givenTimeout(context);
  return timeoutMs === undefined ? { timeoutMs: 30_000, contactMs } : { timeoutMs };
};
/**
 * Queries one member after another until one responds. If the store rejects the request, all members would
 * reject it.
 */
export const askAny = async <T>(
  context: Context,
  { cluster, access }: Opened,
  work: (store: Store) => Promise<T>,
  values: Limits = {},
): Promise<T> => {
  const timeouts = await timeoutsOf(context);
  const { openStore } = await import('../../kv/client/etcd-client.ts');
  let last: AppError | undefined;
  for (const { client_url } of cluster.members) {
    const limits = { maxSendBytes: values['max-send-bytes'], maxReceiveBytes: values['max-receive-bytes'] };
    try {
      return await work(
        openStore(context.host, {
          url: client_url,
          tls: access.tls,
          user: access.user,
          ...timeouts,
          signal: context.signal,
          ...limits,
        }),
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.category !== 'network') throw error;
      context.log.debug(error.message);
      // An unsupported operation on a reachable member is a more useful error than an unreachable member.
      if (last === undefined || last.detail.code === 'UNAVAILABLE') last = error;
    }
  }
  throw last;
};

/** Why there is no plan, and where every finding is shown. */
export const makePlanRefusedError = (refusal: Refusal): AppError =>
  refusalError(refusal, (hint) => [
    ...(hint === undefined ? [] : [hint]),
    next(['kv', 'check'], 'shows every finding'),
  ]);
export type FoundRuns = {
  /** Newest first. */
  readonly runs: readonly FoundRun[];
  /** Why it is not known whether another machine has a newer one. */
  readonly unread?: AppError;
};
/** The runs of the cluster that this machine knows, including adopted runs of other machines. */
export const findAdoptedRuns = async (
  { host, settings, log }: Context,
  { cluster, access }: Opened,
): Promise<FoundRuns> => {
  const [{ takeOver }, { findRuns }, { PROGRESS_UNREAD }] = await Promise.all([
    import('../../kv/engine/locks.ts'),
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/progress.ts'),
  ]);
  const state = settings.directories.clusters;
  let unread: AppError | undefined;
  const said = await takeOver(host, state, cluster, access).catch((error: unknown) => {
    // A run of this machine continues even if no member responds.
    if (!(error instanceof AppError) || error.detail.code !== PROGRESS_UNREAD) throw error;
    unread = error;
    return undefined;
  });
  if (said !== undefined) log.info(said);
  const runs = await findRuns(host, state, cluster.name);
  return unread === undefined ? { runs } : { runs, unread };
};

/**
 * A crashed run may have left a member down, and a held run waits for the operator. Both end before another run
 * starts. The dry run shows the plan of a run that --hold-last holds, because a fleet continues such a run.
 */
const refuseOpenRun = async (context: Context, { opened, observation }: PreparedCommand): Promise<void> => {
  const [{ holderOf, refuseNewRun }, { refuseOtherHere }] = await Promise.all([
    import('../../kv/engine/progress.ts'),
    import('../../kv/engine/locks.ts'),
  ]);
  // A run that another process is working on is also unfinished.
  await refuseOtherHere(context.host, context.settings.directories.clusters, opened.cluster.name);
  const [newest] = (await findAdoptedRuns(context, opened)).runs;
  try {
    refuseNewRun(newest, observation);
  } catch (error) {
    const isContinuable = newest !== undefined && holderOf(newest.entries) === 'hold-last';
    if (!context.isDryRun || !isContinuable || !(error instanceof AppError)) throw error;
    context.log.warn(`${error.message}; without --dry-run, this command would not start`);
  }
};
const refuseOthersWork = async (
  context: Context,
  { opened, observation }: PreparedCommand,
): Promise<void> => {
  const { refuseOther } = await import('../../kv/engine/locks.ts');
  const urls = observation.members.flatMap(({ is_reachable, client_url }) =>
    is_reachable ? [client_url] : [],
  );
  await refuseOther(context.host, context.settings.directories.clusters, opened.cluster, opened.access, urls);
};
/** Returns the plan, unless a run is unfinished or a guard refuses. */
export const clearedPlan = async (context: Context, prepared: PreparedCommand): Promise<Plan> => {
  const { isRefusal } = await import('../../kv/upgrade/plan.ts');
  const { made } = prepared;
  await refuseOpenRun(context, prepared);
  if (!isRefusal(made)) return made;
  await refuseOthersWork(context, prepared);
  throw makePlanRefusedError(made);
};
/** A cluster that already runs the target version, and the health findings about it. */
type Arrived = { readonly to: string; readonly findings: readonly Finding[] };
/** Returns undefined if work is left. */
export const findArrived = async ({
  observation,
  opened,
  options,
  made,
}: Pick<PreparedCommand, 'observation' | 'opened' | 'options' | 'made'>): Promise<Arrived | undefined> => {
  const { isArrived, wayOf } = await import('../../kv/upgrade/plan.ts');
  const asked = options.to ?? opened.cluster.to;
  const to = wayOf({ observation, cluster: opened.cluster, options }).to;
  if (asked === undefined || to === undefined || !isArrived(observation, to)) return undefined;
  const { healthFindings } = await import('../../kv/upgrade/guards/all.ts');
  return { to, findings: healthFindings(made.findings) };
};
/** The result if no work is left. It includes the problems of the cluster. */
export const reportArrival = async (
  context: Context,
  prepared: PreparedCommand,
): Promise<Result | undefined> => {
  const found = await findArrived(prepared);
  if (found === undefined) return undefined;
  const { findingsText } = await import('../../kv/upgrade/present/text.ts');
  const { observation, opened } = prepared;
  const message = `cluster ${opened.cluster.name} already runs ${found.to}`;
  const findings = found.findings.filter(({ level }) => level !== 'pass');
  const text = [
    `${message}: nothing to do`,
    ...(findings.length === 0
      ? []
      : [
          '',
          findingsText(findings, undefined, context.showAdvice),
          '',
          context.showAdvice(next(['kv', 'check'], 'shows every finding')),
        ]),
  ].join('\n');
  return recordResult(
    {
      ok: true,
      outcome: 'done',
      message,
      cluster_version: observation.cluster_version,
      ...(findings.length === 0 ? {} : { findings }),
    },
    { message: `${message}: nothing to do`, text, isProse: true },
  );
};
export const digestError = (given: Plan, now: Plan): AppError =>
  new AppError(
    'unsafe',
    `refused: the cluster no longer matches the plan (${differences(given, now).join('; ')}); no changes were made`,
    {
      code: 'PLAN_OUTDATED',
      tryThis: [after('run', ['kv', 'plan', '--out', 'FILE'], 'and review the new plan')],
      data: { given: given.digest, now: now.digest },
    },
  );
const differences = (given: Plan, now: Plan): string[] => {
  const found: string[] = [];
  if (given.cluster !== now.cluster) found.push(`the plan is for cluster ${given.cluster}`);
  if (given.from !== now.from || given.to !== now.to)
    found.push(
      `the upgrade path is ${now.from} → ${now.to}, but the plan contains ${given.from} → ${given.to}`,
    );
  if (given.order.join() !== now.order.join())
    found.push(`the order is ${now.order.join(', ')}, but the plan contains ${given.order.join(', ')}`);
  return found.length > 0 ? found : ['members, binaries or commands have changed'];
};

/** The durations of members in previous runs of this cluster on this machine. */
export const earlierMs = async (
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  cluster: string,
): Promise<number[]> => {
  const [{ findRuns }, { memberDurations }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/upgrade/present/journal-events.ts'),
  ]);
  const runs = await findRuns(host, settings.directories.clusters, cluster);
  return runs.slice(0, 5).flatMap(({ entries }) => memberDurations(entries));
};
/** The plan as text for this stream, with the durations of members in previous runs of this cluster. */
export const shownPlan = async (
  context: Context,
  plan: Plan,
  stream: 'stdout' | 'stderr',
): Promise<string> => {
  const { planText, upgradeNotes } = await import('../../kv/upgrade/present/plan-text.ts');
  const columns = columnsOf(context.host.terminal[stream]);
  const tookMs = await earlierMs(context, plan.cluster);
  // spec/store#procedure-1: the tasks of the operator, listed in the plan.
  const notes = stream === 'stdout' && crosses(plan) ? upgradeNotes(plan.to) : [];
  return [
    planText(plan, { columns, isWhole: context.isVerbose === true, tookMs, show: context.showAdvice }),
    ...notes.map((note) => wrapMessage(`note for ${plan.to}: ${note}`, columns, '  ')),
  ].join('\n');
};
/** The result of a dry run. */
export const plannedResult = async (context: Context, plan: Plan): Promise<Result> => {
  const { planWithHexIds } = await import('../../kv/engine/journal.ts');
  return recordResult(planWithHexIds(plan), { text: await shownPlan(context, plan, 'stdout') });
};
/**
 * The text before the question: the whole plan with -v or if it fits, otherwise its summary. It stays visible
 * together with the question.
 */
const announcedPlan = async (context: Context, plan: Plan, question: string): Promise<string> => {
  const { rows } = context.host.terminal.stderr;
  const whole = await shownPlan(context, plan, 'stderr');
  // Some terminals do not know their size and report 0.
  if (context.isVerbose === true || rows === undefined || rows === 0) return whole;
  const { planSummary, questionRows } = await import('../../kv/upgrade/present/plan-text.ts');
  const columns = columnsOf(context.host.terminal.stderr);
  // An empty line between the plan and the question.
  const room = rows - questionRows(question, columns) - 1;
  if (whole.split('\n').length <= room) return whole;
  return planSummary(plan, {
    columns,
    rows: room,
    tookMs: await earlierMs(context, plan.cluster),
    show: context.showAdvice,
  });
};
/** Before the question the plan, which has the warnings too; without a question the warnings alone. */
export const announce = async (context: Context, plan: Plan, question: string): Promise<void> => {
  if (context.isInteractive && !context.isConfirmed) {
    context.log.info(`${await announcedPlan(context, plan, question)}\n`);
    return;
  }
  for (const { level, message, hint } of plan.findings)
    if (level === 'warn') context.log.warn(hint === undefined ? message : `${message} → ${hint}`);
};
