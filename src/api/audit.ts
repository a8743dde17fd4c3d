import { join } from 'node:path';
import { hash } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { canChange } from '../core/operation.ts';
import { cutText, messageOf, AppError } from '../core/problem.ts';
import { redactedBody, redactedOwnJson, redactedUrl } from '../core/redact-secrets.ts';
import {
  type AppendFile,
  type Host,
  type HttpReply,
  type HttpRequest,
  NetworkError,
} from '../platform/host.ts';
import type { EngineContext, Runtime, Target } from './context.ts';
import { type AttemptWatch, wasNeverSent } from './send.ts';

/** One change, without secrets. */
export type AuditEntry = {
  readonly at: string;
  /** The words of the command; never its arguments, which may be secrets. */
  readonly command: string;
  readonly profile: string;
  readonly service: string;
  /** The built-in mock server, not a real service. */
  readonly mock: boolean;
  readonly method: string;
  readonly url: string;
  readonly body: string | null;
  /**
   * The response arrived, the service rejected the change, or it is unknown whether the service applied it.
   */
  readonly outcome: 'done' | 'rejected' | 'unknown';
  readonly status: number | null;
  readonly duration_ms: number;
};
/** Writes one entry; a failure is reported once and never stops the command. */
export type AuditLog = {
  /** Resolves when the entry is written. A text is an entry as JSON. */
  write(entry: AuditEntry | string): Promise<void>;
  /** Resolves when all entries are written. */
  close(): Promise<void>;
};

const maxBodyCharacters = 2000;
/** The log never has more than two files of this size. */
const maxFileBytes = 4 * 1024 * 1024;
const directoryOf = (settings: Settings): string => join(settings.directories.state, 'audit');
const fileIn = (settings: Settings, name: string): string => childPath(directoryOf(settings), pathPart(name));
/** The files of the log, the older one first. */
export const auditFiles = (settings: Settings): readonly string[] => [
  fileIn(settings, 'audit.1.jsonl'),
  fileIn(settings, 'audit.jsonl'),
];
type Warn = (text: string) => void;
type Clean = (text: string) => string;
/** Texts of the same turn are written together. */
const joinTurns = (
  { turn }: Pick<Host, 'turn'>,
  write: (text: string) => Promise<void>,
): ((text: string) => Promise<void>) => {
  let waiting = '';
  let written: Promise<void> | undefined;
  const flush = (): Promise<void> => {
    const text = waiting;
    waiting = '';
    written = undefined;
    return write(text);
  };
  return (text) => {
    waiting += text;
    written ??= turn().then(flush);
    return written;
  };
};
/** One warning for all records of a change: the same directory fails for each of them. The key of `warnOnce` is `records`. */
export const recordsFailedText = ({ directories }: Settings, error: unknown): string =>
  `cannot write the records of this change in ${directories.state}: ${messageOf(error)}; the audit log, opsctl undo and the check for repeated requests may lack it`;
/** Opens the log at the first entry. Appended lines are never changed; a full file becomes the older one. */
export const openAudit = (host: Host, settings: Settings, warn: Warn, clean: Clean): AuditLog => {
  const [older = '', current = ''] = auditFiles(settings);
  let file: AppendFile | undefined;
  let opening: Promise<AppendFile> | undefined;
  let isBroken = false;
  let written: Promise<void> = Promise.resolve();
  const replace = async (): Promise<AppendFile> => {
    file?.close();
    file = undefined;
    await host.files.makeDirectory(directoryOf(settings), 0o700);
    if (((await host.files.info(current))?.sizeBytes ?? 0) >= maxFileBytes)
      await host.files.rename(current, older);
    file = host.files.append(current, 0o600);
    return file;
  };
  /** Parallel requests share one replacement: a second one would close the file twice. */
  const open = async (): Promise<AppendFile> => {
    if (opening === undefined && file !== undefined && file.sizeBytes() < maxFileBytes) return file;
    opening ??= replace().finally(() => {
      opening = undefined;
    });
    return opening;
  };
  const append = joinTurns(host, async (text) => {
    try {
      (await open()).write(text);
    } catch (error) {
      isBroken = true;
      warn(recordsFailedText(settings, error));
    }
  });
  return {
    write: (entry) => {
      const text = typeof entry === 'string' ? entry : JSON.stringify(entry);
      if (!isBroken) written = append(`${clean(text)}\n`);
      return written;
    },
    close: () => written.then(() => file?.close()),
  };
};

