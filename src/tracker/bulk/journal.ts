import { crc32 } from 'node:zlib';
import type { AppendFile, Host } from '../../platform/host.ts';
import { AppError, invalidArguments, problem, writeFailureReason } from '../../core/problem.ts';
import { type Before, type Mark, markText } from './previous.ts';

/**
 * The state of a line: `sent` may have arrived; `done` has arrived; `failed` was rejected and can be retried.
 */
export type LineState = {
  readonly state: 'sent' | 'done' | 'failed';
  readonly hash: string;
  readonly id?: string;
};
export type Past = {
  readonly startedAt: number;
  readonly lines: ReadonlyMap<number, LineState>;
  /** True when the run reached the end of its input and did every row. */
  readonly isFinished: boolean;
  /** True when the run reached the end of its input and the service refused rows. */
  readonly isPartial?: boolean;
  /** True when the run did every row, some of them after a lost connection. */
  readonly isRecovered?: boolean;
  /** Digest of the input, if it was a file. */
  readonly digest?: string;
};

/** Distinguishes a line from its content at the start of the run. */
export const lineMark = (text: string): string => `${text.length.toString(36)}-${crc32(text).toString(36)}`;

const HEAD = /^h \d+(\.\d+)?( [0-9a-f]{32})?$/;
const ENTRY = /^[sf] \d+ \S+$|^d \d+ \S+( .*)?$|^[elp]$|^b \d+ \{.*\}$|^m \{.*\}$|^x \d+$|^u \d+( .*)?$/;
const isWhole = (entry: string, at: number): boolean => (at === 0 ? HEAD : ENTRY).test(entry);

/** Guesses about a row would make it twice, or never. */
const makeDamagedError = (path: string, line: number): AppError =>
  new AppError('config', `${path}:${line} is damaged: it is not an entry of a bulk journal`, {
    code: 'FILE_DAMAGED',
    tryThis: [
      'repair the line by hand: s, d or f, the row, its mark, and after d the ID of the record',
      'use --restart to send every row again, including completed rows',
    ],
  });

/** Applies one entry of a row. */
const addEntry = (lines: Map<number, LineState>, [kind, number, hash = '', id]: readonly string[]): void => {
  const line = Number(number);
  if (kind === 's' && lines.get(line)?.state !== 'done') lines.set(line, { state: 'sent', hash });
  if (kind === 'd') lines.set(line, { state: 'done', hash, ...(id ? { id } : {}) });
  if (kind === 'f') lines.set(line, { state: 'failed', hash });
  // An undone row is a row that was never sent.
  if (kind === 'u') lines.delete(line);
};

/**
 * Reads a journal; a torn last line is left out. Format: `h <ms> <digest of the input>`, `s <line> <hash>`,
 * `d <line> <hash> <id> <mark>`, `f <line> <hash>`, `e` after the last row, `p` when rows were refused, `l` when rows
 * were checked after a lost connection. For `bulk undo`:
 * `m <JSON>` with file and service, `b <line> <JSON>` with what the row replaces, `x <line>` before and `u <line> <id>` after
 * the row is undone.
 */
export const parseJournal = (text: string, path: string): Past => {
  const lines = new Map<number, LineState>();
  const whole = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  for (const [at, entry] of whole.entries()) {
    if (!isWhole(entry, at)) throw makeDamagedError(path, at + 1);
    addEntry(lines, entry.split(' '));
  }
  const end = whole.findLast((entry) => !/^[ux] /.test(entry));
  const [, startedAt = 0, digest] = (whole[0] ?? '').split(' ');
  return {
    startedAt: Number(startedAt),
    lines,
    isFinished: end === 'e',
    isPartial: end === 'p',
    isRecovered: end === 'l',
    ...(digest === undefined ? {} : { digest }),
  };
};

export type JournalEnd = 'whole' | 'refused-rows' | 'recovered';
const endEntries = { whole: 'e\n', 'refused-rows': 'p\n', recovered: 'l\n' } as const;
/**
 * Written before a row is sent and after its response, so that a resumed run knows the rows without a known
 * outcome. Entries of one turn are written together.
 */
export type Journal = {
  readonly past: Past;
  /** Resolves when it is written: the row may be sent then, and not before. */
  sent(line: number, hash: string, before?: Before): Promise<void>;
  done(line: number, hash: string, id: unknown, mark?: Mark): void;
  failed(line: number, hash: string): void;
  /** Notes that the run reached the end of its input. */
  finish(end: JournalEnd): void;
  /** Writes the pending entries before the outcome of a row is shown. */
  flush(): void;
  close(): void;
};

