import { AppError, type Problem, usageError } from '../../core/problem.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import type { Context } from '../../cli/command.ts';
import { pinned } from '../../label-definitions/revision.ts';
import { limitProblems, lockProblems, rightProblems } from '../../label-definitions/checks.ts';
import type { LabelDef, LiveLabel } from '../../label-definitions/definition.ts';
import { liveFrom } from '../../label-definitions/from-label.ts';
import { definitionFrom } from '../../label-definitions/parse.ts';
import { type Plan, planFrom } from '../../label-definitions/plan.ts';
import { undoneBy } from '../../label-definitions/drift.ts';
import { changeRow, changesText } from '../../label-definitions/text.ts';
import type { LabelJson, LimitsJson } from '../../label-definitions/api-types.ts';
import { allLocks, getLabel, getLimits, getUserCapabilities } from '../../label-definitions/read-labels.ts';
import { type Document, readDocuments } from '../../label-definitions/read-files.ts';
import { findByTitle } from '../../label-definitions/resolve-label.ts';
import type { ApplyValues } from './apply.ts';

const { labels } = labelsService.table;
type Wish = { readonly source: string; readonly wanted: LabelDef };
type Options = {
  readonly publish: boolean;
  readonly prune: boolean;
  readonly admin: boolean;
  readonly force: boolean;
};
type Prepared = { readonly source: string; readonly plan: Plan; readonly live: LiveLabel | undefined };
/** What became of one definition; printed as data. */
type Applied = {
  readonly action: Plan['action'];
  readonly title: string;
  readonly id?: string;
  /** labels/<id>, or the title of one that is not made yet: what -o name prints. */
  readonly name: string;
  readonly revision?: string;
  readonly published: boolean;
  readonly sent: number;
  readonly changes: readonly unknown[];
  readonly notes: readonly string[];
};

/** `labels export -o json` is one list of all definitions. */
const eachOf = ({ source, value }: Document): Document[] =>
  Array.isArray(value)
    ? value.map((one, i) => ({ source: `${source}: [${i}]`, value: one }))
    : [{ source, value }];

const wishesFrom = async (context: Context, files: readonly string[]): Promise<Wish[]> => {
  const wishes: Wish[] = [];
  const problems: Problem[] = [];
  for (const { source, value } of (await readDocuments(context, files)).flatMap(eachOf)) {
    const read = definitionFrom(value);
    problems.push(
      ...read.problems.map((p) => ({ ...p, path: p.path === '' ? source : `${source}: ${p.path}` })),
    );
    wishes.push({ source, wanted: read.definition });
  }
  if (problems.length > 0) throw usageError('a label definition is wrong; nothing was sent', problems);
  const twice = wishes.find(
    ({ wanted }, i) =>
      wishes.findIndex((w) => w.wanted.title === wanted.title && w.wanted.id === wanted.id) < i,
  );
  if (twice)
    throw usageError(`label ${twice.wanted.title} is defined twice; the second is in ${twice.source}`);
  return wishes;
};

/** By id; an id that the service does not know came from another place, and then the title decides (or the old title, in `was`). */
const liveOf = async (
  context: Context,
  { source, wanted }: Wish,
  admin: boolean,
): Promise<LabelJson | undefined> => {
  if (wanted.id !== undefined) {
    try {
      return await getLabel(context, `labels/${wanted.id}`, { admin });
    } catch (error) {
      if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
    }
  }
  for (const title of [wanted.title, ...(wanted.was === undefined ? [] : [wanted.was])]) {
    const { label } = await findByTitle(
      context,
      title,
      { admin },
      { path: `${source}: title`, hint: 'add the id: of the one that is meant' },
    );
    if (label?.id !== undefined) return getLabel(context, `labels/${label.id}`, { admin });
  }
  return undefined;
};

