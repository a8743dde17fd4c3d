import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { parseUrl } from '../core/external-url.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { limits } from '../core/limits.ts';
import { isSearch } from '../core/operation.ts';
import { type Advice, next } from '../core/next.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { shellLine, shellWord } from '../core/shell.ts';
import { fittingJson } from '../core/shape.ts';
import { printable } from '../core/text.ts';
import { thisProcess } from '../platform/file-lock.ts';
import type { AppendFile, Host, HttpRequest } from '../platform/host.ts';
import { describeProcess, processState, type ProcessIdentity } from '../platform/process-identity.ts';
import {
  type AuditEntry,
  openToAppend,
  type RequestDraft as Draft,
  type RequestGuard,
  type RequestNotes,
  recordsFailedText,
  serviceText,
  targetMark,
} from './audit.ts';
import type { Target } from './context.ts';
import { UNFINISHED_REQUEST } from './send.ts';
import { messageColumns, wrapMessages } from '../core/format.ts';

/**
 * Requests that create a record, with the digest of their body, in one file for each command. A command that ends as it
 * should removes its file. After a crash, a kill or a lost response the file stays, and the same request is not sent again
 * without a decision: a service without keys would create a second record.
 */
const SUFFIX = '.sent';
/** Older files of commands that ended are removed. */
const MOST_FILES = 50;
const DAY_MS = 24 * 60 * 60_000;
/** An older request is not refused: a person then knows whether the record exists, and a name may be used again. */
const REFUSED_MS = DAY_MS;
/** After this time a file is removed. Until then opsctl reports its requests. */
const KEPT_MS = 7 * DAY_MS;
/** Connections that are made before the time of a request starts. */
const CONNECT_MS = 10_000;
const TIMEOUT_MS = 30_000;
/** An upload has no time limit while bytes move. */
const UPLOAD_MS = 60 * 60_000;

type Outcome = AuditEntry['outcome'];
type Sent = {
  readonly digest: string;
  /** The mark of its account. Undefined for an opaque token: then opsctl cannot know whose it is. */
  readonly account?: string;
  /** `at` is the start of the attempt. */
  readonly entry: Draft;
  /** The attempt cannot take longer. */
  readonly longestMs: number;
  readonly outcome?: Outcome;
  /** A later command sent it again, because a person decided so. */
  readonly isSentAgain?: true;
};
type CommandFile = {
  readonly path: string;
  readonly startedAt: number;
  readonly by: ProcessIdentity;
  /** The command ended, and one of its requests may have been applied without being reported. */
  readonly isEnded: boolean;
  readonly sent: readonly Sent[];
};
type Line = {
  readonly by?: ProcessIdentity;
  readonly sent?: string;
  readonly account?: string;
  readonly entry?: Draft;
  readonly longest_ms?: number;
  readonly answered?: string;
  readonly outcome?: Outcome;
  readonly again?: string;
  readonly ended?: true;
};
/** The last request with this digest that fits. */
const change = (sent: Sent[], digest: string, fits: (one: Sent) => boolean, more: Partial<Sent>): void => {
  const at = sent.findLastIndex((one) => one.digest === digest && fits(one));
  const known = sent[at];
  if (known !== undefined) sent[at] = { ...known, ...more };
};
const addLine = (sent: Sent[], line: Line): void => {
  const { sent: digest, account, entry, longest_ms: longestMs = UPLOAD_MS, answered, outcome, again } = line;
  if (digest !== undefined && entry !== undefined)
    sent.push({ digest, entry, longestMs, ...(account === undefined ? {} : { account }) });
  if (answered !== undefined && outcome !== undefined)
    change(sent, answered, (one) => one.outcome === undefined, { outcome });
  if (again !== undefined) change(sent, again, (one) => one.isSentAgain !== true, { isSentAgain: true });
};
type Name = Pick<CommandFile, 'path' | 'startedAt'>;
/**
 * A kill can cut the last line: its request was not sent. Undefined for a file without a process, which a command creates
 * before its first request. Throws for another line that is not an entry.
 */
