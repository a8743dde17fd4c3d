import { messageOf } from '../../core/error-message.ts';
import type { Operation } from '../../core/operation.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import { routerFor } from '../router.ts';
import type { MockReply, MockRequest, MockService, Environment } from '../service.ts';
import { batchPaths, batchReply } from './batch.ts';
import { callerFrom, refuseAdmin, refuseScope } from './access.ts';
import type { Call, Handler } from './call.ts';
import { constraints } from './constraints.ts';
import { LabelError, denied, errorReply, invalid, notFound } from './errors.ts';
import { refuseOtherCustomer, labels } from './label-handlers.ts';
import { select, unknownNames } from './partial.ts';
import { OWNER, knownPerson } from './people.ts';
import { locks, permissions } from './permission-handlers.ts';
import { type Json, mapJson } from './proto-json.ts';
import { quotaOf } from './quota.ts';
import { type System, refuseWrongLanguage, queryFrom, systemFrom } from './query.ts';
import { TOKEN_PATH, roleToken } from './role-token.ts';
import { seedLabels } from './seed.ts';
import { labelState } from './state.ts';

const getLimits: Handler = ({ query }) => {
  if (query.name !== undefined && query.name !== '' && query.name !== constraints.name)
    throw invalid('name', `must be ${constraints.name}, got "${query.name}"`);
  return constraints;
};

/** spec/program#choices: the document lets any user be asked about; real services answer for `me` alone. */
const getCapabilities: Handler = ({ params, query, caller, env }) => {
  refuseOtherCustomer(query.customer);
  const name = params.name ?? '';
  const id = /^users\/([^/]+)\/capabilities$/.exec(name)?.[1];
  const person = id === 'me' ? caller.person : id === undefined ? undefined : knownPerson(env, id);
  if (person === undefined) throw notFound(name);
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

/** Judged before anything is done, so that a refused selection changes nothing. */
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
    if (handler === undefined) throw denied('NO_HANDLER', `${resource}.${verb} has no handler`);
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
