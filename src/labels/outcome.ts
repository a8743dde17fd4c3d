import { secondOf } from '../core/format.ts';
import { AppError } from '../core/problem.ts';
import { changeRow, changesText, type LiveLabel, type PermissionPlan, permissionText } from './definition.ts';
import { type Drift, driftText, makesRevision } from './drift.ts';
import { type DeploymentRecord, type LabelRecord, LOCK_FILE } from './lock-file.ts';
import { isIdle, type Plan } from './plan.ts';
import { changesPermissions, listLostDrift, type PlannedLabel, type Session } from './prepare.ts';
import { forgetCommand } from './lock-entries.ts';
import type { RevisionAuthor } from './read-labels.ts';
import type { Sent } from './send.ts';

/** The author of the live revision, unless only settings changed: such a change makes no revision. */
const creatorText = ({ authors, live }: PlannedLabel, lost: readonly Drift[]): string => {
  const last = authors?.at(-1);
  if (last === undefined || last.revision !== live?.revisionId || !lost.some(makesRevision)) return '';
  const by = `by ${last.author ?? 'an unknown user'}${last.at === null ? '' : `, ${secondOf(last.at)}`}`;
  return lost.every(makesRevision) ? ` (${by})` : ` (last revision ${by})`;
};
const since = (prepared: PlannedLabel, { deployment }: Session, lost: readonly Drift[]): string => {
  const { base, entry, wanted, live } = prepared;
  const revision = base?.revision ?? entry?.record?.deployments[deployment]?.revision ?? wanted.revision;
  const verb = entry?.record === undefined ? 'was exported' : 'was applied';
  return live === undefined || live.revisionId === revision
    ? `revision ${revision} ${verb}`
    : `revision ${revision} ${verb}, and is now at revision ${live.revisionId}${creatorText(prepared, lost)},`;
};
const lineOf = (session: Session, prepared: PlannedLabel): string => {
  const { wish, live, wanted } = prepared;
  const name = live === undefined ? wanted.title : `${live.title} (labels/${live.id})`;
  const lost = listLostDrift(prepared);
  const what = lost.map((one) => one.what).join('; ');
  return `label ${name} was changed in ${session.deployment} since ${since(prepared, session, lost)} and ${wish.source} would undo: ${what}`;
};
export const driftRow = ({ what, was, is, isLost, at }: Drift) => ({
  what,
  ...(was === undefined ? {} : { was }),
  ...(is === undefined ? {} : { is }),
  undone_by_file: isLost,
  ...(at.fieldId === undefined ? {} : { field_id: at.fieldId }),
  ...(at.choiceId === undefined ? {} : { choice_id: at.choiceId }),
});
const hintsFor = (prepared: readonly PlannedLabel[]): string[] => {
  const [{ wish, entry } = { wish: { source: '-' }, entry: undefined }] = prepared;
  return [
    `opsctl labels diff -f ${wish.source}`,
    '--take ours, to undo it anyway',
    ...(entry?.record === undefined
      ? [`opsctl labels adopt -f ${wish.source}, once the file is what you want`]
      : [
          '--take theirs, to write it into the file',
          `or ${LOCK_FILE} is older than the last apply: check whether that apply committed and pushed it`,
        ]),
  ];
};
/**
 * Prevents lost updates: a definition may extend remote changes since it was applied, but not undo them.
 * Checked for all labels together.
 */
export const refuseLost = (session: Session, prepared: readonly PlannedLabel[]): void => {
  const losing = prepared.filter((one) => listLostDrift(one).length > 0);
  if (losing.length === 0 || session.options.take === 'ours') return;
  const lines = losing.map((one) => lineOf(session, one));
  throw new AppError('unsafe', `${lines.join('\n')}. No request was sent.`, {
    code: 'CHANGED_MEANWHILE',
    tryThis: hintsFor(losing),
    data: {
      deployment: session.deployment,
      labels: losing.map((one) => ({
        label: one.live === undefined ? null : `labels/${one.live.id}`,
        title: one.wanted.title,
        seen_revision: one.base?.revision ?? null,
        revision: one.live?.revisionId ?? null,
        drift: listLostDrift(one).map(driftRow),
        ...(one.authors === undefined || !listLostDrift(one).some(makesRevision)
          ? {}
          : { changed_by: one.authors }),
      })),
    },
  });
};
/** The labels that some definition stands for. Another lock entry of such a label is no reason to delete it. */
export const definedLabels = (prepared: readonly PlannedLabel[]): ReadonlySet<string | undefined> =>
  new Set(prepared.flatMap(({ live, base }) => [live?.id, base?.record?.id]));
