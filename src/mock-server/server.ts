import { limits } from '../core/limits.ts';
import type { Host, Incoming, Listener, Outgoing } from '../platform/host.ts';
import { CONTROL_PATH, type Controlled, control } from './control.ts';
import { type Fault, answersAlone, chanceFrom, faultDelayMs, faultyAnswer, makeFaults } from './faults.ts';
import type { Journal } from './journal.ts';
import { isCrossSiteWrite, isFromPage } from './from-page.ts';
import { departure } from './departure.ts';
import { ownHostJudge } from './host-header.ts';
import { listenBoth } from './listen-both.ts';
import { requestNoter } from './noted-request.ts';
import type { Noted } from './noted.ts';
import { type Room, makeRoom } from './room.ts';
import { RequestLog } from './request-log.ts';
import type {
  MockOptions,
  MockReply,
  MockRequest,
  MockService,
  ServiceEntry,
  Environment,
} from './service.ts';
import { arrived } from './spool.ts';
import { type SavedState, type SeedKind, makeServiceSet } from './service-set.ts';
import { makeSnapshots } from './snapshots.ts';
import type { Store } from './store.ts';
import { throttled } from './throttled.ts';
import { diskFull, failureOf, json, message } from './failure.ts';
import { makeEnvironment } from './environment.ts';

