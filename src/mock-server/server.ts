import { Buffer } from 'node:buffer';
import { childPath, pathPart } from '../core/file-name.ts';
import { limits } from '../core/limits.ts';
import { cutText, AppError } from '../core/problem.ts';
import type {
  AppendFile,
  Bytes,
  FileParts,
  Handler,
  Host,
  Incoming,
  Listener,
  Outgoing,
} from '../platform/host.ts';
import { control, CONTROL_PATH, type Controlled, makeSnapshots } from './control.ts';
import {
  makeEnvironment,
  type Environment,
  makeServiceSet,
  type MockOptions,
  type MockReply,
  type MockRequest,
  type MockService,
  type LogEntry,
  type SavedState,
  type SeedKind,
  type ServiceEntry,
} from './service-set.ts';
import { answersAlone, chanceFrom, type Fault, faultDelayMs, faultyAnswer, makeFaults } from './faults.ts';
import { diskFull, failureOf, json, message } from './body.ts';
import type { Journal } from './journal.ts';
import { RequestLog, createRequestLog } from './request-log.ts';
import type { Store } from './store.ts';
import { isFromPage } from '../platform/trust.ts';

type Headers = Incoming['headers'];
/** A page of another site: browsers send its origin with every request other than a plain GET. Pure. */
const isFromOtherSite = (headers: Headers): boolean =>
  headers['sec-fetch-site'] === 'cross-site' ||
  (headers.origin !== undefined && !headers.origin.endsWith(`://${headers.host}`));
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
/** A change that a page of another site asks for. Pure. */
const isCrossSiteWrite = (method: string, headers: Headers): boolean =>
  !READS.has(method) && isFromOtherSite(headers);

/**
 * The condition for sending a response. With a journal, this is the write of all changes so far: a response
 * never contains data that a crash could undo, neither the changes of this request nor observed changes of
 * others. Otherwise it is the end of this turn of the event loop, when all received requests are handled: a
 * response wakes its client, and waking eight of them between their requests costs more than the requests.
 */
export const createResponseBarrier = (
  { turn }: Pick<Host, 'turn'>,
  journal: Pick<Journal, 'whenWritten'> | undefined,
): (() => Promise<void>) => {
  let end: Promise<void> | undefined;
  const endOfTurn = (): Promise<void> => {
    end ??= turn().then(() => {
      end = undefined;
    });
    return end;
  };
  return () => journal?.whenWritten() ?? endOfTurn();
};

/** A numeric address cannot be redirected by DNS. A browser uses it unchanged as the origin of a page. */
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;
/**
 * Suffixes that cannot be registered (RFC 2606, 6761): `mock.test`, `example.com`; and those by which
 * containers reach their host. Not included: names below `local`, which any machine of the network can claim
 * (multicast DNS), other names below `internal`, which the name server of a network assigns, and names
 * without a dot, which a search domain completes. Every label is checked: other programs end the host at `?`, `#`, `/` and `\`.
 */
const RESERVED =
  /^([a-z0-9_-]+\.)*(localhost|(docker|containers)\.internal|test|invalid|example\.(com|net|org))$/;
const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{0,5}$/, '')
    .replace(/\.$/, '');
/**
 * Returns whether this server may respond to a Host header. A page of another site can point its own name to
 * 127.0.0.1 (DNS rebinding), and its requests then contain that name: without this check, the page could read
 * all data. Pure.
 */
export const isOwnHost = (
  host: string | undefined,
  hostname: string,
  allowed: readonly string[] = [],
): boolean => {
  // Only programs of HTTP/1.0 leave it out; every browser sends it.
  if (host === undefined) return true;
  const name = nameOf(host);
  if (ADDRESS.test(name) || RESERVED.test(name) || name === nameOf(hostname)) return true;
  return allowed.some((each) => each === '*' || nameOf(each) === name);
};
const KNOWN_HOSTS = 100;
/** `isOwnHost` for one server, with a cache, because all requests use the same few names. */
export const createHostMatcher = (
  hostname: string,
  allowed: readonly string[] = [],
): ((host: string | undefined) => boolean) => {
  const known = new Map<string | undefined, boolean>();
  return (host) => {
    const found = known.get(host);
    if (found !== undefined) return found;
    const isOwn = isOwnHost(host, hostname, allowed);
    // A client that sends a new name each time must not fill the memory.
    if (known.size >= KNOWN_HOSTS) known.clear();
    known.set(host, isOwn);
    return isOwn;
  };
};

