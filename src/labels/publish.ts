import { countText } from '../core/format.ts';
import { labelsService } from '../api-specs/labels/labels.ts';
import type { EngineContext, Prompts } from '../api/context.ts';
import { AppError, makeDeclinedError, problem, usageError } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import type { LabelJson, LockJson, PermissionJson } from './api-types.ts';
import { changesText, type LiveLabel } from './definition.ts';
import { compare, type Compared, labelText, liveFrom, findUnpublished } from './from-label.ts';
import { listLocks, listPermissions, type ReadOptions, getLabel, withLabel } from './read-labels.ts';
import { refuseProtected } from './lock-entries.ts';
import { sendPinned } from './send.ts';

const isDisabled = ({ draft }: Compared): boolean => draft.state === 'DISABLED';
const hasNothing = ({ draft, published }: Compared): boolean =>
  published !== undefined && published.revisionId === draft.revisionId;
const refuseDisabled = (seen: Compared): void => {
  if (!isDisabled(seen)) return;
  throw new AppError(
    'unsafe',
    `label ${seen.draft.title} is disabled: enable it before its changes are published; no changes were made`,
    {
      code: 'DISABLED',
      tryThis: [`opsctl labels enable ${seen.name}`],
    },
  );
};
const refuseOther = (seen: Compared, wanted: string | undefined): void => {
  if (wanted === undefined || wanted === seen.draft.revisionId) return;
  throw new AppError(
    'unsafe',
    `the newest revision of label ${seen.draft.title} is ${seen.draft.revisionId}, not ${wanted}; no changes were published`,
    {
      code: 'CHANGED_MEANWHILE',
      tryThis: [`opsctl labels diff ${seen.name}`],
      data: { label: seen.name, seen_revision: wanted, revision: seen.draft.revisionId },
    },
  );
};
/** A label without pending changes is not a failure: the result is the label, as after a publish. */
const asItIs = (context: EngineContext, { label, draft }: Compared): Result => {
  context.log.info(`label ${draft.title}: no changes to publish (revision ${draft.revisionId} is published)`);
  return recordResult(label, { text: labelText(label), isProse: true });
};
export type PublishOptions = ReadOptions & { readonly revision?: string; readonly languageCode?: string };
/** Shows the pending changes, confirms, and publishes exactly the shown revision. */
export const publishLabel = async (
  context: EngineContext & Prompts,
  typed: string,
  asking: PublishOptions,
): Promise<Result> => {
  const seen = await compare(context, typed, asking);
  const { name, draft } = seen;
  refuseOther(seen, asking.revision);
  if (hasNothing(seen)) return asItIs(context, seen);
  refuseDisabled(seen);
  await refuseProtected(context, draft, seen.changes);
  context.log.info(
    `label ${draft.title} (${name}), revision ${draft.revisionId}, will be published:\n${changesText(seen.changes)}`,
  );
  await context.confirm(`Publish revision ${draft.revisionId} of label ${draft.title}?`);
  const body = {
    writeControl: { requiredRevisionId: draft.revisionId },
    ...(asking.admin ? { useAdminAccess: true } : {}),
    ...(asking.languageCode === undefined ? {} : { languageCode: asking.languageCode }),
  };
  const since = (now: LabelJson) => changesText(findUnpublished(liveFrom(now), draft));
  const again = `opsctl labels diff ${name}`;
  const write = () =>
    context.call(labelsService, labelsService.table.labels.publish, { params: { name }, body });
  const label = (await sendPinned(
    context,
    { name, title: draft.title, revisionId: draft.revisionId, asking },
    again,
    since,
    write,
  )) as LabelJson;
  return recordResult(label, {
    text: `published:\n${labelText(label)}`,
    isReport: true,
    isProse: true,
    name: 'name',
    message: `label ${draft.title} published as revision ${label.revisionId}`,
  });
};