export type MockSetup = {
  readonly host: Host;
  readonly options: MockOptions;
  readonly services: readonly ServiceEntry[];
  /** Documents by path, made when they are asked for. */
  readonly documents: Readonly<Record<string, (env: Environment) => Promise<string>>>;
  readonly store: Store;
  /** Undefined keeps nothing. */
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
  /** Told of failures inside the mock; the client gets a 500. */
  failed(error: unknown, requestId: string): void;
  /** Further facts for `mock status`. */
  readonly facts?: Readonly<Record<string, unknown>>;
};
export type RunningMock = {
  readonly origin: string;
  readonly port: number;
  readonly env: Environment;
  /** Resolves when somebody asked for the end through the control interface. */
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
const uploadRoom = (): Room => makeRoom(limits.uploadsAtOnceBytes);
type Serving = {
  readonly setup: MockSetup;
  readonly on: Controlled;
  readonly log: RequestLog;
  /** Uploads that are held in memory. */
  readonly room: Room;
  now(): number;
  chance(): number;
  isOwnHost(host: string | undefined): boolean;
};

const tell = (service: MockService, request: MockRequest, noted: Noted): MockReply | Promise<MockReply> => {
  noted.service = service.name;
  return service.owns(request.path)
    ? service.handle(request)
    : message(404, `no service of this server has the path ${request.path}`);
};

const ask = ({ on, setup }: Serving, request: MockRequest, noted: Noted): MockReply | Promise<MockReply> => {
  const document =
    request.method === 'GET' || request.method === 'HEAD' ? setup.documents[request.path] : undefined;
  if (document !== undefined) return document(on.env).then((body) => ({ status: 200, headers: json, body }));
  const service = on.services.find(request.path);
  if (service === undefined) return message(404, `no service of this server has the path ${request.path}`);
  // HEAD is GET without the body (RFC 9110 9.3.2); the server leaves it out when it writes.
  const asked = request.method === 'HEAD' ? { ...request, method: 'GET' } : request;
  return service instanceof Promise
    ? service.then((loaded) => tell(loaded, asked, noted))
    : tell(service, asked, noted);
};

const requestFrom = (incoming: Incoming, noted: Noted, body: Uint8Array): MockRequest => ({
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

const serve = (serving: Serving, incoming: Incoming, noted: Noted): MockReply | Promise<MockReply> => {
  if (!hasBody(noted.headers)) return ask(serving, requestFrom(incoming, noted, NOTHING), noted);
  const limit = bodyLimit(noted.headers['content-type']);
  const answered = (body: Uint8Array): MockReply | Promise<MockReply> => {
    serving.log.noteBody(noted, body);
    return ask(serving, requestFrom(incoming, noted, body), noted);
  };
  const announced = Number(noted.headers['content-length'] ?? limit);
  return announced <= limits.arrivingBytes
    ? incoming.read(limit).then(answered)
    : serveLong(serving, incoming, limit, answered);
};

/** A long body comes into memory when all of it has arrived and there is room for it. */
const serveLong = async (
  { setup, room }: Serving,
  incoming: Incoming,
  limit: number,
  answered: (body: Uint8Array) => MockReply | Promise<MockReply>,
): Promise<MockReply> => {
  const body = await arrived(setup.host, incoming, limit);
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
  noted: Noted,
  fault: Fault,
): Promise<Outgoing> => {
  noted.fault = fault.id;
  const { host } = serving.setup;
  const delayMs = faultDelayMs(fault, serving.chance);
  if (delayMs > 0) await host.sleep(delayMs);
  const made = answersAlone(fault) ? undefined : await serve(serving, incoming, noted);
  const out = faultyAnswer(fault, made, noted.path);
  const { bytes_per_second: perSecond } = fault;
  return perSecond === undefined || out.cut ? out : throttled(host, out, perSecond);
};

const steer = async (serving: Serving, incoming: Incoming, noted: Noted): Promise<MockReply> => {
  if (isFromPage(noted.headers)) return message(403, 'the control interface does not answer web pages');
  const body = await incoming.read(limits.uploadBytes);
  return control(serving.on, noted.method, noted.path.slice(CONTROL_PATH.length), noted.query, body);
};

const foreignName = (host: string, path: string): MockReply =>
  message(
    421,
    `the host name ${JSON.stringify(host.slice(0, 100))} is not one of this server's; \`mock serve --allow-host NAME\` adds one`,
    path,
  );

const route = (serving: Serving, incoming: Incoming, noted: Noted): Outgoing | Promise<Outgoing> => {
  const { host } = noted.headers;
  if (!serving.isOwnHost(host)) {
    serving.log.add(noted);
    return foreignName(host ?? '', noted.path);
  }
  if (noted.path.startsWith(CONTROL_PATH) && serving.on.services.find(noted.path) === undefined)
    return steer(serving, incoming, noted);
  serving.log.add(noted);
  // The sign-in service has proofs of its own in its pages, and its token endpoint is for pages of other sites too.
  if (isCrossSiteWrite(noted.method, noted.headers) && serving.on.services.nameOf(noted.path) !== 'auth')
    return message(403, 'writes from pages of other sites are refused', noted.path);
  const fault = serving.on.faults.meet(noted.method, noted.path);
  return fault === undefined ? serve(serving, incoming, noted) : serveFaulty(serving, incoming, noted, fault);
};

/** The answer as it leaves, with the number of its request; what became of it is noted. */
const finishes =
  ({ setup: { host }, log }: Serving) =>
  (noted: Noted, since: number, out: Outgoing): Outgoing => {
    noted.status = out.status;
    noted.tookUs = Math.round((host.elapsed() - since) * 1000);
    const headers: Record<string, string | readonly string[]> = { 'x-request-id': log.idOf(noted) };
    for (const name in out.headers) headers[name] = out.headers[name] ?? '';
    return { status: out.status, headers, body: out.body, cut: out.cut };
  };

const handlerFor = (serving: Serving) => {
  const { setup, log } = serving;
  const finish = finishes(serving);
  const failed = (noted: Noted, error: unknown): Outgoing =>
    failureOf(setup.failed, { id: log.idOf(noted), path: noted.path }, error);
  const departed = departure(setup.host, setup.journal);
  const notedOf = requestNoter(serving.now);
  const leave = (noted: Noted, since: number, out: Outgoing): Promise<Outgoing> =>
    departed().then(
      () => finish(noted, since, out),
      (error: unknown) => finish(noted, since, failed(noted, error)),
    );
  return (incoming: Incoming): Outgoing | Promise<Outgoing> => {
    const since = setup.host.elapsed();
    const noted = notedOf(incoming);
    try {
      const made = route(serving, incoming, noted);
      if (!(made instanceof Promise)) return leave(noted, since, made);
      return made.then(
        (out) => leave(noted, since, out),
        (error: unknown) => finish(noted, since, failed(noted, error)),
      );
    } catch (error) {
      return finish(noted, since, failed(noted, error));
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

/** The control interface asks for the end; whoever started the server waits for that. */
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
  const { env, clock, listensAt, settled } = makeEnvironment(host, store, setup.options, setup.idSeed);
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
    replaced: async () => journal?.compact(),
    shutdown: end.ask,
  };
  const isOwnHost = ownHostJudge(host.hostname, setup.options.allowHosts);
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
      await on.replaced();
    },
    close: () => closeAll(listeners, settled, journal),
  };
};