/**
 * A row is sent only after its entry was written: without its journal, an interrupted run cannot be resumed.
 */
export const journalUnwritable = (path: string, error: unknown): AppError =>
  new AppError('config', `the journal ${path} cannot be written: ${writeFailureReason(error)}`, {
    code: 'JOURNAL_UNWRITABLE',
    tryThis: ['name another file with --journal, on a disk that has room'],
    cause: error,
  });

/** A new journal may replace only an old journal. */
const refuseOtherFile = (path: string, before: string | undefined): void => {
  const [head = ''] = (before ?? '').split('\n');
  const isTorn = head === before && /^(h( \d*)?)?$/.test(head);
  if (before !== undefined && !isTorn && !HEAD.test(head))
    throw new AppError('config', `${path} already exists and is not a bulk journal`, {
      code: 'NOT_A_JOURNAL',
      tryThis: ['name another file with --journal'],
    });
};

/** The text of a journal; undefined when the file does not exist. */
export const readJournalText = async (host: Host, path: string): Promise<string | undefined> => {
  const info = await host.files.info(path);
  if (info !== undefined && info.kind !== 'file')
    throw invalidArguments([problem('--journal', 'rule', `names ${path}, which is not a plain file`)]);
  const text = await host.files.read(path);
  refuseOtherFile(path, text);
  return text;
};

const open = async (
  host: Host,
  path: string,
  before: string | undefined,
  digest: string | undefined,
): Promise<AppendFile> => {
  try {
    if (before !== undefined)
      await host.files.truncate(path, Buffer.byteLength(before.slice(0, before.lastIndexOf('\n') + 1)));
    else
      await host.files.replace(path, `h ${host.now()}${digest === undefined ? '' : ` ${digest}`}\n`, 0o600);
    return host.files.append(path, 0o600);
  } catch (error) {
    throw journalUnwritable(path, error);
  }
};

const entries = (host: Host, path: string, file: AppendFile) => {
  let waiting = '';
  let failure: AppError | undefined;
  let written: Promise<void> | undefined;
  const flush = (): void => {
    // What could not be written is never sent, now or later.
    if (failure !== undefined) throw failure;
    if (waiting === '') return;
    try {
      file.write(waiting);
      waiting = '';
    } catch (error) {
      failure = journalUnwritable(path, error);
      throw failure;
    }
  };
  return {
    add(entry: string): void {
      waiting += entry;
    },
    flush,
    written: (): Promise<void> =>
      (written ??= host.turn().then(() => {
        written = undefined;
        flush();
      })),
    close(): void {
      try {
        if (failure === undefined) flush();
        file.sync();
      } finally {
        failure ??= journalUnwritable(path, new Error('it is closed'));
        file.close();
      }
    },
  };
};

/** What a run was started with. */
export type About = {
  readonly file: string;
  /** Service and account as one word: a run is undone where it was made. */
  readonly target: string;
  readonly service: string;
};
/** A new journal replaces an old one; with `resume` the old one is read and continued. */
export const openJournal = async (
  host: Host,
  path: string,
  resume: boolean,
  { digest, about }: { readonly digest?: string | undefined; readonly about?: About } = {},
): Promise<Journal> => {
  const text = await readJournalText(host, path);
  const before = resume && text?.includes('\n') ? text : undefined;
  const past: Past =
    before === undefined
      ? { startedAt: host.now(), lines: new Map(), isFinished: false }
      : parseJournal(before, path);
  const { add, written, flush, close } = entries(host, path, await open(host, path, before, digest));
  if (before === undefined && about !== undefined) add(`m ${JSON.stringify(about)}\n`);
  return {
    past,
    sent(line, hash, earlier) {
      const replaced = earlier === undefined ? '' : `b ${line} ${JSON.stringify(earlier)}\n`;
      add(`${replaced}s ${line} ${hash}\n`);
      return written();
    },
    done(line, hash, id, mark) {
      const noted = mark === undefined ? '' : ` ${markText(mark)}`;
      add(`d ${line} ${hash}${id === undefined ? '' : ` ${id}${noted}`}\n`);
    },
    failed: (line, hash) => add(`f ${line} ${hash}\n`),
    finish: (end) => add(endEntries[end]),
    flush,
    close,
  };
};
