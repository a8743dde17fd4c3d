import { machineMethodNames } from '../core/sign-in-words.ts';
import { bool, int, list, oneOf, str } from '../core/field.ts';
import { type Problem, problem } from '../core/problem.ts';
import type { Flags, ValuesOf } from '../cli/command.ts';

/** Where the authorization server is; shared by all commands that speak to it. */
export const serverFlags = {
  issuer: {
    field: str(),
    value: 'url',
    summary:
      'Authorization server by its issuer; its metadata name the endpoints and the client authentication',
  },
  'auth-url': {
    field: str(),
    value: 'url',
    summary: 'Authorization server: its base URL ({auth_url}) or the whole authorization endpoint',
  },
  'token-url': {
    field: str(),
    value: 'url',
    summary: 'Base URL of the token host ({token_url}) or the whole token endpoint',
  },
  'revoke-url': {
    field: str(),
    value: 'url',
    summary: 'Revocation endpoint (default: beside the token endpoint)',
  },
  'client-id': { field: str(), value: 'id', summary: 'OAuth client' },
  'client-secret-stdin': {
    field: bool(),
    summary: 'Read the client secret from standard input (or set OPSCTL_CLIENT_SECRET)',
  },
} as const satisfies Flags;

export const loginFlags = {
  ...serverFlags,
  method: {
    field: oneOf('browser', 'device', ...machineMethodNames),
    value: 'method',
    summary:
      'Sign-in method (default browser): device shows a code to type elsewhere (RFC 8628, an extension); the others are for machines',
  },
  'key-file': {
    field: str(),
    value: 'path',
    summary: 'Key file of a service account (or set OPSCTL_SERVICE_ACCOUNT_KEY)',
    complete: 'file',
  },
  audience: {
    field: str(2000, { min: 1 }),
    value: 'audience',
    summary: 'Audience of the identity token and of the token asked for',
  },
  param: {
    field: list(str()),
    repeat: true,
    value: 'name=value',
    summary: 'A further parameter of the authorization request: audience, resource, prompt, acr_values',
  },
  scope: { field: list(str()), repeat: true, value: 'scope', summary: 'A scope to ask for; may be repeated' },
  'add-scope': {
    field: list(str()),
    repeat: true,
    value: 'scope',
    summary: 'Keep the granted scopes and ask for this one too',
  },
  'require-scopes': { field: bool(), summary: 'Exit with 4 when the user grants only some of the scopes' },
  'login-hint': {
    field: str(),
    value: 'email|sub',
    summary: 'Account to sign in with',
    complete: 'sign-in',
  },
  account: {
    field: str(80, { min: 1 }),
    value: 'name',
    summary: 'Store under this name instead of the e-mail address',
    complete: 'sign-in',
  },
  browser: {
    field: bool(),
    summary: 'Open the browser even without a terminal; --no-browser never opens one',
  },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Listen on this port instead of a free one',
  },
  'redirect-path': {
    field: str(200),
    value: 'path',
    summary: 'Path of the redirect URI, when one is registered; `random` where the server takes any',
  },
  'redirect-host': {
    field: oneOf('127.0.0.1', '[::1]', 'localhost'),
    value: 'host',
    summary: 'Host in the redirect URI, as it is registered',
  },
  timeout: { field: str(), value: 'duration', summary: 'How long to wait for the browser (default 5m)' },
  start: { field: bool(), summary: 'Print the address, remember the login and end; finish it with --finish' },
  finish: {
    field: str(),
    value: 'url|-',
    summary: 'Finish a started login with the address the browser ended at (- reads it from standard input)',
  },
  replace: { field: bool(), summary: 'End another login of this profile that still waits' },
  'token-stdin': {
    field: bool(),
    summary: 'Store an access token from standard input instead of signing in',
  },
  scripted: {
    field: bool(),
    hidden: true,
    summary: 'Walk the pages of the embedded server without a browser',
  },
} as const satisfies Flags;

export type ServerValues = ValuesOf<typeof serverFlags>;
export type LoginValues = ValuesOf<typeof loginFlags>;

const ways = ['start', 'finish', 'token-stdin', 'scripted'] as const;

/** What the program sets itself: a parameter must not change what the answer is checked against. */
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
]);
const paramProblems = (params: readonly string[] = []): Problem[] =>
  params.flatMap((pair) => {
    const name = pair.split('=')[0] ?? '';
    if (name === '' || !pair.includes('='))
      return [problem('--param', 'format', `must be name=value; got ${JSON.stringify(pair)}`)];
    return ownParams.has(name)
      ? [problem('--param', 'rule', `cannot set ${name}; the sign-in sets it itself`)]
      : [];
  });
const methodProblems = (values: LoginValues): Problem[] => {
  const { method } = values;
  if (method === undefined || method === 'browser') return [];
  const browserOnly = (['start', 'finish', 'token-stdin', 'add-scope', 'param', 'port'] as const).filter(
    (name) => values[name] !== undefined && values[name] !== false,
  );
  return browserOnly.map((name) =>
    problem(`--${name}`, 'exclusive', `cannot be combined with --method ${method}`),
  );
};

/** Combinations that contradict each other. */
export const loginProblems = (values: LoginValues): Problem[] => {
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
        'must start with / and hold no ?, # or blanks',
        'for example /callback',
      ),
    );
  return problems;
};