const failedBefore: ReadonlySet<string> = new Set([
  'usage',
  'config',
  'not-found',
  'auth',
  'unsafe',
  'refused',
]);
/** The entry of a command that changes a cluster. */
export const commandEntry = (
  host: Pick<Host, 'now' | 'elapsed'>,
  who: Pick<AuditEntry, 'command' | 'profile'>,
  values: Readonly<Record<string, unknown>>,
  began: number,
  failure: unknown,
): AuditEntry => {
  const durationMs = Math.round(host.elapsed() - began);
  const category = (failure as { category?: string } | undefined)?.category ?? 'unknown';
  const outcome = failure === undefined ? 'done' : failedBefore.has(category) ? 'rejected' : 'unknown';
  return {
    ...{ at: new Date(host.now() - durationMs).toISOString(), ...who, service: 'kv', mock: false },
    ...{ method: 'RUN', url: redactedUrl(String(values.cluster ?? values.endpoints ?? '')), body: null },
    ...{ outcome, status: null, duration_ms: durationMs },
  };
};
const bodyText = ({ body, headers = {}, transport }: HttpRequest): string | null => {
  if (typeof body !== 'string') return null;
  const type = headers['content-type'] ?? '';
  // The rows of a bulk run are JSON that this program made.
  const isOwn = transport === 'bulk' && type === 'application/json';
  const text = isOwn ? redactedOwnJson(body) : redactedBody(body, type);
  return text === undefined ? null : cutText(text, maxBodyCharacters);
};
type Asked = {
  readonly method: string;
  readonly url: string;
  readonly canChange: boolean;
  readonly shownUrl: string;
};
/** What the log has to know about an address. The rows of a bulk run go to a few addresses, so each is read once. */
const makeAddressReader = (): ((request: HttpRequest) => Asked) => {
  let last: Asked | undefined;
  return ({ method, url }) => {
    if (last?.url !== url || last.method !== method)
      last = { method, url, canChange: canChange({ method, path: url }), shownUrl: redactedUrl(url) };
    return last;
  };
};
type Place = { readonly service: string; readonly target: Target };
/** The start of a request: the time as text, and the reading of the clock that measures its duration. */
type Start = { readonly at: string; readonly began: number };
/** The entry of a request before its outcome is known. */
export type RequestDraft = Omit<AuditEntry, 'outcome' | 'status' | 'duration_ms'>;
/** Notes of the attempts of one request. A failure to write costs the guard and not the request. */
export type RequestNotes = {
  noteSent(): Promise<void>;
  /** Does nothing if no attempt is open. `status` is absent if the service did not respond. */
  noteOutcome(outcome: AuditEntry['outcome'], status?: number | null): Promise<void>;
};
/** Refuses a request that an earlier command may have sent (`sent-requests.ts`). */
export type RequestGuard = {
  /**
   * Throws if an earlier command may have sent the request. Returns the notes of the request; undefined for a request
   * that can be repeated.
   */
  admit(request: HttpRequest, draft: RequestDraft, target: Target): Promise<RequestNotes | undefined>;
  /** Returns what an earlier command did if it may have sent this request, for a dry run. */
  describeEarlier(request: HttpRequest, target: Target): Promise<string | undefined>;
  /** Keeps the file if a request may have been applied and the command could not report it. */
  end(failure: unknown): Promise<void>;
};
const outcomeOf = (status: number): AuditEntry['outcome'] => {
  if (status < 300) return 'done';
  // A proxy sends 408 when it gave up on the response, which the service may still have sent.
  return status < 500 && status !== 408 ? 'rejected' : 'unknown';
};
/** The time as text. Many requests of a bulk run start in the same millisecond. */
const makeTimeText = (now: Host['now']): (() => string) => {
  let [last, text] = [Number.NaN, ''];
  return () => {
    const ms = Math.floor(now());
    if (ms !== last) [last, text] = [ms, new Date(ms).toISOString()];
    return text;
  };
};
/** Notes each attempt of a request. `isOpen` is false while no attempt can be at the service. */
const watchOf = (notes: RequestNotes | undefined) => {
  const state = { isOpen: false };
  const watch: AttemptWatch = {
    onStart: async () => {
      await notes?.noteSent();
      state.isOpen = true;
    },
    onRepeat: async () => {
      state.isOpen = false;
      await notes?.noteOutcome('rejected');
    },
  };
  return { state, watch };
};
type What = Pick<AuditEntry, 'command' | 'profile' | 'service' | 'mock'>;
/** The members of an entry before its body, as JSON. Rows of a bulk run that start in one millisecond have them in common. */
const makeHeadText = ({ command, profile, service, mock }: What): ((at: string, asked: Asked) => string) => {
  let last: { readonly at: string; readonly asked: Asked } | undefined;
  let text = '';
  return (at, asked) => {
    if (last?.at === at && last.asked === asked) return text;
    last = { at, asked };
    const { method, shownUrl: url } = asked;
    text = JSON.stringify({ at, command, profile, service, mock, method, url }).slice(0, -1);
    return text;
  };
};
type Writing = {
  readonly log: AuditLog;
  readonly timeText: () => string;
  readonly addressOf: ReturnType<typeof makeAddressReader>;
  readonly headText: ReturnType<typeof makeHeadText>;
  readonly elapsed: Host['elapsed'];
};
const startNow = ({ timeText, elapsed }: Writing): Start => ({ at: timeText(), began: elapsed() });
/** Writes what JSON.stringify makes of an `AuditEntry`, in less than half of the time: a bulk run has an entry for each row. */
const writeEntry = (
  { log, addressOf, headText, elapsed }: Writing,
  request: HttpRequest,
  { at, began }: Start,
  outcome: AuditEntry['outcome'],
  status: number | null,
): Promise<void> => {
  const body = bodyText(request);
  const bodyJson = body === null ? 'null' : JSON.stringify(body);
  const durationMs = Math.round(elapsed() - began);
  const head = headText(at, addressOf(request));
  return log.write(
    `${head},"body":${bodyJson},"outcome":"${outcome}","status":${status},"duration_ms":${durationMs}}`,
  );
};
/** Sends the rows of a bulk run, whose own journal guards them. Only the first row waits for its entry. */
const makeRowSender = (writing: Writing, send: (request: HttpRequest) => Promise<HttpReply>) => {
  let isOpen = false;
  return async (request: HttpRequest): Promise<HttpReply> => {
    const start = startNow(writing);
    let reply: HttpReply;
    try {
      reply = await send(request);
    } catch (error) {
      await writeEntry(writing, request, start, wasNeverSent(error) ? 'rejected' : 'unknown', null);
      throw error;
    }
    const written = writeEntry(writing, request, start, outcomeOf(reply.status), reply.status);
    if (!isOpen) await written;
    isOpen = true;
    return reply;
  };
};
/**
 * Sends requests and writes each change with its outcome to the log. After the log is open, a response does not wait for
 * its entry if the request is a row of a bulk run: the entry is written in the same turn, and the journal of the run has
 * the row. The guard notes each other request before it is sent.
 */
