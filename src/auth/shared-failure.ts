import { createHash } from 'node:crypto';
import { AppError, type Category } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';

/** What an outage said, in the words that the user sees; nothing secret is in them. */
type Left = {
  readonly id: string;
  readonly environment: string;
  readonly category: Category;
  readonly message: string;
  readonly detail: Pick<AppError['detail'], 'code' | 'httpStatus' | 'retryable' | 'tryThis'>;
};
export type SharedFailure = {
  /** Tells the others that wait. */
  leave(error: unknown): Promise<void>;
  /** Throws what another process left since this one began to wait. */
  throwIfLeft(): void;
};

const isOutage = (error: unknown): error is AppError =>
  error instanceof AppError && (error.category === 'network' || error.category === 'rate-limit');

const leftIn = (text: string | undefined): Left | undefined => {
  try {
    const value = JSON.parse(text ?? '') as Left;
    return typeof value.id === 'string' && typeof value.message === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Processes share an outcome only when they would have asked in the same way. */
const environmentOf = ({ host, settings }: AuthContext): string => {
  const env = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [
    host.env[name],
    host.env[name.toLowerCase()],
  ]);
  const all = [
    ...env,
    host.env.NODE_EXTRA_CA_CERTS,
    settings.get('ca_file')?.value,
    settings.get('timeout')?.value,
  ];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 16);
};

/**
 * Many commands at once find the same expired token: one asks, the others wait for its lock. When the service fails,
 * its answer is theirs too; else fifty of them would wait for fifty time limits, one after the other. Who comes later
 * asks anew.
 */
export const sharedFailure = (context: AuthContext, path: string): SharedFailure => {
  const { host } = context;
  const last = (): Left | undefined => leftIn(host.files.readNow(path));
  const before = last()?.id;
  const environment = environmentOf(context);
  return {
    leave: async (error) => {
      if (!isOutage(error)) return;
      const { code, httpStatus, retryable, tryThis } = error.detail;
      const id = Buffer.from(host.random(12)).toString('hex');
      const left: Left = {
        id,
        environment,
        category: error.category,
        message: error.message,
        detail: { code, httpStatus, retryable, tryThis },
      };
      // Only a help for others: a full disk must not hide what the service said.
      await host.files.replace(path, JSON.stringify(left), 0o600).catch(() => undefined);
    },
    throwIfLeft: () => {
      const now = last();
      if (now !== undefined && now.id !== before && now.environment === environment)
        throw new AppError(now.category, now.message, now.detail);
    },
  };
};
