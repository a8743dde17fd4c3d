import { isEmail } from '../../core/format.ts';
import { hash } from 'node:crypto';
import { principalMembers } from '../../api-specs/labels/wire.ts';
import { emailOf, permissionsFor, principalOf, rank } from './access.ts';
import { type Call, type Handler, labelWith, getRevision } from './batch.ts';
import { textOf, type LabelRecord, type PermissionRecord } from './draft.ts';
import { below, invalid, makeNotFoundError, type Json } from './proto-json.ts';
import { lockJson, locksFor, permissionJson } from './render.ts';

/** spec/labels#parameters: labels 50/200, permissions 50/200, locks 100/200. */
const MAX_PAGE = 200;
type Sequenced = { readonly seq: number };
const fingerprint = (about: unknown): string =>
  hash('sha256', JSON.stringify(about), 'base64url').slice(0, 12);
/**
 * Opaque to clients: the position of the next page, and a fingerprint of the arguments that must not change
 * between pages.
 */
const tokenFor = (after: number, about: unknown): string => {
  const place = Buffer.from(`p1.${after}`).toString('base64url');
  return `${place}.${fingerprint([about, after])}`;
};
const placeIn = (token: string, about: unknown): number => {
  const [place = '', mark] = token.split('.');
  const after = Number(/^p1\.(\d+)$/.exec(Buffer.from(place, 'base64url').toString())?.[1]);
  // spec/labels#parameters: the page size may change between pages, other arguments may not.
  if (!Number.isSafeInteger(after) || mark !== fingerprint([about, after])) {
    throw invalid('pageToken', 'is not a token of this list with these arguments', 'INVALID_PAGE_TOKEN');
  }
  return after;
};
export type Page<T> = { readonly items: readonly T[]; readonly nextPageToken?: string };
/** One page in order of `seq`. `about` is the list and its arguments without size and token. */
export const pageOf = <T extends Sequenced>(
  all: Iterable<T>,
  query: Readonly<Record<string, unknown>>,
  standard: number,
  about: unknown,
): Page<T> => {
  const token = query.pageToken;
  const after = typeof token === 'string' && token !== '' ? placeIn(token, about) : 0;
  const asked = Number(query.pageSize ?? 0);
  const size = Math.min(asked === 0 ? standard : asked, MAX_PAGE);
  const rest = [...all].filter((item) => item.seq > after).sort((a, b) => a.seq - b.seq);
  const items = rest.slice(0, size);
  const last = items[items.length - 1];
  return rest.length > size && last ? { items, nextPageToken: tokenFor(last.seq, about) } : { items };
};