export const auditSender = (
  log: AuditLog,
  { now, elapsed }: Pick<Host, 'now' | 'elapsed'>,
  { command, profile }: Pick<AuditEntry, 'command' | 'profile'>,
  { service, target }: Place,
  send: (request: HttpRequest, watch?: AttemptWatch) => Promise<HttpReply>,
  guard?: RequestGuard,
) => {
  const addressOf = makeAddressReader();
  const what = { command, profile, service, mock: target.isMock };
  const writing = { log, timeText: makeTimeText(now), addressOf, elapsed, headText: makeHeadText(what) };
  const draftOf = (request: HttpRequest): RequestDraft => {
    const [url, body] = [addressOf(request).shownUrl, bodyText(request)];
    return { at: writing.timeText(), ...what, method: request.method, url, body };
  };
  const sendRow = makeRowSender(writing, send);
  const sendGuarded = async (request: HttpRequest): Promise<HttpReply> => {
    const notes = await guard?.admit(request, draftOf(request), target);
    const { state, watch } = watchOf(notes);
    const start = startNow(writing);
    const note = async (outcome: AuditEntry['outcome'], status: number | null): Promise<void> => {
      await notes?.noteOutcome(outcome, status);
      return writeEntry(writing, request, start, outcome, status);
    };
    let reply: HttpReply;
    try {
      reply = await send(request, watch);
    } catch (error) {
      await note(wasNeverSent(error) || !state.isOpen ? 'rejected' : 'unknown', null);
      throw error;
    }
    await note(outcomeOf(reply.status), reply.status);
    return reply;
  };
  return (request: HttpRequest): Promise<HttpReply> => {
    if (!addressOf(request).canChange) return send(request);
    return request.transport === 'bulk' ? sendRow(request) : sendGuarded(request);
  };
};

