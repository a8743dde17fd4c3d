import type { Environment, MockReply, MockRequest } from '../service-set.ts';
import { type Caller, refuseRole, roleOf } from './access.ts';
import { errorReply, makePreconditionError, invalid, makeNotFoundError, type Json } from './proto-json.ts';
import { labelJson, locksFor, type View, type Viewer } from './render.ts';
import { type LabelRecord, type LabelState, latestId, latestOf, type Revision, revisionOf } from './draft.ts';

/** The discovery document's `batchPath`, and the form with the service's name that some clients use. */
export const batchPaths: readonly string[] = ['/batch', '/batch/labels/v2beta'];
/** The limit of the real services for the calls in one batch. */
const maxCalls = 100;
type Part = { readonly id: string | undefined; readonly request: MockRequest };
const headersIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(/\r?\n/).flatMap((line) => {
      const at = line.indexOf(':');
      return at < 0 ? [] : [[line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()]];
    }),
  );
/** Splits a text at the first empty line. */
const halves = (text: string): [string, string] => {
  const found = /\r?\n\r?\n/.exec(text);
  return found === null
    ? [text, '']
    : [text.slice(0, found.index), text.slice(found.index + found[0].length)];
};
/** Headers that apply to every call of a batch unless the call sets them. */
const inherited = ['authorization', 'accept', 'accept-language', 'user-agent'];
const partFrom = (text: string, outer: MockRequest, i: number): Part => {
  const [outerHeaders, inner] = halves(text.replace(/^\r?\n/, ''));
  const [head, body] = halves(inner.replace(/^[\r\n]+/, ''));
  const [line = '', ...rest] = head.split(/\r?\n/);
  const [, method = '', target = ''] = /^([A-Z]+) (\S+)(?: HTTP\/1\.[01])?$/.exec(line.trim()) ?? [];
  if (method === '')
    throw invalid('', `Part ${i + 1} of the batch is not an HTTP request.`, 'MALFORMED_BATCH');
  const { pathname, search } = new URL(target, 'http://batch.invalid');
  const shared = Object.fromEntries(inherited.map((name) => [name, outer.headers[name]]));
  return {
    id: headersIn(outerHeaders)['content-id'],
    request: {
      ...outer,
      method,
      path: pathname,
      query: search.slice(1),
      headers: { ...shared, ...headersIn(rest.join('\n')) },
      body: new TextEncoder().encode(body.replace(/\r?\n$/, '')),
    },
  };
};
const boundaryOf = ({ headers }: MockRequest): string => {
  const type = headers['content-type'] ?? '';
  const found = /^multipart\/mixed\s*;.*\bboundary=(?:"([^"]+)"|([^\s;]+))/i.exec(type);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined)
    throw invalid('', 'A batch is multipart/mixed with a boundary.', 'MALFORMED_BATCH');
  return boundary;
};
const partsIn = (request: MockRequest): Part[] => {
  const boundary = boundaryOf(request);
  const pieces = new TextDecoder().decode(request.body).split(`--${boundary}`).slice(1);
  const texts = pieces.filter((piece) => !piece.startsWith('--'));
  if (texts.length === 0) throw invalid('', 'The batch has no parts.', 'MALFORMED_BATCH');
  if (texts.length > maxCalls)
    throw invalid(
      '',
      `A batch has at most ${maxCalls} calls, this one has ${texts.length}.`,
      'LIMIT_EXCEEDED',
    );
  return texts.map((text, i) => partFrom(text, request, i));
};
const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  429: 'Too Many Requests',
};
const responseText = (id: string | undefined, reply: MockReply): string => {
  const body =
    typeof reply.body === 'string'
      ? reply.body
      : new TextDecoder().decode(reply.body as Uint8Array | undefined);
  const headers = Object.entries(reply.headers ?? {}).map(([name, value]) => `${name}: ${String(value)}`);
  return [
    'Content-Type: application/http',
    ...(id === undefined ? [] : [`Content-ID: ${id.replace(/^<?/, '<response-').replace(/>?$/, '>')}`]),
    '',
    `HTTP/1.1 ${reply.status} ${reasons[reply.status] ?? 'Status'}`,
    ...headers,
    `content-length: ${new TextEncoder().encode(body).length}`,
    '',
    body,
  ].join('\r\n');
};
/** Calls of one batch, one after the other; each succeeds or fails for itself. */
export const batchReply = (request: MockRequest, handle: (inner: MockRequest) => MockReply): MockReply => {
  const parts = partsIn(request);
  const boundary = `batch_${parts.length}_response`;
  const texts = parts.map(({ id, request: inner }) =>
    responseText(
      id,
      batchPaths.includes(inner.path)
        ? errorReply(invalid('', 'A batch cannot hold a batch.', 'MALFORMED_BATCH'))
        : handle(inner),
    ),
  );
  return {
    status: 200,
    headers: { 'content-type': `multipart/mixed; boundary=${boundary}` },
    body: `${texts.map((text) => `--${boundary}\r\n${text}\r\n`).join('')}--${boundary}--\r\n`,
  };
};

/** One request after routing, mapping and admission. */
export type Call = {
  readonly state: LabelState;
  readonly env: Environment;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Json;
  /** useAdminAccess, for every method that supports it. */
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
 * A label on which the caller has a role. spec/labels#errors-2: roles are checked before existence, so a
 * caller without a role does not learn whether a label exists. Administrators, who may see every label, do.
 */
export const labelWith = (call: Call, id: string, role: string): LabelRecord => {
  const label = call.state.labels.get(id);
  if (label === undefined) {
    if (!call.caller.isAdmin) refuseRole(-1, role, id);
    throw makeNotFoundError(`labels/${id}`);
  }
  refuseRole(roleOf(call.state, label, call.caller, call.asAdmin), role, id);
  return label;
};
/** spec/labels#lifecycle: labels/{id} is labels/{id}@latest; @published and @{revision_id} name others. */
export const getRevision = (call: Call, label: LabelRecord, word: string): Revision => {
  const id = word === 'latest' ? latestId(label) : word === 'published' ? label.published : word;
  const known =
    id !== undefined && (id === label.published || label.drafts.includes(id) || label.past.includes(id));
  const found = known ? revisionOf(call.state, label, id) : undefined;
  if (found === undefined) throw makeNotFoundError(`labels/${label.id}@${word}`);
  return found;
};
export type AddressedLabel = {
  readonly label: LabelRecord;
  readonly revision: Revision;
  readonly name: string;
};
/** What a read addresses: `labels/x`, `labels/x@latest`, `labels/x@published`, `labels/x@3`. */
export const readAddress = (call: Call, name: string): AddressedLabel => {
  const match = /^labels\/([^/@]+)(?:@([^/@]+))?$/.exec(name);
  if (match === null) throw makeNotFoundError(name);
  const [, id = '', word] = match;
  const label = labelWith(call, id, 'READER');
  const revision = getRevision(call, label, word ?? 'latest');
  return { label, revision, name: word === undefined ? `labels/${id}` : `labels/${id}@${revision.id}` };
};
/** The label that a write changes; an older revision cannot be changed, so none may be named. */
export const writable = (call: Call): LabelRecord => {
  const name = call.params.name ?? '';
  const match = /^labels\/([^/@]+)(@[^/]*)?$/.exec(name);
  if (match === null) throw makeNotFoundError(name);
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
  if (label === undefined) throw makeNotFoundError(`labels/${id}`);
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
  throw makePreconditionError(
    'LOCKED',
    `labels/${label.id}/locks/${lock.id}`,
    `Lock ${lock.id} on ${part} does not allow this change of label ${label.id}.`,
  );
};
