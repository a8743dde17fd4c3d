import type { Environment } from '../service.ts';
import { type Caller, refuseRole, roleOf } from './access.ts';
import { failed, invalid, notFound } from './errors.ts';
import type { Json } from './proto-json.ts';
import { type View, type Viewer, labelJson, locksFor } from './render.ts';
import { type LabelRecord, type LabelState, type Revision, latestId, latestOf, revisionOf } from './state.ts';

/** One request after routing, mapping and admission. */
export type Call = {
  readonly state: LabelState;
  readonly env: Environment;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Json;
  /** useAdminAccess, wherever the method has it. */
  readonly asAdmin: boolean;
};
export type Handler = (call: Call) => Json;

export const viewerOf = ({ state, env, caller, asAdmin }: Call): Viewer => ({
  state,
  env,
  caller,
  asAdmin,
});

/**
 * A label the caller has a role on. spec/labels#errors-2: roles are judged before existence, so who has none on a label
 * does not learn whether it is there; administrators, who may see every label, do.
 */
export const labelWith = (call: Call, id: string, role: string): LabelRecord => {
  const label = call.state.labels.get(id);
  if (label === undefined) {
    if (!call.caller.isAdmin) refuseRole(-1, role, id);
    throw notFound(`labels/${id}`);
  }
  refuseRole(roleOf(call.state, label, call.caller, call.asAdmin), role, id);
  return label;
};

/** spec/labels#lifecycle: labels/{id} is labels/{id}@latest; @published and @{revision_id} name others. */
export const revisionNamed = (call: Call, label: LabelRecord, word: string): Revision => {
  const id = word === 'latest' ? latestId(label) : word === 'published' ? label.published : word;
  const known =
    id !== undefined && (id === label.published || label.drafts.includes(id) || label.past.includes(id));
  const found = known ? revisionOf(call.state, label, id) : undefined;
  if (found === undefined) throw notFound(`labels/${label.id}@${word}`);
  return found;
};

export type Addressed = { readonly label: LabelRecord; readonly revision: Revision; readonly name: string };
/** What a read addresses: `labels/x`, `labels/x@latest`, `labels/x@published`, `labels/x@3`. */
export const addressed = (call: Call, name: string): Addressed => {
  const match = /^labels\/([^/@]+)(?:@([^/@]+))?$/.exec(name);
  if (match === null) throw notFound(name);
  const [, id = '', word] = match;
  const label = labelWith(call, id, 'READER');
  const revision = revisionNamed(call, label, word ?? 'latest');
  return { label, revision, name: word === undefined ? `labels/${id}` : `labels/${id}@${revision.id}` };
};

/** The label that a write changes; an older revision cannot be changed, so none may be named. */
export const writable = (call: Call): LabelRecord => {
  const name = call.params.name ?? '';
  const match = /^labels\/([^/@]+)(@[^/]*)?$/.exec(name);
  if (match === null) throw notFound(name);
  if (match[2] !== undefined && match[2] !== '@latest')
    throw invalid('name', `a change applies to labels/${match[1]}, not to the revision ${match[2]}`);
  return labelWith(call, match[1] ?? '', 'EDITOR');
};

/** Stores new revisions and the label that refers to them; revisions that it no longer refers to are purged. */
export const store = (
  call: Call,
  before: LabelRecord | undefined,
  label: LabelRecord,
  revisions: readonly Revision[],
): void => {
  const { state } = call;
  for (const revision of revisions) state.revisions.put(`${label.id}@${revision.id}`, revision);
  state.labels.put(label.id, label);
  if (before === undefined) return;
  const kept = new Set([...label.past, ...label.drafts, label.published]);
  for (const id of [...before.past, ...before.drafts, before.published]) {
    if (id !== undefined && !kept.has(id)) state.revisions.delete(`${label.id}@${id}`);
  }
};

export const answer = (call: Call, id: string, view: View | unknown): Json => {
  const label = call.state.labels.get(id);
  if (label === undefined) throw notFound(`labels/${id}`);
  return labelJson(viewerOf(call), label, latestOf(call.state, label), view);
};

/** A whole-label change meets the locks of the label (spec/labels#locks). */
export const refuseLockedLabel = (call: Call, label: LabelRecord, takesAway: boolean): void => {
  const lock = locksFor(call.state, label.id).find((l) => l.fieldId === undefined || takesAway);
  if (lock === undefined) return;
  const part =
    lock.fieldId === undefined
      ? 'the label'
      : lock.choiceId === undefined
        ? `field ${lock.fieldId}`
        : `choice ${lock.choiceId} of field ${lock.fieldId}`;
  throw failed(
    'LOCKED',
    `labels/${label.id}/locks/${lock.id}`,
    `Lock ${lock.id} on ${part} does not allow this change of label ${label.id}.`,
  );
};
