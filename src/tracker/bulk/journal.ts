import { basename, dirname, join, resolve } from 'node:path';
import type { AppendFile, Host } from '../../platform/host.ts';
import { AppError, invalidArguments, problem, writeFailureReason } from '../../core/problem.ts';
import { utf8Decoder } from '../../core/text.ts';
import { type Before, type Mark, markText, parseMark, PastLines, beforeOf, markRecord } from './previous.ts';
import type { EngineContext, Runtime } from '../../api/context.ts';
import {
  type About,
  assertEntry,
  isJournalHead,
  parseEntries,
  skipDamaged,
  wasRejected,
  WriteRecord,
} from '../../api/audit.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { canChange, type LooseInput, type Operation, operations } from '../../core/operation.ts';
import { RecordKeys } from './external-keys.ts';

/** The ID of a run: the millisecond in which it started. */
export const runId = (startedAt: number): string => Math.floor(startedAt).toString(36);
/** Journals of runs that a newer run of the same file replaced. */
const KEPT = '.run';
const MOST_KEPT = 50;
const directoryOf = ({ settings }: Runtime): string => join(settings.directories.state, 'bulk');

/** What one row of a run did. `after` is missing when the run did not see the response. */
export type Effect = {
  readonly line: number;
  readonly before: Before;
  readonly state: 'sent' | 'done' | 'failed';
  readonly id?: string;
  readonly after?: Mark;
  /** True when an earlier undo created the record again and was interrupted. */
  readonly isInDoubt?: boolean;
};
export type UndoRun = {
  readonly id: string;
  readonly path: string;
  readonly startedAt: number;
  readonly isFinished: boolean;
  readonly about?: About;
  /** In the order in which the rows were completed. */
  readonly effects: readonly Effect[];
  /** Rows that an earlier undo reverted. */
  readonly undone: number;
};
/** Adds what one entry means for the undo of its row. */
const addEffect = (rows: Map<number, Effect>, entry: string): void => {
  const [kind = '', number = '', , id, mark = ''] = entry.split(' ');
  const line = Number(number);
  const known = rows.get(line);
  if (kind === 'b') {
    // A row that is sent again after a lost connection keeps the values of the first time.
    if (known?.state === 'sent') return;
    rows.delete(line);
    rows.set(line, { line, before: JSON.parse(entry.slice(`b ${number} `.length)) as Before, state: 'sent' });
  }
  if (known === undefined) return;
  if (kind === 'f') rows.set(line, { ...known, state: 'failed' });
  if (kind === 'x') rows.set(line, { ...known, isInDoubt: true });
  if (kind === 'u') rows.delete(line);
  if (kind !== 'd') return;
  rows.delete(line);
  const after = parseMark(mark);
  rows.set(line, { ...known, state: 'done', ...(id ? { id } : {}), ...(after ? { after } : {}) });
};
/** Reads what a journal notes for an undo. Throws for a damaged journal. */
export const parseUndo = (text: string, path: string): UndoRun => {
  const { startedAt, end } = parseJournal(text, path);
  const whole = parseEntries(text, path);
  const rows = new Map<number, Effect>();
  let about: About | undefined;
  for (const entry of whole) {
    if (entry.startsWith('m ')) about = JSON.parse(entry.slice(2)) as About;
    addEffect(rows, entry);
  }
  return {
    ...{ id: runId(startedAt), path, startedAt },
    isFinished: end !== undefined,
    ...(about === undefined ? {} : { about }),
    effects: [...rows.values()].filter(({ state }) => state !== 'failed'),
    undone: whole.filter((entry) => entry.startsWith('u ')).length,
  };
};

