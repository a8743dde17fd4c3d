import { keepOwnDirectory, makeOwnDirectory } from '../../platform/process-identity.ts';
import { next } from '../../core/next.ts';
import { basename } from 'node:path';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { ClusterHold, Plan, UpgradeEvent } from '../../kv/engine/model.ts';
import type { RehearsalResult } from '../../kv/upgrade/rehearse/rehearse.ts';
import type { RestorePlan, RestoreSource } from '../../kv/upgrade/restore/plan.ts';
import { clusterFlags, minorField, planFlags } from './flags.ts';
import {
  driverFor,
  makePlanRefusedError,
  openCluster,
  type Opened,
  prepare,
  type PreparedCommand,
} from './prepare.ts';
import { confirmStart, hasTyped } from './run.ts';
import { bucketFlags, bucketOptions } from './snapshot.ts';

/** Revisions are 64-bit numbers. This leaves space for a thousand restores of a busy cluster. */
const maxBump = 1_000_000_000_000;
const restoreFlags = {
  ...clusterFlags,
  snapshot: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot: a file or s3://BUCKET/PREFIX/NAME (default: the newest snapshot of the last run)',
    value: 'file',
    complete: 'file',
  },
  to: {
    field: minorField,
    summary: 'Version to rebuild (default: the version before the last run)',
    value: 'minor',
  },
  'skip-hash-check': {
    field: bool(),
    summary: 'Accept a database file without a checksum, such as a copy of a stopped member',
  },
  'accept-unverified': {
    effects: [],
    field: str(255, { min: 1 }),
    summary: 'With --skip-hash-check: the name of the file, instead of typing it at the prompt',
    value: 'name-of-file',
  },
  accept: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: 'Continue although this check is unknown or fails; use the name that the refusal prints',
    value: 'guard',
    suggest: ['one-cluster', 'disk-space'],
  },
  'bump-revision': {
    effects: [],
    field: int({ min: 0, max: maxBump }),
    summary:
      'Raise the revisions by N and mark everything before as compacted (default: 1000000000 if ctl_binary can do it; 0: no)',
    value: 'n',
  },
  prefix: {
    effects: [],
    field: str(1024, { min: 1 }),
    summary: 'With --at: restore only the keys with this prefix, while the cluster runs',
    value: 'prefix',
  },
  at: {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'With --prefix: a snapshot (file or s3:// URL), or a revision of the cluster',
    value: 'snapshot|revision',
    complete: 'file',
  },
  ...bucketFlags,
} as const satisfies Flags;
type RestoreValues = ValuesOf<typeof restoreFlags>;

/** A file without a checksum may be damaged without a sign: --yes does not accept it, only its name does. */
const confirmUnverified = async (
  context: Context,
  { snapshot }: RestorePlan,
  accepted: string | undefined,
): Promise<void> => {
  const { path } = snapshot;
  const name = basename(path);
  if (snapshot.has_no_checksum !== true) return;
  if (accepted !== undefined && accepted !== name)
    throw invalidArguments([problem('--accept-unverified', 'enum', `must be ${name}, the name of the file`)]);
  if (accepted === name) return;
  const question = `${name} has no checksum: damage in it cannot be found, and the cluster would serve it.\n  Type the name of the file (${name}) to accept it:`;
  if (await hasTyped(context, name, question)) return;
  const words = ['--snapshot', path, '--skip-hash-check', '--accept-unverified', name];
  throw new AppError(
    'unsafe',
    `${name} has no checksum, so that damage in it cannot be found; no changes were made`,
    {
      code: 'UNVERIFIED_SNAPSHOT',
      tryThis: [
        next(['kv', 'restore', ...words]),
        next(['kv', 'snapshot', 'list'], 'shows verified snapshots'),
      ],
    },
  );
};
/** All members start together: a start that opsctl did not read may remove the others, so --yes does not accept it. */
const acceptUnread = async (
  context: Context,
  plan: RestorePlan,
  accepted: readonly string[],
): Promise<RestorePlan> => {
  const [{ consentHint }, { unreadText }] = await Promise.all([
    import('../../kv/upgrade/guards/guard.ts'),
    import('../../kv/upgrade/restore/plan.ts'),
  ]);
  if (plan.unread_starts === undefined) return plan;
  const word = 'one-cluster';
  const missing = unreadText(plan.unread_starts);
  const question = `${missing}: a start with it removes all other members.\n  Type the name of the check (${word}) to accept it:`;
  if (!accepted.includes(word) && !(await hasTyped(context, word, question)))
    throw new AppError('unsafe', `${missing}; no changes were made`, {
      code: 'FORCE_NEW_CLUSTER',
      tryThis: [consentHint(word)],
    });
  return { ...plan, accepted: [...(plan.accepted ?? []), word] };
};
/** A restore changes the version and the data of the cluster. A cluster without healthy members is not asked. */
const heldCluster = (hold: ClusterHold): AppError =>
  new AppError(
    'unsafe',
    `the cluster is held by ${hold.by} since ${hold.since}: ${hold.reason}; no changes were made`,
    {
      code: 'CLUSTER_HELD',
      tryThis: [next(['kv', 'hold', 'remove'], 'removes the hold; then restore again')],
    },
  );
