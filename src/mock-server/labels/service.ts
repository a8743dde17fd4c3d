import { labelsService } from '../../api-specs/labels/labels.ts';
import { systemQuery } from '../../api-specs/labels/wire.ts';
import { bare, type Field, type Fields, type NumberField, type StringField } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { messageOf } from '../../core/problem.ts';
import { makeRate, rateClock } from '../faults.ts';
import type { Environment, MockReply, MockRequest, MockService } from '../service-set.ts';
import { routerFor } from '../table-service.ts';
import {
  type Caller,
  callerFrom,
  knownPerson,
  OWNER,
  refuseAdmin,
  refuseScope,
  roleToken,
  TOKEN_PATH,
} from './access.ts';
import { batchPaths, batchReply, type Call, type Handler } from './batch.ts';
import { constraints, labelState } from './draft.ts';
import {
  makeDeniedError,
  errorReply,
  invalid,
  LabelError,
  makeNotFoundError,
  type Violation,
  camel,
  type Json,
  mapJson,
} from './proto-json.ts';
import { labels, refuseOtherCustomer } from './label-handlers.ts';
import { locks, permissions } from './permission-handlers.ts';
import { seedLabels } from './seed.ts';

/** A partial response: which members to keep; `true` keeps all below. */
export type Selection = true | { readonly [name: string]: Selection };
const merge = (a: Selection | undefined, b: Selection): Selection => {
  if (a === undefined) return b;
  if (a === true || b === true) return true;
  const merged: Record<string, Selection> = { ...a };
  for (const [key, value] of Object.entries(b)) merged[key] = merge(merged[key], value);
  return merged;
};
type Cursor = { readonly text: string; at: number };
const bad = (cursor: Cursor): Error =>
  invalid('fields', `Invalid field selection ${cursor.text}`, 'INVALID_FIELD_SELECTION');
const readName = (cursor: Cursor): string => {
  const name = /^[A-Za-z0-9_*-]+/.exec(cursor.text.slice(cursor.at))?.[0];
  if (name === undefined) throw bad(cursor);
  cursor.at += name.length;
  return name;
};
const readPath = (cursor: Cursor): Selection => {
  const name = readName(cursor);
  const mark = cursor.text[cursor.at];
  if (mark === '/' || mark === '.') {
    cursor.at += 1;
    return { [name]: readPath(cursor) };
  }
  if (mark !== '(') return { [name]: true };
  cursor.at += 1;
  const inner = readList(cursor);
  if (cursor.text[cursor.at] !== ')') throw bad(cursor);
  cursor.at += 1;
  return { [name]: inner };
};
const readList = (cursor: Cursor): Selection => {
  let selection = readPath(cursor);
  while (cursor.text[cursor.at] === ',') {
    cursor.at += 1;
    selection = merge(selection, readPath(cursor));
  }
  return selection;
};
/** Reads `labels(id,properties/title),nextPageToken`; throws INVALID_ARGUMENT on a malformed one. */
export const selectionFrom = (text: string): Selection => {
  const cursor = { text: text.replaceAll(' ', ''), at: 0 };
  const selection = readList(cursor);
  if (cursor.at !== cursor.text.length) throw bad(cursor);
  return selection;
};
/** The selected part of a value; lists are passed through member by member. Pure. */
export const select = (value: unknown, selection: Selection): unknown => {
  if (selection === true || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => select(item, selection));
  const kept: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    const own = merge(selection[key], selection['*'] ?? {});
    if (selection[key] !== undefined || selection['*'] !== undefined) kept[key] = select(member, own);
  }
  return kept;
};
/** Keys that the response cannot contain, on any level; a `*` stands for all keys. */
export const unknownNames = (selection: Selection, field: Field): string[] => {
  const inner = bare(field);
  if (selection === true) return [];
  if (inner.type === 'array') return unknownNames(selection, inner.items);
  if (inner.type !== 'object') return Object.keys(selection);
  return Object.entries(selection).flatMap(([name, below]) => {
    const member = inner.fields[name];
    if (name === '*')
      return Object.values(inner.fields).every((each) => unknownNames(below, each).length > 0) ? [name] : [];
    return member === undefined ? [name] : unknownNames(below, member);
  });
};

