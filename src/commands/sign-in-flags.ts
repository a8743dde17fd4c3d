import { bool, list, oneOf, str } from '../core/field.ts';
import { machineMethodNames } from '../core/sign-in-words.ts';
import type { Flags } from '../cli/command.ts';

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
