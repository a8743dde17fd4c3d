import { bool, int, list, oneOf, str } from '../../core/field.ts';
import { problem, usageError } from '../../core/problem.ts';
import { defaultOptions } from '../../mock-server/defaults.ts';
import type { MockOptions } from '../../mock-server/service.ts';
import type { Flag, Flags, ValuesOf } from '../../cli/command.ts';

const RATE = '^([1-9][0-9]{0,6}|off)$';

/** How a server behaves: shared by `mock serve` and `mock run`. */
export const serverFlags = {
  seed: {
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
    field: str(100, { min: 1 }),
    summary: 'Repeatable identifiers and tokens: the same word, the same values',
    value: 'word',
  },
} as const satisfies Flags;

export type ServerValues = ValuesOf<typeof serverFlags>;

const rateOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return defaultOptions.ratePerMinute;
  return text === 'off' ? undefined : Number(text);
};

/** spec/labels#parameters, spec/labels#limits: real services have a quota and a largest number of labels; here both are switched on. */
const labelLimits = (values: ServerValues): Pick<MockOptions, 'labelsQuota' | 'labelsAtMost'> => {
  const [reads, writes] = String(values['labels-quota'] ?? 'off')
    .split('/')
    .map(Number);
  const most = Number(values['labels-at-most'] ?? 'off');
  return {
    ...(reads === undefined || writes === undefined ? {} : { labelsQuota: { reads, writes } }),
    ...(Number.isNaN(most) ? {} : { labelsAtMost: most }),
  };
};

export const mockOptions = (values: ServerValues): MockOptions => ({
  ratePerMinute: rateOf(values['rate-limit']),
  rateRetryAfter: values['rate-retry-after'] === true,
  ...(values['rate-headers'] ? { rateHeaders: true } : {}),
  ...(values['workspace-per-token'] ? { workspacePerToken: true } : {}),
  labelsAuth: values['labels-auth'] ?? defaultOptions.labelsAuth,
  stateIn: values['state-in'] ?? defaultOptions.stateIn,
  labelDeletePolicy: values['label-delete-policy'] ?? defaultOptions.labelDeletePolicy,
  ...labelLimits(values),
  trackerToken: values.token ?? defaultOptions.trackerToken,
  ...(values['allow-host'] === undefined ? {} : { allowHosts: values['allow-host'] }),
});

export const portFlag = {
  field: int({ min: 0, max: 65_535 }),
  summary: 'Port on 127.0.0.1 and ::1; 0, the default, is a free one',
  value: 'port',
} as const satisfies Flag;

export type Seed = { readonly kind: 'demo' | 'empty' } | { readonly kind: 'file'; readonly path: string };
export const seedOf = (text: string | undefined): Seed =>
  text === undefined || text === 'demo' || text === 'empty'
    ? { kind: text ?? 'demo' }
    : { kind: 'file', path: text };

/** The text of a seed file, or a usage error that names the flag or argument. */
export const seedText = (found: string | undefined, path: string, name: string): string => {
  if (found !== undefined) return found;
  throw usageError(
    'there is no such seed',
    [problem(name, 'rule', `must be demo, empty or a file; there is no file ${path}`)],
    ['opsctl mock state > FILE writes one'],
  );
};
