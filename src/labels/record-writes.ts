import { labelsService } from '../api-specs/labels/labels.ts';
import type { Context } from '../api/context.ts';
import { type About, parseEntries, serviceText, WriteRecord } from '../api/audit.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import { fittingJson, isRecord } from '../core/shape.ts';
import type { LabelJson } from './api-types.ts';
import { fileFrom } from './export.ts';
import { definitionOf, liveFrom } from './from-label.ts';
import { getDefinition } from './read-labels.ts';

/** A label before a command changed it. `definition` is missing for a label that the command created. */
type Saved = {
  readonly name: string;
  readonly title: string;
  readonly definition?: unknown;
  /** The label was published and had a newer draft, a state that no definition expresses. */
  readonly hadDraft?: boolean;
  /** The revision that the command left; missing if no response arrived. */
  readonly after?: string;
  /** A change outside the definition, such as of permissions. */
  readonly outside?: string;
};
/** The record of one command: labels as they were, so that `opsctl undo` can apply them again. */
export type LabelRecord = {
  readonly command: string;
  readonly service: string;
  readonly labels: readonly Saved[];
  readonly isUndone?: boolean;
  /** An earlier version wrote the record as one JSON value, which a change replaces as a whole. */
  readonly isOldForm?: boolean;
};
const labelsIn = (entries: readonly string[]): readonly Saved[] => {
  const labels = new Map<string, Saved>();
  for (const entry of entries) {
    const [kind = '', line = '', , name, after] = entry.split(' ');
    const known = labels.get(line);
    if (kind === 'b') labels.set(line, JSON.parse(entry.slice(`b ${line} `.length)) as Saved);
    else if (kind === 'd' && known !== undefined && after !== undefined)
      labels.set(line, { ...known, name: name ?? known.name, after });
  }
  return [...labels.values()];
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
  const isUndone = entries.some((entry) => entry.startsWith('u '));
  return { command: file, service, labels: labelsIn(entries), ...(isUndone ? { isUndone } : {}) };
};
/** Notes that the labels have their earlier definitions again. */
const markUndone = async (
  { host }: Context,
  path: string,
  { isOldForm, ...record }: LabelRecord,
): Promise<void> => {
  if (isOldForm === true) {
    await host.files.replace(path, `${JSON.stringify({ ...record, isUndone: true })}\n`, 0o600);
    return;
  }
  const file = host.files.append(path, 0o600);
  file.write(record.labels.map((_, at) => `u ${at + 1}\n`).join(''));
  file.close();
};
const isWrite = ({ method, path }: Operation): boolean =>
  method !== 'GET' && !/:search$|\/search$/.test(path);
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
type Noted = { readonly line: number; readonly saved: Saved };
/** Notes the labels of one command in the journal of changes. */
class LabelWrites {
  readonly #context: Context;
  readonly #record: WriteRecord;
  readonly #labels = new Map<string, Noted>();
  /** Labels that the command has read, by name: they are not read again. */
  readonly #seen = new Map<string, LabelJson>();
  constructor(context: Context, command: string) {
    this.#context = context;
    this.#record = new WriteRecord(context, 'labels', command);
  }
  async #note(name: string, saved: Saved): Promise<Noted> {
    const line = this.#labels.get(name)?.line ?? this.#record.nextLine();
    const noted = { line, saved };
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
      return { name, title: live.title, definition, ...(hadDraft ? { hadDraft } : {}) };
    } catch (error) {
      // The change reports why the service does not show the label. Other failures end the command before the change.
      if (!(error instanceof AppError) || !['not-found', 'refused', 'usage'].includes(error.category))
        throw error;
      return { name, title: name, outside: operation.path };
    }
  }
  async send(operation: Operation, input: LooseInput, send: () => Promise<unknown>): Promise<unknown> {
    const name = labelOf(input);
    if (name !== undefined && !this.#labels.get(name)?.saved.definition)
      await this.#note(name, await this.#before(name, operation, input));
    const answer = await send();
    const known = name === undefined ? undefined : this.#labels.get(name);
    const after = revisionIn(answer);
    if (known !== undefined && after !== undefined)
      await this.#record.noteDone(known.line, `${known.saved.name} ${after}`);
    const made = name === undefined && isRecord(answer) ? (answer as LabelJson) : undefined;
    if (made?.id !== undefined && made.properties !== undefined) {
      const created = `labels/${made.id}`;
      const { line } = await this.#note(created, {
        name: created,
        title: made.properties.title ?? created,
      });
      await this.#record.noteDone(line, `${created} ${after ?? '-'}`);
    }
    return answer;
  }
}
/** A context that saves each label before its first change. A dry run saves nothing. */
export const withLabelRecord = (context: Context, command: string): Context => {
  if (context.isDryRun) return context;
  const recorder = new LabelWrites(context, command);
  return {
    ...context,
    call: (service, operation, input, options) => {
      const send = (): Promise<unknown> => context.call(service, operation, input, options);
      if (service.name !== labelsService.name) return send();
      if (isWrite(operation)) return recorder.send(operation, input, send);
      return send().then((answer) => {
        recorder.note(input, answer);
        return answer;
      });
    },
  };
};