const ADDRESS_HINT =
  'use 127.0.0.1, localhost or host.docker.internal with the port of this server, or start it with --allow-host NAME';
/**
 * The handler of a server of this machine without services of its own, such as a recorder, behind the checks of the mock
 * server. `http://127.0.0.1:1` plus a target that is a whole address would be another server.
 */
export const guardHandler = (
  handler: Handler,
  { hostname }: Pick<Host, 'hostname'>,
  allowed?: readonly string[],
): Handler => {
  const isOwn = createHostMatcher(hostname, allowed);
  return (incoming) => {
    const { method, url, headers } = incoming;
    if (!isOwn(headers.host))
      return message(421, `the Host header does not name this machine; ${ADDRESS_HINT}`);
    if (!url.startsWith('/')) return message(400, 'the request target must be a path');
    if (isCrossSiteWrite(method, headers))
      return message(403, 'writes from pages of other sites are refused');
    return handler(incoming);
  };
};

type Where = {
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly isPrivate?: boolean;
};
/** Also on ::1, at the same port where that is free: browsers and libraries try it first for `localhost`. */
const listenBoth = async (
  host: Host,
  handler: Handler,
  { port, tls, isPrivate }: Where,
): Promise<Listener[]> => {
  const at = { tls, maxConnections: limits.connections };
  const first = await host.network.listen(handler, { ...at, host: '127.0.0.1', port });
  if (isPrivate) return [first];
  try {
    return [first, await host.network.listen(handler, { ...at, host: '::1', port: first.port })];
  } catch {
    return [first];
  }
};

/**
 * Work that holds memory: a piece that does not fit waits for its turn. A piece larger than the whole budget
 * runs when no other piece is active.
 */
export type MemoryBudget = <T>(bytes: number, act: () => Promise<T>) => Promise<T>;
export const makeRoom = (limitBytes: number): MemoryBudget => {
  const waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  let taken = 0;
  const letIn = (): void => {
    for (
      let first = waiting[0];
      first && (taken === 0 || taken + first.bytes <= limitBytes);
      first = waiting[0]
    ) {
      waiting.shift();
      taken += first.bytes;
      first.enter();
    }
  };
  return async (bytes, act) => {
    await new Promise<void>((enter) => {
      waiting.push({ bytes, enter });
      letIn();
    });
    try {
      return await act();
    } finally {
      taken -= bytes;
      letIn();
    }
  };
};

/** A body that has arrived. */
export type ReceivedBody = {
  readonly sizeBytes: number;
  /** The whole of it, in memory. */
  read(): Bytes;
  /** Releases its disk space. */
  close(): void;
};
type OpenFile = { readonly file: AppendFile; readonly parts: FileParts; readonly removed: Promise<void> };
/**
 * A file that only this process can access. It is unlinked immediately, so that no file remains however the
 * process ends.
 */
const openUnnamed = ({ files, random }: Pick<Host, 'files' | 'random'>): OpenFile => {
  const name = `opsctl-upload-${Buffer.from(random(16)).toString('hex')}`;
  const path = childPath(files.temporaryDirectory(), pathPart(name));
  const file = files.append(path, 0o600);
  const parts = files.openParts(path);
  if (parts === undefined) throw new Error(`${path} is gone right after it was made`);
  return { file, parts, removed: files.remove(path) };
};
/** What has come of a body: in memory until that is full, then all of it in a file. */
class Arriving implements ReceivedBody {
  readonly #host: Pick<Host, 'files' | 'random'>;
  #held: Bytes[] = [];
  #disk: OpenFile | undefined;
  sizeBytes = 0;

  constructor(host: Pick<Host, 'files' | 'random'>) {
    this.#host = host;
  }

