import { help, int, list, map, oneOf, orNull, record, req, str } from '../../core/field.ts';
import { op, type Service, type Table } from '../../core/operation.ts';
import { accountRows } from './console-accounts.ts';
import { applicationRows } from './console-applications.ts';
import * as rec from './console-records.ts';
import { act, allEventTypes, columns, id, settingFields } from './console-records.ts';

const serviceKey = record('ServiceKey', { id: str(), user: str(), created_at: str() });
/** The file that a service account signs in with; the private key is shown once. */
const keyFile = record('ServiceKeyFile', {
  type: str(),
  client_email: str(),
  client_id: str(),
  private_key_id: str(),
  private_key: str(),
  token_uri: str(),
});
const trust = record('Trust', {
  id: str(),
  issuer: str(),
  audience: str(),
  subject: str(),
  user: str(),
  scopes: list(str()),
  jwks: orNull(str()),
  created_at: str(),
});
/** Sign-in of machines: keys of service accounts, trust in the identity tokens of others, and jobs of an embedded CI. */
export const machineRows = {
  serviceKeys: {
    list: op({
      method: 'GET',
      path: '/service-keys',
      summary: 'List keys of service accounts',
      cites: 'spec/sign-in#data-api-3',
      ok: 200,
      returns: list(serviceKey),
      cli: columns('id', 'user', 'created_at'),
    }),
    create: op({
      method: 'POST',
      path: '/service-keys',
      summary: 'Create a key of a service account; the answer is the key file',
      cites: 'spec/sign-in#data-api-3',
      ok: 201,
      returns: keyFile,
      body: { user: req(help(str(320), 'E-mail address or sub of the service account')) },
    }),
    delete: op({
      method: 'DELETE',
      path: '/service-keys/{key}',
      params: id('key', 'The key ID'),
      summary: 'Delete a key of a service account',
      cites: 'spec/sign-in#data-api-3',
      ok: 204,
    }),
  },
  trusts: {
    list: op({
      method: 'GET',
      path: '/trusts',
      summary: 'List whose identity tokens are exchanged',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: list(trust),
      cli: columns('id', 'issuer', 'audience', 'subject', 'user'),
    }),
    create: op({
      method: 'POST',
      path: '/trusts',
      summary: 'Exchange identity tokens of an issuer for tokens of a service account',
      cites: 'spec/sign-in#machines',
      ok: 201,
      returns: trust,
      body: {
        issuer: req(help(str(2000), 'Issuer of the identity tokens; `embedded` is the CI of this server')),
        audience: req(help(str(2000), 'The audience that the identity token must name')),
        subject: req(help(str(2000), 'The subject; * stands for any characters')),
        user: req(help(str(320), 'E-mail address or sub of the service account')),
        scopes: help(list(str()), 'Scopes it may ask for (default all)'),
        jwks: help(
          str(100_000),
          'Public keys as JSON (default: read from the metadata of the issuer at each exchange)',
        ),
      },
    }),
    delete: op({
      method: 'DELETE',
      path: '/trusts/{trust}',
      params: id('trust', 'The trust'),
      summary: 'Stop exchanging identity tokens',
      cites: 'spec/sign-in#machines',
      ok: 204,
    }),
  },
  ci: {
    job: op({
      method: 'POST',
      path: '/ci/jobs',
      summary: 'Environment of a CI job with an identity token of this server',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: record('CiJob', { issuer: str(), subject: str(), environment: map(str()) }),
      body: {
        provider: req(help(oneOf('github', 'gitlab'), 'Which CI the variables are those of')),
        project: help(str(200), 'Repository or project (default demo/app)'),
        ref: help(str(200), 'Branch (default main)'),
        audience: help(str(2000), 'Audience of the token of gitlab; jobs of github ask for theirs'),
      },
    }),
  },
} as const satisfies Table;

/** spec/sign-in#client: the console as a control API of the embedded server. */
export const consoleTable = {
  ...applicationRows,
  ...accountRows,
  ...machineRows,
  events: {
    list: op({
      method: 'GET',
      path: '/events/deliveries',
      summary: 'List deliveries of security events',
      cites: 'spec/sign-in#events',
      ok: 200,
      returns: list(rec.delivery),
      cli: columns('id', 'type', 'client', 'state', 'attempts', 'last_status'),
    }),
    subscriptions: op({
      method: 'GET',
      path: '/events/subscriptions',
      summary: 'List receivers of security events',
      cites: 'spec/sign-in#events',
      ok: 200,
      returns: list(rec.subscription),
    }),
    subscribe: op({
      method: 'POST',
      path: '/events/subscriptions',
      summary: 'Subscribe a client to security events',
      cites: 'spec/sign-in#events',
      ok: 201,
      returns: rec.subscription,
      body: {
        client: req(help(str(), 'The client ID')),
        receiver: req({ ...help(str(2000), 'Address that takes the events'), format: 'url' }),
        types: help(
          list(oneOf(...allEventTypes)),
          'Event types (default: sessions-revoked, token-revoked and account-disabled)',
        ),
      },
    }),
    unsubscribe: op({
      method: 'DELETE',
      path: '/events/subscriptions/{subscription}',
      params: id('subscription', 'The subscription'),
      summary: 'End a subscription',
      cites: 'spec/sign-in#events',
      ok: 204,
    }),
    resend: op(
      act(
        '/events/deliveries/{delivery}/resend',
        id('delivery', 'The delivery'),
        rec.delivery,
        'Send an event again, with the same identifier',
        'spec/sign-in#check-11.5',
      ),
    ),
  },
  consent: {
    get: op({
      method: 'GET',
      path: '/consent',
      summary: 'Show how consent is given',
      cites: 'spec/program#commands',
      ok: 200,
      returns: rec.consent,
    }),
    set: op({
      method: 'PUT',
      path: '/consent',
      summary: 'Ask in the browser, or consent at once without pages for scripts',
      cites: 'spec/program#commands',
      ok: 200,
      returns: rec.consent,
      body: {
        mode: req(help(oneOf('ask', 'auto', 'deny'), 'auto signs `user` in and grants; deny refuses')),
        user: help(str(320), 'Who signs in (default: the first user)'),
        scopes: help(list(str()), 'Grant only these of the requested scopes (default all)'),
        access_for_seconds: help(int({ min: 60, max: 31_536_000 }), 'Time-based access'),
      },
    }),
  },
  settings: {
    get: op({
      method: 'GET',
      path: '/settings',
      summary: 'Show the settings of the authorization service',
      cites: 'spec/sign-in#check',
      ok: 200,
      returns: record('AuthSettings', settingFields),
    }),
    set: op({
      method: 'PATCH',
      path: '/settings',
      summary: 'Change settings',
      cites: 'spec/sign-in#check',
      ok: 200,
      returns: record('AuthSettings', settingFields),
      body: settingFields,
    }),
  },
  server: {
    warnings: op({
      method: 'GET',
      path: '/warnings',
      summary: 'What clients did that they should not',
      cites: 'spec/sign-in#check-5.20',
      ok: 200,
      returns: list(rec.warning),
    }),
    counts: op({
      method: 'GET',
      path: '/counts',
      summary: 'Number of records of each kind',
      cites: 'spec/sign-in#check-12.6',
      ok: 200,
      returns: rec.counts,
    }),
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
