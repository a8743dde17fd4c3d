import { labelsService } from '../api-specs/labels/labels.ts';
import type { EngineContext, Prompts } from '../api/context.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import { tooLargeYaml } from '../core/yaml.ts';
import type { LabelJson } from './api-types.ts';
import { type LiveLabel, type PermissionDef, permissionPlan } from './definition.ts';
import { loadDesiredLabels, type DesiredLabel } from './desired.ts';
import type { Drift } from './drift.ts';
import { definitionOf, liveFrom, choiceText, fieldText, permissionText } from './from-label.ts';
import { match } from './match.ts';
import {
  type Applied,
  appliedFrom,
  entriesWithoutDefinition,
  outcomesText,
  plansText,
  refuseLost,
  withRenameNotes,
} from './outcome.ts';
import { isIdle, planFrom } from './plan.ts';
import {
  adminBody,
  changesPermissions,
  listLostDrift,
  openSession,
  type Options,
  prepareAll,
  type PlannedLabel,
  type Session,
} from './prepare.ts';
import { absolute, placeProblems, tooLarge } from './read-files.ts';
import { groupBy, listPermissions, listTitles, getDefinition, titleOf } from './read-labels.ts';
import { sendPlan, type SendResult, type Sent } from './send.ts';
import { sendPermissions } from './sync-permissions.ts';
import { createLocks, type Outcome, recordIntents, recordOutcomes } from './update-lock.ts';
import { isMap, isScalar, isSeq, parseAllDocuments, type YamlDocument } from '../platform/yaml.ts';

type Step = string | number;
type Part = { readonly id?: string; readonly name: string };
/** One list of parts in a file, with the parts of the service that they stand for. */
type List = {
  readonly path: readonly Step[];
  readonly wanted: readonly Part[];
  readonly live: readonly { readonly id: string; readonly name: string }[];
  readonly plain: (id: string) => unknown;
};
const itemsAt = (document: YamlDocument, path: readonly Step[]): unknown[] => {
  const node = document.getIn(path);
  if (isSeq(node)) return node.items;
  document.setIn(path, document.createNode([]));
  const made = document.getIn(path);
  return isSeq(made) ? made.items : [];
};
/** A comment after a value is preserved. */
const replaceAt = (document: YamlDocument, path: readonly Step[], value: unknown): void => {
  const before = document.getIn(path, true);
  const node = document.createNode(value);
  if (isScalar(before) && isScalar(node)) node.comment = before.comment;
  document.setIn(path, node);
};
/** A choice that is only a name becomes `{name}` before it gets another member. */
const setMember = (document: YamlDocument, path: readonly Step[], member: string, value: unknown): void => {
  const node = document.getIn(path, true);
  if (isScalar(node)) document.setIn(path, document.createNode({ name: node.value }));
  replaceAt(document, [...path, member], value);
};
/** Adds missing items, removes deleted items and sorts the rest in the order of the service. */
const alignList = (
  document: YamlDocument,
  list: List,
  drifts: readonly Drift[],
  idOf: (d: Drift) => string,
): void => {
  const items = itemsAt(document, list.path);
  const { pairs } = match(list.wanted, list.live, '');
  const rows = pairs.map((pair, i) => ({ id: pair.live?.id, part: pair.wanted, item: items[i] }));
  const structural = drifts.filter(({ at }) => at.member === undefined).map(idOf);
  const goneIds = structural.filter((id) => !list.live.some((one) => one.id === id));
  const goneNames = drifts.filter((d) => goneIds.includes(idOf(d))).map((d) => d.was);
  const kept = rows.filter(
    ({ id, part }) => id !== undefined || !(goneIds.includes(part.id ?? '') || goneNames.includes(part.name)),
  );
  const added = structural
    .filter((id) => list.live.some((one) => one.id === id) && !kept.some((row) => row.id === id))
    .map((id) => ({ id, item: document.createNode(list.plain(id)) as unknown }));
  const place = (id: string | undefined): number => list.live.findIndex((one) => one.id === id);
  const all: { readonly id: string | undefined; readonly item: unknown }[] = [...kept];
  for (const one of added) {
    const next = all.findIndex((row) => place(row.id) > place(one.id));
    all.splice(next < 0 ? all.length : next, 0, one);
  }
  if (drifts.some(({ at }) => at.member === 'order')) all.sort((a, b) => place(a.id) - place(b.id));
  items.splice(0, items.length, ...all.map(({ item }) => item));
};
const setLabel = (document: YamlDocument, { live, permissions }: PlannedLabel, member: string): void => {
  if (live === undefined) return;
  if (member === 'permissions') {
    const all = (permissions?.live ?? []).map((one) =>
      permissionText({ ...one, role: one.role ?? '' } as PermissionDef),
    );
    document.set('permissions', document.createNode(all));
    return;
  }
  const said: Readonly<Record<string, unknown>> = { state: 'published', ...definitionOf(live) };
  replaceAt(document, [member], said[member] ?? null);
};
/** A choice of a field, or the order of all of them. */
const isOfChoices = ({ fieldId, choiceId, member }: Drift['at']): boolean =>
  choiceId !== undefined || (fieldId !== undefined && member === 'order');
