import { join } from 'node:path';
import type { Host } from '../platform/host.ts';

/** spec/tracker#errors-4: the service refuses from the 200th request in 60 s on; clients of experience stay at 195. */
export const WINDOW_MS = 60_000;

export type Ticket =
  | { readonly id: string; readonly atMs: number }
  | { readonly blockedUntilMs: number }
  | { readonly openUntilMs: number };
/** How long a service's word that it has no limit is taken for true. */
const OPEN_MS = 10 * 60_000;

/** Lines of the ticket file: `t <ms> <id>` asks for a place, `b <ms>` holds everybody back, `o <ms>` lets everybody pass until then. Torn lines are left out. */
export const parseTickets = (text: string): Ticket[] =>
  text.split('\n').flatMap((line): Ticket[] => {
    const [kind, ms, id] = line.split(' ');
    const at = Number(ms);
    if (!Number.isFinite(at) || ms === undefined) return [];
    if (kind === 'b') return [{ blockedUntilMs: at }];
    if (kind === 'o') return [{ openUntilMs: at }];
    return kind === 't' && id !== undefined ? [{ id, atMs: at }] : [];
  });

/**
 * When the ticket may be used: the place in the file decides, so all processes agree without a lock. A ticket waits until
 * the one `limit` places before it has left the window. Pure.
 */
export const grantedAt = (tickets: readonly Ticket[], id: string, limit: number): number | undefined => {
  const grants: number[] = [];
  let blocked = 0;
  let open = 0;
  for (const ticket of tickets) {
    if ('blockedUntilMs' in ticket) {
      blocked = Math.max(blocked, ticket.blockedUntilMs);
      continue;
    }
    if ('openUntilMs' in ticket) {
      open = ticket.openUntilMs;
      continue;
    }
    if (ticket.atMs < open) {
      if (ticket.id === id) return Math.max(ticket.atMs, blocked);
      continue;
    }
    const before = grants[grants.length - limit];
    const at = Math.max(ticket.atMs, blocked, before === undefined ? 0 : before + WINDOW_MS);
    if (ticket.id === id) return at;
    grants.push(at);
  }
  return undefined;
};

const KEEP = 1000;
const MANY_BYTES = 128 * 1024;

export type Bucket = {
  /** Resolves when this request may go. `onWait` hears how long, once, when it is more than a moment. */
  admit(onWait?: (ms: number) => void): Promise<void>;
  /** The service said no: nobody of this profile asks again before then. */
  block(untilMs: number): void;
  /** The service says that it has no limit. */
  open(): void;
};

const ticketFile = (host: Host, path: string) => ({
  /** False when the file cannot be written. */
  add: (line: string): boolean => {
    try {
      const file = host.files.append(path, 0o600);
      file.write(line);
      file.close();
      return true;
    } catch {
      return false;
    }
  },
  read: (): string => host.files.readNow(path) ?? '',
  /** Leaves the last lines of the text that was read. */
  shorten: async (text: string): Promise<void> => {
    const lines = text.split('\n');
    await host.files.replace(path, lines.slice(-KEEP - 1).join('\n'), 0o600).catch(() => undefined);
  },
});

/** One bucket for all processes that use the same directory and key. A directory that cannot be written limits nothing. */
export const makeBucket = (
  host: Host,
  directory: string,
  key: string,
  limit: number,
  signal?: AbortSignal,
): Bucket => {
  const { add, read, shorten } = ticketFile(host, join(directory, `rate-${key}`));
  let count = 0;
  let openUntil = 0;
  return {
    admit: async (onWait) => {
      if (host.now() < openUntil) return;
      count += 1;
      // A pid is given again, but never twice in the same millisecond.
      const id = `${host.pid}-${Math.round(host.now())}-${count}`;
      const line = `t ${Math.round(host.now())} ${id}\n`;
      if (!add(line)) {
        // The first request of a profile: there is no directory yet.
        await host.files.makeDirectory(directory, 0o700).catch(() => undefined);
        if (!add(line)) return;
      }
      const text = read();
      const at = grantedAt(parseTickets(text), id, limit);
      const waitMs = at === undefined ? 0 : at - host.now();
      if (text.length > MANY_BYTES) await shorten(text);
      if (waitMs <= 0) return;
      if (waitMs > 500) onWait?.(waitMs);
      await host.sleep(waitMs, signal);
    },
    block: (untilMs) => {
      add(`b ${Math.round(untilMs)}\n`);
    },
    open: () => {
      if (host.now() < openUntil) return;
      openUntil = host.now() + OPEN_MS / 2;
      add(`o ${Math.round(host.now() + OPEN_MS)}\n`);
    },
  };
};
