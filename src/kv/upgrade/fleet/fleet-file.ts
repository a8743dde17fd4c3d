import { hash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { checkFields } from '../../../core/check.ts';
import { type Fields, help, int, list, req, str } from '../../../core/field.ts';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { limits } from '../../../core/limits.ts';
import { AppError, type Problem, problem } from '../../../core/problem.ts';
import { misfit, shapeBy } from '../../../core/shape.ts';
import type { Host } from '../../../platform/host.ts';
import { parseLines } from '../../engine/journal.ts';
import { contentOf } from '../cluster/yaml-file.ts';

/** A fleet file: `clusters` are paths of cluster files, relative to it. */
const fleetFields: Fields = {
  name: help(str(100, { min: 1 }), 'Name of the fleet'),
  canary: help(
    str(undefined, { min: 1 }),
    'Cluster file to upgrade first, before all others (default: the first of the list)',
  ),
  at_once: help(int({ min: 1, max: 50 }), 'Number of clusters in parallel after the canary (default 1)'),
  clusters: req(help(list(str(undefined, { min: 1 }), { min: 1, max: 1000 }), 'Cluster files')),
};
export type Fleet = {
  readonly name: string;
  readonly canary: string;
  readonly atOnce: number /** Absolute paths of cluster files. */;
  readonly clusters: readonly string[];
};
type Content = { name?: string; canary?: string; at_once?: number; clusters: string[] };
/** Returns every problem in the content of a fleet file. Pure. */
export const fleetProblems = (content: unknown): Problem[] => {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [problem('', 'type', 'must be a mapping with `clusters`')];
  const found = checkFields(fleetFields, content as Record<string, unknown>);
  if (found.length > 0) return found;
  const { clusters, canary } = content as Content;
  for (const [i, path] of clusters.entries())
    if (clusters.indexOf(path) !== i) found.push(problem(`clusters[${i}]`, 'rule', `${path} is named twice`));
  if (canary !== undefined && !clusters.includes(canary))
    found.push(problem('canary', 'enum', `must be one of the clusters; got ${canary}`));
  return found;
};
export const readFleet = async (host: Host, path: string): Promise<Fleet> => {
  const absolute = resolve(host.cwd, path);
  const text = await host.files.read(absolute);
  if (text === undefined)
    throw new AppError('config', `fleet file not found: ${path}`, {
      code: 'NO_FLEET_FILE',
      tryThis: ['a YAML file with `clusters: [a.yaml, b.yaml]`'],
    });
  const content = await contentOf(text, { what: path, code: 'FLEET_FILE', problems: fleetProblems });
  const { name, canary, at_once, clusters } = content as Content;
  const at = (file: string): string => resolve(absolute, '..', file);
  return {
    name: name ?? 'fleet',
    canary: at(canary ?? (clusters[0] as string)),
    atOnce: at_once ?? 1,
    clusters: clusters.map(at),
  };
};

type ClusterOutcome = 'done' | 'failed' | 'not started';
export type FleetRow<T> = { readonly cluster: string; readonly outcome: ClusterOutcome; readonly detail?: T };
export type Upgraded<T> = { readonly ok: boolean; readonly detail: T };
/** Returns the canary, then the other clusters in their order. Pure. */
export const orderOf = ({ canary, clusters }: Pick<Fleet, 'canary' | 'clusters'>): string[] => [
  canary,
  ...clusters.filter((cluster) => cluster !== canary),
];
/**
 * Upgrades first the canary, then the other clusters up to the parallel limit. After the first failure no new
 * cluster starts, and running clusters finish. Rows follow the order in which clusters end; clusters that
 * were not started come last.
 */
export async function* runFleet<T>(
  fleet: Fleet,
  upgrade: (cluster: string) => Promise<Upgraded<T>>,
  mayBegin: () => boolean,
): AsyncGenerator<FleetRow<T>> {
  const waiting = orderOf(fleet);
  const running = new Map<string, Promise<FleetRow<T>>>();
  let [hasFailed, isCanaryDone] = [false, false];
  const begin = (cluster: string): void => {
    const row = upgrade(cluster).then(
      ({ ok, detail }): FleetRow<T> => ({ cluster, outcome: ok ? 'done' : 'failed', detail }),
    );
    running.set(cluster, row);
  };
  for (;;) {
    const most = isCanaryDone ? fleet.atOnce : 1;
    while (!hasFailed && mayBegin() && running.size < most && waiting.length > 0)
      begin(waiting.shift() as string);
    if (running.size === 0) break;
    const row = await Promise.race(running.values());
    running.delete(row.cluster);
    isCanaryDone = true;
    hasFailed ||= row.outcome === 'failed';
    yield row;
  }
  for (const cluster of waiting) yield { cluster, outcome: 'not started' };
}

/** The entries of a fleet's journal, from which a killed run can continue. */
type FleetEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly fleet: string;
      readonly clusters: readonly string[];
      /** The digest of --digest, which a continued run must repeat. */
      readonly digest?: string;
      /** The reviewed plan of each cluster: its path and digest. */
      readonly plans?: readonly (readonly [string, string | null])[];
    }
  /** Written before the cluster's own run starts. */
  | { readonly kind: 'began'; readonly at: string; readonly cluster: string }
  | {
      readonly kind: 'ended';
      readonly at: string;
      readonly cluster: string;
      readonly outcome: ClusterOutcome;
      readonly message: string;
    }
  | { readonly kind: 'closed'; readonly at: string };
