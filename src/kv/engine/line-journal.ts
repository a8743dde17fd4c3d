import { dirname } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { whyUnwritable } from '../../core/write-failure.ts';

type Stamped = { readonly at: string };
export type Unstamped<E> = E extends Stamped ? Omit<E, 'at'> : never;
/** When a line is forced to the disk: at once, or with the next one, which follows at once and without which this one says nothing new. */
export type Forced = 'now' | 'with-next';
/** A journal of lines: of an upgrade, or of another operation. */
export type LineJournal<E extends Stamped> = {
  readonly path: string;
  readonly entries: readonly E[];
  /** Returns when the line is on the disk: what it announces may happen now. Throws `stopped` when it cannot be written. */
  write(entry: Unstamped<E>): void;
  /** For what happens in any case, because a member is down or the effect is there already: a line that cannot be written is remembered in `failure`. */
  tell(entry: Unstamped<E>, forced?: Forced): void;
  /** The first line that could not be told. */
  failure(): AppError | undefined;
  close(): void;
};

export type ParsedLines<E> = { readonly entries: E[]; readonly wholeBytes: number };
/** Whole lines; a torn last one (power cut in the middle of a write) was never acted on and is left out. */
export const parseLines = <E>(
  text: string,
  asEntry: (line: unknown) => E,
  path = 'the journal',
  tryThis: readonly string[] = ['opsctl kv status shows what is true; plan again with opsctl kv plan'],
): ParsedLines<E> => {
  const entries: E[] = [];
  let wholeBytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    if (!line.endsWith('\n')) break;
    wholeBytes += Buffer.byteLength(line);
    try {
      entries.push(asEntry(JSON.parse(line)));
    } catch (cause) {
      throw new AppError('config', `line ${entries.length + 1} of ${path} cannot be read`, {
        code: 'JOURNAL_DAMAGED',
        cause,
        tryThis: [...tryThis],
      });
    }
  }
  return { entries, wholeBytes };
};

const unwritable = (path: string, cause: unknown): AppError =>
  new AppError('stopped', `the journal ${path} cannot be written: ${whyUnwritable(cause)}`, {
    code: 'JOURNAL_UNWRITABLE',
    tryThis: ['make room on its disk, then opsctl kv resume'],
    cause,
  });

export const openLines = async <E extends Stamped>(
  host: Host,
  path: string,
  asEntry: (line: unknown) => E,
): Promise<LineJournal<E>> => {
  await host.files.makeDirectory(dirname(path), 0o700);
  const { entries, wholeBytes } = parseLines((await host.files.read(path)) ?? '', asEntry, path);
  const size = (await host.files.info(path))?.sizeBytes ?? 0;
  if (size > wholeBytes) await host.files.truncate(path, wholeBytes);
  const file = host.files.append(path, 0o600);
  let failure: AppError | undefined;
  const stamped = (entry: object): E => ({ at: new Date(host.now()).toISOString(), ...entry }) as E;
  const put = (entry: E, forced: Forced): void => {
    try {
      file.write(`${JSON.stringify(entry)}\n`);
      if (forced === 'now') file.sync();
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  const write = (entry: object): void => {
    const line = stamped(entry);
    put(line, 'now');
    entries.push(line);
  };
  const tell = (entry: object, forced: Forced = 'now'): void => {
    const line = stamped(entry);
    try {
      put(line, forced);
    } catch (error) {
      failure ??= error as AppError;
    }
    // It happened all the same: what this run decides next must know of it.
    entries.push(line);
  };
  return { path, entries, write, tell, failure: () => failure, close: () => file.close() };
};
