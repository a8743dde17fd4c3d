import type { Server } from 'node:net';
import { builtin } from './builtin.ts';

/** Below the range from which outgoing connections get theirs (32768 and up): such a port may be taken while its server is away. */
const FIRST = 10_240;
const COUNT = 22_000;
const MOST_TRIES = 50;
const anyPort = (): number => FIRST + builtin.crypto.randomInt(COUNT);

const hold = (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = builtin.net.createServer().once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
const holdAny = async (pick: () => number, triesLeft: number): Promise<Server> => {
  try {
    return await hold(pick());
  } catch (error) {
    if (triesLeft === 0) throw error;
    return holdAny(pick, triesLeft - 1);
  }
};
const portOf = (server: Server): number => (server.address() as { port: number }).port;
const letGo = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));

/** See `Network.freePorts`. All are held at once, so that none is handed out twice. */
export const freePorts = async (count: number, pick = anyPort): Promise<number[]> => {
  const servers = await Promise.all(Array.from({ length: count }, () => holdAny(pick, MOST_TRIES)));
  const ports = servers.map(portOf);
  await Promise.all(servers.map(letGo));
  return ports;
};
