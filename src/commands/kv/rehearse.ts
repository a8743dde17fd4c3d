import { join, resolve } from 'node:path';
import { bool, str } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { type Result, recordResult } from '../../core/result.ts';
import type { RehearsalResult } from '../../kv-upgrade/rehearse/rehearse.ts';
import type { Plan, UpgradeEvent } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { refusalError } from './outcome.ts';
import { type Prepared, prepare } from './prepare.ts';
import { planFlags } from './plan-flags.ts';

const { 'hold-last': _, 'hold-after': __, ...rehearsalFlags } = planFlags;
const flags = {
  ...rehearsalFlags,
  snapshot: {
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot to restore (default: a fresh one of a follower)',
    value: 'file',
    complete: 'file',
  },
  simulated: { field: bool(), summary: 'Use simulated servers even where real ones are possible' },
  real: { field: bool(), summary: 'Fail when real servers are not possible' },
  keep: { field: bool(), summary: 'Keep the directory of the private copy' },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const SILENCE_MS = 30_000;

/** The snapshot to rehearse on: a given file, verified, or a fresh one of a follower. */
const snapshotFor = async (
  context: Context,
  values: Given,
  { opened, observation }: Prepared,
  directory: string,
): Promise<string> => {
  const [{ saveSnapshot, verifySnapshot }, { openStore }] = await Promise.all([
    import('../../etcd-client/snapshot.ts'),
    import('../../etcd-client/etcd-client.ts'),
  ]);
  if (values.snapshot !== undefined) {
    const path = resolve(context.host.cwd, values.snapshot);
    await verifySnapshot(context.host, path);
    return path;
  }
  const reachable = observation.members.filter((member) => member.is_reachable);
  const source = reachable.find((member) => !member.is_leader) ?? reachable[0];
  if (source === undefined)
    throw new AppError('network', 'no member answers, so there is nothing to copy', {
      code: 'UNAVAILABLE',
      tryThis: ['--snapshot FILE'],
    });
  const path = join(directory, 'snapshot.db');
  context.log.info(`saving a snapshot of ${source.name} for the private copy`);
  await saveSnapshot(
    context.host,
    openStore(context.host, {
      url: source.client_url,
      tls: opened.access.tls,
      user: opened.access.user,
      timeoutMs: SILENCE_MS,
    }),
    path,
  );
  return path;
};

const versionsOf = ({ observation }: Prepared, plan: Plan): { old: string; new: string } => {
  const newest = observation.members
    .map((member) => member.host?.new_binary_version)
    .find((version) => version !== undefined);
  const running = observation.members
    .map((member) => member.server_version)
    .find((version) => version !== undefined);
  return { old: running ?? `${plan.from}.0`, new: newest ?? `${plan.to}.0` };
};

const shown = (result: RehearsalResult, kept: string): Result => {
  const { report } = result;
  const isWhole = result.keys_after === undefined || result.keys_after >= result.keys_before;
  const isGood = result.outcome === 'done' && isWhole;
  const away =
    report?.members.flatMap(({ name, down_ms }) =>
      down_ms === undefined ? [] : [`${name} ${down_ms} ms`],
    ) ?? [];
  const text = [
    isGood
      ? `The rehearsal went through on ${result.mode}: ${result.message}.`
      : `The rehearsal did not go through (${result.mode}): ${result.message}`,
    `keys: ${result.keys_before} before, ${result.keys_after ?? 'not readable'} after`,
    ...(report === undefined
      ? []
      : [`took ${(report.duration_ms / 1000).toFixed(1)} s; members unavailable for: ${away.join(', ')}`]),
    ...(report?.canary === undefined
      ? []
      : [
          `canary writes ${report.canary.writes}, failed ${report.canary.failed}, longest gap ${report.canary.longest_gap_ms} ms`,
        ]),
    ...(report === undefined ? [] : [`report ${kept}/report.html`]),
  ].join('\n');
  return recordResult(
    { ...result, ok: isGood, directory: kept },
    { text, name: 'outcome' },
    isGood ? undefined : 'no',
  );
};

/** The run's directory of the copy is kept with the real cluster's runs; everything else of the copy goes. */
const keepReport = async (
  context: Context,
  cluster: string,
  directory: string,
  run: string,
): Promise<string> => {
  const { host, settings } = context;
  const { clusterDirectory } = await import('../../kv-upgrade/journal/journal.ts');
  const kept = join(clusterDirectory(settings.directories.clusters, cluster), 'rehearsals', run);
  const find = async (at: string): Promise<string | undefined> => {
    for (const name of await host.files.list(at)) {
      const path = join(at, name);
      if (name === 'report.json') return at;
      const inside = (await host.files.info(path))?.kind === 'directory' ? await find(path) : undefined;
      if (inside !== undefined) return inside;
    }
    return undefined;
  };
  const from = await find(join(directory, 'home'));
  if (from === undefined) return kept;
  await host.files.makeDirectory(kept, 0o700);
  for (const name of ['report.json', 'report.md', 'report.html', 'events.ndjson'])
    await host.files.copy(join(from, name), join(kept, name));
  return kept;
};

/** Real servers where they are possible and nobody asked for simulated ones. */
const chooseReal = async ({ opened }: Prepared, values: Given): Promise<boolean> => {
  const { canBeReal } = await import('../../kv-upgrade/rehearse/rehearse.ts');
  const isPossible = canBeReal(opened.cluster);
  if (!values.real || isPossible) return isPossible && !values.simulated;
  const rule = 'needs ctl_binary and both binaries of every member in the cluster file, on this machine';
  throw invalidArguments([problem('--real', 'rule', rule)]);
};

const inDirectory = async (
  context: Context,
  values: Given,
  prepared: Prepared,
  plan: Plan,
  directory: string,
): Promise<Result> => {
  const { host, signal, log } = context;
  const { opened, observation, options, run: id } = prepared;
  const [{ rehearse: carryOut }, { lineOf }] = await Promise.all([
    import('../../kv-upgrade/rehearse/rehearse.ts'),
    import('../../kv-upgrade/format/plain-lines.ts'),
  ]);
  const isReal = await chooseReal(prepared, values);
  const snapshot = await snapshotFor(context, values, prepared, directory);
  const where = `a private copy of ${isReal ? 'real' : 'simulated'} servers`;
  log.info(`rehearsing ${plan.from} → ${plan.to} on ${where}; ${opened.cluster.name} is not touched`);
  const onEvent = (event: UpgradeEvent): void => {
    const line = lineOf(event);
    if (line !== undefined && event.event !== 'run-started') log.info(`rehearsal: ${line}`);
  };
  const versions = versionsOf(prepared, plan);
  const result = await carryOut(
    {
      host,
      cluster: opened.cluster,
      observation,
      snapshot,
      directory,
      isReal,
      versions,
      options,
      onEvent,
      signal,
    },
    opened.access,
  );
  return shown(result, await keepReport(context, opened.cluster.name, directory, id));
};

const run = async (context: Context, values: Given): Promise<Result> => {
  const { host } = context;
  const prepared = await prepare(context, values);
  const { isRefusal } = await import('../../kv-upgrade/plan.ts');
  const { made } = prepared;
  if (isRefusal(made)) throw refusalError(made);
  const directory = join(
    host.files.temporaryDirectory(),
    `opsctl-rehearsal-${host.pid}-${Buffer.from(host.random(4)).toString('hex')}`,
  );
  await host.files.makeDirectory(directory, 0o700);
  try {
    return await inDirectory(context, values, prepared, made, directory);
  } finally {
    if (values.keep) context.log.info(`the private copy is kept in ${directory}`);
    else await host.files.remove(directory);
  }
};

export const rehearse = defineCommand({
  path: ['kv', 'rehearse'],
  noDryRun: 'it only works on copies; opsctl kv plan shows the steps',
  summary: 'Run the upgrade on a private copy of the cluster first',
  about:
    'Restores a snapshot into a private cluster on this machine and carries out the same plan there: with the real binaries when the cluster file names them and ctl_binary, on simulated servers otherwise. ' +
    'The cluster itself is only read. Exit code 20 when the rehearsal did not go through.',
  flags,
  examples: [{ line: 'opsctl kv rehearse --cluster cluster.yaml', says: 'the night before' }],
  check: (values) =>
    values.real && values.simulated
      ? [problem('--simulated', 'exclusive', 'cannot be given together with --real')]
      : [],
  run,
});
