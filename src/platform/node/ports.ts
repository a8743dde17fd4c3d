import { pemText } from '../../core/text.ts';
import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { connectHost, permitRequest, hostWithoutBrackets } from '../../core/external-url.ts';
import { builtin } from './builtin.ts';
import { temporaryDirectory } from './files.ts';
import type { Probed } from '../host.ts';

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
  const directory = join(temporaryDirectory(), `opsctl-ports-${user}`);
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

const pem = (raw: Buffer): string => pemText('CERTIFICATE', raw.toString('base64'));

/** Errors before the first byte of a server. They do not show who may connect. */
const isNoConnection = (code: string): boolean =>
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EADDRNOTAVAIL)$/.test(code);

/**
 * No secret is sent, so the server is not verified. This machine may not know the authority of peer
 * certificates.
 */
const open = (url: URL, host: string): Socket | TLSSocket => {
  // The request below has no header and no query that could be a secret.
  const permitted = permitRequest({ to: { url: new URL(url.origin) }, request: {} }, {});
  if (typeof permitted === 'string') throw new Error(permitted);
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (url.protocol !== 'https:') return builtin.net.connect({ host: connectHost(permitted), port });
  const name = builtin.net.isIP(host) === 0 ? { servername: host } : {};
  return builtin.tls.connect({ host: connectHost(permitted), port, rejectUnauthorized: false, ...name });
};

/** With TLS any response is an acceptance; without it a TLS server responds too, with an error. */
const answerOf = (text: string, isTls: boolean): Probed['answer'] =>
  text.startsWith('HTTP/') && (isTls || / 200 /.test(text.split('\r\n')[0] ?? '')) ? 'accepted' : 'rejected';

/** With another host name only 421 is a rejection (RFC 9110): another status does not show how the server treats the name. */
const nameAnswerOf = (text: string): Probed['answer'] => {
  const status = /^HTTP\/\d\.\d (\d{3})\b/.exec(text)?.[1];
  if (status === '200') return 'accepted';
  return status === '421' ? 'rejected' : undefined;
};

export const probe = (address: string, timeoutMs: number, hostName?: string): Promise<Probed> =>
  new Promise((resolve) => {
    const url = new URL(address);
    const host = hostWithoutBrackets(url.hostname);
    const isTls = url.protocol === 'https:';
    const socket = open(url, host);
    let [text, certificate, isConnected] = ['', undefined as string | undefined, false];
    const timer = setTimeout(() => finish(undefined), timeoutMs);
    const answer = (): Probed['answer'] =>
      hostName === undefined ? answerOf(text, isTls) : nameAnswerOf(text);
    const look = (): void => {
      // Null if the socket never connected, although the types of Node do not say so.
      const raw = isTls ? (socket as TLSSocket).getPeerCertificate()?.raw : undefined;
      if (raw !== undefined) certificate = pem(raw);
    };
    const finish = (found: Probed['answer']): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({
        ...(found === undefined ? {} : { answer: found }),
        ...(certificate === undefined ? {} : { certificate }),
      });
    };
    socket.once('connect', () => (isConnected = true));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      look();
      socket.write(
        `GET ${url.pathname} HTTP/1.1\r\nHost: ${hostName ?? url.host}\r\nConnection: close\r\n\r\n`,
      );
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (text.includes('\r\n')) finish(answer());
    });
    socket.once('close', () => finish(isConnected ? answer() : undefined));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      look();
      finish(isConnected && !isNoConnection(error.code ?? '') ? answer() : undefined);
    });
  });