type Unstamped = FleetEntry extends infer E ? (E extends FleetEntry ? Omit<E, 'at'> : never) : never;
export type FleetJournal = {
  readonly path: string;
  /** Entries of the interrupted run; empty for a new run. */
  readonly before: readonly FleetEntry[];
  write(entry: Unstamped): void;
  close(): void;
};
/** Each fleet file has a separate directory: files with the same name in two directories are two fleets. */
export const fleetDirectory = (state: string, file: string, name: string): string =>
  childPath(
    join(state, 'fleets'),
    pathPart(`${name.replace(/[^A-Za-z0-9._-]/g, '-')}-${hash('sha256', file).slice(0, 8)}`),
  );
const MOVE_IT = 'move it to another name: each cluster has its own journal';
const shapeOf = shapeBy('kind', {
  opened: { fleet: 'text', clusters: ['text'] },
  began: { cluster: 'text' },
  ended: { cluster: 'text', outcome: 'text', message: 'text' },
});
/**
 * An invalid line is an error, as in every journal: without the line, opsctl could miss an unfinished run of
 * a cluster.
 */
const asEntry = (line: unknown): FleetEntry => {
  const wrong = misfit(line, { kind: 'text', ...(shapeOf(line) as object) });
  if (wrong !== undefined) throw new Error(wrong);
  return line as FleetEntry;
};
/** Returns the entries of a run without a final entry. Pure. */
const findInterrupted = (entries: readonly FleetEntry[]): readonly FleetEntry[] =>
  entries.slice(entries.findLastIndex(({ kind }) => kind === 'closed') + 1);
/**
 * Clusters whose own run started without a recorded end: these runs may be unfinished or still active. Pure.
 */
export const inProgress = (entries: readonly FleetEntry[]): ReadonlySet<string> => {
  const open = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === 'began') open.add(entry.cluster);
    if (entry.kind === 'ended') open.delete(entry.cluster);
  }
  return open;
};
/** Clusters that are complete according to the journal. Each of them is checked again. Pure. */
export const completedClusters = (entries: readonly FleetEntry[]): readonly string[] =>
  entries.flatMap((entry) => (entry.kind === 'ended' && entry.outcome === 'done' ? [entry.cluster] : []));
/** Clusters that the run has started, finished or not. Pure. */
export const startedClusters = (entries: readonly FleetEntry[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => (entry.kind === 'began' ? [entry.cluster] : [])));
/** Opens the journal under a lock: only one process at a time can run a fleet. */
export const openFleetJournal = async (host: Host, directory: string): Promise<FleetJournal> => {
  await host.files.makeDirectory(directory, 0o700);
  const path = join(directory, 'journal.jsonl');
  const size = (await host.files.info(path))?.sizeBytes ?? 0;
  if (size > limits.fleetJournalBytes)
    throw new AppError(
      'config',
      `the journal of the fleet ${path} has more than ${limits.fleetJournalBytes} bytes`,
      {
        code: 'JOURNAL_DAMAGED',
        tryThis: [MOVE_IT],
      },
    );
  const text = (await host.files.read(path)) ?? '';
  const { entries, wholeBytes } = parseLines(text, asEntry, path, [MOVE_IT]);
  if (wholeBytes < Buffer.byteLength(text)) await host.files.truncate(path, wholeBytes);
  const file = host.files.append(path, 0o600);
  return {
    path,
    before: findInterrupted(entries),
    write: (entry) => {
      file.write(`${JSON.stringify({ at: new Date(host.now()).toISOString(), ...entry })}\n`);
      file.sync();
    },
    close: () => file.close(),
  };
};

export const fleetFormats = ['ansible', 'ansible-inventory', 'argo'] as const;
export type FleetFormat = (typeof fleetFormats)[number];

/** The plan of one cluster of a fleet. Without a digest, the cluster already runs the new version. */
export type ClusterPlan = {
  readonly cluster: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly order: readonly string[];
  readonly digest: string | null;
};
/** The plan of a whole fleet: the order of its clusters and the plan of each cluster. */
export type FleetPlan = {
  readonly fleet: string;
  readonly canary: string;
  readonly at_once: number;
  /** The flags that each upgrade receives. */
  readonly flags: readonly string[];
  readonly clusters: readonly ClusterPlan[];
  readonly digest: string;
};
/**
 * Joins the plans of all clusters. The digest covers everything that affects a run of the fleet: the order,
 * the flags and the digest of each plan. Pure.
 */
export const joinPlans = (
  { name, atOnce }: Pick<Fleet, 'name' | 'atOnce'>,
  flags: readonly string[],
  clusters: readonly ClusterPlan[],
): FleetPlan => {
  const content = { fleet: name, canary: clusters[0]?.cluster ?? '', at_once: atOnce, flags, clusters };
  const covered = [name, atOnce, flags, clusters.map(({ cluster, digest }) => [cluster, digest])];
  return { ...content, digest: hash('sha256', JSON.stringify(covered)) };
};