const alignChoices = (document: YamlDocument, prepared: PlannedLabel, drifts: readonly Drift[]): void => {
  const { live, wanted } = prepared;
  const { pairs } = match(wanted.fields ?? [], live?.fields ?? [], '');
  for (const [i, { wanted: field, live: known }] of pairs.entries()) {
    const own = drifts.filter(({ at }) => at.fieldId === known?.id && isOfChoices(at));
    if (known === undefined || field.choices === undefined || own.length === 0) continue;
    const path = ['fields', i, 'choices'];
    const said = match(field.choices, known.choices, '').pairs;
    for (const { at } of own) {
      const index = said.findIndex((pair) => pair.live?.id === at.choiceId);
      const choice = known.choices.find(({ id }) => id === at.choiceId);
      if (at.member === undefined || index < 0 || choice === undefined) continue;
      const value = choiceText({ description: null, badge: null, disabled: false, ...choice })[at.member];
      setMember(document, [...path, index], at.member, value);
    }
    const plain = (id: string): unknown => {
      const choice = known.choices.find((one) => one.id === id);
      return choice === undefined ? {} : choiceText(choice);
    };
    alignList(
      document,
      { path, wanted: field.choices, live: known.choices, plain },
      own,
      ({ at }) => at.choiceId ?? '',
    );
  }
};
const alignFields = (
  document: YamlDocument,
  { live, wanted }: PlannedLabel,
  drifts: readonly Drift[],
): void => {
  if (live === undefined || wanted.fields === undefined) return;
  const all = definitionOf(live).fields ?? [];
  const textFor = (id: string | undefined): Readonly<Record<string, unknown>> => {
    const field = all.find((one) => one.id === id);
    return field === undefined ? {} : fieldText(field);
  };
  const own = drifts.filter(
    ({ at }) => !isOfChoices(at) && (at.fieldId !== undefined || at.member === 'order'),
  );
  const { pairs } = match(wanted.fields, live.fields, '');
  for (const { at } of own) {
    const index = pairs.findIndex((pair) => pair.live?.id === at.fieldId);
    if (at.member !== undefined && at.member !== 'order' && index >= 0)
      setMember(document, ['fields', index], at.member, textFor(at.fieldId)[at.member] ?? null);
  }
  const list = { path: ['fields'], wanted: wanted.fields, live: live.fields, plain: textFor };
  alignList(document, list, own, ({ at }) => at.fieldId ?? '');
};
const settleDrift = (document: YamlDocument, prepared: PlannedLabel): void => {
  const drifts = listLostDrift(prepared);
  for (const { at } of drifts)
    if (at.fieldId === undefined && at.member !== undefined && at.member !== 'order')
      setLabel(document, prepared, at.member);
  // Choices first: their paths contain the positions of the fields in the original file.
  alignChoices(document, prepared, drifts);
  alignFields(document, prepared, drifts);
};
const refuseDeleted = ({ wanted, live, wish }: PlannedLabel): void => {
  if (live !== undefined) return;
  throw new AppError('unsafe', `label ${wanted.title} was deleted in the service; no changes were made`, {
    code: 'CHANGED_MEANWHILE',
    tryThis: [`remove ${wish.source}`, '--take ours, to make the label again'],
  });
};
/** A placeholder applies to every deployment, so the value of one deployment must not replace it. */
const refuseFilled = (prepared: PlannedLabel): void => {
  const { filled = new Map<string, string>() } = prepared.wish.document;
  const members = listLostDrift(prepared).map(({ at }) =>
    at.fieldId === undefined ? (at.member ?? '') : 'fields',
  );
  const path = [...filled.keys()].find((one) =>
    members.some((member) => member !== '' && one.startsWith(member)),
  );
  if (path === undefined) return;
  const wrong = problem(
    path,
    'rule',
    'comes from the values file',
    'change the values file, or use --take ours',
  );
  throw usageError('--take theirs cannot replace a placeholder; no changes were made', [
    ...placeProblems(prepared.wish.document, [wrong]),
  ]);
};
const rewritten = (file: string, text: string, prepared: readonly PlannedLabel[]): string => {
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(file, why);
  const documents = parseAllDocuments(text);
  const said = documents.filter((one) => one.toJS() !== null);
  for (const one of prepared) {
    const document = said[one.wish.document.index];
    if (document === undefined || !isMap(document.contents))
      throw usageError(`${file} is a list of definitions: --take theirs needs one definition a document`);
    settleDrift(document, one);
  }
  if (/\.json$/i.test(file)) return `${JSON.stringify(documents[0]?.toJS() as unknown, undefined, 2)}\n`;
  const flowCollectionPadding = /\{ /.test(text);
  return documents
    .map((one) => one.toString({ lineWidth: 0, flowCollectionPadding }))
    .map((one, i) => (i === 0 || one.startsWith('---') ? one : `---\n${one}`))
    .join('');
};
/**
 * Writes remote changes that the files would undo into the files. The rest of the files, including comments,
 * stays unchanged.
 */
export const acceptRemoteChanges = async (
  { context }: Session,
  losing: readonly PlannedLabel[],
): Promise<void> => {
  for (const one of losing) {
    refuseDeleted(one);
    refuseFilled(one);
  }
  const files = new Map<string, PlannedLabel[]>();
  for (const one of losing) {
    const { file } = one.wish.document;
    if (file === undefined)
      throw usageError('--take theirs cannot be used with standard input, because it writes files');
    const group = files.get(file);
    if (group === undefined) files.set(file, [one]);
    else group.push(one);
  }
  for (const [file, group] of files) {
    const path = absolute(context, file);
    const text = rewritten(file, (await context.host.files.read(path)) ?? '', group);
    if (!context.isDryRun) await context.host.files.replace(path, text);
    const what = group.flatMap((one) => listLostDrift(one).map((drift) => drift.what));
    context.log.info(`${file}: ${context.isDryRun ? 'would update' : 'updated'} ${what.join('; ')}`);
  }
};

const { labels } = labelsService.table;
/** A label that this run made. */
type Made = { readonly prepared: PlannedLabel; readonly live: LiveLabel };
export type DuplicateLabel = Made & {
  /** Made by another run at the same time, and first. */
  readonly first: LabelJson;
};
const isBefore = (a: LabelJson, b: LabelJson): boolean =>
  (a.createTime ?? '') === (b.createTime ?? '')
    ? (a.id ?? '') < (b.id ?? '')
    : (a.createTime ?? '') < (b.createTime ?? '');
/**
 * Labels with the same title that two runs created concurrently. No such label existed when this run checked, so
 * each is new. Every run uses the same order, so exactly one of them stays. The titles are read once, after
 * all labels were created.
 */
const findDuplicates = async (session: Session, made: readonly Made[]): Promise<DuplicateLabel[]> => {
  if (made.length === 0) return [];
  const all: LabelJson[] = [];
  const titles = new Set(made.map(({ live }) => live.title));
  for await (const label of listTitles(session.context, session.options))
    if (titles.has(titleOf(label))) all.push(label);
  const byTitle = groupBy(all, titleOf);
  return made.flatMap((one) => {
    const alike = byTitle.get(one.live.title) ?? [];
    const [first] = alike.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    return first === undefined || first.id === one.live.id ? [] : [{ ...one, first }];
  });
};
/** Deletes the later one. It is new and its revision is pinned, so no work is lost. */
export const deleteDuplicate = async (session: Session, { live }: DuplicateLabel): Promise<void> => {
  const { context } = session;
  const params = { name: `labels/${live.id}` };
  let { revisionId } = live;
  if (live.state === 'PUBLISHED') {
    const body = { ...adminBody(session), writeControl: { requiredRevisionId: revisionId } };
    const disabled = (await context.call(labelsService, labels.disable, { params, body })) as LabelJson;
    revisionId = disabled.revisionId ?? revisionId;
  }
  const query = { ...adminBody(session), 'writeControl.requiredRevisionId': revisionId };
  try {
    await context.call(labelsService, labels.delete, { params, query });
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
  }
};
const readFirstDuplicate = async (session: Session, { first }: DuplicateLabel): Promise<LiveLabel> =>
  liveFrom(await getDefinition(session.context, `labels/${first.id}`, session.options));

const placedProblems = ({ wish, plan }: PlannedLabel) => placeProblems(wish.document, plan.problems);
export const refuseProblems = (prepared: readonly PlannedLabel[]): void => {
  const problems = prepared.flatMap(placedProblems);
  if (problems.length === 0) return;
  throw new AppError('unsafe', 'the service would reject this; no request was sent', {
    code: 'PLAN_REFUSED',
    problems,
  });
};
/**
 * Deleting a published part removes values from items, and removing a permission revokes access. Both need a
 * confirmation.
 */
export const confirmLosses = async (
  context: EngineContext & Prompts,
  prepared: readonly PlannedLabel[],
): Promise<void> => {
  const gone = prepared.flatMap(({ plan, live }) =>
    live?.state === 'UNPUBLISHED_DRAFT'
      ? []
      : plan.changes.filter((c) => c.kind === 'deleted').map((c) => `${c.what} of ${plan.title}`),
  );
  if (gone.length > 0)
    await context.confirm(
      `Delete ${gone.join(', ')}? Their values disappear from items when it is published.`,
    );
  const losing = prepared.flatMap(({ permissions, plan }) =>
    (permissions?.plan.removed.length ?? 0) > 0
      ? [`${permissions?.plan.removed.length} of ${plan.title}`]
      : [],
  );
  if (losing.length > 0) await context.confirm(`Remove permissions: ${losing.join(', ')}?`);
};
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
          tryThis: ['run the same command again: it skips completed labels'],
          data: { done: done.map(({ id, title, revision }) => ({ id, title, revision })) },
          cause: error,
        },
      );