const isJournal = (name: string): boolean => name.endsWith('.journal') || name.endsWith(KEPT);
/** More than the first line of a journal has. */
const HEAD_BYTES = 120;
/** The first line of a file, or the start of a longer line; undefined when the file does not exist. */
export const readHead = (host: Host, path: string): string | undefined => {
  const parts = host.files.openParts(path);
  if (parts === undefined) return undefined;
  try {
    const start = Buffer.from(parts.read(0, HEAD_BYTES)).toString('latin1');
    return start.slice(0, start.indexOf('\n') + 1) || start;
  } finally {
    parts.close();
  }
};
const startIn = (head: string | undefined): number | undefined => {
  const [, start] = /^h (\d+)/.exec(head ?? '') ?? [];
  return start === undefined ? undefined : Number(start);
};
/** Paths and starts of the journals that this machine has, the newest first. */
const journalsIn = async (host: Host, directory: string): Promise<{ path: string; startedAt: number }[]> => {
  const found: { path: string; startedAt: number }[] = [];
  for (const name of await host.files.list(directory)) {
    if (!isJournal(name)) continue;
    const path = childPath(directory, pathPart(name));
    const startedAt = startIn(readHead(host, path));
    if (startedAt !== undefined) found.push({ path, startedAt });
  }
  return found.toSorted((a, b) => b.startedAt - a.startedAt);
};
/** True when a journal notes what a row replaces. */
const hasChanges = async (host: Host, path: string): Promise<boolean> => {
  let rest = '';
  for await (const piece of host.files.stream(path)) {
    const text = rest + Buffer.from(piece).toString('latin1');
    if (text.includes('\nb ')) return true;
    rest = text.slice(-2);
  }
  return false;
};
/** Keeps the journal of an earlier run of the same file if that run can be undone; the oldest ones are removed. */
export const keepJournal = async (host: Host, path: string): Promise<void> => {
  const head = await refuseOtherFile(host, path);
  if (head === undefined || !(await hasChanges(host, path))) return;
  const directory = dirname(path);
  const name = `${basename(path, '.journal')}-${runId(startIn(head) ?? 0)}${KEPT}`;
  await host.files.rename(path, childPath(directory, pathPart(name)));
  const kept = (await journalsIn(host, directory)).filter((one) => one.path.endsWith(KEPT));
  for (const old of kept.slice(MOST_KEPT)) await host.files.remove(old.path);
};

export const readRun = async (host: Host, path: string): Promise<UndoRun> => {
  await refuseOtherFile(host, path);
  return parseUndo((await host.files.read(path)) ?? '', path);
};
/** The runs of this machine that can be undone, the newest first. */
export const listRuns = async (runtime: Runtime): Promise<UndoRun[]> => {
  const runs: UndoRun[] = [];
  for (const { path } of await journalsIn(runtime.host, directoryOf(runtime))) {
    const run = await skipDamaged(runtime, path, () => readRun(runtime.host, path));
    if (run !== undefined && run.effects.length + run.undone > 0) runs.push(run);
  }
  return runs;
};
/** The run with an ID, or of a journal that `--journal` wrote. */
export const findRun = async (runtime: Runtime, given: string): Promise<UndoRun> => {
  const { host } = runtime;
  const named = (await journalsIn(host, directoryOf(runtime))).filter(
    ({ startedAt }) => runId(startedAt) === given,
  );
  const path = resolve(host.cwd, given);
  if (named.length === 0 && (await host.files.info(path)) !== undefined) return readRun(host, path);
  const runs: UndoRun[] = [];
  for (const one of named) runs.push(await readRun(host, one.path));
  const [first, ...more] = runs.filter(
    ({ effects, undone }) => runs.length === 1 || effects.length + undone > 0,
  );
  if (first !== undefined && more.length === 0) return first;
  if (first !== undefined)
    throw new AppError('usage', `${runs.length} runs started at the same time: ${given}`, {
      code: 'AMBIGUOUS_RUN',
      tryThis: runs.map((run) => `opsctl tracker bulk undo ${run.path}`),
    });
  throw new AppError('not-found', `bulk run not found: "${given}"`, {
    code: 'RUN_NOT_FOUND',
    tryThis: ['opsctl tracker bulk runs', 'name the journal that --journal wrote'],
  });
};

