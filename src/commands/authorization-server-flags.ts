import { bool, str } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';

/** The location of the authorization server; shared by all commands that connect to it. */
export const serverFlags = {
  issuer: {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary:
      'Issuer URL of the authorization server; its metadata lists the endpoints and client authentication',
  },
  'auth-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Base URL of the authorization server ({auth_url}), or its authorization endpoint',
  },
  'token-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Base URL of the token host ({token_url}), or the token endpoint',
  },
  'revoke-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Revocation endpoint (default: derived from the token endpoint)',
  },
  'client-id': { effects: ['sends'], field: str(), value: 'id', summary: 'OAuth client ID' },
  'client-secret-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Read the client secret from standard input (or set OPSCTL_CLIENT_SECRET)',
  },
} as const satisfies Flags;
