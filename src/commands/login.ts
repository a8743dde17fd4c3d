import { loginProblems } from '../auth/login/plan.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { bool, int, list, oneOf, str } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';
import { machineMethodNames } from '../core/shape.ts';
import { logoutCommand } from './auth/account.ts';
import { serverFlags } from './authorization-server-flags.ts';

/** What a sign-in asks the server for, and as whom. */
export const signInFlags = {
  method: {
    field: oneOf('browser', 'device', ...machineMethodNames),
    value: 'method',
    summary:
      'Sign-in method (default browser): device shows a code to type elsewhere (RFC 8628, an extension); the others are for machines',
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
} as const satisfies Flags;

export const loginFlags = {
  ...serverFlags,
  ...signInFlags,
  browser: {
    effects: ['runs'],
    field: bool(),
    summary: 'Open the browser even without a terminal; --no-browser never opens one',
  },
  port: {
    field: int({ min: 1, max: 65535 }),
    value: 'port',
    summary: 'Listen on this port instead of a free one',
  },
  'redirect-path': {
    effects: [],
    field: str(200),
    value: 'path',
    summary: 'Path of the redirect URI, when one is registered; `random` where the server takes any',
  },
  'redirect-host': {
    effects: [],
    field: oneOf('127.0.0.1', '[::1]', 'localhost'),
    value: 'host',
    summary: 'Host in the redirect URI, as it is registered',
  },
  timeout: {
    effects: [],
    field: str(),
    value: 'duration',
    summary: 'How long to wait for the browser (default 5m)',
  },
  start: { field: bool(), summary: 'Print the address, remember the login and end; finish it with --finish' },
  finish: {
    effects: ['reads', 'sends'],
    field: str(),
    value: 'url|-',
    summary: 'Finish a started login with the address the browser ended at (- reads it from standard input)',
  },
  replace: { field: bool(), summary: 'End another login of this profile that still waits' },
  'token-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Store an access token from standard input instead of signing in',
  },
  scripted: {
    effects: ['runs'],
    field: bool(),
    hidden: true,
    summary: 'Walk the pages of the embedded server without a browser',
  },
} as const satisfies Flags;

const login = defineCommand({
  path: ['login'],
  noDryRun: 'opsctl login --start prints the address and sends nothing',
  summary: 'Sign in with the browser and store the tokens',
  about:
    'Opens the authorization page in the browser (authorization code with PKCE) and waits on a loopback port for the answer. The address is always printed first; ' +
    'while the command waits, the address that the browser ends at, its query or the code alone can be pasted. With nothing configured it signs in at the embedded mock server.',
  flags: loginFlags,
  examples: [
    { line: 'opsctl login', says: 'Sign in with the default scopes' },
    {
      line: 'opsctl login --auth-url https://accounts.example.com --token-url https://oauth2.example.com --client-id ID --scope SCOPE',
      says: 'At a server of your own',
    },
    {
      line: 'opsctl login --no-browser',
      says: 'On a machine without a browser: open the address elsewhere and paste the result',
    },
    { line: 'opsctl login --start', says: 'Print the address now; later: opsctl login --finish URL' },
    { line: 'opsctl login --add-scope SCOPE', says: 'Ask for one more permission and keep the others' },
  ],
  check: loginProblems,
  run: async (context, values) => (await import('../auth/login/run.ts')).runLogin(context, values),
});
export const commands: readonly Command[] = [login];

export const logoutCommands: readonly Command[] = [logoutCommand(['logout'])];