/** What an entry without a definition refers to, and the ways out. */
const entryText = (
  session: Session,
  directory: string,
  [key, { file, deployments }]: [string, LabelRecord],
  defined: ReadonlySet<string | undefined>,
): string => {
  const record = deployments[session.deployment];
  const missing = file === undefined ? '' : ` (${file} does not exist)`;
  const restore = file === undefined ? 'restore the definition' : `restore ${file}`;
  const forget = `remove the entry with ${forgetCommand(session.context.host, directory, key)}`;
  const about = (rest: string, ...ways: string[]): string =>
    `${LOCK_FILE}: entry ${key} has no definition${missing}; ${rest}. ${[...ways, forget].join(', or ')}`;
  if (record === undefined) return about(`it has no label in ${session.deployment}`, restore);
  const label = `label ${JSON.stringify(record.title)} (labels/${record.id})`;
  return defined.has(record.id)
    ? about(`${label} has a definition under another entry`)
    : about(
        `${label} stays as it is`,
        restore,
        `delete the label with opsctl labels retire labels/${record.id}`,
      );
};
/** Lock entries whose definition file is gone, each with the ways out. Only a directory is known to be complete. */
export const entriesWithoutDefinition = (session: Session, prepared: readonly PlannedLabel[]): string[] => {
  const defined = definedLabels(prepared);
  return [...session.locks].flatMap(([directory, lock]) => {
    const here = prepared.filter(({ entry }) => entry?.directory === directory);
    if (lock === undefined || !here.some(({ wish }) => wish.document.isInDirectory === true)) return [];
    const used = new Set(here.map(({ entry }) => entry?.key));
    return Object.entries(lock.labels)
      .filter(([key]) => !used.has(key))
      .map((one) => entryText(session, directory, one, defined));
  });
};
/** Labels of the lock file that exist in this deployment and whose definition file was removed. */
const labelsWithoutFile = (session: Session, prepared: readonly PlannedLabel[], directory: string) => {
  const here = prepared.filter(({ entry }) => entry?.directory === directory);
  if (!here.some(({ wish }) => wish.document.isInDirectory === true)) return [];
  const [used, defined] = [new Set(here.map(({ entry }) => entry?.key)), definedLabels(prepared)];
  return Object.entries(session.locks.get(directory)?.labels ?? {}).flatMap(([key, { deployments }]) => {
    const record = deployments[session.deployment];
    return record === undefined || used.has(key) || defined.has(record.id) ? [] : [record];
  });
};
/**
 * A file with another name and another title defines a new label, although its author may have meant to rename the
 * label of the removed file. Only the author knows, so the plan of the new label names the other meaning. Pure.
 */
export const withRenameNotes = (session: Session, prepared: readonly PlannedLabel[]): PlannedLabel[] => {
  const removedIn = new Map<string, DeploymentRecord[]>();
  return prepared.map((one) => {
    if (one.live !== undefined || one.entry === undefined) return one;
    const { directory } = one.entry;
    const removed = removedIn.get(directory) ?? labelsWithoutFile(session, prepared, directory);
    removedIn.set(directory, removed);
    const notes = removed.slice(0, 3).map(({ id, title }) => {
      const name = JSON.stringify(title);
      return `apply creates a new label; to rename the label ${name} (labels/${id}), whose definition was removed, write \`was: ${name}\` in ${one.wish.source}`;
    });
    return { ...one, plan: { ...one.plan, notes: [...one.plan.notes, ...notes] } };
  });
};
/** `revision 6 by people/ana, 2026-11-26T01:05:00Z`: who made a revision since the label was applied. */
const authorText = ({ revision, author, at }: RevisionAuthor): string =>
  `revision ${revision} by ${author ?? 'an unknown user'}${at === null ? '' : `, ${secondOf(at)}`}`;
