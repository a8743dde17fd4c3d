import { bool, help, int, list, oneOf, orNull, record, req, str } from '../../kernel/field.ts';
import { type Operation, type Service, type Table, op } from '../../kernel/operation.ts';
import { clientEditFields, clientFields, clientTypes } from './client-types.ts';
import * as rec from './console-records.ts';
import { allEventTypes } from './events.ts';
import { settingFields } from './console-settings.ts';

const id = <const N extends string>(name: N, what: string) => ({ [name]: req(help(str(), what)) }) as unknown as { readonly [K in N]: { type: 'string'; required: true } };
const client = id('client', 'The client ID');
const user = id('user', 'E-mail address or sub of the user');
const project = id('project', 'The project ID');
/** A row that changes one record with a word: `POST /clients/{client}/restore`. */
const act = <const P extends string, const R extends Operation['returns'], const I extends Operation['params']>(path: P, params: I, returns: R, summary: string, cites: string) =>
  ({ method: 'POST', path, params, body: {}, summary, cites, ok: 200, returns }) as const;
const columns = (...names: string[]) => ({ columns: names });
const email = req(help(str(320, { format: 'email' }), 'E-mail address'));

/** doc1 "created in the developer console": the console as a control API of the embedded server. */
export const consoleTable = {
  projects: {
    list: op({ method: 'GET', path: '/projects', summary: 'List projects', cites: 'doc1 What the service does 6', ok: 200, returns: list(rec.project), cli: columns('id', 'name', 'organization', 'is_internal', 'media_api') }),
    create: op({
      method: 'POST', path: '/projects', summary: 'Create a project', cites: 'doc1 What the service does 6', ok: 201, returns: rec.project,
      body: {
        name: req(help(str(100, { min: 1 }), 'Name')),
        organization: help(str(253), 'Domain of the organization that owns it'),
        is_internal: help(bool(), 'Only accounts of the organization may sign in (org_internal)'),
        media_api: help(bool(), 'Whether the data API is enabled; on unless given'),
      },
    }),
    update: op({
      method: 'PATCH', path: '/projects/{project}', params: project, summary: 'Change a project', cites: 'doc1 Errors org_internal', ok: 200, returns: rec.project,
      body: { name: str(100, { min: 1 }), organization: orNull(str(253)), is_internal: bool(), media_api: bool() },
    }),
  },
  clients: {
    list: op({ method: 'GET', path: '/clients', summary: 'List OAuth clients', cites: 'doc1 OAuth client', ok: 200, returns: list(rec.client), query: { project: help(str(), 'Only of this project') }, cli: columns('id', 'type', 'name', 'state', 'has_secret', 'is_verified') }),
    create: op({
      method: 'POST', path: '/clients', summary: 'Create an OAuth client of one of the five types', cites: 'doc1 OAuth client', ok: 201, returns: rec.client,
      body: { ...clientFields, type: req(help(oneOf(...clientTypes), 'Client type')), name: req(clientFields.name), project: help(str(), 'The project; the first one unless given') },
    }),
    get: op({ method: 'GET', path: '/clients/{client}', params: client, summary: 'Show a client', cites: 'doc1 OAuth client', ok: 200, returns: rec.client }),
    update: op({ method: 'PATCH', path: '/clients/{client}', params: client, summary: 'Change a client', cites: 'doc1 States: custom URI scheme', ok: 200, returns: rec.client, body: clientEditFields }),
    delete: op({ method: 'DELETE', path: '/clients/{client}', params: client, summary: 'Delete a client; restorable for 30 days', cites: 'doc1 States: OAuth client', ok: 200, returns: rec.client, cli: { confirm: 'Delete client {client}? Sign-ins with it stop at once.' } }),
    restore: op(act('/clients/{client}/restore', client, rec.client, 'Restore a deleted client within 30 days', 'doc1 Limits: restore window')),
    resetSecret: op(act('/clients/{client}/secret', client, rec.client, 'Give the client a new secret, shown once', 'doc1 OAuth client')),
    verify: op({ method: 'POST', path: '/clients/{client}/verify', params: client, body: { account: email }, summary: 'Verify the ownership of the application', cites: 'doc1 Authentication 6', ok: 200, returns: rec.client }),
  },
  users: {
    list: op({ method: 'GET', path: '/users', summary: 'List users and service accounts', cites: 'doc1 What the service does 3', ok: 200, returns: list(rec.user), cli: columns('id', 'email', 'name', 'organization', 'state', 'kind') }),
    create: op({
      method: 'POST', path: '/users', summary: 'Create a user or a service account', cites: 'doc1 Endpoints 5 service accounts', ok: 201, returns: rec.user,
      body: {
        email,
        password: help(str(200, { min: 1 }), 'Password; a service account has none'),
        name: help(str(200), 'Name'),
        organization: help(str(253), 'Domain of the organization'),
        kind: help(oneOf('person', 'service-account'), 'person unless given'),
        channels: help(int({ min: 0, max: 1000 }), 'Number of channels; 1 unless given'),
        is_content_owner: help(bool(), 'Whether a service account owns content'),
      },
    }),
    update: op({ method: 'PATCH', path: '/users/{user}', params: user, summary: 'Change a user', cites: 'doc1 Errors', ok: 200, returns: rec.user, body: { name: str(200), organization: orNull(str(253)), password: str(200, { min: 1 }), channels: int({ min: 0, max: 1000 }), is_content_owner: bool() } }),
    delete: op({ method: 'DELETE', path: '/users/{user}', params: user, summary: 'Delete an account', cites: 'doc1 Errors invalid_grant', ok: 200, returns: rec.user, cli: { confirm: 'Delete account {user}?' } }),
    disable: op(act('/users/{user}/disable', user, rec.user, 'Disable an account; sends account-disabled', 'doc1 Events')),
    enable: op(act('/users/{user}/enable', user, rec.user, 'Enable a disabled account', 'doc1 Errors invalid_grant')),
    signOut: op(act('/users/{user}/sign-out', user, rec.user, 'Revoke all sessions of a user; sends sessions-revoked', 'doc1 Events')),
    token: op({ method: 'POST', path: '/users/{user}/token', params: user, body: { scopes: req(list(str(), { min: 1 })) }, summary: 'An access token of a service account', cites: 'doc1 Endpoints 5 service accounts', ok: 200, returns: record('ServiceToken', { access_token: str(), expires_in: int(), token_type: str() }) }),
  },
  sessions: {
    list: op({ method: 'GET', path: '/sessions', summary: 'List browser sessions', cites: 'doc1 Endpoints 1 session lookup', ok: 200, returns: list(rec.session) }),
    delete: op({ method: 'DELETE', path: '/sessions/{session}', params: id('session', 'The session'), summary: 'End a session', cites: 'doc1 Events', ok: 204 }),
  },
  grants: {
    list: op({ method: 'GET', path: '/grants', summary: 'List what users granted to clients', cites: 'doc1 States', ok: 200, returns: list(rec.grant), query: { user: help(str(), 'Only of this user'), client: help(str(), 'Only of this client') }, cli: columns('id', 'user', 'client', 'scopes') }),
    delete: op({ method: 'DELETE', path: '/grants/{grant}', params: id('grant', 'The grant'), summary: 'The user removes the access of an application', cites: 'doc1 States: user revokes access', ok: 204 }),
    removeScope: op({ method: 'POST', path: '/grants/{grant}/remove-scope', params: id('grant', 'The grant'), body: { scope: req(help(str(), 'The scope')) }, summary: 'The user takes one scope back', cites: 'doc1 States: user revokes access', ok: 200, returns: rec.grant }),
  },
  tokens: {
    list: op({ method: 'GET', path: '/tokens', summary: 'List refresh tokens without their values', cites: 'doc1 Limits', ok: 200, returns: list(rec.token), query: { user: str(), client: str() }, cli: columns('id', 'user', 'client', 'state', 'issued_at') }),
    revoke: op({ method: 'DELETE', path: '/tokens/{token}', params: { token: req(help(int(), 'Number of the refresh token')) }, summary: 'Revoke a refresh token', cites: 'doc1 States', ok: 204 }),
  },
  policies: {
    list: op({ method: 'GET', path: '/policies', summary: 'List administrator policies', cites: 'doc1 Errors admin_policy_enforced', ok: 200, returns: list(rec.policy) }),
    create: op({
      method: 'POST', path: '/policies', summary: 'Forbid scopes to the accounts of an organization', cites: 'doc1 Errors admin_policy_enforced', ok: 201, returns: rec.policy,
      body: { organization: req(help(str(253), 'Domain of the organization')), blocked_scopes: req(help(list(str(), { min: 1 }), 'Scopes nobody may grant')), clients: help(list(str()), 'Only for these clients; all unless given') },
    }),
    delete: op({ method: 'DELETE', path: '/policies/{policy}', params: id('policy', 'The policy'), summary: 'Remove a policy', cites: 'doc1 Errors admin_policy_enforced', ok: 204 }),
  },
  storeItems: {
    list: op({ method: 'GET', path: '/store-items', summary: 'List apps and extensions of the store console', cites: 'doc1 Authentication 6', ok: 200, returns: list(rec.storeItem) }),
    create: op({
      method: 'POST', path: '/store-items', summary: 'Register an app or an extension in the store console', cites: 'doc1 Authentication 6', ok: 201, returns: rec.storeItem,
      body: { kind: req(oneOf('app', 'extension')), package_name: clientFields.package_name, fingerprint: clientFields.fingerprint, item_id: clientFields.item_id, accounts: req(help(list(str(320)), 'Administrators of the app, or the publisher')) },
    }),
    delete: op({ method: 'DELETE', path: '/store-items/{item}', params: id('item', 'The item'), summary: 'Remove a store item', cites: 'doc1 Authentication 6', ok: 204 }),
  },
  integrity: {
    get: op({ method: 'GET', path: '/clients/{client}/integrity', params: client, summary: 'State and metrics of an integrity check', cites: 'doc1 Authentication 7', ok: 200, returns: rec.integrity }),
    enable: op(act('/clients/{client}/integrity/enable', client, rec.integrity, 'Enable: monitoring only', 'doc1 States: integrity check')),
    enforce: op(act('/clients/{client}/integrity/enforce', client, rec.integrity, 'Enforce', 'doc1 States: integrity check')),
    unenforce: op(act('/clients/{client}/integrity/unenforce', client, rec.integrity, 'Unenforce', 'doc1 States: integrity check')),
    disable: op(act('/clients/{client}/integrity/disable', client, rec.integrity, 'Disable', 'doc1 States: integrity check')),
    token: op(act('/clients/{client}/integrity/token', client, record('IntegrityToken', { integrity_token: str(), expires_in: int() }), 'An integrity token, as the attestation service gives the genuine app', 'doc1 Authentication 7')),
  },
  events: {
    list: op({ method: 'GET', path: '/events/deliveries', summary: 'List deliveries of security events', cites: 'doc1 Events', ok: 200, returns: list(rec.delivery), cli: columns('id', 'type', 'client', 'state', 'attempts', 'last_status') }),
    subscriptions: op({ method: 'GET', path: '/events/subscriptions', summary: 'List receivers of security events', cites: 'doc1 Events', ok: 200, returns: list(rec.subscription) }),
    subscribe: op({
      method: 'POST', path: '/events/subscriptions', summary: 'Subscribe a client to security events', cites: 'doc1 Events', ok: 201, returns: rec.subscription,
      body: { client: req(help(str(), 'The client ID')), url: req({ ...help(str(2000), 'Receiver'), format: 'url' }), types: help(list(oneOf(...allEventTypes)), 'Event types; all unless given') },
    }),
    unsubscribe: op({ method: 'DELETE', path: '/events/subscriptions/{subscription}', params: id('subscription', 'The subscription'), summary: 'End a subscription', cites: 'doc1 Events', ok: 204 }),
    resend: op(act('/events/deliveries/{delivery}/resend', id('delivery', 'The delivery'), rec.delivery, 'Send an event again, with the same identifier', 'facts 11.5')),
  },
  consent: {
    get: op({ method: 'GET', path: '/consent', summary: 'Show how consent is given', cites: 'decisions 2', ok: 200, returns: rec.consent }),
    set: op({
      method: 'PUT', path: '/consent', summary: 'Ask in the browser, or consent at once without pages for scripts', cites: 'decisions 2', ok: 200, returns: rec.consent,
      body: {
        mode: req(help(oneOf('ask', 'auto', 'deny'), 'auto signs `user` in and grants; deny refuses')),
        user: help(str(320), 'Who signs in; the first user unless given'),
        scopes: help(list(str()), 'Grant only these of the requested scopes; all unless given'),
        access_for_seconds: help(int({ min: 60, max: 31_536_000 }), 'Time-based access'),
      },
    }),
  },
  settings: {
    get: op({ method: 'GET', path: '/settings', summary: 'Show the settings of the authorization service', cites: 'facts 0', ok: 200, returns: record('AuthSettings', settingFields) }),
    set: op({ method: 'PATCH', path: '/settings', summary: 'Change settings', cites: 'facts 0', ok: 200, returns: record('AuthSettings', settingFields), body: settingFields }),
  },
  server: {
    warnings: op({ method: 'GET', path: '/warnings', summary: 'What clients did that they should not', cites: 'facts 5.20', ok: 200, returns: list(rec.warning) }),
    counts: op({ method: 'GET', path: '/counts', summary: 'Number of records of each kind', cites: 'facts 12.6', ok: 200, returns: rec.counts }),
  },
} as const satisfies Table;

export const oauthConsole = {
  name: 'auth',
  title: 'Developer console of the embedded authorization service',
  version: '1',
  basePath: '/__opsctl/oauth',
  tokenHeader: { name: 'Authorization', prefix: 'Bearer ' },
  table: consoleTable,
} as const satisfies Service;