type Parent = { readonly label: LabelRecord; readonly name: string };
/** labels/x, labels/x@3, labels/x/revisions/3: spec/labels#permissions: the same data, permissions affect the label as a whole. */
const parentOf = (call: Call, name: string, role: string): Parent => {
  const match = /^labels\/([^/@]+)(?:@([^/@]+)|\/revisions\/([^/]+))?$/.exec(name);
  if (match === null) throw makeNotFoundError(name);
  const label = labelWith(call, match[1] ?? '', role);
  const word = match[2] ?? match[3];
  if (word !== undefined) getRevision(call, label, word);
  return { label, name };
};
const shapes = { person: /^people\/[^/]+$/, group: /^groups\/[^/]+$/, audience: /^audiences\/[^/]+$/ };
/** spec/labels#permissions: exactly one principal, or an email address of a user or group; never both. */
const principalIn = (given: Json, path: string): { principal: string; email?: string } => {
  const email = textOf(given, 'email');
  const member = principalMembers.find((name) => textOf(given, name) !== '');
  if (member === undefined && email === '')
    throw invalid(path, 'one of person, group, audience or email is required', 'REQUIRED');
  if (member !== undefined && email !== '')
    throw invalid(below(path, 'email'), `cannot be given together with ${member}`);
  if (member === undefined) {
    if (!isEmail(email)) throw invalid(below(path, 'email'), `"${email}" is not an e-mail address`);
    return { principal: principalOf(email), email };
  }
  const principal = textOf(given, member);
  if (!shapes[member].test(principal))
    throw invalid(
      below(path, member),
      `"${principal}" is not of the form ${member === 'person' ? 'people' : `${member}s`}/<id>`,
    );
  const known = emailOf(principal);
  return known === undefined ? { principal } : { principal, email: known };
};
const roleIn = (given: Json, path: string): string => {
  const role = textOf(given, 'role');
  if (role === '' || role === 'LABEL_ROLE_UNSPECIFIED')
    throw invalid(below(path, 'role'), 'is required: READER, APPLIER, ORGANIZER or EDITOR', 'REQUIRED');
  return role;
};
/** spec/program#choices: permission ids are one segment in the mock. */
const idOf = (principal: string): string => hash('sha256', principal).slice(0, 16);
/** spec/labels#permissions: create, PATCH and batchUpdate are all upserts by principal. */
const upsert = (call: Call, parent: Parent, given: Json, path: string): Json => {
  const named =
    textOf(given, 'name') === ''
      ? undefined
      : permissionNamed(parent, textOf(given, 'name'), below(path, 'name'));
  const existing =
    named === undefined ? undefined : call.state.permissions.get(`${parent.label.id}/${named}`);
  const hasPrincipal = [...principalMembers, 'email'].some((name) => textOf(given, name) !== '');
  // spec/labels#errors: a permission that is identified only by its name must exist.
  if (named !== undefined && existing === undefined && !hasPrincipal)
    throw makeNotFoundError(textOf(given, 'name'));
  const who =
    existing && !hasPrincipal
      ? { principal: existing.principal, email: existing.email }
      : principalIn(given, path);
  const role = roleIn(given, path);
  if (named !== undefined && named !== idOf(who.principal))
    throw invalid(below(path, 'name'), 'names the permission of another principal');
  const key = `${parent.label.id}/${idOf(who.principal)}`;
  const before = call.state.permissions.get(key);
  const email = who.email ?? before?.email;
  const record: PermissionRecord = {
    id: idOf(who.principal),
    seq: before?.seq ?? call.env.store.next('labels.permissionSeq'),
    label: parent.label.id,
    role,
    principal: who.principal,
    ...(email === undefined ? {} : { email }),
  };
  call.state.permissions.put(key, record);
  return permissionJson(record, parent.name);
};
const permissionNamed = (parent: Parent, name: string, path: string): string => {
  const prefix = `${parent.name}/permissions/`;
  const plain = `labels/${parent.label.id}/permissions/`;
  const id = name.startsWith(prefix)
    ? name.slice(prefix.length)
    : name.startsWith(plain)
      ? name.slice(plain.length)
      : undefined;
  if (id === undefined)
    throw invalid(path, `"${name}" is not a permission of ${parent.name}`, 'PARENT_MISMATCH');
  return id;
};
/** One-segment ids of this service, and the two-segment form (people/1) that clients build themselves (spec/labels#permissions). */
const recordNamed = (call: Call, label: LabelRecord, id: string): PermissionRecord | undefined =>
  call.state.permissions.get(`${label.id}/${id}`) ??
  [...permissionsFor(call.state, label.id)].find((p) => p.principal === id);
/**
 * spec/labels#permissions-2: an ORGANIZER may only add appliers: no other role, and no principal who already
 * has a higher role.
 */