/**
 * spec/labels#limits "requests": reads and writes of one user are counted separately. A request over the
 * quota returns 429 and has no effect.
 */
export const quotaOf = (env: Environment): ((caller: Caller, method: string) => void) => {
  const { labelsQuota: quota, rateRetryAfter } = env.options;
  if (quota === undefined) return () => {};
  const clock = rateClock(env);
  const reads = makeRate(quota.reads, clock);
  const writes = makeRate(quota.writes, clock);
  return ({ person }, method) => {
    const isRead = method === 'GET';
    const over = (isRead ? reads : writes).take(person);
    if (over === undefined) return;
    const most = isRead
      ? `Read requests per minute: ${quota.reads}`
      : `Write requests per minute: ${quota.writes}`;
    throw new LabelError(
      'RESOURCE_EXHAUSTED',
      `Quota exceeded for quota metric '${most}' of the label service.`,
      {
        reason: 'RATE_LIMIT_EXCEEDED',
        metadata: {
          quota_limit_value: String(isRead ? quota.reads : quota.writes),
          quota_unit: '1/min/{project}/{user}',
        },
        ...(rateRetryAfter ? { retryAfter: Math.ceil(over.waitMs / 1000) } : {}),
      },
    );
  };
};

/** spec/labels#parameters "system parameters": every method accepts them. */
export type System = {
  readonly fields?: Selection;
  readonly isPretty: boolean;
  readonly callback?: string;
  readonly token?: string;
};
const systemNames = Object.keys(systemQuery);
const LANGUAGE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/;
const readBoolean = (name: string, text: string): boolean => {
  if (text !== 'true' && text !== 'false') throw invalid(name, `must be true or false, got "${text}"`);
  return text === 'true';
};
/**
 * Splits a query into system parameters and parameters of the method. `$fields` is an alias of `fields`, and
 * so on.
 */
const split = (query: string): { system: Map<string, string>; own: [string, string][] } => {
  const system = new Map<string, string>();
  const own: [string, string][] = [];
  for (const [given, value] of new URLSearchParams(query)) {
    const name = given.startsWith('$') && systemNames.includes(given.slice(1)) ? given.slice(1) : given;
    if (!systemNames.includes(name)) own.push([given, value]);
    else if (system.has(name)) throw invalid(name, 'is given more than once');
    else system.set(name, value);
  }
  return { system, own };
};
export const systemFrom = (query: string): System => {
  const { system } = split(query);
  const alt = system.get('alt') ?? 'json';
  if (!['json', 'media'].includes(alt))
    throw invalid('alt', `must be json or media, got "${alt}"; protocol buffers are not served here`);
  const xgafv = system.get('$.xgafv');
  if (xgafv !== undefined && xgafv !== '1' && xgafv !== '2')
    throw invalid('$.xgafv', `must be 1 or 2, got "${xgafv}"`);
  if ((system.get('quotaUser') ?? '').length > 40)
    throw invalid('quotaUser', 'must have at most 40 characters');
  const callback = system.get('callback');
  if (callback !== undefined && !/^[\w$.]{1,100}$/.test(callback))
    throw invalid('callback', 'must be the name of a function');
  const fields = system.get('fields');
  return {
    ...(fields === undefined || fields === '' ? {} : { fields: selectionFrom(fields) }),
    isPretty: readBoolean('prettyPrint', system.get('prettyPrint') ?? 'true'),
    callback,
    token: system.get('access_token') ?? system.get('oauth_token'),
  };
};
const readOne = (field: Fields[string], name: string, text: string, bad: Violation[]): unknown => {
  const refuse = (type: string) =>
    bad.push({ field: name, description: `Invalid value at '${name}' (${type}), "${text}"` });
  if (field?.type === 'boolean') {
    if (text !== 'true' && text !== 'false') refuse('TYPE_BOOL');
    return text === 'true';
  }
  if (field?.type === 'integer') {
    const number = Number(text);
    if (!/^-?\d+$/.test(text) || Math.abs(number) > 2147483647) refuse('TYPE_INT32');
    else if (number < ((field as NumberField).min ?? number))
      bad.push({ field: name, description: `${name} must not be negative, got ${text}` });
    return number;
  }
  const words = (field as StringField).enum;
  if (words !== undefined && !words.includes(text)) refuse('TYPE_ENUM');
  if (name === 'languageCode' && text !== '' && !LANGUAGE.test(text))
    bad.push({ field: name, description: `"${text}" is not a BCP-47 tag` });
  return text;
};
/** The method's own parameters, with defaults; an unknown one, a repeated one or a bad value is 400 (spec/labels#errors). */
export const queryFrom = (fields: Fields, query: string): Record<string, unknown> => {
  const bad: Violation[] = [];
  const values: Record<string, unknown> = {};
  for (const [given, text] of split(query).own) {
    const name = Object.hasOwn(fields, given) ? given : camel(given);
    if (!Object.hasOwn(fields, name)) {
      const description = `Invalid JSON payload received. Unknown name "${given}": Cannot bind query parameter. Field '${given}' could not be found in request message.`;
      bad.push({ field: given, description });
    } else if (values[name] !== undefined)
      bad.push({ field: name, description: `Multiple values provided for non-repeated field '${name}'.` });
    else values[name] = readOne(fields[name] as Fields[string], name, text, bad);
  }
  if (bad.length > 0) {
    throw new LabelError('INVALID_ARGUMENT', bad.map((b) => b.description).join('\n'), {
      reason: 'INVALID_QUERY',
      fields: bad,
    });
  }
  for (const [name, field] of Object.entries(fields))
    if (values[name] === undefined && field.default !== undefined) values[name] = field.default;
  return values;
};
export const refuseWrongLanguage = (language: unknown): void => {
  if (typeof language === 'string' && language !== '' && !LANGUAGE.test(language))
    throw invalid('languageCode', `"${language}" is not a BCP-47 tag`);
};

