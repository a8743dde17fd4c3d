import type { Category } from './problem.ts';

/** spec/program#exit-codes: the one table of exit codes. README and `opsctl help exit-codes` are made from it. */
export const exitCodes: Readonly<
  Record<Category | 'done', { readonly code: number; readonly meaning: string }>
> = {
  done: { code: 0, meaning: 'done' },
  unknown: { code: 1, meaning: 'failed for another cause: a full disk, a missing permission, a bug' },
  usage: { code: 2, meaning: 'usage: a flag, an argument or a value is wrong; nothing was sent' },
  config: { code: 3, meaning: 'configuration: a setting is missing, wrong or contradicts another' },
  auth: { code: 4, meaning: 'sign-in needed, denied or no longer valid' },
  refused: { code: 5, meaning: 'refused by the service (400, 403, 409, 422)' },
  'not-found': { code: 6, meaning: 'not found' },
  'rate-limit': { code: 7, meaning: 'rate limited after retries' },
  stopped: { code: 8, meaning: 'stopped part-way, can be resumed' },
  partial: { code: 9, meaning: 'some of many failed' },
  unsafe: { code: 10, meaning: 'unsafe: a guard refused, nothing was changed' },
  network: { code: 11, meaning: 'unreachable (network, TLS, timeout, 5xx)' },
  'rolled-back': { code: 12, meaning: 'rolled back' },
  no: { code: 20, meaning: 'the answer is no (a difference was found, a check found the cluster unhealthy)' },
  interrupted: { code: 130, meaning: 'interrupted (Ctrl-C)' },
  terminated: { code: 143, meaning: 'terminated (SIGTERM)' },
};

export const exitCode = (category: Category | 'done'): number => exitCodes[category].code;
