import { list, str } from '../../core/field.ts';
import type { Flags } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

/** What git and docker credential helpers are told once, where they are set up. */
export const hostFlags = {
  host: {
    field: list(str()),
    repeat: true,
    required: true,
    value: 'host',
    summary: 'Host that gets the token; no other does',
  },
  username: { field: str(200, { min: 1 }), value: 'name', summary: 'User name to send (default oauth2)' },
  account: accountFlag,
} as const satisfies Flags;
