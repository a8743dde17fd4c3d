import { childPath, pathPart } from '../core/file-name.ts';
import type { Host } from '../platform/host.ts';
import { type Line, type Rule, parseLines, turnOf } from './rate-turns.ts';

/** How long a request of a process that nobody can ask is taken to be under way. */
const FOREIGN_MS = 10 * 60_000;
/** Tickets of an hour would be a long file to read for each request: a new file is begun this often. */
const EPOCH_MS = 3 * 60_000;
/** A wait of more than a moment is told. */
const TOLD_MS = 500;
/** How often a ticket that is gone is written again. */
const MOST_LOST = 3;

/** The files of one key: lines are only added, so nothing is lost between processes; a new file begins every few minutes. */
export const ticketFiles = (host: Host, directory: string, key: string) => {
  const pathOf = (epoch: number): string => childPath(directory, pathPart(`rate-${key}-${epoch}`));
  const now = (): number => Math.floor(host.now() / EPOCH_MS);
  let pruned = 0;
  return {
    now,
    exists: (epoch: number): boolean => host.files.readNow(pathOf(epoch)) !== undefined,
    /** False when the file cannot be written. */
    add: (epoch: number, line: string): boolean => {
      try {
        const file = host.files.append(pathOf(epoch), 0o600);
        file.write(line);
        file.close();
        return true;
      } catch {
        return false;
      }
    },
    /** A ticket is used until the end of the epoch after its own, and its place is taken for a window more. */
    read: (epoch: number): Line[] =>
      parseLines(
        [epoch - 2, epoch - 1, epoch, epoch + 1].map((one) => host.files.readNow(pathOf(one)) ?? '').join(''),
      ),
    prune: async (epoch: number): Promise<void> => {
      if (pruned === epoch) return;
      pruned = epoch;
      const old = (await host.files.list(directory).catch(() => [])).filter((name) => {
        const found = /^rate-.*-(\d+)$/.exec(name);
        return name.startsWith(`rate-${key}-`) && found !== null && Number(found[1]) < epoch - 2;
      });
      for (const name of old)
        await host.files.remove(childPath(directory, pathPart(name))).catch(() => undefined);
    },
  };
};

/** Process IDs are valid within one machine, boot and namespace; the host name alone names neither. */
const placeOf = (host: Host): string => {
  const { machineId, bootId, pidNamespace } = host.processes.scope();
  const parts = [machineId, bootId, pidNamespace].map((part) => part ?? '').join('-');
  return `${host.hostname}~${parts.replace(/[^\w-]/g, '')}`;
};

/** `pid/place/ms/nonce`; version 0.1.0 wrote the host name as the place. */
export const aliveOn =
  (host: Host) =>
  (id: string): boolean => {
    const [pid, machine, ms] = id.split('/');
    return machine === placeOf(host) || machine === host.hostname
      ? Number(pid) === host.pid || host.processes.isAlive(Number(pid))
      : host.now() - Number(ms) < FOREIGN_MS;
  };

type Files = ReturnType<typeof ticketFiles>;
export type Ticket = { readonly id: string; readonly epoch: number };

/** Places in the queue of all processes. */
export const queueOf = (host: Host, directory: string, files: Files, signal: AbortSignal | undefined) => {
  const nonce = Buffer.from(host.random(4)).toString('hex');
  let count = 0;
  const note = (word: 't' | 'd' | 'x', { id, epoch }: Ticket, laterMs = 0): boolean =>
    files.add(epoch, `${word} ${Math.ceil(host.now()) + laterMs} ${id}\n`);
  const written = async (ticket: Ticket): Promise<boolean> => {
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
      if (!(await written(ticket))) return undefined;
      // Whoever stands in a newer file does not see who comes into an older one.
      if (!files.exists(ticket.epoch + 1)) return ticket;
      note('x', ticket);
    }
  };

  /** The same place, or a new one where the file of the old one is no longer read. */
  const waited = async (ticket: Ticket, waitMs: number): Promise<Ticket | undefined> => {
    await host.sleep(waitMs, signal).catch((error: unknown) => {
      note('x', ticket);
      throw error;
    });
    if (files.now() <= ticket.epoch + 1) return ticket;
    note('x', ticket);
    return place();
  };
  return { note, place, waited };
};

export type Queue = ReturnType<typeof queueOf>;

/** How long this ticket waits; undefined where its file was removed while this process did not run. */
const waitOf = (host: Host, files: Files, { id, epoch }: Ticket, rule: Rule): number | undefined => {
  const lines = files.read(epoch);
  const isThere = lines.some((line) => line.kind === 'ticket' && line.id === id);
  // One look at the clock: between two of them a process of a busy machine may stand still for longer than the pause, and no pause would let it pass.
  const now = host.now();
  return isThere ? turnOf(lines, id, now, rule) - now : undefined;
};

/** The ticket whose turn it is; undefined where nothing limits. */
export const turnIn = async (
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
      // A file that can be written and not read limits nothing, as one that cannot be written.
      ticket = lost > MOST_LOST ? undefined : await queue.place();
    } else if (waitMs <= 0) return ticket;
    else {
      if (waitMs > TOLD_MS) onWait(waitMs);
      ticket = await queue.waited(ticket, waitMs);
    }
  }
  return undefined;
};
