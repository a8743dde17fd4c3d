import { childPath, pathPart } from '../core/file-name.ts';
import type { Host } from '../platform/host.ts';
import { messageOf } from '../core/problem.ts';
import { randomShare } from '../core/shape.ts';

/** Where machines share a rate, and among how many of them the limit is divided when that cannot be reached. */
export type RateStoreSetting = { readonly url: URL; readonly share: number };

/** spec/tracker#limits: the service refuses from the 200th request in 60 s on; the default of opsctl is 195. */
export const WINDOW_MS = 60_000;
/** The interval of checks for requests without a known end. */
const LOOK_AGAIN_MS = 250;
export type Line =
  /** Asks for a place: the place in the file is the place in the queue. */
  | { readonly kind: 'ticket'; readonly atMs: number; readonly id: string }
  /**
   * The head of the response has arrived, so the service counted the request at this time or earlier. Without
   * a response, one window is added.
   */
  | { readonly kind: 'done'; readonly atMs: number; readonly id: string }
  /** The request was not sent and will not be sent. */
  | { readonly kind: 'dropped'; readonly atMs: number; readonly id: string }
  | { readonly kind: 'blocked'; readonly untilMs: number }
  | { readonly kind: 'open'; readonly untilMs: number };
const withId = { t: 'ticket', d: 'done', x: 'dropped' } as const;
/**
 * Lines are `t|d|x <ms> <id>`, `b <ms>` (all processes wait until then) and `o <ms>` (all processes may send
 * until then). Incomplete lines are ignored.
 */
export const parseLines = (text: string): Line[] =>
  text.split('\n').flatMap((line): Line[] => {
    const [word = '', ms, id] = line.split(' ');
    const at = Number(ms);
    if (!Number.isFinite(at) || ms === undefined) return [];
    if (word === 'b') return [{ kind: 'blocked', untilMs: at }];
    if (word === 'o') return [{ kind: 'open', untilMs: at }];
    const kind = Object.hasOwn(withId, word) ? withId[word as keyof typeof withId] : undefined;
    return kind === undefined || id === undefined ? [] : [{ kind, atMs: at, id }];
  });
export type Rule = {
  readonly limit: number;
  readonly windowMs: number;
  /** True if the process of a ticket may still send, or waits for a response. */
  readonly isAlive: (id: string) => boolean;
};
/** When the places of the requests that have ended are free again. */
const endsOf = (lines: readonly Line[], windowMs: number): ReadonlyMap<string, number> => {
  const ended = new Map<string, number>();
  for (const line of lines) {
    if (line.kind === 'done') ended.set(line.id, line.atMs + windowMs);
    if (line.kind === 'dropped') ended.set(line.id, 0);
  }
  return ended;
};
/** When the place of each earlier ticket becomes free; unknown while its request is active. */
const releases = (lines: readonly Line[], id: string, { windowMs, isAlive }: Rule): number[] => {
  const ended = endsOf(lines, windowMs);
  const found: number[] = [];
  let openUntil = 0;
  for (const line of lines) {
    if (line.kind === 'open') openUntil = line.untilMs;
    if (line.kind !== 'ticket') continue;
    if (line.id === id) return found;
    if (line.atMs < openUntil) continue;
    // A process that exited may have sent its request, but not later than its last sign of activity.
    found.push(
      ended.get(line.id) ?? (isAlive(line.id) ? Number.POSITIVE_INFINITY : line.atMs + 2 * windowMs),
    );
  }
  return [];
};
const isPassedByOpening = (lines: readonly Line[], id: string): boolean => {
  let openUntil = 0;
  for (const line of lines) {
    if (line.kind === 'open') openUntil = line.untilMs;
    if (line.kind === 'ticket' && line.id === id) return line.atMs < openUntil;
  }
  return false;
};
/**
 * Returns when this ticket may be used. A time in the future is the time of the next check. The service
 * counts a request between its departure and its response, so a place becomes free one window after the
 * response, not before. Each admitted request found fewer than `limit` requests that were active or had
 * finished within a window, so the service never counts more than `limit`. Pure.
 */