/**
 * The journal of changes: what a bulk run or another command replaced, so that `opsctl undo` can restore it. Entries:
 * `h <ms> <digest of the input>`, `m <JSON>` with command and service, `b <line> <JSON>` with what the change replaces,
 * `s <line> <hash>` before the request, `d <line> <hash> <id> <mark>` after its response, `f <line> <hash>` when the service
 * rejected it, `x <line>` before and `u <line> <id>` after the change is undone; `e`, `p` and `l` end a bulk run.
 */
const HEAD = /^h \d+(\.\d+)?( [0-9a-f]{32})?$/;
/** JSON may contain U+2028 and U+2029, which `.` matches only with the flag `s`. */
const ENTRY = /^[sf] \d+ \S+$|^d \d+ \S+( .*)?$|^[elp]$|^b \d+ \{.*\}$|^m \{.*\}$|^x \d+$|^u \d+( .*)?$/s;
export const isJournalHead = (line: string): boolean => HEAD.test(line);
/** Guesses about a row would make it twice, or never. */
const makeDamagedError = (path: string, line: number): AppError =>
  new AppError('config', `${path}:${line} is damaged: it is not an entry of a journal of changes`, {
    code: 'FILE_DAMAGED',
    tryThis: path.endsWith(SUFFIX)
      ? [`remove ${path}: opsctl cannot undo its change then`]
      : [
          'repair the line by hand: s, d or f, the row, its mark, and after d the ID of the record',
          'use --restart to send every row again, including completed rows',
        ],
  });
/** Reads a journal among others. A damaged one is reported and skipped, because it is not evidence about the others. */
export const skipDamaged = async <T>(
  { log }: Pick<Runtime, 'log'>,
  path: string,
  read: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await read();
  } catch (error) {
    const isDamaged = error instanceof AppError && error.detail.code === 'FILE_DAMAGED';
    // An entry in the right form may still contain broken JSON.
    if (!isDamaged && !(error instanceof SyntaxError)) throw error;
    log.warn(`the changes in ${path} cannot be undone: ${messageOf(error)}`);
    return undefined;
  }
};
/** Opens a journal for more entries. A torn last line is removed first, because an entry after it would be damaged. */
export const openToAppend = async ({ files }: Host, path: string): Promise<AppendFile> => {
  const text = (await files.read(path)) ?? '';
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) await files.truncate(path, Buffer.byteLength(whole));
  return files.append(path, 0o600);
};
/** Throws for a damaged entry. `line` is its number in the journal. */
export const assertEntry = (entry: string, line: number, path: string): void => {
  if (!(line === 1 ? HEAD : ENTRY).test(entry)) throw makeDamagedError(path, line);
};
/** The entries of a journal without a torn last line. Throws for a damaged entry. */
export const parseEntries = (text: string, path: string): readonly string[] => {
  const whole = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  for (const [at, entry] of whole.entries()) assertEntry(entry, at + 1, path);
  return whole;
};
/** What a run was started with. */
export type About = {
  /** The file of a bulk run, or the words of another command. */
  readonly file: string;
  /** Service and account as one word: a run is undone where it was made. */
  readonly target: string;
  readonly service: string;
};
/** Service and account of a run as one word: rows that were sent to one are not there in another. */
export const targetMark = ({ baseUrl, headers, account, isMock }: Target): string =>
  hash('sha256', isMock ? 'embedded mock server' : JSON.stringify([baseUrl, account ?? headers])).slice(
    0,
    16,
  );
export const serviceText = ({ baseUrl, isMock }: Target): string =>
  isMock ? 'embedded mock server' : baseUrl;

/** Commands whose changes can be undone. The records contain earlier values, so each is private to its user. */
const MOST_RECORDS = 50;
const SUFFIX = '.write';
const recordsOf = ({ settings }: Pick<Runtime, 'settings'>): string =>
  join(settings.directories.state, 'writes');
