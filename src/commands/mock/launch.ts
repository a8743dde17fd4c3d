import { resolve } from 'node:path';
import type { Context } from '../../api/context.ts';
import { refuseJson, textFile } from '../../api/input.ts';
import { readJsonText } from '../../core/json.ts';
import { bool, int, list, oneOf, str } from '../../core/field.ts';
import type { Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem, usageError } from '../../core/problem.ts';
import {
  defaultOptions,
  seedOf,
  makeNoSeedError,
  type MockOptions,
  savedStateFrom,
} from '../../mock-server/service-set.ts';
import { claimDirectory } from '../../mock-server/instance-lock.ts';
import { mockDirectory } from './embedded.ts';
import { start, type Started } from './start.ts';

/** A state directory has one server at a time. */
export const alreadyRuns = (url: string, pid: number): AppError =>
  new AppError('config', `a mock server already uses this state: ${url} (process ${pid})`, {
    code: 'MOCK_RUNNING',
    tryThis: [
      'use it: every command discovers it automatically',
      'opsctl mock stop',
      '--ephemeral starts a second server without saved state',
    ],
    data: { url, pid },
  });

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
const mockOptions = (values: ServerValues): MockOptions => ({
  ratePerMinute: rateOf(values['rate-limit']),
  rateRetryAfter: values['rate-retry-after'] === true,
  ...(values['rate-headers'] ? { rateHeaders: true } : {}),
  ...(values['workspace-per-token'] ? { workspacePerToken: true } : {}),
  ...(values.strict ? { isStrict: true } : {}),
  labelsAuth: values['labels-auth'] ?? defaultOptions.labelsAuth,
  stateIn: values['state-in'] ?? defaultOptions.stateIn,
  labelDeletePolicy: values['label-delete-policy'] ?? defaultOptions.labelDeletePolicy,
  ...labelLimits(values),
  trackerToken: values.token ?? defaultOptions.trackerToken,
  ...(values['allow-host'] === undefined ? {} : { allowHosts: values['allow-host'] }),
});

export type LaunchValues = ServerValues & { readonly port?: number | undefined };
const WAIT_MS = 60_000;
export type Launched = Started & { readonly directory: string | undefined };
/** The text of a state file and its JSON value. A number with too many digits or a repeated key would be loaded as another value. */
export const readSeed = async (
  context: Context,
  given: string,
  flag: string,
): Promise<{ readonly text: string; readonly value: unknown }> => {
  const path = resolve(context.host.cwd, given);
  if ((await context.host.files.info(path)) === undefined) throw makeNoSeedError(path, flag);
  const text = await textFile(context, given, flag);
  return { text, value: readJsonText(text, refuseJson(given, flag), { mayHaveNul: true }) };
};
/** `--seed FILE` is read before the start, so that an invalid file changes no data. */
const seedFrom = async (context: Context, text: string | undefined) => {
  const seed = seedOf(text);
  if (seed.kind !== 'file') return { kind: seed.kind };
  const path = resolve(context.host.cwd, seed.path);
  const { text: content, value } = await readSeed(context, seed.path, '--seed');
  const saved = savedStateFrom(content, value);
  if (saved === undefined) {
    throw usageError('invalid seed file', [
      problem('--seed', 'format', `must be a state that \`opsctl mock state\` wrote; ${path} is not`),
    ]);
  }
  return { kind: 'empty' as const, saved };
};
/**
 * A server that runs until the caller closes it, with the state of the directory, or without state if
 * `isEphemeral`.
 */
