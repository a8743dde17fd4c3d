import { createClient } from '@redis/client';
import type { RunScript } from '../host.ts';

export const connectRedis = async (url: string, timeoutMs: number): Promise<RunScript> => {
  const client = createClient({
    url,
    socket: { connectTimeout: timeoutMs, socketTimeout: timeoutMs, reconnectStrategy: false },
    disableOfflineQueue: true,
  });
  // Whoever asks hears of it; without a listener the process would end.
  client.on('error', () => undefined);
  await client.connect();
  client.unref();
  // An open connection must not keep the program alive, one that is asked must.
  return async (script, keys, args) => {
    client.ref();
    try {
      return Number(await client.eval(script, { keys, arguments: args.map(String) }));
    } finally {
      client.unref();
    }
  };
};