export const turnOf = (lines: readonly Line[], id: string, nowMs: number, rule: Rule): number => {
  const blocked = Math.max(0, ...lines.map((line) => (line.kind === 'blocked' ? line.untilMs : 0)));
  if (isPassedByOpening(lines, id)) return Math.max(nowMs, blocked);
  const held = releases(lines, id, rule).filter((at) => at > nowMs);
  const excess = held.length - (rule.limit - 1);
  if (excess <= 0) return Math.max(nowMs, blocked);
  const at = held.sort((a, b) => a - b)[excess - 1] ?? nowMs;
  return Math.max(at === Number.POSITIVE_INFINITY ? nowMs + LOOK_AGAIN_MS : at, blocked);
};

/** How long a request counts as active if its process cannot be queried. */
const FOREIGN_MS = 10 * 60_000;
/**
 * An hour of tickets would be a long file to read for each request. A new file is started at this interval.
 */
const EPOCH_MS = 3 * 60_000;
/** Longer waits are reported. */
const TOLD_MS = 500;
/** How often a ticket that is gone is written again. */
const MOST_LOST = 3;
/** Appends a line. Returns whether it is the first line of the file. */
const appendLine = (host: Host, path: string, line: string): boolean => {
  const file = host.files.append(path, 0o600);
  try {
    const isFirst = file.sizeBytes() === 0;
    file.write(line);
    return isFirst;
  } finally {
    file.close();
  }
};
/**
 * The files of one key. Lines are only appended, so concurrent processes lose no data. A new file starts
 * every few minutes.
 */
const ticketFiles = (host: Host, directory: string, key: string) => {
  const pathOf = (epoch: number): string => childPath(directory, pathPart(`rate-${key}-${epoch}`));
  const now = (): number => Math.floor(host.now() / EPOCH_MS);
  /** The file that this process has started, until it has removed the old ones. Others do not read the directory. */
  let started: number | undefined;
  return {
    now,
    exists: (epoch: number): boolean => host.files.readNow(pathOf(epoch)) !== undefined,
    /** False when the file cannot be written. */
    add: (epoch: number, line: string): boolean => {
      try {
        if (appendLine(host, pathOf(epoch), line)) started = epoch;
        return true;
      } catch {
        return false;
      }
    },
    /**
     * A ticket is used until the end of the epoch after its own, and it occupies its place for one more
     * window.
     */
    read: (epoch: number): Line[] =>
      parseLines(
        [epoch - 2, epoch - 1, epoch, epoch + 1].map((one) => host.files.readNow(pathOf(one)) ?? '').join(''),
      ),
    prune: async (epoch: number): Promise<void> => {
      if (started !== epoch) return;
      started = undefined;
      const old = (await host.files.list(directory).catch(() => [])).filter((name) => {
        const found = /^rate-.*-(\d+)$/.exec(name);
        return name.startsWith(`rate-${key}-`) && found !== null && Number(found[1]) < epoch - 2;
      });
      for (const name of old)
        await host.files.remove(childPath(directory, pathPart(name))).catch(() => undefined);
    },
  };
};
/**
 * Process IDs are valid within one machine, boot and namespace. The host name identifies neither boot nor
 * namespace. Machines do not share a boot ID, so the machine ID is not needed.
 */
const placeOf = (host: Host): string => {
  const { bootId, pidNamespace } = host.processes.scope();
  const parts = [bootId, pidNamespace].map((part) => part ?? '').join('-');
  return `${host.hostname}~${parts.replace(/[^\w-]/g, '')}`;
};
/** `pid/place/ms/nonce`; version 0.1.0 wrote the host name as the place. */
const aliveOn =
  (host: Host) =>
  (id: string): boolean => {
    const [pid, machine, ms] = id.split('/');
    return machine === placeOf(host) || machine === host.hostname
      ? Number(pid) === host.pid || host.processes.isAlive(Number(pid))
      : host.now() - Number(ms) < FOREIGN_MS;
  };