  take(chunk: Bytes): void {
    this.sizeBytes += chunk.length;
    if (this.#disk === undefined && this.sizeBytes <= limits.arrivingBytes) {
      this.#held.push(chunk);
      return;
    }
    this.#disk ??= openUnnamed(this.#host);
    for (const held of this.#held) this.#disk.file.write(held);
    this.#held = [];
    this.#disk.file.write(chunk);
  }

  async settle(): Promise<void> {
    await this.#disk?.removed;
  }

  read(): Bytes {
    return this.#disk?.parts.read(0, this.sizeBytes) ?? Buffer.concat(this.#held);
  }

  close(): void {
    this.#disk?.parts.close();
    this.#disk?.file.close();
  }
}
/**
 * Waits for the body of a request without holding it in memory: however slow the client is, it needs
 * `limits.arrivingBytes` of memory. Rejects like `Incoming.receive`, and with the system's error if the file
 * cannot be written for another reason than a full disk. A failure leaves no file behind.
 */
export const awaitBody = async (
  host: Pick<Host, 'files' | 'random'>,
  incoming: Incoming,
  limitBytes: number,
): Promise<ReceivedBody | 'disk full'> => {
  const body = new Arriving(host);
  try {
    await incoming.receive(limitBytes, (chunk) => body.take(chunk));
    await body.settle();
    return body;
  } catch (error) {
    body.close();
    if ((error as { code?: unknown } | null)?.code === 'ENOSPC') return 'disk full';
    throw error;
  }
};

const SLICES_PER_SECOND = 10;
/**
 * Sends the bytes at a rate, in ten slices per second, so that a client sees a slow connection and not a
 * pause before the response.
 */
async function* slowly(host: Host, pieces: AsyncIterable<Bytes>, perSecond: number): AsyncGenerator<Bytes> {
  const slice = Math.max(1, Math.floor(perSecond / SLICES_PER_SECOND));
  let isFirst = true;
  for await (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += slice) {
      if (!isFirst) await host.sleep(1000 / SLICES_PER_SECOND);
      isFirst = false;
      yield bytes.subarray(at, at + slice);
    }
  }
}
async function* whole(bytes: Bytes): AsyncGenerator<Bytes> {
  yield bytes;
}
/** Returns the same response with its body sent at `perSecond` bytes per second. */
const throttle = (host: Host, outgoing: Outgoing, perSecond: number): Outgoing => {
  const { body } = outgoing;
  if (body === undefined) return outgoing;
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    return { ...outgoing, body: slowly(host, body, perSecond) };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const headers = { ...outgoing.headers, 'content-length': String(bytes.length) };
  return { ...outgoing, headers, body: slowly(host, whole(bytes), perSecond) };
};

export type MockSetup = {
  readonly host: Host;
  readonly options: MockOptions;
  readonly services: readonly ServiceEntry[];
  /** Documents by path, created on demand. */
  readonly documents: Readonly<Record<string, (env: Environment) => Promise<string>>>;
  readonly store: Store;
  /** Undefined: no state is saved. */
  readonly journal?: Journal;
  readonly seed: SeedKind;
  /** 0 is a free port. */
  readonly port: number;
  /** Leave ::1 out: for a server that only this process talks to. */
  readonly isPrivate?: boolean;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Milliseconds since 1970 at which the mock's clock starts. */
  readonly clockMs?: number;
  /** Makes identifiers repeatable. */
  readonly idSeed?: string;
  /** Receives failures inside the mock server; the client gets a 500. */
  onFailure(error: unknown, requestId: string): void;
  /** Further facts for `mock status`. */
  readonly facts?: Readonly<Record<string, unknown>>;
};
export type RunningMock = {
  readonly origin: string;
  readonly port: number;
  readonly env: Environment;
  /** Resolves when a client requests the stop over the control interface. */
  readonly shutdownAsked: Promise<void>;
  /** Replaces the state by a saved one. */
  restore(saved: SavedState): Promise<void>;
  close(): Promise<void>;
};
const NOTHING = new Uint8Array(0);
const bodyLimit = (type: string | undefined): number =>
  type === undefined || /^(application\/(json|x-www-form-urlencoded)|text\/)/.test(type)
    ? limits.bodyBytes
    : limits.uploadBytes;