/** The steps of the restore, before any change. */
const planRestore = async (
  context: Context,
  { cluster, access }: Opened,
  source: RestoreSource,
  wantedBump: number | undefined,
) => {
  const [{ observe }, { chooseBump, restorePlan }, { shellsOf }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/supervisors/open.ts'),
  ]);
  const { host, settings } = context;
  const driver = await driverFor(context, cluster);
  const observation = await observe({ host, cluster, access, driver, hasHold: true });
  if (observation.hold) throw heldCluster(observation.hold);
  const shellFor = await shellsOf(host, cluster, settings.directories.state);
  const bump = await chooseBump(shellFor, cluster, wantedBump);
  const plan = restorePlan({ cluster, observation, bump, ...source });
  if (wantedBump !== undefined && wantedBump > 0 && wantedBump <= (plan.lost_revisions ?? 0))
    throw invalidArguments([
      problem(
        '--bump-revision',
        'min',
        `must be more than ${plan.lost_revisions}, the revisions that are lost`,
      ),
    ]);
  return { plan, driver };
};
/** The consequences for clients and the required actions of the operator. */
const clientNotes = ({ bump_revision, lost_revisions }: RestorePlan): string[] => [
  bump_revision === undefined
    ? 'restart every client that watches or caches: revisions went back, and such a client waits for a revision that it has already seen'
    : 'watches from before the restore are canceled as compacted: clients that handle this error read their keys again; restart the others',
  'clients that authenticate must log in again; leases restart with their full TTL',
  ...(lost_revisions === 0 ? [] : ['repeat the writes that clients made after the snapshot']),
];
const rebuilt = async (
  context: Context,
  opened: Opened,
  source: RestoreSource,
  values: RestoreValues,
): Promise<Result> => {
  const [{ restoreText }, { runLockedRestore }, { acceptedGuards }, { consentsOf }] = await Promise.all([
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/restore/execute.ts'),
    import('../../kv/upgrade/plan.ts'),
    import('../../kv/upgrade/guards/guard.ts'),
  ]);
  const { host, settings, log, signal } = context;
  const { cluster, access } = opened;
  const { plan, driver } = await planRestore(context, opened, source, values['bump-revision']);
  if (context.isDryRun) return recordResult(plan, { text: restoreText(plan), isProse: true });
  log.info(restoreText(plan));
  await confirmUnverified(context, plan, values['accept-unverified']);
  const names = acceptedGuards(values.accept, consentsOf('restore'));
  const spaced = names.includes('disk-space') ? { ...plan, accepted: ['disk-space'] } : plan;
  const accepted = await acceptUnread(context, spaced, names);
  await confirmStart(context, cluster.name, `Rebuild ${cluster.name} on ${plan.to}?`);
  const { revision, kept } = await runLockedRestore(
    { host, directories: settings.directories, log, signal },
    { cluster, access, plan: accepted, driver },
  );
  const message = `${cluster.name} runs ${plan.to} again, at revision ${revision}`;
  const clients = clientNotes(plan);
  return recordResult(
    { outcome: 'restored', revision, lost_revisions: plan.lost_revisions, members: kept, clients, message },
    { text: [message, 'Clients:', ...clients.map((line) => `- ${line}`)].join('\n'), isProse: true },
  );
};
const restoreCluster = async (context: Context, values: RestoreValues): Promise<Result> => {
  const { prefix, at } = values;
  if (prefix !== undefined && at !== undefined) {
    const { restoreKeys } = await import('./compare.ts');
    return restoreKeys(context, await openCluster(context, values), { ...values, prefix, at });
  }
  const opened = await openCluster(context, values, 'upgrade');
  const [{ restoreSource }, { hasVersions, runningView }] = await Promise.all([
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/plan-kind.ts'),
  ]);
  const { snapshot, to } = values;
  const { host, settings, signal } = context;
  const wanted = {
    signal,
    snapshot,
    to,
    bucket: bucketOptions(values),
    canSkipHash: values['skip-hash-check'] === true,
  };
  const source = await restoreSource(host, settings.directories, wanted, opened.cluster);
  // The members may be down: the restored version determines the row of a table of versions.
  const cluster = hasVersions(opened.cluster) ? runningView(opened.cluster, source.to) : opened.cluster;
  try {
    return await rebuilt(context, { ...opened, cluster }, source, values);
  } finally {
    if (source.copy !== undefined) await host.files.remove(source.copy);
  }
};
export const restore = defineCommand({
  path: ['kv', 'restore'],
  summary: 'Rebuild the cluster on its old version from a verified snapshot',
  about:
    'Rebuilds the cluster from its snapshots, even after the point of no return. First shows how many revisions would be lost, and asks for confirmation. Keeps the current data directories as backups. The rebuilt cluster has a new cluster ID, so that no old member can join it. If ctl_binary can do it, the restore raises the revisions, so that watches end and clients rebuild their caches. A file without a checksum requires --skip-hash-check and its name, typed or in --accept-unverified; --yes does not accept it. Requires ctl_binary in the cluster file: the ctl program of the old version, on the host of every member.',
  flags: restoreFlags,
  examples: [
    { line: 'opsctl kv restore --cluster cluster.yaml --dry-run', says: 'Show the steps and the data loss' },
    {
      line: 'opsctl kv restore --snapshot copy.db --to 3.5 --skip-hash-check --accept-unverified copy.db --yes',
      says: 'Use the database file of a stopped member',
    },
    {
      line: 'opsctl kv restore --prefix /app/ --at backup.db --cluster cluster.yaml --dry-run',
      says: 'Show which keys below /app/ would change back',
    },
  ],
  check: (values) => {
    const { prefix, at } = values;
    if ((prefix === undefined) !== (at === undefined))
      return [
        prefix === undefined
          ? problem('--prefix', 'required', 'is required with --at')
          : problem('--at', 'required', 'is required with --prefix'),
      ];
    const whole = (
      ['snapshot', 'to', 'skip-hash-check', 'accept-unverified', 'accept', 'bump-revision'] as const
    ).filter((name) => prefix !== undefined && values[name] !== undefined && values[name] !== false);
    return whole.map((name) => problem(`--${name}`, 'exclusive', 'cannot be combined with --prefix'));
  },
  run: async (context, values) => restoreCluster(context, values),
});

