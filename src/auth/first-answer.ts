import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import type { LoginPlan } from './login-plan.ts';
import type { Redirect, Settled } from './loopback/listen.ts';
import { pastedVerdict } from './methods/pasted-lines.ts';
import type { Secrets } from './pkce.ts';

const timedOut = (timeoutMs: number, port: number): AppError =>
  new AppError('auth', `no answer from the browser within ${Math.round(timeoutMs / 1000)} s`, {
    code: 'LOGIN_TIMEOUT',
    tryThis: [
      'opsctl login --timeout 10m',
      `the browser runs elsewhere? opsctl login --no-browser, and paste the address it ends at (it begins with http://127.0.0.1:${port})`,
      'opsctl login --start, then opsctl login --finish URL',
      'opsctl doctor auth',
    ],
  });

const interrupted = (signal: AbortSignal): unknown =>
  signal.reason instanceof AppError
    ? signal.reason
    : new AppError('interrupted', 'sign-in interrupted; nothing was changed');

/** The first of: the redirect, a pasted answer, the end of the time, Ctrl-C. */
export const firstAnswer = async (
  context: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  secrets: Secrets,
  extra: Promise<void>,
): Promise<Settled> => {
  const { host, signal } = context;
  const done = new AbortController();
  const stop = AbortSignal.any([signal, done.signal]);
  const never = new Promise<never>(() => undefined);
  const time = host.sleep(plan.timeoutMs, stop).then(
    () => Promise.reject(timedOut(plan.timeoutMs, redirect.port)),
    () => (done.signal.aborted ? never : Promise.reject(interrupted(signal))),
  );
  const pasted: Promise<Settled> = plan.readsPaste
    ? pastedVerdict(context, { state: secrets.state }, stop).then((verdict) => verdict ?? never)
    : never;
  try {
    return await Promise.race([redirect.settled, pasted, time, extra.then(() => never)]);
  } finally {
    done.abort();
  }
};
