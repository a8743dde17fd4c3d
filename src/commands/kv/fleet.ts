import { dirname, relative, resolve } from 'node:path';
import { bool, int, req, str } from '../../core/field.ts';
import { AppError, type Category, problem } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import type { Fleet } from '../../kv-upgrade/fleet/fleet-file.ts';
import type { FleetRow, Upgraded } from '../../kv-upgrade/fleet/run-fleet.ts';
import type { Report } from '../../kv-upgrade/types.ts';
import { defineCommand, type Argument, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { crossingFlags } from './running.ts';

const flags = {
  ...crossingFlags,
  'hold-last': { field: bool(), summary: 'Stop each cluster before its last member; kv resume goes on' },
  'at-once': {
    field: int({ min: 1, max: 50 }),
    summary: 'How many clusters at a time after the canary; the file says it, else 1',
    value: 'n',
  },
} as const satisfies Flags;
const args = [
  { name: 'file', field: req(str(undefined, { min: 1 })), summary: 'The fleet file', complete: 'file' },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

type Detail = { readonly exit_code: number | null; readonly message: string; readonly report?: Report };
const CHECKED_AT_ONCE = 4;

const runSelf = async ({ host }: Context, args: readonly string[]) => {
  const [command, ...first] = host.self;
  // No signal: a Ctrl-C reaches the child by itself and ends it between two members.
  return host.processes.run(command, [...first, ...args, '-o', 'json']);
};
const parsed = (text: string): any => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** The error object that a run with -o json ends its stderr with. */
const complaintIn = (stderr: string): string => {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return parsed(last)?.message ?? last;
};

/** `done` already, ready, or what speaks against it. */
const checkOne = async (context: Context, cluster: string): Promise<string | undefined> => {
  const done = await runSelf(context, ['kv', 'upgrade', '--cluster', cluster, '--dry-run', '--yes']);
  return done.code === 0 ? undefined : `${cluster}: ${complaintIn(done.stderr)}`;
};
/** Every cluster is looked at before the first one is touched. */
const checkAll = async (context: Context, fleet: Fleet): Promise<void> => {
  const problems: string[] = [];
  for (let i = 0; i < fleet.clusters.length; i += CHECKED_AT_ONCE) {
    const found = await Promise.all(
      fleet.clusters.slice(i, i + CHECKED_AT_ONCE).map((cluster) => checkOne(context, cluster)),
    );
    problems.push(...found.flatMap((one) => one ?? []));
  }
  if (problems.length === 0) return;
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: ${problems.length} of ${fleet.clusters.length} clusters ${problems.length === 1 ? 'is' : 'are'} not ready`,
    {
      code: 'FLEET_NOT_READY',
      problems: problems.map((text) => problem('', 'rule', text)),
      tryThis: ['fix what is named, then the same command again: clusters that are done are left alone'],
    },
  );
};

const lastMember = ['accept-point-of-no-return', 'hold-last'] as const;
/** What becomes of the last member of each cluster: nobody can be asked there. */
const lastMemberFlags = (values: Given): string[] =>
  lastMember.filter((name) => values[name] === true).map((name) => `--${name}`);

const upgradeOne = async (
  context: Context,
  values: Given,
  cluster: string,
  label: string,
): Promise<Upgraded<Detail>> => {
  context.log.info(`${label}: begins`);
  const words = ['kv', 'upgrade', '--cluster', cluster, '--yes', ...lastMemberFlags(values)];
  const done = await runSelf(context, words);
  const report = parsed(done.stdout);
  const isHeld = report?.outcome === 'held';
  const ok = done.code === 0 || isHeld;
  const message = ok ? (report?.message ?? 'done') : complaintIn(done.stderr);
  context.log.info(`${label}: ${message}`);
  return {
    ok,
    detail: { exit_code: done.code, message, ...(report?.run === undefined ? {} : { report }) },
  };
};

const rowOf = ({ cluster, outcome, detail }: FleetRow<Detail>, label: string) => ({
  cluster: label,
  file: cluster,
  outcome: detail?.report?.outcome === 'held' ? 'held' : outcome,
  message: detail?.message ?? 'not started: a cluster before it failed, or it was asked to stop',
  duration_ms: detail?.report?.duration_ms ?? null,
  exit_code: detail?.exit_code ?? null,
  report: detail?.report ?? null,
});

const run = async (context: Context, values: Given): Promise<Result> => {
  const [{ readFleet }, { runFleet }] = await Promise.all([
    import('../../kv-upgrade/fleet/fleet-file.ts'),
    import('../../kv-upgrade/fleet/run-fleet.ts'),
  ]);
  const read = await readFleet(context.host, values.file);
  const fleet: Fleet = { ...read, atOnce: values['at-once'] ?? read.atOnce };
  const directory = dirname(resolve(context.host.cwd, values.file));
  const label = (cluster: string): string => relative(directory, cluster);
  await checkAll(context, fleet);
  await context.confirm(
    `Upgrade ${fleet.clusters.length} clusters of ${fleet.name}, ${label(fleet.canary)} first, then ${fleet.atOnce} at once?`,
  );
  let category: Category | 'done' = 'done';
  const rows = async function* () {
    for await (const row of runFleet(
      fleet,
      (cluster) => upgradeOne(context, values, cluster, label(cluster)),
      () => !context.signal.aborted,
    )) {
      if (row.outcome !== 'done') category = 'partial';
      yield rowOf(row, label(row.cluster));
    }
  };
  return {
    kind: 'rows',
    rows: rows(),
    view: { columns: ['cluster', 'outcome', 'duration_ms', 'message'], name: 'cluster' },
    exit: () => category,
  };
};

export const fleet = defineCommand({
  path: ['kv', 'fleet'],
  noDryRun: 'opsctl kv upgrade --dry-run shows the plan of each cluster',
  summary: 'Upgrade many clusters: a canary first, then several at once, stop at the first failure',
  about:
    'The fleet file is YAML: `clusters`, a list of cluster files, and optionally `name`, `canary` and `at_once`. Every cluster is checked before the first one is touched. Clusters that run the new version already count as done. Exit code 9 when some were not upgraded.',
  args,
  flags,
  examples: [
    {
      line: 'opsctl kv fleet fleet.yaml --yes --accept-point-of-no-return',
      says: 'all clusters of the file, to the end',
    },
    { line: 'opsctl kv fleet fleet.yaml --hold-last', says: 'every cluster up to its last member' },
  ],
  check: (values) =>
    lastMemberFlags(values).length === 1
      ? []
      : [
          problem(
            '--accept-point-of-no-return',
            'required',
            'or --hold-last must be given, and not both: the clusters are upgraded unattended',
          ),
        ],
  run,
});