const { 'hold-last': _, 'hold-after': __, ...rehearsalFlags } = planFlags;
const rehearseFlags = {
  ...rehearsalFlags,
  snapshot: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot to restore (default: a new snapshot of a follower)',
    value: 'file',
    complete: 'file',
  },
  simulated: { field: bool(), summary: 'Use simulated servers even if real servers are possible' },
  real: { field: bool(), summary: 'Fail instead of using simulated servers' },
  keep: { field: bool(), summary: 'Keep the directory of the private copy' },
} as const satisfies Flags;
type RehearseValues = ValuesOf<typeof rehearseFlags>;

/** Uses real servers if they are available and simulated ones were not requested. */
const chooseReal = async ({ opened }: PreparedCommand, values: RehearseValues): Promise<boolean> => {
  const { canBeReal } = await import('../../kv/upgrade/rehearse/rehearse.ts');
  const isPossible = canBeReal(opened.cluster);
  if (!values.real || isPossible) return isPossible && !values.simulated;
  const rule = 'requires ctl_binary and both binaries of every member in the cluster file, on this machine';
  throw invalidArguments([problem('--real', 'rule', rule)]);
};
/** Runs the same plan on a copy in the directory. */
const rehearsedIn = async (
  context: Context,
  values: RehearseValues,
  prepared: PreparedCommand,
  plan: Plan,
  directory: string,
): Promise<RehearsalResult> => {
  const { host, signal, log } = context;
  const { opened, observation, options } = prepared;
  const [{ rehearse: rehearseRestore, snapshotToRehearse, rehearsedVersions }, { makeLineFormatter }] =
    await Promise.all([
      import('../../kv/upgrade/rehearse/rehearse.ts'),
      import('../../kv/upgrade/present/live.ts'),
    ]);
  const { access } = opened;
  const { withTable } = await import('../../kv/upgrade/plan-kind.ts');
  const cluster = withTable(opened.cluster, opened.written ?? opened.cluster, options.path);
  const isReal = await chooseReal(prepared, values);
  const snapshot = await snapshotToRehearse(host, {
    ...{ access, observation, directory },
    file: values.snapshot,
    info: log.info,
  });
  const where = `a private copy of ${isReal ? 'real' : 'simulated'} servers`;
  log.info(
    `rehearsing ${plan.from} → ${options.path?.to ?? plan.to} on ${where}; ${cluster.name} is not changed`,
  );
  const lineOf = makeLineFormatter();
  const onEvent = (event: UpgradeEvent): void => {
    const line = lineOf(event);
    if (line !== undefined && event.event !== 'run-started') log.info(`rehearsal: ${line}`);
  };
  const versions = rehearsedVersions(observation, plan);
  return rehearseRestore(
    { host, cluster, observation, snapshot, directory, isReal, versions, options, onEvent, signal },
    access,
  );
};

