import { labelsService } from '../api-specs/labels/labels.ts';
import { optionMembers } from '../api-specs/labels/wire.ts';
import type { EngineContext } from '../api/context.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import type { LabelJson } from './api-types.ts';
import { changesText, type LiveLabel } from './definition.ts';
import { findUnpublished, liveFrom } from './from-label.ts';
import type { Plan, Transition } from './plan.ts';
import { adminBody, type PlannedLabel, type Session } from './prepare.ts';
import { type ReadOptions, getDefinition, getLabel } from './read-labels.ts';
import { isPlain } from './read-values.ts';

/**
 * spec/labels#errors: this service returns 400 FAILED_PRECONDITION for an outdated pin, newer ones return 409
 * ABORTED.
 */
const mayBeStale = (error: unknown): error is AppError =>
  error instanceof AppError &&
  ((error.detail.httpStatus === 400 && error.detail.code === 'FAILED_PRECONDITION') ||
    (error.detail.httpStatus === 409 && error.detail.code === 'ABORTED'));
export type RevisionConflict = {
  readonly name: string;
  readonly title: string;
  readonly revisionId: string;
  readonly asking: ReadOptions;
  /** The state after a rejected write; "No changes were made." unless an earlier step was applied. */
  readonly stands?: string;
};
/**
 * Sends a write that is pinned to the reviewed revision. If it is rejected, the label is read again. Only a
 * newer revision means that another user changed it, and then the difference is shown.
 */
export const sendPinned = async <T>(
  context: EngineContext,
  shown: RevisionConflict,
  again: string,
  diff: (now: LabelJson) => string,
  write: () => Promise<T>,
): Promise<T> => {
  try {
    return await write();
  } catch (error) {
    if (!mayBeStale(error)) throw error;
    const now = await getLabel(context, shown.name, shown.asking);
    if (now.revisionId === shown.revisionId) throw error;
    throw new AppError(
      'unsafe',
      `label ${shown.title} was changed by another user in the meantime: you reviewed revision ${shown.revisionId}, the current revision is ${now.revisionId}. ${shown.stands ?? 'No changes were made.'}\nSince then:\n${diff(now)}`,
      {
        code: 'CHANGED_MEANWHILE',
        httpStatus: error.detail.httpStatus,
        tryThis: [again],
        data: { label: shown.name, seen_revision: shown.revisionId, revision: now.revisionId },
        cause: error,
      },
    );
  }
};

const { labels } = labelsService.table;
const again = 'run the same command again to see the new difference';
const pin = (live: LiveLabel) => ({ writeControl: { requiredRevisionId: live.revisionId } });
/** A label while its changes are sent: every write is pinned to the revision that the one before made. */
type Sending = {
  readonly session: Session;
  readonly prepared: PlannedLabel;
  live: LiveLabel;
  /** Requests that made changes. */
  count: number;
  stands: string;
};
const write = async (sending: Sending, operation: Operation, more: object): Promise<LabelJson> => {
  const { session, live } = sending;
  const { context, options } = session;
  const name = `labels/${live.id}`;
  const body = { ...adminBody(session), ...pin(live), ...more };
  const shown = {
    name,
    title: live.title,
    revisionId: live.revisionId,
    asking: options,
    stands: sending.stands,
  };
  const since = (now: LabelJson) => changesText(findUnpublished(liveFrom(now), live));
  const answer = await sendPinned(context, shown, again, since, () =>
    context.call(labelsService, operation, { params: { name }, body }),
  );
  return answer as LabelJson;
};
/** Some responses contain the short view. The label is then read. */
const moveState = async (sending: Sending, label: LabelJson, stands: string): Promise<void> => {
  const { context, options } = sending.session;
  const isWhole = label.lifecycle !== undefined;
  sending.live = liveFrom(
    isWhole ? label : await getDefinition(context, `labels/${sending.live.id}`, options),
  );
  sending.count += 1;
  sending.stands = stands;
};
const sendEdits = async (sending: Sending, edits: Plan['edits']): Promise<void> => {
  if (edits.length === 0) return;
  const body = { requests: edits, view: 'LABEL_VIEW_FULL' };
  const { updatedLabel } = (await write(sending, labels.delta, body)) as { updatedLabel?: LabelJson };
  await moveState(sending, updatedLabel ?? {}, 'The draft was saved, but not published.');
};
const transit = async (sending: Sending, transition: Transition): Promise<void> => {
  const { disabledPolicy } = sending.prepared.wanted;
  switch (transition) {
    case 'publish':
      return moveState(sending, await write(sending, labels.publish, {}), 'The label was published.');
    case 'enable':
      return moveState(sending, await write(sending, labels.enable, {}), 'The label was enabled.');
    case 'disable': {
      const policy = disabledPolicy === undefined ? {} : { disabledPolicy, updateMask: '*' };
      return moveState(sending, await write(sending, labels.disable, policy), 'The label was disabled.');
    }
  }
};
/** Copy mode and enabled apps: separate calls, without a revision. */
const sendSettings = async (sending: Sending): Promise<void> => {
  const { plan } = sending.prepared;
  const set = async (operation: Operation, more: object): Promise<void> => {
    const { context } = sending.session;
    const input: LooseInput = {
      params: { name: `labels/${sending.live.id}` },
      body: { ...adminBody(sending.session), ...more, view: 'LABEL_VIEW_FULL' },
    };
    const label = (await context.call(labelsService, operation, input)) as LabelJson;
    await moveState(sending, label, sending.stands);
  };
  if (plan.copyMode) await set(labels.updateLabelCopyMode, { copyMode: plan.copyMode });
  if (plan.enabledApps) {
    const enabledAppSettings = { enabledApps: plan.enabledApps.map((app) => ({ app })) };
    await set(labels.updateLabelEnabledAppSettings, { enabledAppSettings });
  }
};
const create = async (session: Session, body: Readonly<Record<string, unknown>>): Promise<LiveLabel> => {
  const query = adminBody(session);
  return liveFrom((await session.context.call(labelsService, labels.create, { body, query })) as LabelJson);
};
export type Sent = {
  readonly live: LiveLabel;
  readonly count: number;
  readonly isPublished: boolean;
  readonly isCreated: boolean;
};
/** `deferred`: the label was published, and some parts can be disabled only after that. */
type End = 'complete' | 'deferred';
/** `stale`: another user changed the label after it was planned; `error` reports that change. */
export type SendResult = Sent & ({ readonly end: End } | { readonly end: 'stale'; readonly error: AppError });
const sendAll = async (sending: Sending): Promise<End> => {
  const { plan } = sending.prepared;
  await sendEdits(sending, plan.edits);
  await sendSettings(sending);
  for (const transition of plan.transitions) {
    await transit(sending, transition);
    if (transition === 'publish' && plan.deferred.length > 0) return 'deferred';
  }
  return 'complete';
};
/**
 * Sends the changes of a plan and never plans again. `earlier` names the state that an earlier plan of the
 * same label reached.
 */
