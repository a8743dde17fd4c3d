import { labelsService } from '../api-specs/labels/labels.ts';
import { asPreview, type EngineContext, type Prompts, type Runtime, withCalls } from '../api/context.ts';
import {
  type About,
  listWriteRecords,
  openToAppend,
  parseEntries,
  serviceText,
  skipDamaged,
  wasRejected,
  WriteRecord,
} from '../api/audit.ts';
import { canChange, type LooseInput, type Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import { fittingJson, isRecord } from '../core/shape.ts';
import type { LabelJson } from './api-types.ts';
import { definitionOf, liveFrom, fileFrom } from './from-label.ts';
import { getDefinition } from './read-labels.ts';

/** A label before a command changed it. `definition` is missing for a label that the command created. */
type Saved = {
  readonly name: string;
  readonly title: string;
  readonly definition?: unknown;
  /** The label was published and had a newer draft, a state that no definition expresses. */
  readonly hadDraft?: boolean;
  /** The revision that the command found; records of earlier versions do not have it. */
  readonly before?: string;
  /** The revision that the command left; missing if no response arrived. */
  readonly after?: string;
  /** A change outside the definition, such as of permissions. */
  readonly outside?: string;
  /** An undo restored the definition. */
  readonly isUndone?: boolean;
  /** The revision that this undo left. */
  readonly restored?: string;
};
/** The record of one command: labels as they were, so that `opsctl undo` can apply them again. */
export type LabelRecord = {
  readonly command: string;
  readonly service: string;
  readonly labels: readonly Saved[];
  readonly isUndone?: boolean;
  /** The line of each label in the journal of changes. */
  readonly lines?: readonly string[];
  /** An earlier version wrote the record as one JSON value, which a change replaces as a whole. */
  readonly isOldForm?: boolean;
};
/** A label after an entry `d` (the command changed it) or `u` (an undo restored it). */
const readMark = (
  known: Saved,
  kind: string,
  name: string | undefined,
  revision: string | undefined,
): Saved => {
  if (kind === 'u')
    return { ...known, isUndone: true, ...(revision === undefined ? {} : { restored: revision }) };
  return revision === undefined ? known : { ...known, name: name ?? known.name, after: revision };
};
const labelsIn = (entries: readonly string[]): ReadonlyMap<string, Saved> => {
  const labels = new Map<string, Saved>();
  for (const entry of entries) {
    const [kind = '', line = '', , name, revision] = entry.split(' ');
    const known = labels.get(line);
    if (kind === 'b') {
      const left = known?.after === undefined ? {} : { after: known.after };
      labels.set(line, { ...left, ...(JSON.parse(entry.slice(`b ${line} `.length)) as Saved) });
    } else if (kind === 'f') labels.delete(line);
    else if ((kind === 'u' || kind === 'd') && known !== undefined)
      labels.set(line, readMark(known, kind, name, revision));
  }
  return labels;
};
/** Reads the record of one command; undefined for text that is not a record of labels. */
export const parseLabelRecord = (text: string, path: string): LabelRecord | undefined => {
  if (text.startsWith('{')) {
    const old = fittingJson<LabelRecord>(text, { command: 'text', service: 'text', labels: 'list' });
    return old === undefined ? undefined : { ...old, isOldForm: true };
  }
  const entries = parseEntries(text, path);
  const start = entries.find((entry) => entry.startsWith('m '));
  if (start === undefined) return undefined;
  const { file, service } = JSON.parse(start.slice(2)) as About;
  const found = labelsIn(entries);
  const labels = [...found.values()];
  const isUndone = labels.length > 0 && labels.every((one) => one.isUndone === true);
  return { command: file, service, labels, lines: [...found.keys()], ...(isUndone ? { isUndone } : {}) };
};
/** A label in the result of an apply. */
type Restored = { readonly id?: string; readonly title: string; readonly revision?: string };
/**
 * Notes which labels have their earlier definitions again. Labels that no undo restores are noted with the last of the
 * others, so that the next undo reverts an earlier change.
 */
const markUndone = async (
  { host }: Runtime,
  path: string,
  { isOldForm, lines = [], ...record }: LabelRecord,
  restored: readonly Restored[],
): Promise<void> => {
  const names = new Set(record.labels.map(({ name }) => name));
  // A label that was deleted in the meantime is created again and has a new ID.
  const isSame = ({ id, title }: Restored, saved: Saved): boolean =>
    names.has(`labels/${id}`) ? `labels/${id}` === saved.name : title === saved.title;
  const isRestored = (saved: Saved): boolean =>
    saved.isUndone === true || restored.some((one) => isSame(one, saved));
  const isAll = record.labels.every((one) => one.definition === undefined || isRestored(one));
  const isMarked = (one: Saved): boolean => isAll || (one.definition !== undefined && isRestored(one));
  if (isOldForm === true) {
    const labels = record.labels.map((one) => ({ ...one, ...(isMarked(one) ? { isUndone: true } : {}) }));
    const text = JSON.stringify({ ...record, labels, ...(isAll ? { isUndone: true } : {}) });
    await host.files.replace(path, `${text}\n`, 0o600);
    return;
  }
  const markOf = (line: string, saved: Saved): string => {
    const revision = restored.find((one) => isSame(one, saved))?.revision;
    return revision === undefined ? `u ${line}\n` : `u ${line} - ${saved.name} ${revision}\n`;
  };
  const file = await openToAppend(host, path);
  const marked = record.labels.map((saved, at) => (isMarked(saved) ? markOf(lines[at] ?? '', saved) : ''));
  file.write(marked.join(''));
  file.close();
};
/** `labels/ID@3` without its revision; undefined for a request that creates a label. */
const labelOf = ({ params = {} }: LooseInput): string | undefined => {
  const [found] = Object.values(params).flatMap(
    (value) => /^(labels\/[^/@]+)/.exec(String(value))?.[1] ?? [],
  );
  return found;
};
const isInside = ({ path }: Operation): boolean => !/permissions|locks/i.test(path);

const revisionIn = (answer: unknown): string | undefined => {
  if (!isRecord(answer)) return undefined;
  const label = (isRecord(answer.updatedLabel) ? answer.updatedLabel : answer) as LabelJson;
  return label.revisionId;
};

/** A label of this command and its line in the journal of changes. */
type Noted = {
  readonly line: number;
  readonly saved: Saved;
  /** A request of this command changed the label, or may have changed it. */
  readonly isChanged: boolean;
};
/** Notes the labels of one command in the journal of changes. */
class LabelWrites {
  readonly #context: EngineContext;
  readonly #record: WriteRecord;
  readonly #labels = new Map<string, Noted>();
  /** Labels that the command has read, by name: they are not read again. */
  readonly #seen = new Map<string, LabelJson>();
  constructor(context: EngineContext, command: string) {
    this.#context = context;
    this.#record = new WriteRecord(context, 'labels', command);
  }
  async #note(name: string, saved: Saved): Promise<Noted> {
    const known = this.#labels.get(name);
    const line = known?.line ?? this.#record.nextLine();
    const noted = { line, saved, isChanged: known?.isChanged ?? false };
    this.#labels.set(name, noted);
    await this.#record.noteBefore(line, saved);
    return noted;
  }
  /** Notes labels that the command read whole, alone or in a list. */
  note({ params = {}, query }: LooseInput, answer: unknown): void {
    if (query?.view !== 'LABEL_VIEW_FULL' || !isRecord(answer)) return;
    const [name] = Object.values(params).map(String);
    if (name !== undefined && /^labels\/[^/@]+$/.test(name)) this.#seen.set(name, answer as LabelJson);
    const listed = Array.isArray(answer.labels) ? (answer.labels as LabelJson[]) : [];
    for (const label of listed) if (label.id !== undefined) this.#seen.set(`labels/${label.id}`, label);
  }
  async #before(name: string, operation: Operation, input: LooseInput): Promise<Saved> {
    const known = this.#labels.get(name)?.saved;
    if (!isInside(operation)) return { ...(known ?? { name, title: name }), outside: operation.path };
    if (known?.definition !== undefined || known?.outside === undefined)
      if (known !== undefined) return known;
    try {
      const admin = (input.body?.useAdminAccess ?? input.query?.useAdminAccess) === true;
      const seen = this.#seen.get(name);
      const live = liveFrom(seen ?? (await getDefinition(this.#context, name, { admin })));
      const definition = fileFrom(definitionOf(live));
      const hadDraft = live.state === 'PUBLISHED' && live.hasUnpublishedChanges;
      const more = { ...(hadDraft ? { hadDraft } : {}), ...(known && { outside: known.outside }) };
      return { name, title: live.title, definition, before: live.revisionId, ...more };
    } catch (error) {
      // The change reports why the service does not show the label. Other failures end the command before the change.
      if (!(error instanceof AppError) || !['not-found', 'refused', 'usage'].includes(error.category))
        throw error;
      return { name, title: name, outside: operation.path };
    }
  }
  /** Notes the state before a request, unless an earlier request of this command has noted it. */
  async #noteBefore(name: string, operation: Operation, input: LooseInput): Promise<void> {
    const known = this.#labels.get(name)?.saved;
    const isNoted = isInside(operation) ? known?.definition !== undefined : known?.outside !== undefined;
    if (!isNoted) await this.#note(name, await this.#before(name, operation, input));
  }
  /** The service rejected a request: what it would have changed is not part of the undo. */
  async #noteRejected(name: string, before: Noted | undefined): Promise<void> {
    const now = this.#labels.get(name);
    if (now === undefined) return;
    if (before === undefined || !before.isChanged) {
      await this.#record.noteRejected(now.line);
      this.#labels.delete(name);
      this.#seen.delete(name);
    } else if (now.saved !== before.saved) await this.#note(name, before.saved);
  }
  async #noteCreated(answer: unknown, after: string | undefined): Promise<void> {
    const made = isRecord(answer) ? (answer as LabelJson) : undefined;
    if (made?.id === undefined || made.properties === undefined) return;
    const name = `labels/${made.id}`;
    await this.#note(name, { name, title: made.properties.title ?? name });
    await this.#noteDone(name, after ?? '-');
  }
  /** Notes the revision after a request. A label counts as changed even if the journal cannot be written. */
  async #noteDone(name: string, after: string | undefined): Promise<void> {
    const known = this.#labels.get(name);
    try {
      if (known !== undefined && after !== undefined)
        await this.#record.noteDone(known.line, `${known.saved.name} ${after}`);
    } finally {
      this.#noteChanged(name);
    }
  }
  async send(operation: Operation, input: LooseInput, send: () => Promise<unknown>): Promise<unknown> {
    const name = labelOf(input);
    if (name === undefined) {
      const answer = await send();
      await this.#noteCreated(answer, revisionIn(answer));
      return answer;
    }
    const before = this.#labels.get(name);
    await this.#noteBefore(name, operation, input);
    try {
      const answer = await send();
      await this.#noteDone(name, revisionIn(answer));
      return answer;
    } catch (error) {
      if (wasRejected(error)) await this.#noteRejected(name, before);
      else this.#noteChanged(name);
      throw error;
    }
  }
  #noteChanged(name: string): void {
    const known = this.#labels.get(name);
    if (known !== undefined) this.#labels.set(name, { ...known, isChanged: true });
  }
}
/** A context that saves each label before its first change. A dry run saves nothing. */
export const withLabelRecord = <C extends EngineContext>(context: C, command: string): C => {
  if (context.isDryRun) return context;
  const recorder = new LabelWrites(context, command);
  return withCalls(context, (call) => (service, operation, input, options) => {
    const send = (): Promise<unknown> => call(service, operation, input, options);
    if (service.name !== labelsService.name) return send();
    if (canChange(operation)) return recorder.send(operation, input, send);
    return send().then((answer) => {
      recorder.note(input, answer);
      return answer;
    });
  });
};

