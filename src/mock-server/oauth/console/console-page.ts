import { type ClientType, clientTypeRows, clientTypes } from '../../../api-specs/oauth/console-records.ts';
import { consoleTable, oauthConsole } from '../../../api-specs/oauth/console.ts';
import { authPaths } from '../../../api-specs/oauth/endpoints.ts';
import { bare, type Field, type Fields } from '../../../core/field.ts';
import { type Operation, operations, fill, paramNames } from '../../../core/operation.ts';
import { type Html, html } from '../../../core/text.ts';
import type { MockReply, MockRequest } from '../../service-set.ts';
import { type Params, readParams } from '../errors.ts';
import { hmac, sameText } from '../keys.ts';
import { pageReply } from '../pages.ts';
import type { Auth } from '../state.ts';
import type { ControlApi } from './control-api.ts';
import { clientView, grantView, integrityView, userView } from './views.ts';

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