type Files = ReturnType<typeof ticketFiles>;
type Ticket = { readonly id: string; readonly epoch: number };
/** Places in the queue of all processes. */
const queueOf = (host: Host, directory: string, files: Files, signal: AbortSignal | undefined) => {
  const nonce = Buffer.from(host.random(4)).toString('hex');
  let count = 0;
  const note = (word: 't' | 'd' | 'x', { id, epoch }: Ticket, laterMs = 0): boolean =>
    files.add(epoch, `${word} ${Math.ceil(host.now()) + laterMs} ${id}\n`);
  const writeTicket = async (ticket: Ticket): Promise<boolean> => {
    if (note('t', ticket)) return true;
    // The first request of a profile: there is no directory yet.
    await host.files.makeDirectory(directory, 0o700).catch(() => undefined);
    return note('t', ticket);
  };
  /** A place in the newest file; undefined when there is no directory to write to. */
  const place = async (): Promise<Ticket | undefined> => {
    for (;;) {
      count += 1;
      const id = `${host.pid}/${placeOf(host)}/${Math.round(host.now())}/${nonce}${count}`;
      const ticket = { id, epoch: files.now() };
      if (!(await writeTicket(ticket))) return undefined;
      // A process with a ticket in a newer file does not see tickets that are added to an older file.
      if (!files.exists(ticket.epoch + 1)) return ticket;
      note('x', ticket);
    }
  };

  /** The same place, or a new one where the file of the old one is no longer read. */
  const waitWithTicket = async (ticket: Ticket, waitMs: number): Promise<Ticket | undefined> => {
    await host.sleep(waitMs, signal).catch((error: unknown) => {
      note('x', ticket);
      throw error;
    });
    if (files.now() <= ticket.epoch + 1) return ticket;
    note('x', ticket);
    return place();
  };
  return { note, place, waited: waitWithTicket };
};
type Queue = ReturnType<typeof queueOf>;
/** How long this ticket waits; undefined where its file was removed while this process did not run. */
const waitOf = (host: Host, files: Files, { id, epoch }: Ticket, rule: Rule): number | undefined => {
  const lines = files.read(epoch);
  const isThere = lines.some((line) => line.kind === 'ticket' && line.id === id);
  // Read the clock once. On a busy machine, a process may be suspended between two reads for longer than the
  // pause, and then no pause would ever end.
  const now = host.now();
  return isThere ? turnOf(lines, id, now, rule) - now : undefined;
};
/** The ticket whose turn it is; undefined if there is no limit. */
const turnIn = async (
  host: Host,
  { files, queue }: { readonly files: Files; readonly queue: Queue },
  rule: Rule,
  onWait: (ms: number) => void,
): Promise<Ticket | undefined> => {
  let ticket = await queue.place();
  for (let lost = 0; ticket !== undefined; ) {
    const waitMs = waitOf(host, files, ticket, rule);
    if (waitMs === undefined) {
      lost += 1;
      // A file that can be written but not read cannot limit requests, like a file that cannot be written.
      ticket = lost > MOST_LOST ? undefined : await queue.place();
    } else if (waitMs <= 0) return ticket;
    else {
      if (waitMs > TOLD_MS) onWait(waitMs);
      ticket = await queue.waited(ticket, waitMs);
    }
  }
  return undefined;
};

/** How long a service's report that it has no limit remains valid. */
const OPEN_MS = 10 * 60_000;
/**
 * How a request finished on this side. `lost`: it was sent without a response; the service may still count it
 * when it processes the request. `unsent`: it was never sent.
 */
export type RequestEnd = 'answered' | 'lost' | 'unsent';
/** Reported to the bucket when the response has started or failed. */
export type Ended = (end: RequestEnd) => unknown;
export type Bucket = {
  /**
   * Resolves when this request may go, with what must be called at its end. `onWait` hears how long, once, when it is more than a
   * moment.
   */
  admit(onWait?: (ms: number) => void): Promise<Ended>;
  /** The service limits the rate: no process of this profile sends a request before this time. */
  block(untilMs: number): void;
  /** The service reports that it has no limit. */
  open(): void;
};
type Options = { readonly signal?: AbortSignal | undefined; readonly windowMs?: number };
/**
 * One bucket for all processes that use the same directory and key. A directory that cannot be written does
 * not limit requests.
 */
