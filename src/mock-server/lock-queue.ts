import { childPath, pathPart } from '../core/file-name.ts';
import { join } from 'node:path';
import type { Host } from '../platform/host.ts';

export type Ticket = {
  /** Joins the line; the second time does nothing. */
  take(): Promise<void>;
  /** True when nobody who is alive waits for longer. Without a ticket: when nobody waits. */
  isFirst(): Promise<boolean>;
  leave(): Promise<void>;
};

const WIDTH = 14;
/** `-` parts a ticket's name, and a start mark may be any text. */
const plain = (mark: string | undefined): string => (mark ?? '').replace(/[^A-Za-z0-9]/g, '').slice(-40);

/**
 * Who waits for the state directory, as one file each: `<since>-<pid>-<mark>-<nonce>`. It only makes waiting fair; that
 * one process works on the directory is the lock's business, so a ticket lost or left behind does no harm.
 */
export const waitingLine = (
  host: Host,
  directory: string,
  mine: { pid: number; mark?: string | undefined; nonce: string },
): Ticket => {
  const line = join(directory, 'waiting');
  let name: string | undefined;
  const isWaiting = (ticket: string): boolean => {
    const [, pid = '', mark = ''] = ticket.split('-');
    return (
      host.processes.isAlive(Number(pid)) &&
      (mark === '' || plain(host.processes.startMark(Number(pid))) === mark)
    );
  };
  return {
    take: async () => {
      if (name !== undefined) return;
      await host.files.makeDirectory(line, 0o700);
      name = `${String(host.now()).padStart(WIDTH, '0')}-${mine.pid}-${plain(mine.mark)}-${mine.nonce}`;
      await host.files.create(childPath(line, pathPart(name)), '', 0o600, true);
    },
    isFirst: async () => {
      for (const ticket of (await host.files.list(line)).sort()) {
        if (ticket === name) return true;
        if (isWaiting(ticket)) return false;
        await host.files.remove(childPath(line, pathPart(ticket)));
      }
      return true;
    },
    leave: async () => {
      if (name !== undefined) await host.files.remove(childPath(line, pathPart(name)));
    },
  };
};