/** An older revision that the service still has; drafts go when they are published. */
const baseOf = async (
  context: Context,
  live: LiveLabel,
  revision: string,
  admin: boolean,
): Promise<LiveLabel | undefined> => {
  try {
    return liveFrom(await getLabel(context, `labels/${live.id}@${revision}`, { admin }));
  } catch (error) {
    if (error instanceof AppError && error.category === 'not-found') return undefined;
    throw error;
  }
};

/** What freezes at publish is the published revision's, which differs from a newer draft. */
const withPublished = async (context: Context, live: LiveLabel, admin: boolean): Promise<LiveLabel> => {
  if (!live.hasUnpublishedChanges || !live.fields.some((field) => field.maxEntries !== undefined))
    return live;
  const then = await baseOf(context, live, 'published', admin);
  const entriesOf = (id: string) => then?.fields.find((field) => field.id === id)?.maxEntries;
  return {
    ...live,
    fields: live.fields.map((field) => ({ ...field, publishedEntries: entriesOf(field.id) })),
  };
};

/** `--publish` publishes everything that waits, not only what this file changes: that is said beforehand. */
const waiting = (live: LiveLabel | undefined, { publish }: Options): string[] =>
  publish && live && (live.hasUnpublishedChanges || live.state === 'UNPUBLISHED_DRAFT')
    ? [`revision ${live.revisionId} has changes that are not published yet; they are published as well`]
    : [];

const prepare = async (
  context: Context,
  wish: Wish,
  limits: LimitsJson,
  options: Options,
): Promise<Prepared> => {
  const { source, wanted } = wish;
  const json = await liveOf(context, wish, options.admin);
  const live = json && (await withPublished(context, liveFrom(json), options.admin));
  const made = planFrom(wanted, live, { prune: options.prune });
  const plan = { ...made, notes: [...made.notes, ...waiting(live, options)] };
  if (plan.action === 'none' && plan.problems.length === 0) return { source, plan, live };
  if (live) await undoesNothing(context, wish, live, options);
  const locks = live && plan.edits.length > 0 ? await allLocks(context, `labels/${live.id}`) : [];
  const user = plan.action === 'create' ? await getUserCapabilities(context) : undefined;
  const problems = [
    ...plan.problems,
    ...limitProblems(wanted, live, limits),
    ...lockProblems(plan, locks),
    ...rightProblems(plan, live, user),
  ];
  return { source, plan: { ...plan, problems }, live };
};

/** Lost-update safety: an older file may add to what others did since, never undo it. */
const undoesNothing = async (
  context: Context,
  { source, wanted }: Wish,
  live: LiveLabel,
  options: Options,
): Promise<void> => {
  if (options.force || wanted.revision === undefined || wanted.revision === live.revisionId) return;
  const base = await baseOf(context, live, wanted.revision, options.admin);
  const lost = base && undoneBy(wanted, base, live);
  if (lost?.length === 0) return;
  const what =
    lost === undefined
      ? 'and that revision is gone, so nobody can say what changed'
      : `and would undo: ${lost.join('; ')}`;
  throw new AppError(
    'unsafe',
    `${source} was written from revision ${wanted.revision} of label ${live.title}, which is now at ${live.revisionId}, ${what}. Nothing was sent.`,
    {
      code: 'CHANGED_MEANWHILE',
      tryThis: [`opsctl labels export labels/${live.id}`, 'add --force to undo it all the same'],
      data: {
        label: `labels/${live.id}`,
        seen_revision: wanted.revision,
        revision: live.revisionId,
        lost: lost ?? null,
      },
    },
  );
};

const headline = ({ action, title, id, revisionId }: Plan): string =>
  action === 'create' ? `label ${title}: new` : `label ${title} (labels/${id}, revision ${revisionId})`;
const planText = (plan: Plan): string =>
  [headline(plan), changesText(plan.changes), ...plan.notes.map((note) => `  note: ${note}`)].join('\n');