const addsApplier = (call: Call, parent: Parent, given: Json): boolean => {
  if (given.role !== 'APPLIER' || textOf(given, 'name') !== '') return false;
  const { principal } = principalIn(given, '');
  const before = call.state.permissions.get(`${parent.label.id}/${idOf(principal)}`);
  return before === undefined || rank(before.role) <= rank('APPLIER');
};
/** The parent of permissions that are set; what an organizer may not set needs an editor. */
const settable = (call: Call, all: readonly Json[]): Parent => {
  const parent = parentOf(call, call.params.parent ?? '', 'ORGANIZER');
  const mayAll = all.length > 0 && all.every((given) => addsApplier(call, parent, given));
  return mayAll ? parent : parentOf(call, call.params.parent ?? '', 'EDITOR');
};
const set: Handler = (call) => upsert(call, settable(call, [call.body]), call.body, '');
const list: Handler = (call) => {
  const parent = parentOf(call, call.params.parent ?? '', 'READER');
  const page = pageOf(permissionsFor(call.state, parent.label.id), call.query, 50, [
    'permissions',
    parent.label.id,
    call.query.useAdminAccess,
  ]);
  const labelPermissions = page.items.map((p) => permissionJson(p, parent.name));
  return {
    labelPermissions,
    ...(page.nextPageToken === undefined ? {} : { nextPageToken: page.nextPageToken }),
  };
};
const remove: Handler = (call) => {
  const name = call.params.name ?? '';
  const match = /^(labels\/[^/]+(?:\/revisions\/[^/]+)?)\/permissions\/([^/]+)$/.exec(name);
  if (match === null) throw makeNotFoundError(name);
  const { label } = parentOf(call, match[1] ?? '', 'EDITOR');
  const record = recordNamed(call, label, match[2] ?? '');
  if (record === undefined) throw makeNotFoundError(name);
  call.state.permissions.delete(`${label.id}/${record.id}`);
  return {};
};
/**
 * spec/labels#permissions: an entry's admin flag must be empty or equal to the flag of the batch, and so must
 * its parent.
 */
const refuseMismatch = (call: Call, entry: Json, path: string): void => {
  if (entry.useAdminAccess !== undefined && entry.useAdminAccess !== (call.body.useAdminAccess ?? false)) {
    throw invalid(`${path}.useAdminAccess`, 'differs from useAdminAccess of the batch', 'PARENT_MISMATCH');
  }
};
const requestsOf = (call: Call): readonly Json[] => {
  const requests = (call.body.requests ?? []) as readonly Json[];
  if (requests.length === 0) throw invalid('requests', 'at least one request is required', 'REQUIRED');
  return requests;
};
/**
 * spec/labels#permissions "atomicity": the transaction around the call undoes all entries if one is rejected.
 */
const batchUpdate: Handler = (call) => {
  const given = ((call.body.requests ?? []) as readonly Json[]).map(
    (entry) => (entry.labelPermission ?? {}) as Json,
  );
  const parent = settable(call, given);
  const permissions = requestsOf(call).map((entry, i) => {
    const path = `requests[${i}]`;
    refuseMismatch(call, entry, path);
    const own = textOf(entry, 'parent');
    if (own !== '' && own !== parent.name)
      throw invalid(`${path}.parent`, `must be empty or ${parent.name}, got "${own}"`, 'PARENT_MISMATCH');
    if (entry.labelPermission === undefined)
      throw invalid(`${path}.labelPermission`, 'is required', 'REQUIRED');
    return upsert(call, parent, entry.labelPermission as Json, `${path}.labelPermission`);
  });
  return { permissions };
};
const batchDelete: Handler = (call) => {
  const parent = parentOf(call, call.params.parent ?? '', 'EDITOR');
  for (const [i, entry] of requestsOf(call).entries()) {
    const path = `requests[${i}]`;
    refuseMismatch(call, entry, path);
    if (textOf(entry, 'name') === '') throw invalid(below(path, 'name'), 'is required', 'REQUIRED');
    const record = recordNamed(
      call,
      parent.label,
      permissionNamed(parent, textOf(entry, 'name'), below(path, 'name')),
    );
    if (record === undefined) throw makeNotFoundError(textOf(entry, 'name'));
    call.state.permissions.delete(`${parent.label.id}/${record.id}`);
  }
  return {};
};
export const permissions = { create: set, update: set, list, delete: remove, batchUpdate, batchDelete };
const listLocks: Handler = (call) => {
  const parent = parentOf(call, call.params.parent ?? '', 'READER');
  const page = pageOf(locksFor(call.state, parent.label.id), call.query, 100, ['locks', parent.label.id]);
  const labelLocks = page.items.map((lock) => lockJson(lock, parent.name));
  return { labelLocks, ...(page.nextPageToken === undefined ? {} : { nextPageToken: page.nextPageToken }) };
};
export const locks = { list: listLocks };
