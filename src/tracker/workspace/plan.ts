import type { Field } from '../../core/field.ts';
import { AppError, problem, type Problem, usageError } from '../../core/problem.ts';
import { type Names, afterRenames, dangling, matcher, namesOf } from './plan-names.ts';
import { contentsDiffer } from './template-contents.ts';
import {
  type Current,
  type Lookup,
  type Row,
  type Workspace,
  type WorkspaceKind,
  kindNames,
  workspaceKinds,
} from './kinds.ts';

export type FieldChange = { readonly from: unknown; readonly to: unknown };
export type Action = {
  readonly action: 'create' | 'update' | 'delete' | 'archive';
  readonly kind: string;
  readonly name: string;
  readonly id?: unknown;
  readonly changes: Readonly<Record<string, FieldChange>>;
};
export type PlanOptions = { readonly prune: boolean; readonly force: boolean };
export type Plan = {
  readonly actions: readonly Action[];
  readonly kept: number;
  readonly refused: readonly Problem[];
  readonly extra: readonly { readonly kind: string; readonly name: string }[];
};

const sorted = (value: unknown): unknown =>
  Array.isArray(value) && value.every((item) => typeof item !== 'object') ? [...value].sort() : value;
/** Absent, null and empty text mean the same for a text that was never set; the order of names in a list means nothing. */
const same = (a: unknown, b: unknown): boolean =>
  JSON.stringify(sorted(a ?? '') ?? '') === JSON.stringify(sorted(b ?? '') ?? '');

type ValueRow = { readonly value: string; readonly color_key?: unknown };
/** Without --prune a value that the file leaves out stays, behind those that it names. */
const keptValues = (wanted: unknown, now: unknown, prune: boolean): unknown => {
  if (prune || !Array.isArray(wanted)) return wanted;
  const left = ((now as ValueRow[] | undefined) ?? []).filter(
    (row) => !(wanted as ValueRow[]).some(({ value }) => value === row.value),
  );
  return [...wanted, ...left];
};
const sameValues = (wanted: unknown, now: unknown): boolean => {
  const a = wanted as ValueRow[];
  const b = now as ValueRow[];
  return (
    a.length === b.length &&
    a.every(
      (row, i) =>
        row.value === b[i]?.value && (row.color_key === undefined || same(row.color_key, b[i]?.color_key)),
    )
  );
};

/** Moments are the same however their offsets are written. */
const isAsWanted = (field: Field | undefined, name: string, to: unknown, now: unknown): boolean => {
  if (name === 'values') return sameValues(to, now);
  if (name === 'story') return !contentsDiffer((to ?? {}) as Row, (now ?? {}) as Row);
  const isMoment = field?.type === 'string' && field.format === 'datetime';
  return isMoment && typeof to === 'string' && typeof now === 'string'
    ? Date.parse(to) === Date.parse(now)
    : same(to, now);
};

const changesOf = (
  kind: WorkspaceKind,
  wanted: Row,
  shown: Row,
  prune: boolean,
): Record<string, FieldChange> => {
  const found: Record<string, FieldChange> = {};
  for (const [name, given] of Object.entries(wanted)) {
    if (kind.once?.includes(name) || !(name in shown)) continue;
    const to = name === 'values' ? keptValues(given, shown.values, prune) : given;
    const isSame = isAsWanted(kind.fields[name], name, to, shown[name]);
    if (!isSame) found[name] = { from: shown[name] ?? null, to };
  }
  return found;
};

type Part = { actions: Action[]; kept: number; refused: Problem[]; extra: { kind: string; name: string }[] };

/** Everything that planning one list needs, and where it puts what it finds. */
type Planning = {
  readonly lookup: Lookup;
  readonly options: PlanOptions;
  readonly names: ReadonlyMap<string, Names>;
  readonly part: Part;
};

const planRest = (
  kindName: string,
  kind: WorkspaceKind,
  rest: readonly Row[],
  { lookup, options, part }: Planning,
): void => {
  for (const row of rest) {
    const name = String(row.name);
    if (!options.prune || kindName === 'custom_fields') {
      part.extra.push({ kind: kindName, name });
      continue;
    }
    const usedBy = kind.usedBy(row, lookup);
    if (usedBy !== undefined && !options.force) {
      part.refused.push(
        problem(
          `${kindName}: ${name}`,
          'rule',
          `is used by ${usedBy} and is not pruned`,
          '--force prunes it all the same',
        ),
      );
    } else if (kind.remove !== undefined)
      part.actions.push({ action: 'delete', kind: kindName, name, id: row.id, changes: {} });
    else if (row.archived !== true)
      part.actions.push({
        action: 'archive',
        kind: kindName,
        name,
        id: row.id,
        changes: { archived: { from: false, to: true } },
      });
  }
};

