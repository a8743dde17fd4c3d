import type { Context } from '../../cli/command.ts';
import type { Endpoint } from '../../kv/operations/endpoint.ts';
import { timeoutOf } from './ask.ts';
import type { Opened } from './open-cluster.ts';

export const endpointStores = async (
  context: Context,
  { cluster, access, typed }: Opened,
): Promise<Endpoint[]> => {
  const { openStore } = await import('../../kv/client/etcd-client.ts');
  const timeoutMs = await timeoutOf(context);
  return cluster.members.map(({ client_url }, i) => ({
    endpoint: typed[i] ?? client_url,
    store: openStore(context.host, {
      url: client_url,
      tls: access.tls,
      user: access.user,
      timeoutMs,
      signal: context.signal,
    }),
  }));
};