const getLimits: Handler = ({ query }) => {
  if (query.name !== undefined && query.name !== '' && query.name !== constraints.name)
    throw invalid('name', `must be ${constraints.name}, got "${query.name}"`);
  return constraints;
};
/** spec/program#choices: the document allows queries about any user; real services only accept `me`. */
const getCapabilities: Handler = ({ params, query, caller, env }) => {
  refuseOtherCustomer(query.customer);
  const name = params.name ?? '';
  const id = /^users\/([^/]+)\/capabilities$/.exec(name)?.[1];
  const person = id === 'me' ? caller.person : id === undefined ? undefined : knownPerson(env, id);
  if (person === undefined) throw makeNotFoundError(name);
  const isAdmin = person === caller.person ? caller.isAdmin : person === OWNER;
  return {
    name,
    canAccessLabelManager: true,
    canAdministrateLabels: isAdmin,
    canCreateAdminLabels: isAdmin,
    canCreateSharedLabels: true,
  };
};
type Table = typeof labelsService.table;
/** The compiler demands a handler for each of the 26 rows. */
const handlers: { readonly [R in keyof Table]: { readonly [V in keyof Table[R]]: Handler } } = {
  labels,
  permissions,
  locks,
  revisionPermissions: permissions,
  revisionLocks: locks,
  limits: { get: getLimits },
  capabilities: { get: getCapabilities },
};
const decoder = new TextDecoder('utf-8', { fatal: true });
/** spec/labels#errors: an empty body counts as {}; malformed JSON, unknown members, wrong types and double oneofs are 400. */
const bodyFrom = (operation: Operation, request: MockRequest): Json => {
  if (operation.body === undefined || request.body.length === 0) return {};
  let value: unknown;
  try {
    const text = decoder.decode(request.body);
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (error) {
    throw invalid('', `Invalid JSON payload received. ${messageOf(error)}`, 'MALFORMED_JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(
      '',
      'Invalid JSON payload received. Unknown name "": Root element must be a message.',
      'MALFORMED_JSON',
    );
  }
  const { value: mapped, violations } = mapJson(operation.body, operation.exclusive, value);
  if (violations.length > 0) {
    throw new LabelError('INVALID_ARGUMENT', violations.map((v) => v.description).join('\n'), {
      reason: 'INVALID_JSON',
      fields: violations,
    });
  }
  return mapped;
};
/** Checked before any change, so that a rejected selection has no effect. */
const refuseUnknownSelection = (system: System, operation: Operation): void => {
  const wrong =
    system.fields === undefined || operation.returns === undefined
      ? []
      : unknownNames(system.fields, operation.returns);
  if (wrong.length > 0)
    throw invalid('fields', `Invalid field selection ${wrong.join(', ')}`, 'INVALID_FIELD_SELECTION');
};
const render = (value: Json, system: System): MockReply => {
  const shown = system.fields === undefined ? value : select(value, system.fields);
  const text = system.isPretty ? `${JSON.stringify(shown, undefined, 2)}\n` : JSON.stringify(shown);
  const headers = {
    'content-type': 'application/json; charset=UTF-8',
    vary: 'Origin, X-Origin, Referer',
    'cache-control': 'private',
  };
  if (system.callback === undefined) return { status: 200, headers, body: text };
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'text/javascript; charset=UTF-8' },
    body: `// API callback\n${system.callback}(${text.trim()});`,
  };
};
const { basePath } = labelsService;
/** Routes, maps, admits and handles one request; throws LabelError when it is refused. */
const answererOf = (env: Environment) => {
  const route = routerFor(labelsService.table);
  const state = labelState(env);
  const admit = quotaOf(env);
  return (request: MockRequest, system: System): MockReply => {
    const caller = callerFrom(env, request, system.token);
    const method =
      request.method === 'POST'
        ? (request.headers['x-http-method-override'] ?? 'POST').toUpperCase()
        : request.method;
    const match = route(method, request.path.slice(basePath.length));
    // spec/labels#errors: unknown path, unknown verb and wrong method are all 404.
    if (match.kind !== 'operation')
      throw new LabelError('NOT_FOUND', `The requested URL ${request.path} was not found for ${method}.`, {
        reason: 'METHOD_NOT_FOUND',
      });
    const { resource, verb, operation } = match.named;
    admit(caller, operation.method);
    const query = queryFrom(operation.query ?? {}, request.query);
    const body = bodyFrom(operation, request);
    refuseWrongLanguage(body.languageCode);
    refuseUnknownSelection(system, operation);
    const asAdmin = (query.useAdminAccess ?? body.useAdminAccess) === true;
    refuseScope(caller, operation.method, asAdmin);
    refuseAdmin(caller, asAdmin);
    const call: Call = { state, env, caller, params: match.params, query, body, asAdmin };
    const handler = (handlers as Record<string, Record<string, Handler>>)[resource]?.[verb];
    if (handler === undefined) throw makeDeniedError('NO_HANDLER', `${resource}.${verb} has no handler`);
    const value = operation.method === 'GET' ? handler(call) : env.store.transact(() => handler(call));
    return render(value, system);
  };
};
const isLabelPath = (path: string): boolean =>
  path === basePath || path.startsWith(`${basePath}/`) || batchPaths.includes(path) || path === TOKEN_PATH;
/** spec/labels: the label service as a part of the mock server. */
export const makeLabels = (env: Environment): MockService => {
  const answer = answererOf(env);
  const refusing = (request: MockRequest, use: () => MockReply): MockReply => {
    const isOlder = /(^|&)(\$|%24)\.xgafv=1(&|$)/.test(request.query);
    try {
      return use();
    } catch (error) {
      if (error instanceof LabelError) return errorReply(error, isOlder);
      throw error;
    }
  };
  const one = (request: MockRequest): MockReply =>
    refusing(request, () => answer(request, systemFrom(request.query)));
  const batch = (request: MockRequest): MockReply => refusing(request, () => batchReply(request, one));
  return {
    name: 'labels',
    owns: isLabelPath,
    handle: (request) => {
      if (request.path === TOKEN_PATH) return roleToken(env, request);
      return batchPaths.includes(request.path) ? batch(request) : one(request);
    },
    seed: (kind) => {
      if (kind === 'demo') seedLabels(env);
    },
  };
};