const planNew = (kindName: string, kind: WorkspaceKind, entry: Row, part: Part): void => {
  const name = String(entry.name);
  if (kind.create === undefined) {
    part.refused.push(
      problem(`${kindName}: ${name}`, 'rule', 'does not exist, and the service has no way to create it'),
    );
    return;
  }
  const changes = Object.fromEntries(Object.entries(entry).map(([field, to]) => [field, { from: null, to }]));
  part.actions.push({ action: 'create', kind: kindName, name, changes });
};

const planKind = (
  kindName: string,
  wanted: readonly Row[],
  rows: readonly Row[],
  planning: Planning,
): void => {
  const kind = workspaceKinds[kindName];
  if (kind === undefined) return;
  const { lookup, options, names, part } = planning;
  const records = matcher(rows);
  for (const entry of wanted) {
    const row = records.take(entry);
    if (row === undefined) {
      planNew(kindName, kind, entry, part);
      continue;
    }
    const changes = changesOf(
      kind,
      entry,
      afterRenames(kindName, kind.show(row, lookup), names),
      options.prune,
    );
    if (Object.keys(changes).length === 0) part.kept += 1;
    else part.actions.push({ action: 'update', kind: kindName, name: String(row.name), id: row.id, changes });
  }
  planRest(kindName, kind, records.rest(), planning);
};

/** A name may stand as often as the service has it already (two sprints called alike), else once. */
const doubled = (workspace: Workspace, current: Current): Problem[] =>
  Object.entries(workspace).flatMap(([kind, entries = []]) => {
    const seen = new Map<unknown, number>();
    const there = new Map<unknown, number>();
    for (const { name } of current[kind] ?? []) there.set(name, (there.get(name) ?? 0) + 1);
    return entries.flatMap(({ name }, i) => {
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      return count > Math.max(1, there.get(name) ?? 0)
        ? [problem(`${kind}[${i}].name`, 'rule', `${JSON.stringify(name)} stands twice`)]
        : [];
    });
  });

/** The smallest list of changes that makes the service what the file says. Deletes come last, in reverse order. Pure. */
export const planWorkspace = (
  workspace: Workspace,
  current: Current,
  lookup: Lookup,
  options: PlanOptions,
): Plan => {
  const names = namesOf(workspace, current);
  const problems = [...doubled(workspace, current), ...dangling(workspace, names)];
  if (problems.length > 0) throw usageError('the workspace file contradicts itself', problems);
  const part: Part = { actions: [], kept: 0, refused: [], extra: [] };
  for (const kind of kindNames) {
    const wanted = workspace[kind];
    if (wanted !== undefined) planKind(kind, wanted, current[kind] ?? [], { lookup, options, names, part });
  }
  const removals = part.actions.filter(({ action }) => action === 'delete').reverse();
  return { ...part, actions: [...part.actions.filter(({ action }) => action !== 'delete'), ...removals] };
};

/** A plan that would do less than was asked is not carried out at all. */
export const refusal = (plan: Plan): AppError | undefined =>
  plan.refused.length === 0
    ? undefined
    : new AppError('unsafe', 'the plan is refused; nothing was changed', {
        code: 'PLAN_REFUSED',
        problems: plan.refused,
      });

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? '';
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};
const sign = { create: '+', update: '~', delete: '-', archive: '-' } as const;

/** The plan as people read it: one line an action, its changes below. */
export const planText = (plan: Plan): string => {
  const lines = plan.actions.flatMap(({ action, kind, name, changes }) => [
    `${sign[action]} ${action} ${kind}: ${name}`,
    ...(action === 'update'
      ? Object.entries(changes).map(([field, { from, to }]) => `    ${field}: ${shown(from)} → ${shown(to)}`)
      : []),
  ]);
  const extra =
    plan.extra.length > 0
      ? [`${plan.extra.length} more in the service than in the file; --prune removes them`]
      : [];
  const none =
    plan.actions.length === 0
      ? [`nothing to change: ${plan.kept} are as the file says`]
      : [`${plan.actions.length} to change, ${plan.kept} are as the file says`];
  return `${[...lines, ...extra, ...none].join('\n')}\n`;
};