/** Enables a label that was published with a newer draft: a definition that says `published` would publish that draft. */
const enableAgain = async (context: Context, { name, title, hadDraft }: Saved): Promise<void> => {
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
const refused = ({ title, name, outside }: Saved): string =>
  outside === undefined
    ? `${title} was created: it stays; opsctl labels retire ${JSON.stringify(title)} removes it`
    : `${title === name ? name : title}: ${outside} is outside of the definition; opsctl cannot revert it`;
/** Another change of the label is never reverted without --force. */
const refuseLaterChange = async (context: Context, { name, title, after }: Saved): Promise<void> => {
  const live = liveFrom(await getDefinition(context, name, { admin: false }));
  if (live.revisionId === after) return;
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
const refuseOtherService = async (context: Context, { command, service }: LabelRecord): Promise<void> => {
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
    tryThis: others.map(refused),
  });
const OPTIONS = { publish: false, prune: false, admin: false, take: 'ours' } as const;
/** Shows the plan and asks, then applies the definitions in a file. */
const applySaved = async (context: Context, file: string, saved: readonly Saved[], command: string) => {
  const { apply } = await import('./plan-file.ts');
  if (context.isDryRun) {
    for (const one of saved) await enableAgain(context, one);
    return apply(context, undefined, [file], OPTIONS);
  }
  await apply({ ...context, isDryRun: true }, undefined, [file], OPTIONS);
  const titles = saved.map(({ title }) => JSON.stringify(title)).join(', ');
  await context.confirm(`Give ${titles} the definition from before ${command}?`);
  for (const one of saved) await enableAgain(context, one);
  const quiet = { ...context, log: { ...context.log, info: () => undefined } };
  return apply(quiet, undefined, [file], OPTIONS);
};
/** Applies the saved definitions, unless a label changed in the meantime. */
export const undoLabels = async (
  context: Context,
  path: string,
  record: LabelRecord,
  isForced: boolean,
): Promise<Result> => {
  await refuseOtherService(context, record);
  const saved = record.labels.filter(({ definition }) => definition !== undefined);
  const others = record.labels.filter(({ definition }) => definition === undefined);
  for (const one of others) context.log.warn(refused(one));
  if (saved.length === 0) throw nothingToUndo(record, others);
  if (!isForced) for (const one of saved) await refuseLaterChange(context, one);
  const file = `${path}.json`;
  const { host, isDryRun } = context;
  await host.files.replace(file, JSON.stringify(saved.map(({ definition }) => definition)), 0o600);
  try {
    const run = await applySaved(context, file, saved, record.command);
    if (!isDryRun) await markUndone(context, path, record);
    const { applyResult } = await import('./plan-file.ts');
    const result = applyResult(context, run);
    const isPartial = others.length > 0 && result.kind === 'record';
    return isPartial ? recordResult(result.data, result.view, 'partial') : result;
  } finally {
    await host.files.remove(file);
  }
};