const uploadRoom = (): MemoryBudget => makeRoom(limits.uploadsAtOnceBytes);
type Serving = {
  readonly setup: MockSetup;
  readonly on: Controlled;
  readonly log: RequestLog;
  /** Uploads that are held in memory. */
  readonly room: MemoryBudget;
  now(): number;
  chance(): number;
  isOwnHost(host: string | undefined): boolean;
};
const tell = (
  service: MockService,
  request: MockRequest,
  noted: LogEntry,
): MockReply | Promise<MockReply> => {
  noted.service = service.name;
  return service.owns(request.path)
    ? service.handle(request)
    : message(404, `no service of this server has the path ${request.path}`);
};
/** A browser asks for HTML; programs accept anything and get JSON. */
const wantsHtml = (accept: string | undefined): boolean => /\btext\/html\b/i.test(accept ?? '');
const ask = (
  { on, setup }: Serving,
  request: MockRequest,
  noted: LogEntry,
): MockReply | Promise<MockReply> => {
  const document =
    request.method === 'GET' || request.method === 'HEAD' ? setup.documents[request.path] : undefined;
  if (document !== undefined && request.path === '/' && wantsHtml(request.headers.accept))
    return import('./tracker/pages.ts').then(({ homePage }) =>
      homePage(on.env, setup.seed, Object.keys(setup.documents)),
    );
  if (document !== undefined) return document(on.env).then((body) => ({ status: 200, headers: json, body }));
  const service = on.services.find(request.path);
  if (service === undefined) return message(404, `no service of this server has the path ${request.path}`);
  // HEAD is GET without the body (RFC 9110 9.3.2); the server leaves it out when it writes.
  const asked = request.method === 'HEAD' ? { ...request, method: 'GET' } : request;
  return service instanceof Promise
    ? service.then((loaded) => tell(loaded, asked, noted))
    : tell(service, asked, noted);
};
const requestFrom = (incoming: Incoming, noted: LogEntry, body: Uint8Array): MockRequest => ({
  method: noted.method,
  path: noted.path,
  query: noted.query,
  headers: noted.headers,
  body,
  remoteAddress: incoming.remoteAddress,
  isTls: incoming.isTls,
});
const hasBody = (headers: Incoming['headers']): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
const serve = (serving: Serving, incoming: Incoming, noted: LogEntry): MockReply | Promise<MockReply> => {
  if (!hasBody(noted.headers)) return ask(serving, requestFrom(incoming, noted, NOTHING), noted);
  const limit = bodyLimit(noted.headers['content-type']);
  const answerRequest = (body: Uint8Array): MockReply | Promise<MockReply> => {
    serving.log.noteBody(noted, body);
    return ask(serving, requestFrom(incoming, noted, body), noted);
  };
  const announced = Number(noted.headers['content-length'] ?? limit);
  return announced <= limits.arrivingBytes
    ? incoming.read(limit).then(answerRequest)
    : serveLong(serving, incoming, limit, answerRequest);
};
/** A long body is loaded into memory after it has arrived completely and there is memory for it. */
const serveLong = async (
  { setup, room }: Serving,
  incoming: Incoming,
  limit: number,
  answered: (body: Uint8Array) => MockReply | Promise<MockReply>,
): Promise<MockReply> => {
  const body = await awaitBody(setup.host, incoming, limit);
  if (body === 'disk full') return diskFull(setup.host.files.temporaryDirectory(), incoming.url);
  try {
    return await room(body.sizeBytes, async () => answered(body.read()));
  } finally {
    body.close();
  }
};
const serveFaulty = async (
  serving: Serving,
  incoming: Incoming,
  noted: LogEntry,
  fault: Fault,
): Promise<Outgoing> => {
  noted.fault = fault.id;
  const { host } = serving.setup;
  const delayMs = faultDelayMs(fault, serving.chance);
  if (delayMs > 0) await host.sleep(delayMs);
  const made = answersAlone(fault) ? undefined : await serve(serving, incoming, noted);
  const out = faultyAnswer(fault, made, noted.path);
  const { bytes_per_second: perSecond } = fault;
  return perSecond === undefined || out.cut ? out : throttle(host, out, perSecond);
};
const steer = async (serving: Serving, incoming: Incoming, noted: LogEntry): Promise<MockReply> => {
  // A page in a browser must not be able to steer the mock.
  if (isFromPage(noted.headers)) return message(403, 'the control interface does not serve web pages');
  const body = await incoming.read(limits.uploadBytes);
  return control(serving.on, noted.method, noted.path.slice(CONTROL_PATH.length), noted.query, body);
};
const foreignName = (host: string, path: string): MockReply =>
  message(
    421,
    `the host name ${JSON.stringify(cutText(host, 100))} is not one of this server's; \`mock serve --allow-host NAME\` adds one`,
    path,
  );
const route = (serving: Serving, incoming: Incoming, noted: LogEntry): Outgoing | Promise<Outgoing> => {
  const { host } = noted.headers;
  if (!serving.isOwnHost(host)) {
    serving.log.add(noted);
    return foreignName(host ?? '', noted.path);
  }
  if (noted.path.startsWith(CONTROL_PATH) && serving.on.services.find(noted.path) === undefined)
    return steer(serving, incoming, noted);
  serving.log.add(noted);
  // The pages of the sign-in service contain form tokens, and its token endpoint is also for pages of other
  // sites.
  if (isCrossSiteWrite(noted.method, noted.headers) && serving.on.services.nameOf(noted.path) !== 'auth')
    return message(403, 'writes from pages of other sites are refused', noted.path);
  const fault = serving.on.faults.meet(noted.method, noted.path);
  return fault === undefined ? serve(serving, incoming, noted) : serveFaulty(serving, incoming, noted, fault);
};
/** The response as it is sent, with the number of its request. The outcome is recorded in the request log. */
const finishes =
  ({ setup: { host }, log }: Serving) =>
  (noted: LogEntry, since: number, out: Outgoing): Outgoing => {
    noted.status = out.status;
    noted.tookUs = Math.round((host.elapsed() - since) * 1000);
    const headers: Record<string, string | readonly string[]> = { 'x-request-id': log.idOf(noted) };
    if (out.headers?.deprecation !== undefined) noted.isDeprecated = true;
    for (const name in out.headers) headers[name] = out.headers[name] ?? '';
    return { status: out.status, headers, body: out.body, cut: out.cut };
  };