const { labels } = labelsService.table;
/** spec/labels#lifecycle-5: the label and related metadata on items are permanently removed. Pure. */
const lossText = (label: LiveLabel, permissions: readonly PermissionJson[]): string => {
  const fields = label.fields.map((f) => `  x the values of field ${f.name} (${f.type}) on every item`);
  return [
    `Retiring label ${label.title} (labels/${label.id}) cannot be undone. What disappears:`,
    '  x the label on every item that has it',
    ...fields,
    `  x the label's definition with all its revisions${permissions.length > 0 ? ` and ${countText(permissions.length, 'permission')}` : ''}`,
  ].join('\n');
};
const refuseLocked = (title: string, locks: readonly LockJson[]): void => {
  const [lock] = locks;
  if (lock === undefined) return;
  throw new AppError(
    'unsafe',
    `label ${title} is locked (${locks.map((l) => l.name).join(', ')}); no changes were made`,
    {
      code: 'LOCKED',
      tryThis: [`opsctl labels locks ${JSON.stringify(title)}`],
    },
  );
};
const wantsTitle = (title: string): AppError =>
  usageError(
    `to retire label ${title}, its title has to be repeated`,
    [problem('--title', 'required', `must be ${JSON.stringify(title)}`)],
    [`opsctl labels retire ${JSON.stringify(title)} --yes --title ${JSON.stringify(title)}`],
  );
const confirmTitle = async (
  context: EngineContext & Prompts,
  title: string,
  given: string | undefined,
): Promise<void> => {
  if (context.isDryRun) return;
  if (given !== undefined && given !== title)
    throw usageError('the title does not fit; no changes were made', [
      problem('--title', 'rule', `is ${JSON.stringify(given)}, the label is called ${JSON.stringify(title)}`),
    ]);
  if (context.isConfirmed && given === title) return;
  if (!context.isInteractive) throw wantsTitle(title);
  const typed = await context.host.terminal.prompts.text(
    `Type the title of the label (${title}) to delete it:`,
  );
  if (typed !== title)
    throw makeDeclinedError(`${JSON.stringify(typed)} is not the title; no changes were made`);
};
type Target = { readonly name: string; readonly live: LiveLabel; readonly asking: ReadOptions };
const body = ({ asking }: Target, revisionId: string) => ({
  ...(asking.admin ? { useAdminAccess: true } : {}),
  writeControl: { requiredRevisionId: revisionId },
});
const write = (
  context: EngineContext,
  target: Target,
  revisionId: string,
  isDisabled: boolean,
  act: () => Promise<unknown>,
): Promise<unknown> => {
  const { name, live, asking } = target;
  const since = (now: LabelJson) => changesText(findUnpublished(liveFrom(now), live));
  return sendPinned(
    context,
    {
      name,
      title: live.title,
      revisionId,
      asking,
      ...(isDisabled ? { stands: 'The label was disabled, not deleted.' } : {}),
    },
    `opsctl labels get ${name}`,
    since,
    act,
  );
};
const remove = async (context: EngineContext, target: Target): Promise<boolean> => {
  const { name, live, asking } = target;
  let { revisionId } = live;
  const mustDisable = live.state === 'PUBLISHED';
  if (mustDisable) {
    const disabled = (await write(context, target, revisionId, false, () =>
      context.call(labelsService, labels.disable, { params: { name }, body: body(target, live.revisionId) }),
    )) as LabelJson;
    revisionId = disabled.revisionId ?? revisionId;
  }
  const query = {
    ...(asking.admin ? { useAdminAccess: true } : {}),
    'writeControl.requiredRevisionId': revisionId,
  };
  await write(context, target, revisionId, mustDisable, () =>
    context.call(labelsService, labels.delete, { params: { name }, query }),
  );
  return mustDisable;
};
/** Disables a label when it must be, and deletes the very revision that was shown; `title` is the confirmation of a script. */
export const retireLabel = async (
  context: EngineContext & Prompts,
  typed: string,
  asking: ReadOptions,
  title: string | undefined,
): Promise<Result> => {
  const target = await withLabel(context, typed, asking, async (found) => {
    const [name = ''] = found.split('@');
    return { name, live: liveFrom(await getLabel(context, name, asking)), asking };
  });
  const { name, live } = target;
  await refuseProtected(context, live, 'all');
  refuseLocked(live.title, await listLocks(context, name));
  context.log.info(lossText(live, await listPermissions(context, name, asking)), true);
  await confirmTitle(context, live.title, title);
  const data = { label: name, title: live.title, fields: live.fields.map((f) => f.name) };
  if (context.isDryRun)
    return recordResult(
      { ...data, disabled: false, deleted: false },
      { text: `${live.title}: no request was sent (dry run)`, isProse: true, name: 'label' },
    );
  const disabled = await remove(context, target);
  return recordResult(
    { ...data, disabled, deleted: true },
    {
      name: 'label',
      isReport: true,
      text: `label ${live.title} (${name}) was ${disabled ? 'disabled and ' : ''}deleted`,
    },
  );
};