const again = 'run the same command again to see the new difference';
const writeControl = (revisionId: string | undefined) => ({
  writeControl: { requiredRevisionId: revisionId ?? '' },
});

/** The edits and what holds at once; returns the label as it is now. */
const send = async (
  context: Context,
  { plan, live }: Prepared,
  admin: { useAdminAccess?: boolean },
): Promise<LabelJson> => {
  const body = (more: object) => ({ ...admin, ...more, view: 'LABEL_VIEW_FULL' });
  const call = async (
    operation: (typeof labels)[keyof typeof labels],
    input: Parameters<Context['call']>[2],
  ) => (await context.call(labelsService, operation, input)) as LabelJson;
  let label: LabelJson | undefined;
  if (plan.create) label = await call(labels.create, { body: plan.create, query: admin });
  const name = `labels/${plan.id ?? label?.id}`;
  if (plan.edits.length > 0 && live) {
    const shown = {
      name,
      title: plan.title,
      revisionId: live.revisionId,
      asking: { admin: admin.useAdminAccess },
    };
    const since = (now: LabelJson) => changesText(planFrom(liveFrom(now), live, { prune: true }).changes);
    const answer = await pinned(context, shown, again, since, () =>
      context.call(labelsService, labels.delta, {
        params: { name },
        body: body({ requests: plan.edits, ...writeControl(live.revisionId) }),
      }),
    );
    label = (answer as { updatedLabel?: LabelJson }).updatedLabel;
  }
  if (plan.copyMode)
    label = await call(labels.updateLabelCopyMode, {
      params: { name },
      body: body({ copyMode: plan.copyMode }),
    });
  if (plan.enabledApps) {
    const enabledAppSettings = { enabledApps: plan.enabledApps.map((app) => ({ app })) };
    label = await call(labels.updateLabelEnabledAppSettings, {
      params: { name },
      body: body({ enabledAppSettings }),
    });
  }
  return (
    label ?? {
      id: live?.id,
      revisionId: live?.revisionId,
      lifecycle: { state: live?.state, hasUnpublishedChanges: live?.hasUnpublishedChanges },
    }
  );
};

const needsPublishing = ({ lifecycle }: LabelJson): boolean =>
  lifecycle?.state === 'UNPUBLISHED_DRAFT' || lifecycle?.hasUnpublishedChanges === true;

const publish = async (
  context: Context,
  label: LabelJson,
  title: string,
  admin: { useAdminAccess?: boolean },
): Promise<LabelJson> => {
  const name = `labels/${label.id}`;
  const stands = 'The draft was saved, nothing was published.';
  const shown = {
    name,
    title,
    revisionId: label.revisionId ?? '',
    asking: { admin: admin.useAdminAccess },
    stands,
  };
  const since = (now: LabelJson) =>
    changesText(planFrom(liveFrom(now), liveFrom(label), { prune: true }).changes);
  const write = () =>
    context.call(labelsService, labels.publish, {
      params: { name },
      body: { ...admin, ...writeControl(label.revisionId) },
    });
  return (await pinned(context, shown, again, since, write)) as LabelJson;
};

const named = (id: string | undefined, title: string) => ({
  id,
  name: id === undefined ? title : `labels/${id}`,
});

const applyOne = async (context: Context, prepared: Prepared, options: Options): Promise<Applied> => {
  const { plan } = prepared;
  const admin = options.admin ? { useAdminAccess: true } : {};
  const base = {
    action: plan.action,
    title: plan.title,
    changes: plan.changes.map(changeRow),
    notes: plan.notes,
  };
  if (context.isDryRun)
    return { ...base, ...named(plan.id, plan.title), revision: plan.revisionId, published: false, sent: 0 };
  let label = await send(context, prepared, admin);
  const isPublished = options.publish && needsPublishing(label);
  if (isPublished) label = await publish(context, label, plan.title, admin);
  const sent = plan.create ? 1 : plan.edits.length;
  return {
    ...base,
    ...named(label.id, plan.title),
    revision: label.revisionId,
    published: isPublished,
    sent,
  };
};

