import { dockerCredential, exec, gitCredential, kubectlCredential, setup } from './programs.ts';
import { header, inspect, refresh, token } from './token.ts';
import {
  list as accountList,
  logoutCommand,
  revoke,
  scriptedFlag,
  serverFlags,
  status,
  switchAccount,
} from './account.ts';
import type { Context } from '../../api/context.ts';
import type { Received } from '../../auth/events/receiver.ts';
import { type Command, defineCommand } from '../../cli/command.ts';
import { bool, int, str, list, oneOf } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import type { Result } from '../../core/result.ts';
import { fullScope } from '../../api-specs/oauth/endpoints.ts';
import type { Row } from '../../auth/probe.ts';
import { scopesFrom } from '../../auth/auth-context.ts';
import type { LoginServer } from '../../auth/settings.ts';
import { parseDuration } from '../../core/format.ts';

const conformanceFlags = {
  ...serverFlags,
  scope: {
    effects: [],
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'Scope that the client may request',
  },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI',
  },
  only: {
    effects: [],
    field: oneOf('rfc', 'service'),
    value: 'rfc|service',
    summary: 'Check only the standards (RFCs), or only the rules of the service',
  },
  login: { effects: ['runs'], field: bool(), summary: 'Also sign in once with the browser' },
  timeout: {
    effects: [],
    field: str(),
    value: 'duration',
    summary: 'Maximum time to wait for the sign-in (default 5m)',
  },
  scripted: scriptedFlag,
} as const satisfies Flags;
type ConformanceValues = ValuesOf<typeof conformanceFlags>;
export const conformance = defineCommand({
  path: ['auth', 'conformance'],
  summary: 'Check an authorization server against its specification and the standards',
  about:
    'Sends valid and invalid requests to the three endpoints and prints the result of each check. Makes no changes on the server, except that --login signs in once, refreshes the token and revokes it. Exits with code 20 if a check fails.',
  flags: conformanceFlags,
  examples: [
    { line: 'opsctl auth conformance', says: 'Check the embedded server' },
    {
      line: 'opsctl auth conformance --auth-url https://accounts.example.com --token-url https://oauth2.example.com --client-id ID --scope SCOPE --only rfc',
      says: 'Check another server',
    },
  ],
  run: async (context, values) => runConformance(context, values),
});

const withLogin = async (
  context: Context,
  values: ConformanceValues,
  server: LoginServer,
  scopes: readonly string[],
): Promise<Row[]> => {
  const [{ grantRows }, { walkConsent }, { showAddress }, { createProbeSender }, { discover }] =
    await Promise.all([
      import('../../auth/conformance/grant.ts'),
      import('../../auth/login/plan.ts'),
      import('../../auth/flow.ts'),
      import('../../auth/probe.ts'),
      import('../../auth/protocol/discovery.ts'),
    ]);
  const metadata = await discover(context.host, server.endpoints, context.signal);
  const { endpoints, clientId, clientSecret } = server;
  const isScripted = values.scripted === true || (server.isMock && !context.isInteractive);
  return grantRows({
    host: context.host,
    server,
    tokenClient: { endpoints, clientId, clientSecret, issuer: metadata?.issuer, jwksUri: metadata?.jwksUri },
    scopes,
    path: values['redirect-path'] ?? '',
    timeoutMs: parseDuration(values.timeout ?? '5m', '--timeout'),
    signal: context.signal,
    hide: (secret) => context.log.hide(secret),
    send: createProbeSender(context.host, context.signal),
    visit: async (url, redirectUri, launch) => {
      if (isScripted) return walkConsent(context, url, redirectUri);
      await showAddress(context, { url });
      if (context.isInteractive) await context.host.openBrowser(launch);
    },
  });
};
const runConformance = async (context: Context, values: ConformanceValues): Promise<Result> => {
  const [{ conformanceChecks, rowOf }, { givenServer }, { probeFor }, { loginServer }] = await Promise.all([
    import('../../auth/conformance/run.ts'),
    import('../../auth/login/plan.ts'),
    import('../../auth/probe.ts'),
    import('../../auth/settings.ts'),
  ]);
  const server = await loginServer(context, await givenServer(context, values));
  const asked = (values.scope ?? []).flatMap(scopesFrom);
  const scopes = asked.length > 0 ? asked : [fullScope('media.readonly')];
  const prefix = values.only === undefined ? '' : values.only === 'rfc' ? 'RFC' : 'spec/';
  const probe = probeFor(context.host, server, scopes, values['redirect-path'] ?? '', context.signal);
  const rows: Row[] = [];
  for (const check of conformanceChecks)
    if (check.source.startsWith(prefix)) rows.push(await rowOf(check, probe));
  if (values.login === true)
    rows.push(
      ...(await withLogin(context, values, server, scopes)).filter(({ source }) => source.startsWith(prefix)),
    );
  const held = rows.filter(({ holds }) => holds).length;
  const view = {
    columns: ['id', 'holds', 'says', 'saw', 'source'],
    name: 'id',
    message: `${held} of ${rows.length} checks passed`,
  };
  return { kind: 'rows', rows, view, exit: () => (held < rows.length ? 'no' : 'done') };
};

