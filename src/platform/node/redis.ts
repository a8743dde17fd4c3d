import { createClient } from '@redis/client';
import type { RunScript } from '../host.ts';

export const connectRedis = async (url: string, timeoutMs: number): Promise<RunScript> => {
  const client = createClient({
    url,
    socket: { connectTimeout: timeoutMs, socketTimeout: timeoutMs, reconnectStrategy: false },
    disableOfflineQueue: true,
  });
  // Callers receive the error. Without a listener the process would exit.
  client.on('error', () => undefined);
  await client.connect();
  client.unref();
  // An idle connection must not keep the program running; a connection with an open request must.
  return async (script, keys, args) => {
    client.ref();
    try {
      return Number(await client.eval(script, { keys, arguments: args.map(String) }));
    } finally {
      client.unref();
    }
  };
};