/** Enables a label that was published with a newer draft: a definition that says `published` would publish that draft. */
const enableAgain = async (context: EngineContext, { name, title, hadDraft }: Saved): Promise<void> => {
  if (hadDraft !== true) return;
  const live = liveFrom(await getDefinition(context, name, { admin: false }));
  if (live.state === 'DISABLED') {
    const body = { writeControl: { requiredRevisionId: live.revisionId } };
    if (context.isDryRun) context.log.info(`label ${title}: would be enabled`);
    else await context.call(labelsService, labelsService.table.labels.enable, { params: { name }, body });
  }
  context.log.warn(
    `${title} had unpublished changes: its draft is restored, and the published revision stays; opsctl labels diff ${name} shows the difference`,
  );
};
const refusalText = ({ title, name, outside }: Saved): string =>
  outside === undefined
    ? `${title} was created: it stays; opsctl labels retire ${JSON.stringify(title)} removes it`
    : `${title === name ? name : title}: ${outside} is outside of the definition; opsctl cannot revert it`;
/** The labels in the records of this service that an undo restored, with the revision that it left. */
const listUndone = async (context: EngineContext, service: string): Promise<readonly Saved[]> => {
  const found: Saved[] = [];
  for (const { path, service: kind } of await listWriteRecords(context)) {
    if (kind !== 'labels') continue;
    const record = await skipDamaged(context, path, async () =>
      parseLabelRecord((await context.host.files.read(path)) ?? '', path),
    );
    if (record?.service === service)
      found.push(...record.labels.filter(({ restored }) => restored !== undefined));
  }
  return found;
};
/**
 * Returns the revision whose content the label has again: an undo that restored what a command had found is not a later
 * change. Another change before that command or after that undo has a revision of its own.
 */
