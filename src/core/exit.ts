import type { Category } from './problem.ts';

type Row = { readonly code: number; readonly meaning: string; readonly advice?: string };

/** spec/program#exit-codes: the one table of exit codes. README, `opsctl help exit-codes` and `opsctl explain` are made from it. */
export const exitCodes: Readonly<Record<Category | 'done', Row>> = {
  done: { code: 0, meaning: 'done' },
  unknown: {
    code: 1,
    meaning: 'failed for a cause that no other code names, most likely a bug',
    advice: 'Run it again with --debug; `opsctl doctor` looks at the machine',
  },
  usage: {
    code: 2,
    meaning: 'usage: a flag, an argument or a value is wrong; nothing was sent',
    advice: 'Each problem names the flag and what it may be; --help lists them',
  },
  config: {
    code: 3,
    meaning:
      'configuration: a setting is missing or wrong, or a file or disk cannot be used (permission, no space)',
    advice: '`opsctl config list --show-origin` shows where each value comes from',
  },
  auth: {
    code: 4,
    meaning: 'sign-in needed, denied or no longer valid',
    advice: '`opsctl auth status`, then `opsctl login`',
  },
  refused: {
    code: 5,
    meaning: 'refused by the service (400, 403, 409, 422)',
    advice: 'The message names the field and the rule; repeating the request does not help',
  },
  'not-found': { code: 6, meaning: 'not found', advice: 'List the records to see what there is' },
  'rate-limit': {
    code: 7,
    meaning: 'rate limited after retries',
    advice: 'Wait a minute, or lower rate_per_minute',
  },
  stopped: {
    code: 8,
    meaning: 'stopped part-way, can be resumed',
    advice: 'The message has the line that goes on: --resume, `kv resume`',
  },
  partial: {
    code: 9,
    meaning: 'some of many failed',
    advice: 'Each failed row has its error; --resume repeats only those',
  },
  unsafe: {
    code: 10,
    meaning: 'unsafe: a guard refused, nothing was changed',
    advice: '`opsctl explain GUARD` says why and what to do',
  },
  network: {
    code: 11,
    meaning: 'unreachable (network, TLS, timeout, 5xx)',
    advice: '`opsctl doctor` looks at proxy, names and certificates',
  },
  'rolled-back': {
    code: 12,
    meaning: 'rolled back',
    advice: 'The cluster runs its old version; `opsctl kv report` says why',
  },
  no: { code: 20, meaning: 'the answer is no (a difference was found, a check found the cluster unhealthy)' },
  interrupted: { code: 130, meaning: 'interrupted (Ctrl-C)' },
  terminated: { code: 143, meaning: 'terminated (SIGTERM)' },
};

export const exitCode = (category: Category | 'done'): number => exitCodes[category].code;

/** Why a run of this program ended as it did, by its exit code. */
export const categoryOfExit = (code: number | null): Category =>
  (Object.keys(exitCodes) as (Category | 'done')[]).find(
    (category): category is Category => category !== 'done' && exitCodes[category].code === code,
  ) ?? 'unknown';
