import type { LoginOptions } from '../auth/login/plan.ts';
import { problem, type Problem } from '../core/problem.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { bool, int, list, oneOf, str } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';
import { machineMethodNames } from '../core/shape.ts';
import { logoutCommand, scriptedFlag, serverFlags } from './auth/account.ts';

const ways = ['start', 'finish', 'token-stdin', 'scripted'] as const;
/** Parameters that opsctl sets itself. A user parameter must not change the expected response. */
const ownParams = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'login_hint',
  'dpop_jkt',
  'request',
  'request_uri',
  'grant_type',
  'assertion',
  'client_assertion',
  'client_assertion_type',
  'subject_token',
  'subject_token_type',
]);
/** RFC 6749 3.1 forbids repeated parameters; these have several values by RFC 8707 2 and RFC 8693 2.1. */
const repeatable = new Set(['resource', 'audience']);
const paramProblems = (params: readonly string[] = []): Problem[] => {
  const names = params.map((pair) => pair.split('=')[0] ?? '');
  const twice = names.filter((name, i) => names.indexOf(name) !== i && !repeatable.has(name));
  return [
    ...paramFormProblems(params),
    ...[...new Set(twice)].map((name) =>
      problem(
        '--param',
        'rule',
        `${name} is given more than once; only resource and audience may be repeated`,
      ),
    ),
  ];
};
const paramFormProblems = (params: readonly string[]): Problem[] =>
  params.flatMap((pair) => {
    const name = pair.split('=')[0] ?? '';
    if (name === '' || !pair.includes('='))
      return [problem('--param', 'format', `must be name=value; got ${JSON.stringify(pair)}`)];
    return ownParams.has(name)
      ? [problem('--param', 'rule', `cannot set ${name}; the sign-in sets it itself`)]
      : [];
  });
/** A key file belongs to one method. Another method would ignore it and sign in as another identity. */
const keyFileProblems = ({ method, 'key-file': path }: LoginOptions): Problem[] =>
  path === undefined || method === 'service-account'
    ? []
    : [problem('--key-file', 'rule', 'needs --method service-account', '--method service-account')];