const run = async (context: Context, values: RehearseValues): Promise<Result> => {
  const { host, settings } = context;
  const prepared = await prepare(context, values);
  const [{ isRefusal }, { keepReport }, { rehearsalEnding }] = await Promise.all([
    import('../../kv/upgrade/plan.ts'),
    import('../../kv/upgrade/rehearse/rehearse.ts'),
    import('../../kv/upgrade/rehearse/rehearse.ts'),
  ]);
  const { made, opened, run: id } = prepared;
  if (isRefusal(made)) throw makePlanRefusedError(made);
  const directory = await makeOwnDirectory(host, 'rehearsal');
  try {
    const ended = await rehearsedIn(context, values, prepared, made, directory);
    const state = settings.directories.clusters;
    return rehearsalEnding(ended, await keepReport(host, state, opened.cluster.name, directory, id));
  } finally {
    if (values.keep) {
      await keepOwnDirectory(host, directory);
      context.log.info(`kept the private copy in ${directory}`);
    } else await host.files.remove(directory);
  }
};
export const rehearse = defineCommand({
  path: ['kv', 'rehearse'],
  noDryRun: 'it only works on copies; opsctl kv plan shows the steps',
  summary: 'Rehearse an upgrade on a private copy of the cluster',
  about:
    'Restores a snapshot into a private cluster on this machine and runs the same plan there. Uses the real binaries if the cluster file lists them and ctl_binary, and simulated servers otherwise. Reads from the cluster and changes nothing in it. Exits with code 20 if the rehearsal fails.',
  flags: rehearseFlags,
  examples: [{ line: 'opsctl kv rehearse --cluster cluster.yaml', says: 'Rehearse the night before' }],
  check: (values) =>
    values.real && values.simulated
      ? [problem('--simulated', 'exclusive', 'cannot be combined with --real')]
      : [],
  run,
});