const parseFile = (name: Name, text: string): CommandFile | undefined => {
  const lines = text.split('\n').slice(0, -1);
  const sent: Sent[] = [];
  let by: ProcessIdentity | undefined;
  let isEnded = false;
  for (const [at, one] of lines.entries()) {
    const line = fittingJson<Line>(one, {});
    if (line === undefined) throw new Error(`line ${at + 1} is not an entry`);
    by ??= line.by;
    isEnded ||= line.ended === true;
    addLine(sent, line);
  }
  return by === undefined ? undefined : { ...name, by, isEnded, sent };
};

const directoryOf = (settings: Settings): string => join(settings.directories.state, 'sent');
type Warn = (text: string) => void;
type Files = {
  readonly files: readonly CommandFile[];
  /** Files without a process, and damaged files. */
  readonly others: readonly (Name & { readonly damage?: string })[];
};
/** The files of all commands, the newest first. */
const readFiles = async (host: Host, settings: Settings): Promise<Files> => {
  const directory = directoryOf(settings);
  if ((await host.files.info(directory)) === undefined) return { files: [], others: [] };
  const names = (await host.files.list(directory)).filter((name) => name.endsWith(SUFFIX));
  const files: CommandFile[] = [];
  const others: (Name & { readonly damage?: string })[] = [];
  for (const name of names.toSorted().toReversed()) {
    const one = { path: childPath(directory, pathPart(name)), startedAt: Number.parseInt(name, 36) };
    try {
      const file = parseFile(one, (await host.files.read(one.path)) ?? '');
      if (file === undefined) others.push(one);
      else files.push(file);
    } catch (error) {
      others.push({ ...one, damage: messageOf(error) });
    }
  }
  return { files, others };
};
const reportDamage = ({ others }: Files, warn: Warn): void => {
  for (const { path, damage } of others)
    if (damage !== undefined)
      warn(
        `a record of sent requests is damaged, so opsctl does not know which requests it contains: ${path}: ${damage}; remove the file`,
      );
};
/**
 * True if the command that sent a request no longer waits for its response. A process of another container cannot be
 * checked: its request is over when it must have ended.
 */
const isOver = (host: Host, { isEnded, by }: CommandFile, sent: Sent): boolean => {
  if (isEnded) return true;
  const state = processState(host, by);
  if (state !== 'unknown') return state === 'gone';
  return host.now() - Date.parse(sent.entry.at) > sent.longestMs;
};
/** True if the command of the file has certainly ended. */
const hasEnded = (host: Host, { isEnded, by }: CommandFile): boolean =>
  isEnded || processState(host, by) === 'gone';
/** Requests of commands that ended without their response, for the audit log. */
export const listUnanswered = async (
  host: Host,
  settings: Settings,
  warn: Warn,
): Promise<readonly AuditEntry[]> => {
  const found = await readFiles(host, settings);
  reportDamage(found, warn);
  return found.files
    .flatMap((file) => file.sent.filter((one) => isOver(host, file, one)))
    .filter(({ outcome }) => outcome === undefined)
    .map(({ entry }) => ({ ...entry, outcome: 'unknown', status: null, duration_ms: 0 }));
};

/**
 * Whether a request has the same result twice. A verb of a record (`:publish`) has; `:delta` can add a field twice.
 */
