import { bool, int, oneOf, str } from '../core/field.ts';
import type { Flags } from '../cli/command.ts';
import { serverFlags } from './authorization-server-flags.ts';
import { signInFlags } from './sign-in-flags.ts';

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