export const authorLines = ({ authors = [], drift }: PlannedLabel): string[] => [
  ...authors.map((one) => `  ! ${authorText(one)}`),
  ...(authors.length === 0 || drift.every(makesRevision)
    ? []
    : ['  ! a change of permissions or settings makes no revision; its author is unknown']),
];
const driftLines = (prepared: PlannedLabel): string[] => [
  ...prepared.drift.map((one) => `  ! ${driftText(one)}${one.isLost ? '' : ' (the file has it as well)'}`),
  ...authorLines(prepared),
];

/** What became of one definition; printed as data. */
export type Applied = {
  readonly action: Plan['action'];
  readonly title: string;
  readonly key?: string;
  readonly id?: string;
  /** labels/<id>, or the title of a label that does not exist yet: the output of -o name. */
  readonly name: string;
  readonly revision?: string;
  readonly published: boolean;
  /** Of the newest revision, after this apply. */
  readonly state?: 'draft' | 'published' | 'disabled';
  /** Edits of the definition; 1 for a new label. */
  readonly sent: number;
  /** Requests that made changes. */
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
export const planText = (prepared: PlannedLabel): string => {
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
const isUnchanged = (prepared: PlannedLabel): boolean =>
  isIdle(prepared.plan) &&
  prepared.plan.notes.length === 0 &&
  prepared.drift.length === 0 &&
  !changesPermissions(prepared);
/** The changes of several labels and the totals. A label without changes is only counted. */
export const plansText = (all: readonly PlannedLabel[]): string => {
  if (all.length === 1) return all.map(planText).join('\n');
  const shown = all.filter((one) => !isUnchanged(one));
  const created = all.filter(({ plan }) => plan.action === 'create').length;
  // A label whose drift is in its file already is shown, but nothing is sent for it.
  const changed = all.filter((one) => !isIdle(one.plan) || changesPermissions(one)).length - created;
  const totals = [
    ...(created > 0 ? [`${created} to create`] : []),
    `${changed} to change`,
    `${all.length - created - changed} unchanged`,
  ];
  return [...shown.map(planText), totals.join(', ')].join('\n');
};
const nameLabel = (id: string | undefined, title: string) => ({
  ...(id === undefined ? {} : { id }),
  name: id === undefined ? title : `labels/${id}`,
});
const permissionRows = ({ permissions }: PlannedLabel): unknown[] => {
  if (permissions === undefined) return [];
  const { added, changed, removed } = permissions.plan;
  const row = (kind: string, who: object) => ({ kind, what: 'permission', ...who });
  return [
    ...added.map((one) => row('added', one)),
    ...changed.map(({ from, to }) => row('changed', { ...to, from })),
    ...removed.map(({ name: _, ...one }) => row('deleted', one)),
  ];
};
export const changeRows = (prepared: PlannedLabel): unknown[] => [
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
  prepared: PlannedLabel,
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
    ...nameLabel(id, plan.title),
    ...(revision === undefined ? {} : { revision }),
    published: sent?.isPublished ?? false,
    ...stateNow(sent?.live ?? prepared.live),
    sent: sent === undefined ? 0 : sent.isCreated ? 1 : plan.edits.length,
    requests: sent?.count ?? 0,
    changes: changeRows(prepared),
    notes: [...plan.notes, ...more],
  };
};
const isUpToDate = ({ action, published, requests }: Applied): boolean =>
  action === 'none' && !published && requests === 0;
const outcomeText = (one: Applied, isDryRun: boolean): string => {
  const { title, id, revision, state } = one;
  if (isDryRun) return `${title}: no request was sent (dry run)`;
  if (isUpToDate(one)) return `${title}: up to date`;
  return `${title}: labels/${id}, revision ${revision}${state === undefined ? '' : `, ${state}`}`;
};
/** One line for each label. Several labels that are up to date are counted in one line. */
export const outcomesText = (done: readonly Applied[], isDryRun: boolean): string => {
  const same = isDryRun ? 0 : done.filter(isUpToDate).length;
  const shown = same > 1 ? done.filter((one) => !isUpToDate(one)) : done;
  return [
    ...shown.map((one) => outcomeText(one, isDryRun)),
    ...(same > 1 ? [`${same} labels are up to date`] : []),
  ].join('\n');
};