type Run = {
  readonly done: Applied[];
  readonly failures: AppError[];
  readonly outcomes: Outcome[];
  readonly made: Made[];
};
/** The permissions of a new label are compared with the permissions that the service gave it. */
const sendPermissionsOf = async (
  session: Session,
  prepared: PlannedLabel,
  live: LiveLabel,
): Promise<number> => {
  const { context, options } = session;
  const { permissions: wanted } = prepared.wanted;
  if (wanted === undefined) return 0;
  const parent = `labels/${live.id}`;
  const plan =
    prepared.live === undefined
      ? permissionPlan(wanted, await listPermissions(context, parent, options), false)
      : prepared.permissions?.plan;
  return plan === undefined ? 0 : sendPermissions(context, parent, plan, adminBody(session));
};
/** A part that was a draft can be disabled only after it was published, so it needs a second plan. */
const sendDeferred = async (session: Session, prepared: PlannedLabel, first: Sent): Promise<SendResult> => {
  const plan = { ...planFrom(prepared.wanted, first.live, session.options), deferred: [] };
  const next = await sendPlan(session, { ...prepared, live: first.live, plan }, 'The label was published.');
  return { ...next, count: first.count + next.count, isPublished: true, isCreated: first.isCreated };
};
/** A stale label that already matches the file is not a conflict: another apply of the same file has run. */
const resolveStale = async (session: Session, prepared: PlannedLabel, sent: SendResult): Promise<Sent> => {
  if (sent.end !== 'stale') return sent;
  const live = liveFrom(await getDefinition(session.context, `labels/${sent.live.id}`, session.options));
  if (!isIdle(planFrom(prepared.wanted, live, session.options))) throw sent.error;
  return { ...sent, live };
};
/** Sends a plan and, if the label needs it, another plan for the state after the first. */
const sendPrepared = async (session: Session, prepared: PlannedLabel): Promise<Sent> => {
  const first = await sendPlan(session, prepared);
  const last = first.end === 'deferred' ? await sendDeferred(session, prepared, first) : first;
  const sent = await resolveStale(session, prepared, last);
  return { ...sent, count: sent.count + (await sendPermissionsOf(session, prepared, sent.live)) };
};
const needsNothing = (prepared: PlannedLabel): boolean =>
  isIdle(prepared.plan) && !changesPermissions(prepared);
