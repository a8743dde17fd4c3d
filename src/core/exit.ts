import type { Category } from './problem.ts';

type Row = { readonly code: number; readonly meaning: string; readonly advice?: string };

/** spec/program#exit-codes: the one table of exit codes. README, `opsctl help exit-codes` and `opsctl explain` are made from it. */
export const exitCodes: Readonly<Record<Category | 'done', Row>> = {
  done: { code: 0, meaning: 'done' },
  unknown: {
    code: 1,
    meaning: 'general error; most likely a bug in opsctl',
    advice: 'Run the command again with --debug, or run `opsctl doctor` to check this machine',
  },
  usage: {
    code: 2,
    meaning: 'usage error: an invalid flag, argument or value; no request was sent',
    advice: 'Each problem names the flag and its rule; --help lists all flags',
  },
  config: {
    code: 3,
    meaning:
      'configuration error: a setting is missing or invalid, or a file or disk cannot be used (permission, free space)',
    advice: '`opsctl config list --show-origin` shows the origin of each value',
  },
  auth: {
    code: 4,
    meaning: 'sign-in required, denied or expired',
    advice: 'Run `opsctl auth status`, then `opsctl login`',
  },
  refused: {
    code: 5,
    meaning: 'rejected by the service (400, 403, 409, 422)',
    advice: 'The message names the field and the rule; repeating the same request does not help',
  },
  'not-found': { code: 6, meaning: 'not found', advice: 'List the records to find the right name or ID' },
  'rate-limit': {
    code: 7,
    meaning: 'rate limit exceeded after retries',
    advice: 'Wait a minute, or lower rate_per_minute',
  },
  stopped: {
    code: 8,
    meaning: 'stopped part-way; the run can be resumed',
    advice: 'The message contains the command that continues: --resume or `kv resume`',
  },
  partial: {
    code: 9,
    meaning: 'some of several operations failed',
    advice: 'Each failed row contains its error; --resume repeats only the failed rows',
  },
  unsafe: {
    code: 10,
    meaning: 'refused by a safety check; no changes were made',
    advice: '`opsctl explain GUARD` explains the check and its fix',
  },
  network: {
    code: 11,
    meaning: 'unreachable or unexpected response (network, TLS, timeout, 5xx)',
    advice: 'Run `opsctl doctor` to check proxy, names and certificates',
  },
  'rolled-back': {
    code: 12,
    meaning: 'rolled back',
    advice: 'The cluster runs its old version; `opsctl kv report` shows the reason',
  },
  no: { code: 20, meaning: 'check failed or difference found' },
  interrupted: { code: 130, meaning: 'interrupted (Ctrl-C)' },
  terminated: { code: 143, meaning: 'terminated (SIGTERM)' },
};

export const exitCode = (category: Category | 'done'): number => exitCodes[category].code;

/** The reason for the end of a run, by exit code. */
export const categoryOfExit = (code: number | null): Category =>
  (Object.keys(exitCodes) as (Category | 'done')[]).find(
    (category): category is Category => category !== 'done' && exitCodes[category].code === code,
  ) ?? 'unknown';
