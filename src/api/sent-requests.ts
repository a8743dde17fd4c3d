import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { isSearch } from '../core/operation.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { fittingJson } from '../core/shape.ts';
import type { AppendFile, Host, HttpRequest } from '../platform/host.ts';
import { describeProcess, processState, type ProcessIdentity } from '../platform/process-identity.ts';
import { thisProcess } from '../platform/file-lock.ts';
import { type AuditEntry, openToAppend, type RequestDraft as Draft, type RequestGuard } from './audit.ts';
import { UNFINISHED_REQUEST } from './send.ts';

/**
 * Requests that create a record, with the digest of their body, in one file for each command. A command that ends as it
 * should removes its file. After a crash, a kill or a lost response the file stays, and the same request is not sent again
 * without a decision: a service without keys would create a second record.
 */
const SUFFIX = '.sent';
/** Older files of commands that ended are removed. */
const MOST_FILES = 50;

type Outcome = AuditEntry['outcome'];
type Sent = {
  readonly digest: string;
  readonly entry: Draft;
  readonly outcome?: Outcome;
  /** A later command sent it again, because a person decided so. */
  readonly isSentAgain?: true;
};
type CommandFile = {
  readonly path: string;
  readonly by: ProcessIdentity;
  /** The command ended, and one of its requests may have been applied without being reported. */
  readonly isEnded: boolean;
  readonly sent: readonly Sent[];
};
type Line = {
  readonly by?: ProcessIdentity;
  readonly sent?: string;
  readonly entry?: Draft;
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
const addLine = (sent: Sent[], { sent: digest, entry, answered, outcome, again }: Line): void => {
  if (digest !== undefined && entry !== undefined) sent.push({ digest, entry });
  if (answered !== undefined && outcome !== undefined)
    change(sent, answered, (one) => one.outcome === undefined, { outcome });
  if (again !== undefined) change(sent, again, (one) => one.isSentAgain !== true, { isSentAgain: true });
};
/** A kill can cut the last line: its request was not sent. Throws for another line that is not an entry. */
const parseFile = (path: string, text: string): CommandFile | undefined => {
  const lines = text.split('\n').slice(0, -1);
  const sent: Sent[] = [];
  let by: ProcessIdentity | undefined;
  let isEnded = false;
  for (const [at, one] of lines.entries()) {
    const line = fittingJson<Line>(one, {});
    if (line === undefined) throw new Error(`${path}:${at + 1} is damaged`);
    by ??= line.by;
    isEnded ||= line.ended === true;
    addLine(sent, line);
  }
  return by === undefined ? undefined : { path, by, isEnded, sent };
};

const directoryOf = (settings: Settings): string => join(settings.directories.state, 'sent');
type Warn = (text: string) => void;
/** The files of all commands, the newest first. */
const readFiles = async (host: Host, settings: Settings, warn: Warn): Promise<readonly CommandFile[]> => {
  const directory = directoryOf(settings);
  if ((await host.files.info(directory)) === undefined) return [];
  const names = (await host.files.list(directory)).filter((name) => name.endsWith(SUFFIX));
  const found: CommandFile[] = [];
  for (const name of names.toSorted().toReversed()) {
    const path = childPath(directory, pathPart(name));
    try {
      const file = parseFile(path, (await host.files.read(path)) ?? '');
      if (file !== undefined) found.push(file);
    } catch (error) {
      warn(
        `an earlier command may have sent this request: ${messageOf(error)}; remove it if no record is missing`,
      );
    }
  }
  return found;
};
const isOver = (host: Host, { isEnded, by }: CommandFile): boolean =>
  isEnded || processState(host, by) !== 'alive';
/** Requests of commands that ended without their response, for the audit log. */
export const listUnanswered = async (
  host: Host,
  settings: Settings,
  warn: Warn,
): Promise<readonly AuditEntry[]> =>
  (await readFiles(host, settings, warn))
    .filter((file) => isOver(host, file))
    .flatMap(({ sent }) => sent)
    .filter(({ outcome }) => outcome === undefined)
    .map(({ entry }) => ({ ...entry, outcome: 'unknown', status: null, duration_ms: 0 }));

/**
 * Whether a request has the same result twice. A verb of a record (`:publish`) has; `:delta` can add a field twice.
 */
const canRepeat = ({ method, url }: HttpRequest): boolean => {
  const [path = ''] = url.split(/[?#]/);
  return method !== 'POST' || isSearch(path) || /:(?!delta$)[a-z]\w*$/i.test(path);
};
/** The same body for the same deployment. The embedded server has another port in each command. Undefined for a body that is not known. */
const digestOf = (request: HttpRequest, isMock: boolean): string | undefined => {
  const { method, url, headers = {}, body = '', contentDigest } = request;
  if (typeof body !== 'string' && !(body instanceof Uint8Array) && contentDigest === undefined)
    return undefined;
  const { pathname, search } = new URL(url);
  const place = isMock ? `embedded mock server ${pathname}${search}` : url;
  const type = contentDigest === undefined ? headers['content-type'] : 'multipart/form-data';
  const text = typeof body === 'string' ? body : '';
  const content = contentDigest ?? hash('sha256', body instanceof Uint8Array ? body : text);
  return hash('sha256', JSON.stringify([method, place, type, content]));
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
const makeRefusal = (host: Host, found: Found, hasChanged: boolean): AppError => {
  const { at, command } = found.sent.entry;
  const end = hasChanged ? 'the request was not sent again' : 'no changes were made';
  return new AppError('unsafe', `${stateText(host, found)}; ${end}`, {
    code: UNFINISHED_REQUEST,
    tryThis: ['--send-again, to send the request although it may create a second record'],
    data: { sent_at: at, command, applied: found.sent.outcome === 'done' ? true : 'unknown' },
  });
};

/** What the line of the command says about requests that were sent before. */
type Decision = {
  readonly sendsAgain: boolean;
  readonly isInteractive: boolean;
};
type Cost = { readonly clean: (text: string) => string; readonly warn: Warn };

/** The file of this command. A name that is taken belongs to a command of the same millisecond. */
const createFile = async (host: Host, settings: Settings): Promise<{ path: string; file: AppendFile }> => {
  const directory = directoryOf(settings);
  await host.files.makeDirectory(directory, 0o700);
  for (let start = Math.floor(host.now()); ; start += 1) {
    const path = childPath(directory, pathPart(`${start.toString(36)}-${host.pid}${SUFFIX}`));
    if (await host.files.create(path, '', 0o600, true)) return { path, file: host.files.append(path, 0o600) };
  }
};
const removeOld = async (host: Host, files: readonly CommandFile[]): Promise<void> => {
  for (const old of files.filter((one) => isOver(host, one)).slice(MOST_FILES - 1))
    await host.files.remove(old.path);
};
/** Notes in the files of earlier commands that their request was sent again. */
const noteSentAgain = async (host: Host, found: readonly Found[]): Promise<void> => {
  for (const { file, sent } of found) {
    const earlier = await openToAppend(host, file.path);
    earlier.write(`${JSON.stringify({ again: sent.digest })}\n`);
    earlier.close();
  }
};

/** The guard of one command. Its file is opened at its first request that creates a record. */
class CommandGuard implements RequestGuard {
  readonly #host: Host;
  readonly #settings: Settings;
  readonly #decision: Decision;
  readonly #cost: Cost;
  readonly #outcomes = new Map<symbol, Outcome | undefined>();
  #own: Promise<{ path: string; file: AppendFile }> | undefined;
  #isWarned = false;
  constructor(host: Host, settings: Settings, decision: Decision, cost: Cost) {
    this.#host = host;
    this.#settings = settings;
    this.#decision = decision;
    this.#cost = cost;
  }
  /** A file that cannot be written costs the guard and not the request. */
  #reportOnce(error: unknown): void {
    if (!this.#isWarned) this.#cost.warn(`opsctl cannot note which requests it sends: ${messageOf(error)}`);
    this.#isWarned = true;
  }
  #write(file: AppendFile, line: Line): void {
    file.write(`${this.#cost.clean(JSON.stringify(line))}\n`);
  }
  async #create(): Promise<{ path: string; file: AppendFile }> {
    const made = await createFile(this.#host, this.#settings);
    this.#write(made.file, { by: thisProcess(this.#host) });
    return made;
  }
  async #findEarlier(digest: string): Promise<readonly Found[]> {
    const host = this.#host;
    const files = await readFiles(host, this.#settings, this.#cost.warn);
    await removeOld(host, files);
    return files
      .filter((file) => isOver(host, file))
      .flatMap((file) => file.sent.map((sent) => ({ file, sent })))
      .filter(({ sent: one }) => one.digest === digest && one.outcome !== 'rejected' && !one.isSentAgain);
  }
  async #decide(found: Found): Promise<void> {
    const { sendsAgain, isInteractive } = this.#decision;
    if (sendsAgain) return;
    const question = `${stateText(this.#host, found)}. Send it again?`;
    if (isInteractive && (await this.#host.terminal.prompts.confirm(question, false))) return;
    const hasChanged = [...this.#outcomes.values()].some((one) => one !== 'rejected');
    throw makeRefusal(this.#host, found, hasChanged);
  }
  async #noteSent(digest: string, entry: Draft, earlier: readonly Found[]) {
    this.#own ??= this.#create();
    const { file } = await this.#own;
    this.#write(file, { sent: digest, entry });
    const key = Symbol();
    this.#outcomes.set(key, undefined);
    return async (outcome: Outcome): Promise<void> => {
      this.#outcomes.set(key, outcome);
      try {
        this.#write(file, { answered: digest, outcome });
        if (outcome === 'done') await noteSentAgain(this.#host, earlier);
      } catch (error) {
        this.#reportOnce(error);
      }
    };
  }
  async admit(request: HttpRequest, entry: Draft) {
    const digest = canRepeat(request) ? undefined : digestOf(request, entry.mock);
    if (digest === undefined) return undefined;
    let earlier: readonly Found[] = [];
    try {
      earlier = await this.#findEarlier(digest);
    } catch (error) {
      this.#reportOnce(error);
    }
    if (earlier[0] !== undefined) await this.#decide(earlier[0]);
    try {
      return await this.#noteSent(digest, entry, earlier);
    } catch (error) {
      this.#reportOnce(error);
      return undefined;
    }
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
      this.#reportOnce(error);
    }
  }
}
export const openGuard = (host: Host, settings: Settings, decision: Decision, cost: Cost): RequestGuard =>
  new CommandGuard(host, settings, decision, cost);
