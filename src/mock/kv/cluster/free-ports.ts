import type { Host, Listener } from '../../../host/host.ts';

/** Below the range from which outgoing connections get theirs: such a port may be taken while its member is away. */
const portFrom = (random: Uint8Array): number => 10_240 + (((random[0] as number) * 256 + (random[1] as number)) % 22_000);
const MOST_TRIES = 50;
const freePort = async (host: Host, triesLeft = MOST_TRIES): Promise<Listener> => {
  const port = triesLeft === 0 ? 0 : portFrom(host.random(2));
  try {
    return await host.network.listen(() => ({ status: 503 }), { host: '127.0.0.1', port });
  } catch (error) {
    if (triesLeft === 0) throw error;
    return freePort(host, triesLeft - 1);
  }
};
/** Free ports on 127.0.0.1. All are held at once, so that none is handed out twice. */
export const freePorts = async (host: Host, count: number): Promise<number[]> => {
  const listeners = await Promise.all(Array.from({ length: count }, () => freePort(host)));
  await Promise.all(listeners.map((one) => one.close()));
  return listeners.map((one) => one.port);
};