const handlerFor = (serving: Serving) => {
  const { setup, log } = serving;
  const finish = finishes(serving);
  const answerFailure = (noted: LogEntry, error: unknown): Outgoing =>
    failureOf(setup.onFailure, { id: log.idOf(noted), path: noted.path }, error);
  const departed = createResponseBarrier(setup.host, setup.journal);
  const notedOf = createRequestLog(serving.now);
  const leave = (noted: LogEntry, since: number, out: Outgoing): Promise<Outgoing> =>
    departed().then(
      () => finish(noted, since, out),
      (error: unknown) => finish(noted, since, answerFailure(noted, error)),
    );
  return (incoming: Incoming): Outgoing | Promise<Outgoing> => {
    const since = setup.host.elapsed();
    const noted = notedOf(incoming);
    try {
      const made = route(serving, incoming, noted);
      if (!(made instanceof Promise)) return leave(noted, since, made);
      return made.then(
        (out) => leave(noted, since, out),
        (error: unknown) => finish(noted, since, answerFailure(noted, error)),
      );
    } catch (error) {
      return finish(noted, since, answerFailure(noted, error));
    }
  };
};
const closeAll = async (
  listeners: readonly Listener[],
  settled: () => Promise<void>,
  journal: Journal | undefined,
): Promise<void> => {
  await Promise.all(listeners.map((listener) => listener.close()));
  await settled();
  await journal?.close();
};
/**
 * A client of the control interface requests the stop; the process that started the server waits for that.
 */
const shutdown = (): { readonly asked: Promise<void>; ask(): void } => {
  let ask: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  return { asked, ask };
};
/** Starts the services on real sockets of this machine; resolves when they accept connections. */
export const startMock = async (setup: MockSetup): Promise<RunningMock> => {
  const { host, store, journal } = setup;
  const { env, clock, listensAt, settle } = makeEnvironment(host, store, setup.options, setup.idSeed);
  if (setup.clockMs !== undefined) clock.set(setup.clockMs);
  const chance = chanceFrom(env.random);
  const services = makeServiceSet(setup.services, env, setup.seed);
  const log = new RequestLog(host.now().toString(36));
  const started_at = new Date(host.now()).toISOString();
  const end = shutdown();
  const on: Controlled = {
    env,
    clock,
    faults: makeFaults(store, chance),
    log,
    snapshots: makeSnapshots(store),
    services,
    facts: () => ({ url: env.origin(), pid: host.pid, started_at, ...setup.facts }),
    onReplaced: async () => journal?.compact(),
    shutdown: end.ask,
  };
  const isOwnHost = createHostMatcher(host.hostname, setup.options.allowHosts);
  const handler = handlerFor({ setup, on, log, room: uploadRoom(), now: env.now, chance, isOwnHost });
  const listeners = await listenBoth(host, handler, setup);
  const port = listeners[0]?.port ?? setup.port;
  const origin = `${setup.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  listensAt(origin);
  return {
    origin,
    port,
    env,
    shutdownAsked: end.asked,
    restore: async (saved) => {
      services.restore(saved);
      await on.onReplaced();
    },
    close: () => closeAll(listeners, settle, journal),
  };
};

/** Explains why the server cannot listen on this port. Other errors are returned unchanged. */
export const portError = (error: unknown, port: number): unknown => {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    return new AppError('config', `port ${port} of 127.0.0.1 is in use`, {
      code: 'PORT_IN_USE',
      tryThis: ['another --port, or --port 0 for a free one', 'opsctl mock status (is it this server?)'],
    });
  }
  if (code === 'EACCES') {
    return new AppError('config', `this user may not listen on port ${port}`, {
      code: 'PORT_NOT_ALLOWED',
      tryThis: ['a --port above 1023, or --port 0'],
    });
  }
  return error;
};