const revisionBehindUndos = (undone: readonly Saved[], name: string, now: string): string => {
  const steps = new Map(
    undone.flatMap((one) =>
      one.name === name && one.before !== undefined ? [[one.restored, one.before] as const] : [],
    ),
  );
  let revision = now;
  for (let before = steps.get(now); before !== undefined; before = steps.get(revision)) {
    steps.delete(revision);
    revision = before;
  }
  return revision;
};
/** Another change of the label is never reverted without --force. */
const refuseLaterChange = async (
  context: EngineContext,
  { name, title, after }: Saved,
  service: string,
): Promise<void> => {
  const live = liveFrom(await getDefinition(context, name, { admin: false }));
  if (live.revisionId === after) return;
  if (after !== undefined) {
    const undone = await listUndone(context, service);
    if (revisionBehindUndos(undone, name, live.revisionId) === after) return;
  }
  throw new AppError(
    'unsafe',
    after === undefined
      ? `${title}: the revision that the change left is unknown, so a later change cannot be excluded; no changes were made`
      : `${title} changed since: it has revision ${live.revisionId} instead of ${after}; no changes were made`,
    {
      code: 'CHANGED_MEANWHILE',
      tryThis: [`opsctl labels get ${name}`, '--force, to revert the later changes as well'],
    },
  );
};
const refuseOtherService = async (
  context: EngineContext,
  { command, service }: LabelRecord,
): Promise<void> => {
  if (serviceText(await context.target('labels')) === service) return;
  throw new AppError(
    'unsafe',
    `${command} changed labels of another service (${service}); no changes were made`,
    {
      code: 'OTHER_SERVICE',
      tryThis: ['select the service of the change with --profile or OPSCTL_LABELS_URL'],
    },
  );
};
const nothingToUndo = ({ command }: LabelRecord, others: readonly Saved[]): AppError =>
  new AppError('unsafe', `${command} has no change that opsctl can undo; no changes were made`, {
    code: 'NOT_UNDOABLE',
    tryThis: others.map(refusalText),
  });
