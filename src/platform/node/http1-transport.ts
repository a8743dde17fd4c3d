import type { OnReadOpts, Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { Tls } from '../host.ts';
import { usualAuthorities } from './authorities.ts';
import { builtin } from './builtin.ts';
import { elapsedMs } from './elapsed.ts';
import { type Prepared, type Transport, tlsOptions } from './transport.ts';
import { Connection } from './http1.ts';
import { checkMethod, headerLines } from './request-lines.ts';

const connect = (url: URL, tls: Tls | undefined, onread: OnReadOpts): Socket => {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol === 'http:') return builtin.net.connect({ host, port: Number(url.port) || 80, onread });
  const secure: ConnectionOptions & { onread: OnReadOpts } = {
    host,
    port: Number(url.port) || 443,
    ALPNProtocols: ['http/1.1'],
    ...(builtin.net.isIP(host) === 0 ? { servername: host } : {}),
    ...tlsOptions(tls, usualAuthorities),
    onread,
  };
  return builtin.tls.connect(secure);
};

type Waiting = { readonly connection: Connection; readonly untilMs: number };

/** Connections that wait for their next request, the last used first; each is closed before its server would. */
class Idle {
  readonly #waiting = new Map<string, Waiting[]>();
  #timer: NodeJS.Timeout | undefined;

  put(key: string, connection: Connection, keptMs: number): void {
    const list = this.#waiting.get(key);
    const waiting = { connection, untilMs: elapsedMs() + keptMs };
    if (list === undefined) this.#waiting.set(key, [waiting]);
    else list.push(waiting);
    this.#timer ??= setTimeout(() => this.#sweep(), keptMs).unref();
  }
  take(key: string): Connection | undefined {
    const list = this.#waiting.get(key);
    for (let last = list?.pop(); last !== undefined; last = list?.pop()) {
      if (last.connection.isUsable && last.untilMs > elapsedMs()) return last.connection;
      last.connection.close();
    }
    return undefined;
  }
  closeAll(): void {
    this.#drop(() => true);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #drop(isOver: (waiting: Waiting) => boolean): void {
    for (const [key, list] of this.#waiting) {
      const over = list.filter(isOver);
      const left = list.filter((waiting) => !over.includes(waiting));
      if (left.length > 0) this.#waiting.set(key, left);
      else this.#waiting.delete(key);
      for (const { connection } of over) connection.close();
    }
  }
  #sweep(): void {
    const now = elapsedMs();
    this.#timer = undefined;
    this.#drop(({ connection, untilMs }) => untilMs <= now || !connection.isUsable);
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#sweep(), 1000).unref();
  }
}

const keyOf = (origin: string, tls: Tls | undefined): string =>
  tls === undefined ? origin : JSON.stringify([origin, tls]);

/** HTTP/1.1 over sockets of our own, as many as there are requests at the same time: a bulk run pays a third of what undici costs it. */
export const http1Transport = (): Transport => {
  const idle = new Idle();
  const open = new Set<Connection>();
  const linesOf = headerLines();
  const opened = (key: string, { url }: Prepared['to'], tls: Tls | undefined): Connection => {
    const connection = new Connection((onread) => connect(url, tls, onread), {
      idle: (done, keptMs) => idle.put(key, done, keptMs),
      gone: (closed) => void open.delete(closed),
    });
    open.add(connection);
    return connection;
  };
  return {
    start(prepared, progress) {
      const { request, to } = prepared;
      checkMethod(request.method);
      const lines = linesOf(request.headers);
      const key = keyOf(to.origin, request.tls);
      const kept = idle.take(key);
      if (kept !== undefined) return kept.send(prepared, lines, progress, undefined);
      const ready = to.url.protocol === 'https:' ? 'secureConnect' : 'connect';
      return opened(key, to, request.tls).send(prepared, lines, progress, ready);
    },
    async close() {
      idle.closeAll();
      for (const connection of open) connection.close();
    },
  };
};