const flags = {
  listen: { field: bool(), required: true, summary: 'Listen until interrupted' },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Port on 127.0.0.1 (default: a free port)',
  },
  count: { field: int({ min: 1 }), value: 'n', summary: 'Exit after N events' },
  subscribe: { field: bool(), summary: 'Subscribe this receiver at the embedded server' },
  issuer: {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Issuer (default: from the server metadata)',
  },
  'jwks-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: "URL of the issuer's keys (default: from the server metadata)",
  },
  'auth-url': serverFlags['auth-url'],
  'token-url': serverFlags['token-url'],
  'client-id': serverFlags['client-id'],
} as const satisfies Flags;
type EventsValues = ValuesOf<typeof flags>;
export const events = defineCommand({
  path: ['auth', 'events'],
  noDryRun: 'opsctl auth events --help',
  summary: 'Listen for security events and remove revoked credentials',
  about:
    'Receives signed event tokens (sessions-revoked, token-revoked, account-disabled), verifies their signature, issuer and audience, and prints one line per event. Stops on Ctrl-C or after --count events.',
  flags,
  examples: [
    {
      line: 'opsctl auth events --listen --port 8473',
      says: 'Listen behind a reverse proxy that the service can reach',
    },
    {
      line: 'opsctl auth events --listen --subscribe --count 1',
      says: 'Listen for events of the running embedded server (opsctl mock serve)',
    },
  ],
  run: async (context, values) => runEvents(context, values),
});

const runEvents = async (context: Context, values: EventsValues): Promise<Result> => {
  const [{ audiencesOf, expectedOf, queue, receiveEvents }, { storedEverywhere }, { loginServer }] =
    await Promise.all([
      import('../../auth/events/receiver.ts'),
      import('../../auth/server-profiles.ts'),
      import('../../auth/settings.ts'),
    ]);
  const accounts = (await storedEverywhere(context)).flatMap(({ data }) => data.accounts);
  const server = await loginServer(context, {
    authUrl: values['auth-url'],
    tokenUrl: values['token-url'],
    clientId: values['client-id'] ?? accounts[0]?.clientId,
  });
  const expected = await expectedOf(context, server, values);
  const received = queue(context.signal, values.count ?? Number.POSITIVE_INFINITY);
  const onEvent = (event: Received) => {
    for (const effect of event.effects)
      context.log.info(`${effect.event}: ${effect.did} of account ${effect.account}`);
    received.push(event);
  };
  const audiences = audiencesOf(server, accounts);
  const listening = await receiveEvents(context, server, values, {
    ...expected,
    server: server.key,
    audiences,
    onEvent,
  });
  context.log.info(`Receiving security events of ${expected.issuer} at ${listening.url}`);
  const rows = (async function* () {
    try {
      yield* received.events();
    } finally {
      await listening.close();
    }
  })();
  return { kind: 'rows', rows, view: { columns: ['issued_at', 'types', 'effects'] } };
};

export const commands: readonly Command[] = [
  status,
  accountList,
  switchAccount,
  token,
  header,
  exec,
  inspect,
  kubectlCredential,
  gitCredential,
  dockerCredential,
  setup,
  refresh,
  revoke,
  logoutCommand(['auth', 'logout']),
  events,
  conformance,
];
