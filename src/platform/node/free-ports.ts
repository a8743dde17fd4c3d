import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { Server } from 'node:net';
import { join } from 'node:path';
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

/** The time for which a port stays reserved for its owner. */
const CLAIM_MS = 30 * 60_000;
const ageMs = (path: string): number => {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
};

/**
 * The directory that records reserved ports, one empty file per port. The port of a stopped member would
 * otherwise look free to the next process. Undefined if there is no directory that only this user can write
 * to; ports are then not reserved.
 */
const claims = (): string | undefined => {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  const directory = join(builtin.os.tmpdir(), `opsctl-ports-${user}`);
  try {
    mkdirSync(directory, { mode: 0o700, recursive: true });
    const found = lstatSync(directory);
    if (!found.isDirectory() || found.uid !== user || (found.mode & 0o022) !== 0) return undefined;
    for (const name of readdirSync(directory))
      if (/^\d+$/.test(name) && ageMs(join(directory, name)) > CLAIM_MS)
        rmSync(join(directory, name), { force: true });
    return directory;
  } catch {
    return undefined;
  }
};
/**
 * Returns false if another process has the port. If a claim cannot be created (no space), the port is used
 * without a claim.
 */
const isClaimed = (directory: string | undefined, port: number): boolean => {
  if (directory === undefined) return true;
  try {
    closeSync(openSync(join(directory, String(port)), 'wx', 0o600));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EEXIST';
  }
};

/** See `Network.freePorts`. All ports are held at the same time, so that no port is returned twice. */
export const freePorts = async (count: number, pick = anyPort): Promise<number[]> => {
  const directory = claims();
  const claimPort = (triesLeft = MOST_TRIES): number => {
    const port = pick();
    return triesLeft === 0 || isClaimed(directory, port) ? port : claimPort(triesLeft - 1);
  };
  const servers = await Promise.all(Array.from({ length: count }, () => holdAny(claimPort, MOST_TRIES)));
  const ports = servers.map(portOf);
  await Promise.all(servers.map(letGo));
  return ports;
};