const OPTIONS = { publish: false, prune: false, admin: false, take: 'ours' } as const;
/** Shows the plan and asks, then applies the definitions in a file. */
const applySaved = async (
  context: EngineContext & Prompts,
  file: string,
  saved: readonly Saved[],
  command: string,
  refuseLater: () => Promise<void>,
) => {
  const { apply } = await import('./plan-file.ts');
  if (context.isDryRun) {
    for (const one of saved) await enableAgain(context, one);
    return apply(context, undefined, [file], OPTIONS);
  }
  await apply(asPreview(context), undefined, [file], OPTIONS);
  const titles = saved.map(({ title }) => JSON.stringify(title)).join(', ');
  await context.confirm(`Give ${titles} the definition from before ${command}?`);
  // The user may take a while to decide.
  if (!context.isConfirmed) await refuseLater();
  for (const one of saved) await enableAgain(context, one);
  const quiet = { ...context, log: { ...context.log, info: () => undefined } };
  return apply(quiet, undefined, [file], OPTIONS);
};
/** The labels that an apply completed before it stopped. */
const listRestored = (error: unknown): readonly Restored[] => {
  const done = error instanceof AppError && isRecord(error.detail.data) ? error.detail.data.done : undefined;
  return Array.isArray(done) ? (done as Restored[]) : [];
};
/** Applies the definitions and notes which labels have them; an apply that stops has restored the labels before. */
const applyAndMark = async (
  context: EngineContext & Prompts,
  path: string,
  record: LabelRecord,
  saved: readonly Saved[],
  refuseLater: () => Promise<void>,
): Promise<Awaited<ReturnType<typeof applySaved>>> => {
  const file = `${path}.json`;
  const { host, isDryRun } = context;
  await host.files.replace(file, JSON.stringify(saved.map(({ definition }) => definition)), 0o600);
  try {
    const run = await applySaved(context, file, saved, record.command, refuseLater);
    if (!isDryRun) await markUndone(context, path, record, run.done);
    return run;
  } catch (error) {
    const restored = isDryRun ? [] : listRestored(error);
    if (restored.length > 0) await markUndone(context, path, record, restored);
    throw error;
  } finally {
    await host.files.remove(file);
  }
};
/** Applies the saved definitions, unless a label changed in the meantime. */
export const undoLabels = async (
  context: EngineContext & Prompts,
  path: string,
  record: LabelRecord,
  isForced: boolean,
): Promise<Result> => {
  await refuseOtherService(context, record);
  // Labels that an earlier undo of the same record restored have another revision since.
  const labels = record.labels.filter(({ isUndone }) => isUndone !== true || record.isUndone === true);
  const saved = labels.filter(({ definition }) => definition !== undefined);
  const others = labels.filter(
    ({ definition, outside }) => definition === undefined || outside !== undefined,
  );
  for (const one of others) context.log.warn(refusalText(one));
  if (saved.length === 0) throw nothingToUndo(record, others);
  const refuseLater = async (): Promise<void> => {
    if (!isForced) for (const one of saved) await refuseLaterChange(context, one, record.service);
  };
  await refuseLater();
  const run = await applyAndMark(context, path, record, saved, refuseLater);
  const { applyResult } = await import('./plan-file.ts');
  const result = applyResult(context, run);
  const isPartial = others.length > 0 && result.kind === 'record';
  return isPartial ? recordResult(result.data, result.view, 'partial') : result;
};
