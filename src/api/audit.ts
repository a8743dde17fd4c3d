import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { messageOf } from '../core/problem.ts';
import { redactedBody, redactedUrl } from '../core/redact-secrets.ts';
import type { AppendFile, Host, HttpReply, HttpRequest } from '../platform/host.ts';

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
export type AuditLog = { write(entry: AuditEntry): Promise<void>; close(): void };

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
/** Opens the log at the first entry. Appended lines are never changed; a full file becomes the older one. */
export const openAudit = (
  host: Host,
  settings: Settings,
  warn: Warn,
  clean: (text: string) => string,
): AuditLog => {
  const [older = '', current = ''] = auditFiles(settings);
  let file: AppendFile | undefined;
  let opening: Promise<AppendFile> | undefined;
  let isBroken = false;
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
  return {
    write: async (entry) => {
      if (isBroken) return;
      try {
        (await open()).write(`${clean(JSON.stringify(entry))}\n`);
      } catch (error) {
        isBroken = true;
        warn(`cannot write the audit log ${current}: ${messageOf(error)}`);
      }
    },
    close: () => file?.close(),
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
/** Requests that read although their method is POST. */
const readingPaths = /\/stories\/search$|\/search(\/[a-z]+)?$/;
const isWrite = ({ method, url }: Pick<HttpRequest, 'method' | 'url'>): boolean =>
  method !== 'GET' && method !== 'HEAD' && !readingPaths.test(url.split('?')[0] ?? '');
const bodyText = ({ body, headers = {} }: HttpRequest): string | null => {
  if (typeof body !== 'string') return null;
  const text = redactedBody(body, headers['content-type'] ?? '');
  if (text === undefined) return null;
  return text.length <= maxBodyCharacters ? text : `${text.slice(0, maxBodyCharacters)}…`;
};
type Place = { readonly service: string; readonly isMock: boolean };
/** Sends requests and writes each change with its outcome to the log. */
export const auditSender =
  (
    log: AuditLog,
    { now, elapsed }: Pick<Host, 'now' | 'elapsed'>,
    { command, profile }: Pick<AuditEntry, 'command' | 'profile'>,
    place: Place,
    send: (request: HttpRequest) => Promise<HttpReply>,
  ) =>
  async (request: HttpRequest): Promise<HttpReply> => {
    if (!isWrite(request)) return send(request);
    const [at, began] = [new Date(now()).toISOString(), elapsed()];
    const note = (outcome: AuditEntry['outcome'], status: number | null): Promise<void> =>
      log.write({
        ...{ at, command, profile, service: place.service, mock: place.isMock },
        ...{ method: request.method, url: redactedUrl(request.url), body: bodyText(request) },
        ...{ outcome, status, duration_ms: Math.round(elapsed() - began) },
      });
    try {
      const reply = await send(request);
      await note(reply.status < 300 ? 'done' : reply.status < 500 ? 'rejected' : 'unknown', reply.status);
      return reply;
    } catch (error) {
      const wasSent = (error as { sent?: unknown } | null)?.sent !== false;
      await note(wasSent ? 'unknown' : 'rejected', null);
      throw error;
    }
  };