export const makeBucket = (
  host: Host,
  directory: string,
  key: string,
  limit: number,
  { signal, windowMs = WINDOW_MS }: Options = {},
): Bucket => {
  const files = ticketFiles(host, directory, key);
  const queue = queueOf(host, directory, files, signal);
  const rule: Rule = { limit, windowMs, isAlive: aliveOn(host) };
  let openUntil = 0;
  const endOf =
    (ticket: Ticket): Ended =>
    (end) =>
      void (end === 'unsent'
        ? queue.note('x', ticket)
        : queue.note('d', ticket, end === 'lost' ? windowMs : 0));

  return {
    admit: async (onWait) => {
      let hasSaid = false;
      const say = (ms: number): void => {
        if (!hasSaid) onWait?.(ms);
        hasSaid = true;
      };
      const ticket = host.now() < openUntil ? undefined : await turnIn(host, { files, queue }, rule, say);
      if (ticket === undefined) return () => undefined;
      await files.prune(ticket.epoch);
      return endOf(ticket);
    },
    block: (untilMs) => {
      files.add(files.now(), `b ${Math.round(untilMs)}\n`);
    },
    open: () => {
      if (host.now() < openUntil) return;
      openUntil = host.now() + OPEN_MS / 2;
      files.add(files.now(), `o ${Math.round(host.now() + OPEN_MS)}\n`);
    },
  };
};

type StoreOptions = {
  /** Connects to the store. */
  readonly open: () => Promise<RateStore>;
  readonly key: string;
  readonly limit: number;
  /** The limit of this machine if the store is unreachable. */
  readonly own: () => Bucket;
  /** Receives, once, the reason why the store is not used. */
  readonly onLost: (why: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly windowMs?: number;
};
/** For how many windows a request holds its place after its end: one that is lost may be counted a window later. */
const windowsOf: Readonly<Record<RequestEnd, number>> = { answered: 1, lost: 2, unsent: 0 };
/** Machines that found no place come back at different times. */
const jitterMs = (host: Host): number => 128 * randomShare(host);
/** One bucket for all machines that name the same store. A store that cannot be reached leaves each machine its share. */
export const storeBucket = (
  host: Host,
  { open, key, limit, own, onLost, signal, windowMs = WINDOW_MS }: StoreOptions,
): Bucket => {
  let store: Promise<RateStore> | undefined;
  let fallback: Bucket | undefined;
  const askStore = async <T>(ask: (to: RateStore) => Promise<T>): Promise<T | undefined> => {
    try {
      store ??= open();
      return await ask(await store);
    } catch (error) {
      if (signal?.aborted) throw error;
      if (fallback === undefined) onLost(messageOf(error));
      fallback ??= own();
      return undefined;
    }
  };
  return {
    admit: async (onWait) => {
      for (let hasSaid = false; fallback === undefined; ) {
        const taken = await askStore((to) => to.take(key, limit));
        if (taken === undefined) break;
        // Waited for: what the end of the program would cut off leaves the place taken for minutes.
        if ('place' in taken)
          return (end) =>
            askStore((to) => to.release(key, taken.place, windowMs * windowsOf[end])).catch(() => undefined);
        if (!hasSaid) onWait?.(taken.waitMs);
        hasSaid = true;
        await host.sleep(taken.waitMs + jitterMs(host), signal);
      }
      return (fallback ?? own()).admit(onWait);
    },
    block: (untilMs) => {
      if (fallback !== undefined) fallback.block(untilMs);
      else askStore((to) => to.block(key, Math.max(1, untilMs - host.now()))).catch(() => undefined);
    },
    // Each machine finds out separately whether the service has a limit, and the store continues to count.
    open: () => fallback?.open(),
  };
};

/** A place in the window that several machines share: taken, or how long to wait for one. */
type Taken = { readonly place: string } | { readonly waitMs: number };
/** A store that counts requests for all machines by its own clock. Each call throws when the store cannot be reached. */
export type RateStore = {
  /** Takes one of `limit` places of a key. It is held while the request is under way, for `LEASE_MS` at most. */
  take(key: string, limit: number): Promise<Taken>;
  /** The request has ended: its place is free again so long from now. */
  release(key: string, place: string, ms: number): Promise<void>;
  /** The service limits the rate: no process takes a place for this time. */
  block(key: string, ms: number): Promise<void>;
};
/** How long the place of an exited process stays occupied. No request takes longer. */
export const LEASE_MS = 10 * 60_000;
/** The interval of checks if all places are occupied and no place has a known end. */
export const AGAIN_MS = 250;
/** An unresponsive store must not delay a run. */
export const CALL_MS = 5000;