const refuseProblems = (prepared: readonly Prepared[]): void => {
  const problems = prepared.flatMap(({ source, plan }) =>
    plan.problems.map((p) => ({ ...p, path: `${source}: ${p.path}` })),
  );
  if (problems.length === 0) return;
  throw new AppError('unsafe', 'the service would refuse this; nothing was sent', {
    code: 'PLAN_REFUSED',
    problems,
  });
};

/** Deleting what was published takes values off items, so it is asked for; everything else can be taken back. */
const confirmDeletions = async (context: Context, prepared: readonly Prepared[]): Promise<void> => {
  const gone = prepared.flatMap(({ plan, live }) =>
    live?.state === 'UNPUBLISHED_DRAFT'
      ? []
      : plan.changes.filter((c) => c.kind === 'deleted').map((c) => `${c.what} of ${plan.title}`),
  );
  if (gone.length > 0 && !context.isDryRun)
    await context.confirm(
      `Delete ${gone.join(', ')}? Their values disappear from items when it is published.`,
    );
};

const outcomeText = ({ action, title, id, revision, published }: Applied, isDryRun: boolean): string =>
  isDryRun
    ? `${title}: nothing was sent (dry run)`
    : action === 'none' && !published
      ? `${title}: up to date`
      : `${title}: labels/${id}, revision ${revision}${published ? ', published' : ', draft'}`;

const outcomesText = (done: readonly Applied[], isDryRun: boolean): string =>
  done.map((one) => outcomeText(one, isDryRun)).join('\n');

/** What the next label would meet as well: going on would only repeat it. */
const endsRun = ({ category }: AppError): boolean =>
  ['interrupted', 'terminated', 'auth', 'network', 'config', 'rate-limit'].includes(category);

const stoppedBy = (error: AppError, done: readonly Applied[], total: number): AppError =>
  done.length === 0
    ? error
    : new AppError(
        'stopped',
        `stopped after ${done.length} of ${total} labels: ${error.message}\n${outcomesText(done, false)}`,
        {
          code: 'STOPPED',
          tryThis: ['run the same command again: labels that are done send nothing'],
          data: { done: done.map(({ id, title, revision }) => ({ id, title, revision })) },
          cause: error,
        },
      );

/** One label after the other; what the service refuses for one does not stop the rest. */
const applyAll = async (context: Context, prepared: readonly Prepared[], options: Options) => {
  const done: Applied[] = [];
  const failures: AppError[] = [];
  for (const one of prepared) {
    try {
      done.push(await applyOne(context, one, options));
    } catch (error) {
      if (!(error instanceof AppError) || prepared.length === 1) throw error;
      if (endsRun(error)) throw stoppedBy(error, done, prepared.length);
      failures.push(error);
      context.log.warn(`${one.plan.title}: ${error.message}`);
    }
  }
  return { done, failures };
};

export const runApply = async (context: Context, values: ApplyValues): Promise<Result> => {
  const options: Options = {
    publish: values.publish ?? false,
    prune: values.prune ?? false,
    admin: values.admin ?? false,
    force: values.force ?? false,
  };
  const wishes = await wishesFrom(context, values.file);
  const limits = await getLimits(context);
  const prepared: Prepared[] = [];
  for (const wish of wishes) prepared.push(await prepare(context, wish, limits, options));
  const plans = prepared.map(({ plan }) => planText(plan)).join('\n');
  context.log.info(plans);
  refuseProblems(prepared);
  await confirmDeletions(context, prepared);
  const { done, failures } = await applyAll(context, prepared, options);
  if (failures[0] && done.length === 0) throw failures[0];
  return recordResult(
    done,
    { text: outcomesText(done, context.isDryRun), name: 'name' },
    failures.length > 0 ? 'partial' : undefined,
  );
};