/**
 * How a run reached the end of its input: it did every row; the service refused rows; or rows were checked after a lost
 * connection. Earlier versions read the same entries, so a new one would be damage to them.
 */
export type JournalEnd = 'whole' | 'refused-rows' | 'recovered';
const endEntries = { whole: 'e\n', 'refused-rows': 'p\n', recovered: 'l\n' } as const;
const endOfEntry = (entry: string): JournalEnd | undefined =>
  (Object.keys(endEntries) as JournalEnd[]).find((end) => endEntries[end] === `${entry}\n`);
/** A row that created a record: what it noted before it was sent, and the ID of the record. */
export type Created = { readonly before: Before; readonly id: string };
export type Past = {
  readonly startedAt: number;
  readonly lines: PastLines;
  /** Undefined if the run did not reach the end of its input. */
  readonly end?: JournalEnd | undefined;
  /** The first and the last record that the run created. */
  readonly created?: readonly Created[];
  /** Digest of the input, if it was a file. */
  readonly digest?: string;
};

/** Reads the entries of a journal. */
class PastReader {
  readonly #path: string;
  readonly #lines = new PastLines();
  #count = 0;
  #head = '';
  /** The last entry that an undo did not write. */
  #end = '';
  /** What rows without a known outcome noted before they were to create a record. */
  readonly #open = new Map<string, string>();
  #first: readonly [before: string, id: string] | undefined;
  /** The entry of the last row that created a record, and the ID of the record. */
  #last: readonly [before: string, id: string] | undefined;
  constructor(path: string) {
    this.#path = path;
  }
  /** Reads complete entries. */
  take(text: string): void {
    for (let at = 0, end = text.indexOf('\n'); end !== -1; at = end + 1, end = text.indexOf('\n', at))
      this.#entry(text.slice(at, end));
  }
  past(): Past {
    const [, startedAt = 0, digest] = this.#head.split(' ');
    return {
      startedAt: Number(startedAt),
      lines: this.#lines,
      end: endOfEntry(this.#end),
      created: [this.#first, this.#last].flatMap((one) => (one === undefined ? [] : [createdIn(...one)])),
      ...(digest === undefined ? {} : { digest }),
    };
  }
  #entry(entry: string): void {
    this.#count += 1;
    assertEntry(entry, this.#count, this.#path);
    const kind = entry[0];
    if (this.#count === 1) this.#head = entry;
    if (kind !== 'u' && kind !== 'x') this.#end = entry.length === 1 ? entry : '';
    if (CREATION.test(entry)) this.#open.set(entry.slice(2, entry.indexOf(' ', 2)), entry);
    if (kind === 's' || kind === 'd' || kind === 'f') this.#row(kind, entry);
    // An undone row is a row that was never sent.
    if (kind === 'u') this.#lines.delete(Number(entry.split(' ')[1]));
  }
  #row(kind: 's' | 'd' | 'f', entry: string): void {
    const [, number, hash = '', id] = entry.split(' ', 4);
    const line = Number(number);
    if (kind !== 's') this.#noteRecord(number ?? '', id);
    if (kind === 's') {
      if (!this.#lines.isDone(line)) this.#lines.set(line, { state: 'sent', hash });
    } else if (kind === 'f') this.#lines.set(line, { state: 'failed', hash });
    else this.#lines.set(line, { state: 'done', hash, ...(id ? { id } : {}) });
  }
  #noteRecord(number: string, id: string | undefined): void {
    const before = this.#open.get(number);
    this.#open.delete(number);
    if (before === undefined || !id) return;
    this.#last = [before, id];
    this.#first ??= this.#last;
  }
}
/** Only the entries of the first and the last record are parsed: a journal may have millions. */
const CREATION = /^b \d+ \{"resource":"[^"]*","op":"create"/;
const createdIn = (entry: string, id: string): Created => ({
  before: JSON.parse(entry.slice(entry.indexOf('{'))) as Before,
  id,
});
/** Reads the text of a journal without a torn last line. */
export const parseJournal = (text: string, path: string): Past => {
  const reader = new PastReader(path);
  reader.take(text);
  return reader.past();
};

/**
 * Written before a row is sent and after its response, so that a resumed run knows the rows without a known
 * outcome. Entries of one turn are written together.
 */
export type Journal = {
  readonly past: Past;
  /** Resolves when it is written: the row may be sent then, and not before. */
  noteSent(line: number, hash: string, before?: Before): Promise<void>;
  noteDone(line: number, hash: string, id: unknown, mark?: Mark): void;
  noteFailed(line: number, hash: string): void;
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

/** A new journal may replace only an old journal. Returns the first line of the old one. */
const refuseOtherFile = async (host: Host, path: string): Promise<string | undefined> => {
  const info = await host.files.info(path);
  if (info === undefined) return undefined;
  if (info.kind !== 'file')
    throw invalidArguments([problem('--journal', 'rule', `names ${path}, which is not a plain file`)]);
  const head = readHead(host, path) ?? '';
  if (!/^(h( \d{0,20})?)?$/.test(head) && !isJournalHead(head.replace('\n', '')))
    throw new AppError('config', `${path} already exists and is not a bulk journal`, {
      code: 'NOT_A_JOURNAL',
      tryThis: ['name another file with --journal'],
    });
  return head;
};
/**
 * What the rows of a journal did, read piece by piece: a run of millions of rows has a journal of gigabytes. Undefined
 * when no entry is complete. `wholeBytes` is the end of the last complete entry.
 */
export const readPast = async (
  host: Host,
  path: string,
): Promise<{ readonly past: Past; readonly wholeBytes: number } | undefined> => {
  if ((await refuseOtherFile(host, path)) === undefined) return undefined;
  const decoder = utf8Decoder(path, 'config', { allowsMarks: true });
  const reader = new PastReader(path);
  /** In pieces: joined at each piece of the file, one long entry would be copied thousands of times. */
  let rest: string[] = [];
  let [readBytes, wholeBytes] = [0, 0];
  for await (const piece of host.files.stream(path)) {
    const text = decoder.push(piece);
    const end = text.lastIndexOf('\n') + 1;
    rest.push(text.slice(0, end || text.length));
    if (end > 0) {
      reader.take(rest.join(''));
      rest = [text.slice(end)];
      wholeBytes = readBytes + piece.lastIndexOf(10) + 1;
    }
    readBytes += piece.length;
  }
  return wholeBytes === 0 ? undefined : { past: reader.past(), wholeBytes };
};

const open = async (
  host: Host,
  path: string,
  wholeBytes: number | undefined,
  head: string,
): Promise<AppendFile> => {
  try {
    if (wholeBytes !== undefined) await host.files.truncate(path, wholeBytes);
    else await host.files.replace(path, head, 0o600);
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
    whenWritten: (): Promise<void> =>
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

/** What a row replaces, as JSON. The rows of a run that make records differ only in the resource. */
const beforeText = (before: Before): string =>
  before.op === 'create' && before.params === undefined && before.irreversible === undefined
    ? `{"resource":${JSON.stringify(before.resource)},"op":"create"}`
    : JSON.stringify(before);

/** A new journal replaces an old one; with `resume` the old one is read and continued. */
export const openJournal = async (
  host: Host,
  path: string,
  resume: boolean,
  { digest, about }: { readonly digest?: string | undefined; readonly about?: About } = {},
): Promise<Journal> => {
  const before = resume ? await readPast(host, path) : void (await refuseOtherFile(host, path));
  const past: Past = before?.past ?? { startedAt: host.now(), lines: new PastLines() };
  const head = `h ${past.startedAt}${digest === undefined ? '' : ` ${digest}`}\n`;
  const file = await open(host, path, before?.wholeBytes, head);
  const { add, whenWritten, flush, close } = entries(host, path, file);
  if (before === undefined && about !== undefined) add(`m ${JSON.stringify(about)}\n`);
  return {
    past,
    noteSent(line, hash, earlier) {
      const replaced = earlier === undefined ? '' : `b ${line} ${beforeText(earlier)}\n`;
      add(`${replaced}s ${line} ${hash}\n`);
      return whenWritten();
    },
    noteDone(line, hash, id, mark) {
      const noted = mark === undefined ? '' : ` ${markText(mark)}`;
      add(`d ${line} ${hash}${id === undefined ? '' : ` ${id}${noted}`}\n`);
    },
    noteFailed: (line, hash) => add(`f ${line} ${hash}\n`),
    finish: (end) => add(endEntries[end]),
    flush,
    close,
  };
};

type RecordRow = Readonly<Record<string, unknown>>;
const VERBS = ['create', 'update', 'delete'] as const;
type Row = { readonly resource: string; readonly verb: string };
const rowOf = ({ method, path }: Operation): Row | undefined =>
  operations(tracker.table).find(({ operation }) => operation.method === method && operation.path === path);
/** Notes the changes of one command in the journal of changes. */
class TrackerRecord {
  readonly #record: WriteRecord;
  readonly #keys: RecordKeys;
  constructor(context: EngineContext, command: string) {
    this.#record = new WriteRecord(context, 'tracker', command);
    this.#keys = new RecordKeys(context);
  }
  async #before(operation: Operation, input: LooseInput): Promise<Before> {
    const row = rowOf(operation);
    const verb = VERBS.find((one) => one === row?.verb);
    if (row === undefined || verb === undefined)
      return { resource: row?.resource ?? operation.path, op: 'update', irreversible: true };
    const { resource } = row;
    const { params = {}, body = {} } = input;
    const record =
      verb === 'create' ? undefined : await this.#keys.forUndo(resource, params, Object.keys(body));
    return beforeOf({ resource, verb, operation, input }, record);
  }
  /** Sends a change between its entries. */
  async send<T>(operation: Operation, input: LooseInput, send: () => Promise<T>): Promise<T> {
    const record = this.#record;
    const line = record.nextLine();
    const before = await this.#before(operation, input);
    await record.noteBefore(line, before);
    try {
      const answer = await send();
      await record.noteDone(line, doneText(before, input, answer));
      await this.#keys.note(before.resource, answer);
      return answer;
    } catch (error) {
      if (wasRejected(error)) await record.noteRejected(line);
      throw error;
    }
  }
}
const doneText = (
  { resource, op, irreversible }: Before,
  { params = {}, body }: LooseInput,
  answer: unknown,
): string => {
  const record = answer as RecordRow | undefined;
  const id = irreversible === true ? undefined : (record?.id ?? Object.values(params).at(-1));
  if (id === undefined) return '';
  const isRecord = typeof answer === 'object' && answer !== null && !Array.isArray(answer);
  if (op === 'delete' || !isRecord) return String(id);
  const written = op === 'update' ? Object.keys(body ?? {}) : [];
  return `${id} ${markText(markRecord(resource, answer as RecordRow, written))}`;
};
/** A context that notes what its changes replace, so that `opsctl undo` can revert them. A dry run does not note changes. */
export const withWriteRecord = <C extends EngineContext>(context: C, command: string): C => {
  if (context.isDryRun) return context;
  const record = new TrackerRecord(context, command);
  return {
    ...context,
    call: (service, operation, input, options) => {
      const send = (): Promise<unknown> => context.call(service, operation, input, options);
      return service.name === 'tracker' && canChange(operation)
        ? record.send(operation, input, send)
        : send();
    },
  };
};