const applyOne = async (session: Session, prepared: PlannedLabel, run: Run): Promise<void> => {
  if (needsNothing(prepared)) {
    if (prepared.live !== undefined) run.outcomes.push({ prepared, live: prepared.live });
    run.done.push(appliedFrom(prepared, undefined));
    return;
  }
  const sent = await sendPrepared(session, prepared);
  const one = { prepared, live: sent.live };
  run.outcomes.push(one);
  if (sent.isCreated) run.made.push(one);
  run.done.push(appliedFrom(prepared, sent));
};
/** One label after the other; what the service refuses for one does not stop the rest. */
const applyAll = async (session: Session, prepared: readonly PlannedLabel[], run: Run): Promise<void> => {
  for (const one of prepared) {
    try {
      await applyOne(session, one, run);
    } catch (error) {
      if (!(error instanceof AppError) || prepared.length === 1) throw error;
      if (endsRun(error)) throw stoppedBy(error, run.done, prepared.length);
      run.failures.push(error);
      session.context.log.warn(`${one.plan.title}: ${error.message}`);
    }
  }
};
/**
 * Another run created the same labels at the same time: the first of each stays and gets the content of the
 * file.
 */
const mergeTwins = async (session: Session, run: Run): Promise<void> => {
  for (const twin of await findDuplicates(session, run.made)) {
    await deleteDuplicate(session, twin);
    const live = await readFirstDuplicate(session, twin);
    const { options } = session;
    const plan = { ...planFrom(twin.prepared.wanted, live, options), id: live.id };
    const prepared: PlannedLabel = { ...twin.prepared, live, plan };
    const sent = isIdle(plan) ? undefined : await sendPrepared(session, prepared);
    const i = run.outcomes.findIndex((one) => one.live.id === twin.live.id);
    run.outcomes[i] = { prepared, live: sent?.live ?? live };
    const note = `another apply made this label at the same time: labels/${live.id} stays, labels/${twin.live.id} was deleted`;
    const at = run.done.findIndex(({ id }) => id === twin.live.id);
    run.done[at] = appliedFrom(prepared, sent, [note]);
    session.context.log.info(`label ${live.title}: ${note}`);
  }
};
/** A single file without a lock file is found by its title alone. */
const adviseLock = ({ context }: Session, made: readonly Made[]): void => {
  for (const { prepared, live } of made) {
    const { file } = prepared.wish.document;
    if (prepared.entry !== undefined || file === undefined) continue;
    context.log.info(
      `${file} has no lock file: a changed title would create a second label; to bind the file to labels/${live.id}, run opsctl labels adopt -f ${file}`,
    );
  }
};
/** Sends the prepared changes and records the results, even if it stops halfway. */
export const applyPrepared = async (session: Session, prepared: readonly PlannedLabel[]) => {
  const run: Run = { done: [], failures: [], outcomes: [], made: [] };
  if (session.context.isDryRun) {
    for (const one of prepared) run.done.push(appliedFrom(one, undefined));
    return run;
  }
  const recording = await createLocks(session, prepared);
  await recordIntents(session, prepared);
  try {
    await applyAll(session, prepared, run);
    await mergeTwins(session, run);
  } finally {
    await recordOutcomes(session, run.outcomes, recording);
  }
  adviseLock(session, run.made);
  return run;
};
export const prepareFiles = async (
  context: EngineContext,
  files: readonly string[],
  options: Options,
): Promise<{ session: Session; prepared: PlannedLabel[]; wishes: DesiredLabel[] }> => {
  const wishes = await loadDesiredLabels(context, files, options);
  const session = await openSession(context, options, wishes);
  return { session, prepared: withRenameNotes(session, await prepareAll(session, wishes)), wishes };
};
/** `--take theirs`: writes remote changes into the files and reads them again. */
const resolveDrift = async (context: EngineContext, files: readonly string[], options: Options) => {
  const first = await prepareFiles(context, files, options);
  const losing = first.prepared.filter((one) => listLostDrift(one).length > 0);
  if (options.take !== 'theirs' || losing.length === 0) return first;
  await acceptRemoteChanges(first.session, losing);
  return context.isDryRun ? first : prepareFiles(context, files, options);
};
/** `labels apply -f`: reads, compares, shows, checks, then sends. */
export const applyFiles = async (
  context: EngineContext & Prompts,
  files: readonly string[],
  options: Options,
) => {
  const { session, prepared } = await resolveDrift(context, files, options);
  context.log.info(plansText(prepared));
  for (const line of entriesWithoutDefinition(session, prepared)) context.log.info(line);
  if (!(context.isDryRun && options.take === 'theirs')) refuseLost(session, prepared);
  refuseProblems(prepared);
  await confirmLosses(context, prepared);
  return applyPrepared(session, prepared);
};
