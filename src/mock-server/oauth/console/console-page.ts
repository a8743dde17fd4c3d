import {
  type ClientType,
  clientTypeRows,
  clientTypes,
  documentedEventTypes,
} from '../../../api-specs/oauth/console-records.ts';
import { consoleTable, oauthConsole } from '../../../api-specs/oauth/console.ts';
import { authPaths, scopeName } from '../../../api-specs/oauth/endpoints.ts';
import { bare, type Field, type Fields } from '../../../core/field.ts';
import { type Operation, operations, fill, paramNames } from '../../../core/operation.ts';
import { type Html, html } from '../../../core/text.ts';
import type { MockReply, MockRequest } from '../../service-set.ts';
import { type Params, readParams } from '../errors.ts';
import { hmac, sameText, effectiveState, makeIntegrityToken, base64url, findUser } from '../keys.ts';
import { pageReply } from '../pages.ts';
import type { Auth, Family, Subscription } from '../state.ts';
import {
  clientView,
  grantView,
  integrityView,
  userView,
  clientHandlers,
  ciHandlers,
  serviceKeyHandlers,
  trustHandlers,
  clientById,
  deliveryView,
  findRecord,
  sessionView,
  subscriptionView,
  tokenView,
  type ConsoleHandlers,
} from './clients.ts';
import { problem, problemText } from '../../../core/problem.ts';
import { HttpError, JSON_TYPE } from '../../body.ts';
import { tableService } from '../../table-service.ts';
import {
  clientHasAnIntegrityCheck,
  integrityTransitions,
  type IntegrityVerb,
  stateAllows,
  teamIdIsSet,
} from '../rules/rule.ts';
import { deliver, emitTokenRevoked, emitTokensRevoked, emitVerification } from '../security-events.ts';
import { familiesOf, revokeFamily } from '../tokens.ts';
import {
  consentHandlers,
  policyHandlers,
  projectHandlers,
  serverHandlers,
  settingsHandlers,
  storeItemHandlers,
  userHandlers,
} from './users.ts';