export const sendPlan = async (
  session: Session,
  prepared: PlannedLabel,
  earlier = 'No changes were made.',
): Promise<SendResult> => {
  const { plan } = prepared;
  const isCreated = prepared.live === undefined;
  const live = prepared.live ?? (await create(session, plan.create ?? {}));
  const sending: Sending = {
    session,
    prepared,
    live,
    count: isCreated ? 1 : 0,
    stands: isCreated ? 'The label was created as a draft.' : earlier,
  };
  const outcome = (): Sent => ({
    live: sending.live,
    count: sending.count,
    isPublished: plan.transitions.includes('publish'),
    isCreated,
  });
  try {
    const end = await sendAll(sending);
    return { ...outcome(), end };
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'CHANGED_MEANWHILE') throw error;
    return { ...outcome(), end: 'stale', error };
  }
};

type Plain = Readonly<Record<string, unknown>>;
type Supplied = { readonly values: Plain; readonly added: readonly string[] };
/** The path to the keys that an edit writes; '' is the edit itself. */
const roots: Readonly<Record<string, string>> = {
  updateLabel: 'properties',
  updateField: 'properties',
  updateFieldType: '',
  updateSelectionChoiceProperties: 'properties',
  disableField: 'disabledPolicy',
  disableSelectionChoice: 'disabledPolicy',
};
const hasMask = (edit: Plain): boolean => edit.updateMask !== undefined || edit.update_mask !== undefined;
/** The names of the given keys; for a type edit, the names of the option. */
const maskOf = (edit: Plain, root: string): string | undefined => {
  const given = root === '' ? edit : edit[root];
  if (!isPlain(given)) return undefined;
  const names = Object.keys(given).filter((name) => root !== '' || optionMembers.some((one) => one === name));
  // An empty policy still disables, so the mask covers the whole policy.
  if (names.length === 0) return root === 'disabledPolicy' ? '*' : undefined;
  return names.join();
};
const editMasked = (request: unknown, i: number, added: string[]): unknown => {
  if (!isPlain(request)) return request;
  return Object.fromEntries(
    Object.entries(request).map(([kind, edit]) => {
      const root = roots[kind];
      const mask = root === undefined || !isPlain(edit) || hasMask(edit) ? undefined : maskOf(edit, root);
      if (mask === undefined || !isPlain(edit)) return [kind, edit];
      added.push(`requests[${i}].${kind}.updateMask: ${mask}`);
      return [kind, { ...edit, updateMask: mask }];
    }),
  );
};
const deltaMasked = (values: Plain, added: string[]): Plain => {
  const { requests, body } = values;
  if (Array.isArray(requests))
    return { ...values, requests: requests.map((one, i) => editMasked(one, i, added)) };
  if (!isPlain(body) || !Array.isArray(body.requests)) return values;
  return { ...values, body: { ...body, requests: body.requests.map((one, i) => editMasked(one, i, added)) } };
};
const disableMasked = (values: Plain, added: string[]): Plain => {
  const { body } = values;
  const inner = isPlain(body) ? maskOf(body, 'disabledPolicy') : undefined;
  if (isPlain(body) && inner !== undefined && !hasMask(body)) {
    added.push(`updateMask: ${inner}`);
    return { ...values, body: { ...body, updateMask: inner } };
  }
  const given = values['disabled-policy'];
  const mask = isPlain(given) && values['update-mask'] === undefined ? Object.keys(given).join() : '';
  if (mask === '') return values;
  added.push(`updateMask: ${mask}`);
  return { ...values, 'update-mask': mask };
};
/** The values of `labels delta` or `labels disable` with the masks that were left out. Pure. */
export const withMasks = (bodyName: string, values: Plain): Supplied => {
  const added: string[] = [];
  const whole =
    bodyName === 'DisableLabelRequest' ? disableMasked(values, added) : deltaMasked(values, added);
  return { values: whole, added };
};
