import { AppError } from '../../core/problem.ts';
import type { Store } from '../../kv/client/etcd-client.ts';
import type { Context } from '../../cli/command.ts';
import type { Opened } from './open-cluster.ts';

/** The flags of commands that may send or take much. */
type Limits = {
  readonly 'max-send-bytes'?: number | undefined;
  readonly 'max-receive-bytes'?: number | undefined;
};

const defaultTimeoutMs = 5000;

/** --timeout, or five seconds: the store itself gives a write up after seven. */
export const timeoutOf = async (
  { settings }: Pick<Context, 'settings'>,
  fallbackMs = defaultTimeoutMs,
): Promise<number> => {
  const given = settings.get('timeout')?.value;
  return given === undefined ? fallbackMs : (await import('../../core/duration.ts')).parseDuration(given);
};

/** Asks one member after the other until one answers. What the store refuses, it refuses for all. */
export const askAny = async <T>(
  context: Context,
  { cluster, access }: Opened,
  work: (store: Store) => Promise<T>,
  values: Limits = {},
): Promise<T> => {
  const timeoutMs = await timeoutOf(context);
  const { openStore } = await import('../../kv/client/etcd-client.ts');
  let last: AppError | undefined;
  for (const { client_url } of cluster.members) {
    const limits = { maxSendBytes: values['max-send-bytes'], maxReceiveBytes: values['max-receive-bytes'] };
    try {
      return await work(
        openStore(context.host, {
          url: client_url,
          tls: access.tls,
          user: access.user,
          timeoutMs,
          signal: context.signal,
          ...limits,
        }),
      );
    } catch (error) {
      if (!(error instanceof AppError) || error.category !== 'network') throw error;
      context.log.debug(error.message);
      // A member that is there and cannot do it says more than one that is not there.
      if (last === undefined || last.detail.code === 'UNAVAILABLE') last = error;
    }
  }
  throw last;
};
