import { help, int, list, map, oneOf, orNull, record, req, str } from '../../core/field.ts';
import { op, type Service, type Table } from '../../core/operation.ts';
import { accountRows, applicationRows } from './console-endpoints.ts';
import * as rec from './console-records.ts';
import { consoleAction, allEventTypes, columns, id, settingFields } from './console-records.ts';

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
const machineRows = {
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
      summary: 'Create a service account key and print the key file',
      cites: 'spec/sign-in#data-api-3',
      ok: 201,
      returns: keyFile,
      body: { user: req(help(str(320), 'Email address or sub of the service account')) },
    }),
    delete: op({
      method: 'DELETE',
      path: '/service-keys/{key}',
      params: id('key', 'Key ID'),
      summary: 'Delete a key of a service account',
      cites: 'spec/sign-in#data-api-3',
      ok: 204,
    }),
  },
  trusts: {
    list: op({
      method: 'GET',
      path: '/trusts',
      summary: 'List trusts for token exchange',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: list(trust),
      cli: columns('id', 'issuer', 'audience', 'subject', 'user'),
    }),
    create: op({
      method: 'POST',
      path: '/trusts',
      summary: 'Trust identity tokens of an issuer for a service account',
      cites: 'spec/sign-in#machines',
      ok: 201,
      returns: trust,
      body: {
        issuer: req(
          help(str(2000), 'Issuer of the identity tokens; `embedded` is the CI issuer of this server'),
        ),
        audience: req(help(str(2000), 'Required audience of the identity token')),
        subject: req(help(str(2000), 'Subject; * matches any characters')),
        user: req(help(str(320), 'Email address or sub of the service account')),
        scopes: help(list(str()), 'Scopes that it may request (default all)'),
        jwks: help(
          str(100_000),
          "Public keys as JSON (default: from the issuer's metadata at each exchange)",
        ),
      },
    }),
    delete: op({
      method: 'DELETE',
      path: '/trusts/{trust}',
      params: id('trust', 'Trust ID'),
      summary: 'Remove a trust for token exchange',
      cites: 'spec/sign-in#machines',
      ok: 204,
    }),
  },
  ci: {
    job: op({
      method: 'POST',
      path: '/ci/jobs',
      summary: 'Print the environment of a CI job with an identity token',
      cites: 'spec/sign-in#machines',
      ok: 200,
      returns: record('CiJob', { issuer: str(), subject: str(), environment: map(str()) }),
      body: {
        provider: req(help(oneOf('github', 'gitlab'), 'CI system that defines the variables')),
        project: help(str(200), 'Repository or project (default demo/app)'),
        ref: help(str(200), 'Branch (default main)'),
        audience: help(str(2000), 'Audience of the gitlab token; github jobs request their audience'),
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
        client: req(help(str(), 'Client ID')),
        receiver: req({ ...help(str(2000), 'URL that receives the events'), format: 'url' }),
        types: help(
          list(oneOf(...allEventTypes), { min: 1 }),
          'Event types (default: sessions-revoked, token-revoked and account-disabled)',
        ),
      },
    }),
    unsubscribe: op({
      method: 'DELETE',
      path: '/events/subscriptions/{subscription}',
      params: id('subscription', 'Subscription ID'),
      summary: 'End a subscription',
      cites: 'spec/sign-in#events',
      ok: 204,
    }),
    resend: op(
      consoleAction(
        '/events/deliveries/{delivery}/resend',
        id('delivery', 'Delivery ID'),
        rec.delivery,
        'Repeat an event with the same identifier',
        'spec/sign-in#check-11.5',
      ),
    ),
  },
  consent: {
    get: op({
      method: 'GET',
      path: '/consent',
      summary: 'Show how the server handles consent',
      cites: 'spec/program#commands',
      ok: 200,
      returns: rec.consent,
    }),
    set: op({
      method: 'PUT',
      path: '/consent',
      summary: 'Use browser pages for consent, or automatic consent for scripts',
      cites: 'spec/program#commands',
      ok: 200,
      returns: rec.consent,
      body: {
        mode: req(
          help(
            oneOf('ask', 'auto', 'deny'),
            'Mode of the consent page: auto signs in `user` and grants; deny refuses',
          ),
        ),
        user: help(str(320), 'User to sign in (default: the first user)'),
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
      summary: 'List client protocol violations',
      cites: 'spec/sign-in#check-5.20',
      ok: 200,
      returns: list(rec.warning),
    }),
    counts: op({
      method: 'GET',
      path: '/counts',
      summary: 'Show the number of records per type',
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
