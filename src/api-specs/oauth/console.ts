import { help, int, list, oneOf, record, req, str } from '../../core/field.ts';
import { type Service, type Table, op } from '../../core/operation.ts';
import { accountRows } from './console-accounts.ts';
import { applicationRows } from './console-applications.ts';
import * as rec from './console-records.ts';
import { machineRows } from './console-machines.ts';
import { act, columns, id } from './console-rows.ts';
import { settingFields } from './console-settings.ts';
import { allEventTypes } from './events.ts';

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