const canRepeat = ({ method, url }: HttpRequest): boolean => {
  const [path = ''] = url.split(/[?#]/);
  return method !== 'POST' || isSearch(path) || /:(?!delta$)[a-z]\w*$/i.test(path);
};
/** What distinguishes requests: the request at its deployment, and the account, if it is known without a request. */
type Mark = { readonly digest: string; readonly earlierForms: readonly string[]; readonly account?: string };
/** Undefined for a body that is not known. */
const markOf = (request: HttpRequest, target: Target): Mark | undefined => {
  const { method, url, headers = {}, body = '', contentDigest } = request;
  if (typeof body !== 'string' && !(body instanceof Uint8Array) && contentDigest === undefined)
    return undefined;
  const type = contentDigest === undefined ? headers['content-type'] : 'multipart/form-data';
  const content = contentDigest ?? hash('sha256', body as string | Uint8Array);
  const digestFor = (mark: string): string =>
    hash('sha256', JSON.stringify([mark, method, url, type, content]));
  const { account, ...byToken } = target;
  return {
    digest: digestFor(serviceText(target)),
    // Records of earlier versions contain the account or the token in the digest.
    earlierForms: [digestFor(targetMark(target)), digestFor(targetMark(byToken))],
    ...(account === undefined ? {} : { account: hash('sha256', account).slice(0, 16) }),
  };
};
/** Two accounts differ only if both are known: an opaque token may be the renewed token of the same account. */
const mayBeSame = (sent: Sent, { digest, earlierForms, account }: Mark): boolean =>
  earlierForms.includes(sent.digest) ||
  (sent.digest === digest &&
    (sent.account === undefined || account === undefined || sent.account === account));
/**
 * The embedded mock server, whose data can be reset at any time. Its URL in `OPSCTL_MOCK_URL` is what `mock run` and
 * `mock env` set.
 */
const isMockServer = ({ env }: Host, { isMock, baseUrl }: Target): boolean => {
  const mock = parseUrl(env.OPSCTL_MOCK_URL?.trim() ?? '');
  return isMock || (mock !== undefined && mock.origin === new URL(baseUrl).origin);
};

type Found = { readonly file: CommandFile; readonly sent: Sent };
const stateText = (host: Host, { file, sent }: Found): string => {
  const { at, command } = sent.entry;
  const start = `an earlier command (${command}) sent the same request at ${at}`;
  if (sent.outcome === 'done') return `${start}, the service applied it, and the command ended early`;
  const isElsewhere = !file.isEnded && processState(host, file.by) === 'unknown';
  const who = isElsewhere ? `, and opsctl cannot check ${describeProcess(host, file.by)}` : '';
  return `${start} and did not record its response${who}: the service may have applied it`;
};
const endText = (hasChanged: boolean): string =>
  hasChanged ? 'the request was not sent again' : 'no changes were made';
const AGAIN = 'to send the request although it may create a second record';
/** The line with the flag, if it is short and cannot contain a secret. */
const sendAgain = (line: readonly string[]): Advice => {
  const text = shellLine(line);
  if (line.length === 0 || text.length > 300 || /authorization|password|secret|token|\n/i.test(text))
    return `run the same command again with --send-again, ${AGAIN}`;
  const end = line.includes('--') ? line.indexOf('--') : line.length;
  return next([...line.slice(0, end), '--send-again', ...line.slice(end)].map(shellWord), `, ${AGAIN}`);
};
/** An upload of many files has several requests, of which the service applied the first. */
const uploadRest = ({ file }: Found, isUpload: boolean): readonly Advice[] =>
  isUpload && file.sent.length > 1
    ? ['upload the rest: run the command without the files that opsctl tracker files list shows']
    : [];
type Refused = { readonly line: readonly string[]; readonly isUpload: boolean; readonly hasChanged: boolean };
const makeRefusal = (host: Host, found: Found, { line, isUpload, hasChanged }: Refused): AppError => {
  const { at, command } = found.sent.entry;
  return new AppError('unsafe', `${stateText(host, found)}; ${endText(hasChanged)}`, {
    code: UNFINISHED_REQUEST,
    tryThis: [...uploadRest(found, isUpload), sendAgain(line)],
    data: { sent_at: at, command, applied: found.sent.outcome === 'done' ? true : 'unknown' },
  });
};
/** The person has read what the earlier command did. */
const makeRefusalByPerson = (hasChanged: boolean): AppError =>
  new AppError('unsafe', `not confirmed; ${endText(hasChanged)}`, { code: UNFINISHED_REQUEST });

/** What the message of the command reports about requests that were sent before. */
type Decision = {
  readonly sendsAgain: boolean;
  readonly isInteractive: boolean;
  /** The words after `opsctl`. */
  readonly line: readonly string[];
  /** The time of one request on the line of the command or in the settings. */
  readonly timeoutMs: number | undefined;
};
type Cost = {
  readonly clean: (text: string) => string;
  readonly warn: Warn;
  /** Reports once that records of the change cannot be written. */
  readonly warnRecords: Warn;
};

/** The file of this command. A name that exists belongs to a command of the same millisecond. */
const createFile = async (host: Host, settings: Settings): Promise<{ path: string; file: AppendFile }> => {
  const directory = directoryOf(settings);
  await host.files.makeDirectory(directory, 0o700);
  for (let start = Math.floor(host.now()); ; start += 1) {
    const path = childPath(directory, pathPart(`${start.toString(36)}-${host.pid}${SUFFIX}`));
    if (await host.files.create(path, '', 0o600, true)) return { path, file: host.files.append(path, 0o600) };
  }
};
/** Removes files that no command writes any more and that are old, too many, or without a request that may be applied. */
const removeOld = async (host: Host, { files, others }: Files): Promise<void> => {
  const isOlder = ({ startedAt }: Name, ms: number): boolean => host.now() - startedAt > ms;
  const isSettled = ({ sent }: CommandFile): boolean => sent.every(({ outcome }) => outcome === 'rejected');
  const ended = files.filter((one) => hasEnded(host, one));
  const old = [
    ...ended.filter((one, at) => isSettled(one) || at >= MOST_FILES - 1),
    ...files.filter((one) => isOlder(one, KEPT_MS) && one.sent.every((sent) => isOver(host, one, sent))),
    ...others.filter((one) => isOlder(one, one.damage === undefined ? DAY_MS : KEPT_MS)),
  ];
  for (const path of new Set(old.map((one) => one.path))) await host.files.remove(path);
};
/** Notes in the files of earlier commands that their request was sent again. */
const noteSentAgain = async (host: Host, found: readonly Found[]): Promise<void> => {
  for (const { file, sent } of found) {
    const earlier = await openToAppend(host, file.path);
    earlier.write(`${JSON.stringify({ again: sent.digest })}\n`);
    earlier.close();
  }
};
/** A definite response decides about the earlier request as well. The service does not process a request that exceeds its rate. */
const isDecided = (outcome: Outcome, status: number | null): boolean =>
  outcome !== 'unknown' && status !== null && status !== 429;

/** The guard of one command. Its file is opened at its first request that creates a record. */
class CommandGuard implements RequestGuard {
  readonly #host: Host;
  readonly #settings: Settings;
  readonly #decision: Decision;
  readonly #cost: Cost;
  readonly #outcomes = new Map<symbol, Outcome | undefined>();
  #own: Promise<{ path: string; file: AppendFile }> | undefined;
  #isDamageReported = false;
  constructor(host: Host, settings: Settings, decision: Decision, cost: Cost) {
    this.#host = host;
    this.#settings = settings;
    this.#decision = decision;
    this.#cost = cost;
  }
  /** A file that cannot be written costs the guard and not the request. */
  #report(error: unknown): void {
    this.#cost.warnRecords(recordsFailedText(this.#settings, error));
  }
  #write(file: AppendFile, line: Line): void {
    file.write(`${this.#cost.clean(JSON.stringify(line))}\n`);
  }
  async #create(): Promise<{ path: string; file: AppendFile }> {
    const made = await createFile(this.#host, this.#settings);
    this.#write(made.file, { by: thisProcess(this.#host) });
    return made;
  }
  /** Requests of other commands that may have been applied, those that are refused first. */
  async #findEarlier(mark: Mark): Promise<readonly Found[]> {
    const host = this.#host;
    try {
      const read = await readFiles(host, this.#settings);
      if (!this.#isDamageReported) reportDamage(read, this.#cost.warn);
      this.#isDamageReported = true;
      await removeOld(host, read);
      return read.files
        .flatMap((file) => file.sent.map((sent) => ({ file, sent })))
        .filter(({ sent: one }) => mayBeSame(one, mark) && one.outcome !== 'rejected' && !one.isSentAgain)
        .filter(({ file, sent }) => isOver(host, file, sent));
    } catch (error) {
      this.#report(error);
      return [];
    }
  }
  #isRefused({ sent }: Found): boolean {
    return this.#host.now() - Date.parse(sent.entry.at) <= REFUSED_MS;
  }
  async #decide(earlier: readonly Found[], isUpload: boolean): Promise<void> {
    const { sendsAgain, isInteractive, line } = this.#decision;
    const [host, found] = [this.#host, earlier.find((one) => this.#isRefused(one))];
    if (sendsAgain || earlier[0] === undefined) return;
    if (found === undefined) {
      this.#cost.warn(
        `${stateText(host, earlier[0])}; opsctl sends it, because that was more than 24 hours ago`,
      );
      return;
    }
    const hasChanged = [...this.#outcomes.values()].some((one) => one !== 'rejected');
    if (!isInteractive) throw makeRefusal(host, found, { line, isUpload, hasChanged });
    const { stderr, prompts } = host.terminal;
    const text = printable(this.#cost.clean(stateText(host, found)));
    await stderr.write(`${wrapMessages(text, messageColumns(stderr, host.env))}\n`);
    if (!(await prompts.confirm('Send it again?', false))) throw makeRefusalByPerson(hasChanged);
  }
  /** A response must arrive in this time, or the request fails. */
  #longestMs({ contentDigest, timeoutMs }: HttpRequest): number {
    if (contentDigest !== undefined) return UPLOAD_MS;
    return CONNECT_MS + (this.#decision.timeoutMs ?? timeoutMs ?? TIMEOUT_MS) * limits.replyTimeouts;
  }
  #notesOf(
    { digest, account }: Mark,
    entry: Draft,
    longestMs: number,
    earlier: readonly Found[],
  ): RequestNotes {
    const key = Symbol();
    let isOpen = false;
    return {
      noteSent: async () => {
        try {
          this.#own ??= this.#create();
          const { file } = await this.#own;
          const at = new Date(Math.floor(this.#host.now())).toISOString();
          const known = account === undefined ? {} : { account };
          this.#write(file, { sent: digest, ...known, entry: { ...entry, at }, longest_ms: longestMs });
          isOpen = true;
          this.#outcomes.set(key, undefined);
        } catch (error) {
          this.#report(error);
        }
      },
      noteOutcome: async (outcome, status = null) => {
        if (!isOpen) return;
        isOpen = false;
        this.#outcomes.set(key, outcome);
        try {
          this.#write((await this.#own)?.file as AppendFile, { answered: digest, outcome });
          if (isDecided(outcome, status)) await noteSentAgain(this.#host, earlier);
        } catch (error) {
          this.#report(error);
        }
      },
    };
  }
  #markOf(request: HttpRequest, target: Target): Mark | undefined {
    return canRepeat(request) || isMockServer(this.#host, target) ? undefined : markOf(request, target);
  }
  async describeEarlier(request: HttpRequest, target: Target): Promise<string | undefined> {
    const mark = this.#markOf(request, target);
    if (mark === undefined || this.#decision.sendsAgain) return undefined;
    const found = (await this.#findEarlier(mark)).find((one) => this.#isRefused(one));
    return found === undefined ? undefined : stateText(this.#host, found);
  }
  async admit(request: HttpRequest, entry: Draft, target: Target): Promise<RequestNotes | undefined> {
    const mark = this.#markOf(request, target);
    if (mark === undefined) return undefined;
    const earlier = await this.#findEarlier(mark);
    await this.#decide(earlier, request.contentDigest !== undefined);
    return this.#notesOf(mark, entry, this.#longestMs(request), earlier);
  }
  async end(failure: unknown): Promise<void> {
    if (this.#own === undefined) return;
    try {
      const { path, file } = await this.#own;
      const all = [...this.#outcomes.values()];
      const isUnsure = all.some((one) => one === undefined || one === 'unknown');
      const isKept = isUnsure || (failure !== undefined && all.includes('done'));
      if (isKept) this.#write(file, { ended: true });
      file.close();
      if (!isKept) await this.#host.files.remove(path);
    } catch (error) {
      this.#report(error);
    }
  }
}
export const openGuard = (host: Host, settings: Settings, decision: Decision, cost: Cost): RequestGuard =>
  new CommandGuard(host, settings, decision, cost);
