import { changeRow, changesText } from './text.ts';
import { type PermissionPlan, permissionText } from './permissions.ts';
import type { LiveLabel } from './definition.ts';
import type { Plan } from './plan.ts';
import { type Prepared, changesPermissions } from './prepared.ts';
import { driftLines } from './protect.ts';
import type { Sent } from './send.ts';

/** What became of one definition; printed as data. */
export type Applied = {
  readonly action: Plan['action'];
  readonly title: string;
  readonly key?: string;
  readonly id?: string;
  /** labels/<id>, or the title of one that is not made yet: what -o name prints. */
  readonly name: string;
  readonly revision?: string;
  readonly published: boolean;
  /** Of the newest revision, after this apply. */
  readonly state?: 'draft' | 'published' | 'disabled';
  /** Edits of the definition; 1 for a new label. */
  readonly sent: number;
  /** Requests that changed something. */
  readonly requests: number;
  readonly changes: readonly unknown[];
  readonly notes: readonly string[];
};

const headline = ({ action, title, id, revisionId }: Plan): string =>
  action === 'create' ? `label ${title}: new` : `label ${title} (labels/${id}, revision ${revisionId})`;

export const permissionLines = (plan: PermissionPlan): string[] =>
  permissionText(plan)
    .split('\n')
    .map((line) => line.replace(/^ {2}(.) /, '  $1 permission '));

/** A plan as people read it. */
export const planText = (prepared: Prepared): string => {
  const { plan, permissions } = prepared;
  const isForPermissions = permissions !== undefined && changesPermissions(prepared);
  return [
    headline(plan),
    ...driftLines(prepared),
    ...(plan.changes.length === 0 && isForPermissions ? [] : [changesText(plan.changes)]),
    ...(isForPermissions ? permissionLines(permissions.plan) : []),
    ...plan.notes.map((note) => `  note: ${note}`),
  ].join('\n');
};

const named = (id: string | undefined, title: string) => ({
  ...(id === undefined ? {} : { id }),
  name: id === undefined ? title : `labels/${id}`,
});

const permissionRows = ({ permissions }: Prepared): unknown[] => {
  if (permissions === undefined) return [];
  const { added, changed, removed } = permissions.plan;
  const row = (kind: string, who: object) => ({ kind, what: 'permission', ...who });
  return [
    ...added.map((one) => row('added', one)),
    ...changed.map(({ from, to }) => row('changed', { ...to, from })),
    ...removed.map(({ name: _, ...one }) => row('deleted', one)),
  ];
};

export const changeRows = (prepared: Prepared): unknown[] => [
  ...prepared.plan.changes.map(changeRow),
  ...permissionRows(prepared),
];

const stateNow = (live: LiveLabel | undefined): Pick<Applied, 'state'> => {
  if (live === undefined) return {};
  if (live.state === 'DISABLED') return { state: 'disabled' };
  const isDraft = live.state === 'UNPUBLISHED_DRAFT' || live.hasUnpublishedChanges;
  return { state: isDraft ? 'draft' : 'published' };
};

export const appliedFrom = (
  prepared: Prepared,
  sent: Sent | undefined,
  more: readonly string[] = [],
): Applied => {
  const { plan, entry } = prepared;
  const id = sent?.live.id ?? plan.id;
  const revision = sent?.live.revisionId ?? plan.revisionId;
  return {
    action: plan.action,
    title: plan.title,
    ...(entry === undefined ? {} : { key: entry.key }),
    ...named(id, plan.title),
    ...(revision === undefined ? {} : { revision }),
    published: sent?.isPublished ?? false,
    ...stateNow(sent?.live ?? prepared.live),
    sent: sent === undefined ? 0 : sent.isCreated ? 1 : plan.edits.length,
    requests: sent?.count ?? 0,
    changes: changeRows(prepared),
    notes: [...plan.notes, ...more],
  };
};

const outcomeText = (one: Applied, isDryRun: boolean): string => {
  const { action, title, id, revision, published, state, requests } = one;
  if (isDryRun) return `${title}: nothing was sent (dry run)`;
  if (action === 'none' && !published && requests === 0) return `${title}: up to date`;
  return `${title}: labels/${id}, revision ${revision}${state === undefined ? '' : `, ${state}`}`;
};

export const outcomesText = (done: readonly Applied[], isDryRun: boolean): string =>
  done.map((one) => outcomeText(one, isDryRun)).join('\n');