const startOf = (name: string): number => Number.parseInt(name, 36);
type WriteRecordFile = {
  readonly path: string;
  readonly service: string;
  readonly startedAt: number;
};
/** Creates the record of this command and returns its path. `service` is a word of this program. */
const createWriteRecord = async (runtime: Runtime, service: string): Promise<string> => {
  const { host } = runtime;
  const directory = recordsOf(runtime);
  await host.files.makeDirectory(directory, 0o700);
  for (const { path } of (await listWriteRecords(runtime)).slice(MOST_RECORDS - 1))
    await host.files.remove(path);
  for (let startedAt = Math.floor(host.now()); ; startedAt += 1) {
    const start = startedAt.toString(36);
    // The start is the ID of the change, so two commands of one millisecond need two starts: one of them reserves it.
    const reserved = childPath(directory, pathPart(`${start}.id`));
    if (!(await host.files.create(reserved, '', 0o600, true))) continue;
    try {
      if ((await host.files.list(directory)).some((name) => name.startsWith(`${start}-`))) continue;
      const path = childPath(directory, pathPart(`${start}-${host.pid}-${service}${SUFFIX}`));
      if (await host.files.create(path, '', 0o600, true)) return path;
    } finally {
      await host.files.remove(reserved);
    }
  }
};
/** The records of this machine, the newest first. */
export const listWriteRecords = async (
  runtime: Pick<Runtime, 'host' | 'settings'>,
): Promise<WriteRecordFile[]> => {
  const directory = recordsOf(runtime);
  if ((await runtime.host.files.info(directory)) === undefined) return [];
  const names = await runtime.host.files.list(directory);
  return names
    .filter((name) => name.endsWith(SUFFIX) && Number.isSafeInteger(startOf(name)))
    .map((name) => ({
      path: childPath(directory, pathPart(name)),
      service: name.slice(0, -SUFFIX.length).split('-')[2] ?? '',
      startedAt: startOf(name),
    }))
    .toSorted((a, b) => b.startedAt - a.startedAt);
};

/** The service did not apply the change, or did not receive it. After a lost connection this is unknown. */
export const wasRejected = (error: unknown): boolean => {
  if (!(error instanceof AppError) || error.detail.outcome === 'unknown') return false;
  const { cause, httpStatus } = error.detail;
  // A proxy sends 408 when it gave up on the response, which the service may still have sent.
  if (httpStatus === 408) return false;
  return cause instanceof NetworkError ? !cause.sent : error.category !== 'network';
};

/**
 * Writes the changes of one command, each before its request. A record that cannot be written costs the undo and not the
 * change.
 */
export class WriteRecord {
  readonly #context: EngineContext;
  readonly #service: 'tracker' | 'labels';
  readonly #command: string;
  #file: Promise<AppendFile> | undefined;
  #count = 0;
  #isEnded = false;
  constructor(context: EngineContext, service: 'tracker' | 'labels', command: string) {
    this.#context = context;
    this.#service = service;
    this.#command = command;
    context.onEnd?.(() => this.#end());
  }
  /** An interrupted command can receive a response after its end: that response finds the file closed. */
  #end(): void {
    this.#isEnded = true;
    void this.#file?.then((file) => file.close()).catch(() => {});
  }
  async #open(target: Target): Promise<AppendFile> {
    const { host } = this.#context;
    const path = await createWriteRecord(this.#context, this.#service);
    const about: About = { file: this.#command, target: targetMark(target), service: serviceText(target) };
    const file = host.files.append(path, 0o600);
    file.write(`h ${host.now()}\nm ${JSON.stringify(about)}\n`);
    return file;
  }
  async #add(text: string): Promise<void> {
    // A target that cannot be used ends the command; only a failure of the file costs no more than the undo.
    const target = await this.#context.target(this.#service);
    if (this.#isEnded) return;
    try {
      this.#file ??= this.#open(target);
      const file = await this.#file;
      if (!this.#isEnded) file.write(text);
    } catch (error) {
      const { log, settings } = this.#context;
      log.warnOnce('records', recordsFailedText(settings, error));
    }
  }
  /** The number of the next change, as a row of a bulk run has one. */
  nextLine(): number {
    this.#count += 1;
    return this.#count;
  }
  noteBefore(line: number, before: object): Promise<void> {
    return this.#add(`b ${line} ${JSON.stringify(before)}\ns ${line} -\n`);
  }
  /** `text` is the ID of the record and how the change left it. */
  noteDone(line: number, text: string): Promise<void> {
    return this.#add(`d ${line} -${text === '' ? '' : ` ${text}`}\n`);
  }
  noteRejected(line: number): Promise<void> {
    return this.#add(`f ${line} -\n`);
  }
}