/** Fields that every client type has. */
const common = ['name', 'project', 'redirect_uris', 'any_path', 'trust', 'id_token_alg'];
/** The fields of one client type, in the order of the document. */
const fieldsOfType = (type: ClientType, all: Fields): Fields => {
  const names = ['name', ...clientTypeRows[type].fields, ...common.slice(1)];
  return Object.fromEntries(names.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
};
const control = (id: string, name: string, field: Field, isRequired: boolean): Html => {
  const inner = bare(field);
  if (inner.type === 'string' && inner.enum) {
    return html`<select id="${id}" name="${name}">${isRequired ? '' : html`<option value=""></option>`}${inner.enum.map((value) => html`<option>${value}</option>`)}</select>`;
  }
  if (inner.type === 'boolean')
    return html`<select id="${id}" name="${name}"><option value=""></option><option>true</option><option>false</option></select>`;
  const type = inner.type === 'integer' ? 'number' : name === 'password' ? 'password' : 'text';
  return html`<input type="${type}" id="${id}" name="${name}"${isRequired && html` required`}${inner.type === 'array' && html`placeholder="separated by spaces"`}>`;
};
/** Labeled controls for the fields of a row. */
const controls = (prefix: string, fields: Fields, required: readonly string[] = []): Html =>
  html`<div class="grid">${Object.entries(fields).map(([name, field]) => {
    const id = `${prefix}-${name}`;
    const isRequired = field.required === true || required.includes(name);
    return html`<div><label for="${id}">${name.replaceAll('_', ' ')}${isRequired ? ' *' : ''}</label>${control(id, name, field, isRequired)}<span class="soft small">${field.summary ?? ''}</span></div>`;
  })}</div>`;
/** A value of a form as the field's type; an empty one counts as not given. */
const formValue = (field: Field, text: string): unknown => {
  const inner = bare(field);
  if (inner.type === 'array') return text.split(/[\s,]+/).filter((part) => part !== '');
  if (inner.type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  return inner.type === 'boolean' ? text === 'true' : text;
};

type Notice = { readonly text: string; readonly isProblem: boolean };
const page = `${authPaths.console}/console`;
const proofOf = (auth: Auth): string => hmac(auth.secret(), 'developer console');
const act = (auth: Auth, what: string, says: string, params: Readonly<Record<string, string>>): Html =>
  html`<form method="post" action="${page}"><input type="hidden" name="do" value="${what}"><input type="hidden" name="proof" value="${proofOf(auth)}">${Object.entries(
    params,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button>${says}</button></form> `;
const form = (auth: Auth, what: string, says: string, inside: Html): Html =>
  html`<form method="post" action="${page}"><input type="hidden" name="do" value="${what}"><input type="hidden" name="proof" value="${proofOf(auth)}">${inside}<div class="row"><button class="main">${says}</button></div></form>`;
const table = (heads: readonly string[], rows: readonly Html[]): Html =>
  rows.length === 0
    ? html`<p class="soft small">None.</p>`
    : html`<div class="scroll" tabindex="0"><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
const integrityButtons = (auth: Auth, id: string, state: string): Html => {
  const verbs =
    { disabled: ['enable'], monitoring: ['enforce', 'disable'], enforced: ['unenforce', 'disable'] }[state] ??
    [];
  return html`${verbs.map((verb) => act(auth, `integrity.${verb}`, `${verb} check`, { client: id }))}`;
};
const clientRow = (auth: Auth, id: string): Html => {
  const client = auth.clients.get(id);
  if (client === undefined) return html``;
  const view = clientView(auth, client);
  const check = client.type === 'mobile-b' ? integrityView(auth, client) : undefined;
  return html`<tr><td><strong>${view.name}</strong><br><code>${view.id}</code></td><td>${clientTypeRows[view.type].title}</td>
<td>${view.state}${view.restorable_until !== null && html`<br><span class="soft small">restorable until ${view.restorable_until.slice(0, 10)}</span>`}</td>
<td>${view.has_secret ? 'yes' : 'no'}</td><td>${view.verified_by ?? 'no'}</td><td>${check === undefined ? '' : `${check.state}, in effect: ${check.effective_state}`}</td>
<td>${view.state === 'active' ? act(auth, 'clients.delete', 'Delete', { client: id }) : act(auth, 'clients.restore', 'Restore', { client: id })}${check !== undefined && view.state === 'active' && integrityButtons(auth, id, check.state)}</td></tr>`;
};
const userRow = (
  auth: Auth,
  user: ReturnType<typeof userView>,
): Html => html`<tr><td><strong>${user.name}</strong><br>${user.email}</td><td><code>${user.id}</code></td><td>${user.organization ?? ''}</td><td>${user.state}</td>
<td>${user.state === 'active' ? act(auth, 'users.disable', 'Disable', { user: user.id }) : user.state === 'disabled' && act(auth, 'users.enable', 'Enable', { user: user.id })}${act(auth, 'users.signOut', 'Sign out', { user: user.id })}</td></tr>`;
const clientSection = (auth: Auth): Html => html`<h2 id="clients">OAuth clients</h2>
${table(
  ['Client', 'Type', 'State', 'Secret', 'Verified by', 'Integrity check', 'Actions'],
  [...auth.clients.values()].map(({ id }) => clientRow(auth, id)),
)}
${clientTypes.map((type) => html`<details><summary>New client: ${clientTypeRows[type].title}</summary>${form(auth, 'clients.create', 'Create client', html`<input type="hidden" name="type" value="${type}">${controls(type, fieldsOfType(type, consoleTable.clients.create.body), clientTypeRows[type].required)}`)}</details>`)}`;
const userSection = (auth: Auth): Html => html`<h2 id="users">Users</h2>
${table(
  ['User', 'sub', 'Organization', 'State', 'Actions'],
  [...auth.users.values()].map((user) => userRow(auth, userView(user))),
)}
<details><summary>New user</summary>${form(auth, 'users.create', 'Create user', controls('user', consoleTable.users.create.body))}</details>
<h2 id="grants">Access that users gave</h2>
${table(
  ['User', 'Client', 'Scopes', 'Actions'],
  [...auth.grants.values()]
    .map(grantView)
    .map(
      (grant) =>
        html`<tr><td>${auth.users.get(grant.user)?.email ?? grant.user}</td><td>${auth.clients.get(grant.client)?.name ?? grant.client}</td><td>${grant.scopes.map((scope) => html`<code>${scope}</code> `)}</td><td>${act(auth, 'grants.delete', 'Remove', { grant: grant.id })}</td></tr>`,
    ),
)}`;
const otherSections = (auth: Auth): Html => html`<h2 id="projects">Projects</h2>
${table(
  ['Project', 'Organization', 'Internal', 'Data API', 'Actions'],
  [...auth.projects.values()].map(
    (project) =>
      html`<tr><td><strong>${project.name}</strong><br><code>${project.id}</code></td><td>${project.organization ?? ''}</td><td>${project.is_internal ? 'yes' : 'no'}</td><td>${project.media_api ? 'enabled' : 'disabled'}</td><td>${act(auth, 'projects.update', project.media_api ? 'Disable the API' : 'Enable the API', { project: project.id, media_api: String(!project.media_api) })}</td></tr>`,
  ),
)}
<details><summary>New project</summary>${form(auth, 'projects.create', 'Create project', controls('project', consoleTable.projects.create.body))}</details>
<h2 id="policies">Administrator policies</h2>
${table(
  ['Organization', 'Forbidden scopes', 'Clients', 'Actions'],
  [...auth.policies.values()].map(
    (policy) =>
      html`<tr><td>${policy.organization}</td><td>${policy.blocked_scopes.map((scope) => html`<code>${scope}</code> `)}</td><td>${policy.clients.join(' ') || 'all'}</td><td>${act(auth, 'policies.delete', 'Remove', { policy: policy.id })}</td></tr>`,
  ),
)}
<details><summary>New policy</summary>${form(auth, 'policies.create', 'Create policy', controls('policy', consoleTable.policies.create.body))}</details>
<h2 id="events">Security events</h2>
${table(
  ['Type', 'Client', 'State', 'Attempts'],
  [...auth.deliveries.values()]
    .slice(-20)
    .map(
      (delivery) =>
        html`<tr><td><code>${delivery.type}</code></td><td>${auth.clients.get(delivery.client)?.name ?? delivery.client}</td><td>${delivery.state}</td><td>${delivery.attempts}</td></tr>`,
    ),
)}
<details><summary>New receiver</summary>${form(auth, 'events.subscribe', 'Subscribe', controls('events', consoleTable.events.subscribe.body))}</details>`;
const consolePage = (auth: Auth, status: number, notice?: Notice): MockReply =>
  pageReply({
    status,
    title: 'Developer console',
    isWide: true,
    body: html`<h1>Developer console</h1>
<nav aria-label="Sections">${['clients', 'users', 'grants', 'projects', 'policies', 'events'].map((name) => html`<a href="#${name}">${name}</a>`)}</nav>
${notice !== undefined && html`<p class="${notice.isProblem ? 'alert' : 'code'}" role="${notice.isProblem ? 'alert' : 'status'}">${notice.text}</p>`}
${clientSection(auth)}${userSection(auth)}${otherSections(auth)}`,
  });
const bodyOf = (operation: Operation, params: Params): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(operation.body ?? {}).flatMap(([name, field]) =>
      (params.get(name) ?? '') === '' ? [] : [[name, formValue(field, params.get(name) ?? '')]],
    ),
  );
/** Shows the response of the control API to a person. A new secret is shown only here, once. */
const noticeOf = (what: string, reply: MockReply): Notice => {
  const answer = reply.body === undefined ? {} : (JSON.parse(String(reply.body)) as Record<string, unknown>);
  const errors = Object.entries((answer.errors ?? {}) as Record<string, string>).map(
    ([name, why]) => `${name} ${why}`,
  );
  if (reply.status >= 400) return { text: [answer.message, ...errors].join(' '), isProblem: true };
  const secret = typeof answer.secret === 'string' ? ` Client secret, shown once: ${answer.secret}` : '';
  return {
    text: `${what.replace('.', ' ')}: done. ${String(answer.name ?? answer.id ?? '')}${secret}`,
    isProblem: false,
  };
};
/** `do=clients.create` and the fields of that row, given to the control API like any other caller's request. */
const submit = async (auth: Auth, api: ControlApi, request: MockRequest): Promise<MockReply> => {
  const params = readParams(Buffer.from(request.body).toString('utf8'));
  if (!sameText(params.get('proof') ?? '', proofOf(auth)))
    return consolePage(auth, 403, {
      text: 'The form does not come from this page. Load it again.',
      isProblem: true,
    });
  const what = params.get('do') ?? '';
  const named = operations(consoleTable).find(({ resource, verb }) => `${resource}.${verb}` === what);
  if (named === undefined)
    return consolePage(auth, 400, { text: 'There is no such action.', isProblem: true });
  const { operation } = named;
  const path =
    oauthConsole.basePath +
    fill(
      operation.path,
      Object.fromEntries(paramNames(operation.path).map((name) => [name, params.get(name) ?? ''])),
    );
  const body = operation.body === undefined ? '' : JSON.stringify(bodyOf(operation, params));
  // The proof shows that this server created the form. Browsers send `Origin: null` with it, because the page
  // sends no referrer.
  const headers = { ...request.headers, origin: undefined, 'content-type': 'application/json' };
  const reply = await api({
    ...request,
    method: operation.method,
    path,
    query: '',
    headers,
    body: Buffer.from(body),
  });
  return consolePage(auth, reply.status < 400 ? 200 : reply.status, noticeOf(what, reply));
};
/** The developer console as one page that works without script. */
export const makeConsolePage =
  (auth: Auth, api: ControlApi) =>
  (request: MockRequest): MockReply | Promise<MockReply> => {
    if (request.method === 'POST') return submit(auth, api, request);
    return request.method === 'GET'
      ? consolePage(auth, 200)
      : { status: 405, headers: { allow: 'GET, POST' } };
  };

const eventHandlers: ConsoleHandlers['events'] = {
  list: ({ state: { auth } }) => [...auth.deliveries.values()].map(deliveryView),
  subscriptions: ({ state: { auth } }) => [...auth.subscriptions.values()].map(subscriptionView),
  subscribe: ({ state: { auth }, body }) => {
    const client = clientById(auth, body.client);
    if (!/^https?:\/\//.test(body.receiver))
      throw new HttpError(400, 'The receiver must be an HTTP address.', {
        problems: [problem('receiver', 'format', 'must start with http:// or https://')],
      });
    const subscription: Subscription = {
      id: base64url(auth.env.random(9)),
      client: client.id,
      url: body.receiver,
      types: body.types ?? documentedEventTypes,
      created_at: auth.env.now(),
    };
    auth.subscriptions.put(subscription.id, subscription);
    emitVerification(auth, subscription);
    return subscriptionView(subscription);
  },
  unsubscribe: ({ state: { auth }, params }) => {
    findRecord(auth.subscriptions, params.subscription, 'subscription');
    auth.subscriptions.delete(params.subscription);
    return undefined;
  },
  resend: ({ state: { auth }, params }) => {
    const delivery = {
      ...findRecord(auth.deliveries, params.delivery, 'delivery'),
      state: 'pending' as const,
      attempts: 0,
      done_at: null,
    };
    auth.deliveries.put(delivery.id, delivery);
    auth.env.later(() => deliver(auth, delivery.id));
    return deliveryView(delivery);
  },
};

const end = (auth: Auth, families: readonly Family[]): void => {
  for (const family of families) {
    revokeFamily(auth, family);
    emitTokenRevoked(auth, family);
  }
};
const matches = (auth: Auth, query: { user?: string | undefined; client?: string | undefined }) => {
  const user = query.user === undefined ? undefined : (findUser(auth, query.user)?.id ?? query.user);
  return (record: { user: string; client: string }) =>
    (user === undefined || record.user === user) &&
    (query.client === undefined || record.client === query.client);
};
const grantHandlers: ConsoleHandlers['grants'] = {
  list: ({ state: { auth }, query }) => auth.grants.filter(matches(auth, query)).map(grantView),
  // spec/sign-in#states: "user revokes access": every refresh token of the pair becomes invalid.
  delete: ({ state: { auth }, params }) => {
    const grant = findRecord(auth.grants, params.grant, 'grant');
    end(
      auth,
      familiesOf(auth, grant.user).filter(({ client }) => client === grant.client),
    );
    emitTokensRevoked(auth, grant.user, grant.client);
    auth.grants.delete(grant.id);
    return undefined;
  },
  // spec/sign-in#check-4.8: a token with this scope is revoked, and the user must give consent again.
  removeScope: ({ state: { auth }, params, body }) => {
    const grant = findRecord(auth.grants, params.grant, 'grant');
    const name = scopeName(body.scope);
    if (!grant.scopes.some((scope) => scopeName(scope) === name)) {
      throw new HttpError(404, `The grant has no scope ${body.scope}.`, {
        problems: [problem('scope', 'rule', `is not one of ${grant.scopes.join(' ')}`)],
      });
    }
    const changed = { ...grant, scopes: grant.scopes.filter((scope) => scopeName(scope) !== name) };
    auth.grants.put(grant.id, changed);
    end(
      auth,
      familiesOf(auth, grant.user).filter(
        (family) =>
          family.client === grant.client && family.scopes.some((scope) => scopeName(scope) === name),
      ),
    );
    return grantView(changed);
  },
};
const tokenHandlers: ConsoleHandlers['tokens'] = {
  list: ({ state: { auth }, query }) =>
    auth.families.filter(matches(auth, query)).map((family) => tokenView(auth, family)),
  revoke: ({ state: { auth }, params }) => {
    end(auth, [findRecord(auth.families, params.token, 'refresh token')]);
    return undefined;
  },
};
const sessionHandlers: ConsoleHandlers['sessions'] = {
  list: ({ state: { auth } }) => [...auth.sessions.values()].map(sessionView),
  delete: ({ state: { auth }, params }) => {
    const entry = [...auth.sessions.entries()].find(([, session]) => session.id === params.session);
    if (entry === undefined) throw new HttpError(404, `There is no session ${params.session}.`);
    auth.sessions.delete(entry[0]);
    return undefined;
  },
};

/**
 * spec/sign-in#states: the change is stored immediately and takes effect within 15 minutes. Until that time
 * the previous state counts.
 */
const change = (auth: Auth, id: string, verb: IntegrityVerb) => {
  const client = clientById(auth, id);
  clientHasAnIntegrityCheck(client);
  stateAllows(client, verb);
  const { to, guards } = integrityTransitions[verb];
  for (const guard of guards) guard(client);
  if (client.integrity.state === to) return integrityView(auth, client);
  const effectiveAt = auth.env.now() + auth.settings().integrity_delay_seconds * 1000;
  const changed = {
    ...client,
    integrity: { state: to, before: effectiveState(auth, client), effective_at: effectiveAt, was_used: true },
  };
  auth.clients.put(client.id, changed);
  return integrityView(auth, changed);
};
const integrityHandlers: ConsoleHandlers['integrity'] = {
  get: ({ state: { auth }, params }) => {
    const client = clientById(auth, params.client);
    clientHasAnIntegrityCheck(client);
    return integrityView(auth, client);
  },
  enable: ({ state: { auth }, params }) => change(auth, params.client, 'enable'),
  enforce: ({ state: { auth }, params }) => change(auth, params.client, 'enforce'),
  unenforce: ({ state: { auth }, params }) => change(auth, params.client, 'unenforce'),
  disable: ({ state: { auth }, params }) => change(auth, params.client, 'disable'),
  token: ({ state: { auth }, params }) => {
    const client = clientById(auth, params.client);
    clientHasAnIntegrityCheck(client);
    teamIdIsSet(client);
    return makeIntegrityToken(auth, client);
  },
};

const refusal = (refused: HttpError): MockReply => {
  const errors = Object.fromEntries(
    refused.problems.map((p) => [p.path === '' ? 'body' : p.path, problemText({ ...p, path: '' })]),
  );
  return {
    status: refused.status,
    headers: { 'content-type': JSON_TYPE, 'cache-control': 'no-store' },
    body: JSON.stringify({
      message: refused.message,
      ...(refused.problems.length > 0 ? { errors, problems: refused.problems } : {}),
    }),
  };
};
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;
/**
 * The console has no password, so a page of another site must not reach it through the user's browser: the
 * server checks the Host (no DNS rebinding), the Origin must be ours, and a body must be JSON, which a
 * foreign form cannot send without a preflight request.
 */
const callerIsNotAForeignPage = (request: MockRequest): void => {
  const { host, origin } = request.headers;
  const page = origin?.replace(/^https?:\/\//, '');
  if (page !== undefined && page !== host && !LOCAL_HOST.test(page))
    throw new HttpError(403, 'The console does not accept requests from pages of other sites.');
  const type = request.headers['content-type'] ?? '';
  if (request.body.length > 0 && !/^application\/json\b/i.test(type))
    throw new HttpError(415, 'Send the body as application/json.');
};
export type ControlApi = (request: MockRequest) => MockReply | Promise<MockReply>;
/** spec/program#mock-server: the control API of the authorization service, below `/__opsctl/oauth`. */
export const makeControlApi = (auth: Auth): ControlApi =>
  tableService({
    service: oauthConsole,
    handlers: {
      projects: projectHandlers,
      clients: clientHandlers,
      users: userHandlers,
      sessions: sessionHandlers,
      grants: grantHandlers,
      tokens: tokenHandlers,
      policies: policyHandlers,
      storeItems: storeItemHandlers,
      integrity: integrityHandlers,
      events: eventHandlers,
      consent: consentHandlers,
      settings: settingsHandlers,
      server: serverHandlers,
      serviceKeys: serviceKeyHandlers,
      trusts: trustHandlers,
      ci: ciHandlers,
    },
    state: { auth },
    env: auth.env,
    admit: callerIsNotAForeignPage,
    refusal,
  });