export const launch = async (
  context: Context,
  values: LaunchValues,
  what: string,
  isEphemeral: boolean,
): Promise<Launched> => {
  const { host, settings, log, signal } = context;
  const seed = await seedFrom(context, values.seed);
  const directory = isEphemeral ? undefined : mockDirectory(settings);
  const owner =
    directory === undefined
      ? undefined
      : await claimDirectory(host, directory, { what, waitMs: WAIT_MS, signal });
  if (owner?.kind === 'live') throw alreadyRuns(owner.live.url, owner.live.pid);
  try {
    const started = await start(host, {
      directory,
      options: mockOptions(values),
      seed: seed.kind,
      port: values.port ?? 0,
      tls: values.tls === true,
      ...(values.clock === undefined ? {} : { clockMs: Date.parse(values.clock) }),
      idSeed: values['seed-ids'],
      warn: log.warn,
    });
    if (seed.saved !== undefined) await started.mock.restore(seed.saved);
    await owner?.publish({ url: started.mock.origin, ready: started.ready });
    return { ...started, directory, close: () => started.close().finally(() => owner?.release()) };
  } catch (error) {
    await owner?.release();
    throw error;
  }
};

const RATE = '^([1-9][0-9]{0,6}|off)$';
/** How a server behaves: shared by `mock serve` and `mock run`. */
/** Every server of this machine that compares the Host header accepts more names by this flag. */
export const allowHostFlag = {
  field: list(str(253, { min: 1 })),
  repeat: true,
  summary:
    'Additional accepted host name, for example behind a proxy; * accepts any. Local names and IP addresses are always accepted',
  value: 'name',
} as const satisfies Flag;
export const serverFlags = {
  seed: {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'Initial data: demo, empty, or a file of `opsctl mock state`',
    value: 'demo|empty|file',
    complete: 'file',
  },
  token: { field: str(200, { min: 1 }), summary: 'Accepted tracker token', value: 'token' },
  'rate-limit': {
    field: str(7, { pattern: RATE }),
    summary: 'Tracker requests per minute and token, or off (default 200)',
    value: 'number|off',
  },
  'rate-retry-after': { field: bool(), summary: 'Send Retry-After with a 429' },
  'rate-headers': { field: bool(), summary: 'Send X-RateLimit-Limit, which is undocumented' },
  'workspace-per-token': {
    field: bool(),
    summary: 'Accept any tracker token and give each token its own workspace, which is not saved',
  },
  strict: {
    field: bool(),
    summary:
      'Reject what the documents do not allow: JSON with another content type, times without a zone, fields that only the vendor lists, a revocation that is not a form',
  },
  'labels-auth': {
    field: oneOf('any', 'oauth'),
    summary: 'any: every bearer token; oauth: tokens and scopes of the embedded authorization server',
  },
  'state-in': {
    field: oneOf('both', 'fragment', 'query'),
    summary: 'Authorization responses that contain state (default both)',
  },
  'label-delete-policy': {
    field: oneOf('any', 'disabled-first'),
    summary: 'Whether published labels can be deleted directly (default any)',
  },
  'labels-quota': {
    field: str(17, { pattern: '^([1-9][0-9]{0,6}/[1-9][0-9]{0,6}|off)$' }),
    summary: 'Reads and writes per minute of one label service user, for example 600/300 (default off)',
    value: 'reads/writes|off',
  },
  'labels-at-most': {
    field: str(7, { pattern: RATE }),
    summary: 'Maximum number of labels of the organization, for example 150 (default off)',
    value: 'number|off',
  },
  tls: { field: bool(), summary: 'Serve HTTPS with a certificate of a local CA; plain HTTP is rejected' },
  clock: {
    field: { ...str(40), format: 'datetime' },
    summary: 'Initial time of the mock clock, which continues from there',
    value: 'time',
  },
  'allow-host': allowHostFlag,
  'seed-ids': {
    effects: [],
    field: str(100, { min: 1 }),
    summary: 'Seed for repeatable identifiers and tokens',
    value: 'word',
  },
} as const satisfies Flags;
type ServerValues = ValuesOf<typeof serverFlags>;

export const portFlag = {
  field: int({ min: 0, max: 65_535 }),
  summary: 'Port on 127.0.0.1 and ::1; 0 selects a free port (the default)',
  value: 'port',
} as const satisfies Flag;

/** Resolves when the signal is aborted, which is the normal end of a server. */
export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