const methodProblems = (values: LoginOptions): Problem[] => {
  const { method } = values;
  if (method === undefined || method === 'browser') return keyFileProblems(values);
  const names = ['start', 'finish', 'token-stdin', 'add-scope', 'port'] as const;
  const all = method === 'device' ? ([...names, 'param'] as const) : names;
  const browserOnly = all.filter((name) => values[name] !== undefined && values[name] !== false);
  return [
    ...browserOnly.map((name) =>
      problem(`--${name}`, 'exclusive', `cannot be combined with --method ${method}`),
    ),
    ...keyFileProblems(values),
  ];
};
/** Combinations that contradict each other. */
const loginProblems = (values: LoginOptions): Problem[] => {
  const given = ways.filter((way) => values[way] !== undefined && values[way] !== false);
  const problems: Problem[] = [];
  if (given.length > 1)
    problems.push(problem(`--${given[0]}`, 'exclusive', `cannot be combined with --${given[1]}`));
  if (values['token-stdin'] === true && values['client-secret-stdin'] === true)
    problems.push(
      problem(
        '--token-stdin',
        'exclusive',
        'cannot be combined with --client-secret-stdin: there is one standard input',
      ),
    );
  if (values.finish === '-' && values['client-secret-stdin'] === true)
    problems.push(
      problem(
        '--finish',
        'exclusive',
        'cannot be - together with --client-secret-stdin: there is one standard input',
      ),
    );
  problems.push(...paramProblems(values.param), ...methodProblems(values));
  const path = values['redirect-path'];
  if (path !== undefined && path !== 'random' && !/^(\/[!$%&'()*+,\-./0-9:;=@A-Z_a-z~]*)?$/.test(path))
    problems.push(
      problem(
        '--redirect-path',
        'format',
        'must start with / and contain no ?, # or spaces',
        'for example /callback',
      ),
    );
  return problems;
};

/** What a sign-in asks the server for, and as whom. */
export const signInFlags = {
  method: {
    field: oneOf('browser', 'device', ...machineMethodNames),
    value: 'method',
    summary:
      'Sign-in method (default browser): device shows a code to enter on another device (RFC 8628, an extension); the other methods are for machines',
    meanings: { browser: 'PKCE in the browser of this machine', device: 'a code to enter on another device' },
  },
  'key-file': {
    effects: ['reads', 'sends'],
    field: str(),
    value: 'path',
    summary: 'Key file of a service account (or set OPSCTL_SERVICE_ACCOUNT_KEY)',
    complete: 'file',
  },
  audience: {
    field: str(2000, { min: 1 }),
    value: 'audience',
    summary: 'Audience of the identity token and of the requested token',
  },
  param: {
    field: list(str()),
    repeat: true,
    value: 'name=value',
    summary: 'Additional authorization parameter: audience, resource, prompt, acr_values',
  },
  scope: { field: list(str()), repeat: true, value: 'scope', summary: 'Scope to request; can be repeated' },
  'add-scope': {
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'Request this scope in addition to the granted scopes',
  },
  dpop: {
    field: bool(),
    summary:
      'Bind the tokens to a key of this machine (DPoP, RFC 9449) and reject Bearer tokens; --no-dpop overrides auth.dpop',
  },
  'require-scopes': { field: bool(), summary: 'Exit with code 4 if the user grants only some of the scopes' },
  'login-hint': {
    field: str(),
    value: 'email|sub',
    summary: 'Account to sign in with',
    complete: 'sign-in',
  },
  account: {
    field: str(80, { min: 1 }),
    value: 'name',
    summary: 'Store the account under this name instead of the email address',
    complete: 'sign-in',
  },
} as const satisfies Flags;

export const loginFlags = {
  ...serverFlags,
  ...signInFlags,
  browser: {
    effects: ['runs'],
    field: bool(),
    summary: 'Open the browser even without a terminal; --no-browser never opens it',
  },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Listen on this port instead of a free port',
  },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the registered redirect URI; `random` if the server accepts any path',
  },
  'redirect-host': {
    effects: [],
    field: oneOf('127.0.0.1', '[::1]', 'localhost'),
    value: 'host',
    summary: 'Host of the registered redirect URI',
  },
  timeout: {
    effects: [],
    field: str(),
    value: 'duration',
    summary: 'Maximum time to wait for the browser (default 5m)',
  },
  start: {
    field: bool(),
    summary: 'Print the URL, save the pending login and exit; complete it with --finish',
  },
  finish: {
    effects: ['reads', 'sends'],
    field: str(),
    value: 'url|-',
    summary: 'Complete a pending login with the URL of the final redirect (- reads standard input)',
  },
  replace: { field: bool(), summary: 'Cancel another pending login of this profile' },
  'token-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Store an access token from standard input instead of signing in',
  },
  scripted: scriptedFlag,
} as const satisfies Flags;

const login = defineCommand({
  path: ['login'],
  noDryRun: 'opsctl login --start prints the URL and sends no request',
  summary: 'Sign in with the browser and store the tokens',
  about:
    'Opens the authorization page in the browser (authorization code with PKCE) and waits for the response on a loopback port. Always prints the URL first. While the command waits, you can paste the URL of the final redirect, its query or only the code. Without a configured service, signs in at the embedded mock server.',
  flags: loginFlags,
  examples: [
    { line: 'opsctl login', says: 'Sign in with the default scopes' },
    {
      line: 'opsctl login --auth-url https://accounts.example.com --token-url https://oauth2.example.com --client-id ID --scope SCOPE',
      says: 'Sign in at your own server',
    },
    {
      line: 'opsctl login --no-browser',
      says: 'Sign in without a local browser: open the URL on another machine and paste the result',
    },
    {
      line: 'opsctl login --start',
      says: 'Print the URL now and finish later with opsctl login --finish URL',
    },
    { line: 'opsctl login --add-scope SCOPE', says: 'Request one more permission and keep the others' },
  ],
  check: loginProblems,
  run: async (context, values) => (await import('../auth/login/run.ts')).runLogin(context, values),
});
export const commands: readonly Command[] = [login];

export const logoutCommands: readonly Command[] = [logoutCommand(['logout'])];
