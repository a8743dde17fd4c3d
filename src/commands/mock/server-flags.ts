import { bool, list, oneOf, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../cli/command.ts';

const RATE = '^([1-9][0-9]{0,6}|off)$';

/** How a server behaves: shared by `mock serve` and `mock run`. */
export const serverFlags = {
  seed: {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'Data to begin with: demo, empty, or a file that `opsctl mock state` wrote',
    value: 'demo|empty|file',
    complete: 'file',
  },
  token: { field: str(200, { min: 1 }), summary: 'The tracker token that is accepted', value: 'token' },
  'rate-limit': {
    field: str(7, { pattern: RATE }),
    summary: 'Tracker requests a minute for one token, or off (default 200)',
    value: 'number|off',
  },
  'rate-retry-after': { field: bool(), summary: 'Send Retry-After with a 429' },
  'rate-headers': { field: bool(), summary: 'Send X-RateLimit-Limit, which no document has' },
  'workspace-per-token': {
    field: bool(),
    summary: 'Take every tracker token, each with records of its own that are not kept',
  },
  'labels-auth': {
    field: oneOf('any', 'oauth'),
    summary: 'any: every bearer token; oauth: tokens and scopes of the embedded authorization server',
  },
  'state-in': {
    field: oneOf('both', 'fragment', 'query'),
    summary: 'Where an authorization answer carries state (default both)',
  },
  'label-delete-policy': {
    field: oneOf('any', 'disabled-first'),
    summary: 'Whether a published label can be deleted at once (default any)',
  },
  'labels-quota': {
    field: str(17, { pattern: '^([1-9][0-9]{0,6}/[1-9][0-9]{0,6}|off)$' }),
    summary: 'Reads and writes a minute of one user of the label service, for example 600/300 (default off)',
    value: 'reads/writes|off',
  },
  'labels-at-most': {
    field: str(7, { pattern: RATE }),
    summary: 'Labels that the organisation may have, for example 150 (default off)',
    value: 'number|off',
  },
  tls: { field: bool(), summary: 'HTTPS with a certificate of a local authority; plain HTTP is refused' },
  clock: {
    field: { ...str(40), format: 'datetime' },
    summary: "The mock's time at the start; it runs on from there",
    value: 'time',
  },
  'allow-host': {
    field: list(str(253, { min: 1 })),
    repeat: true,
    summary:
      'A further host name to answer under, for example behind a proxy; * is any. This machine and addresses need none',
    value: 'name',
  },
  'seed-ids': {
    effects: [],
    field: str(100, { min: 1 }),
    summary: 'Repeatable identifiers and tokens: the same word, the same values',
    value: 'word',
  },
} as const satisfies Flags;

export type ServerValues = ValuesOf<typeof serverFlags>;
