import { hash } from 'node:crypto';
import type { AppendFile, Host } from '../../../host/host.ts';
import { AppError, problem, usageError } from '../../../kernel/problem.ts';

/** What is known of a line: `sent` may or may not have arrived; `done` has; `failed` was refused and may be tried again. */
export type LineState = { readonly state: 'sent' | 'done' | 'failed'; readonly hash: string; readonly id?: string };
export type Past = { readonly startedAt: number; readonly lines: ReadonlyMap<number, LineState> };

export const rowHash = (row: unknown): string => hash('sha256', JSON.stringify(row), 'base64url').slice(0, 12);

/** Reads a journal; a torn last line is left out. Format: `h <ms>`, `s <line> <hash>`, `d <line> <hash> <id>`, `f <line> <hash>`. */
export const parseJournal = (text: string): Past => {
  const lines = new Map<number, LineState>();
  let startedAt = 0;
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const entry of whole.split('\n')) {
    const [kind, first = '', hash = '', id] = entry.split(' ');
    if (kind === 'h') startedAt = Number(first);
    if (kind === 's' && lines.get(Number(first))?.state !== 'done') lines.set(Number(first), { state: 'sent', hash });
    if (kind === 'd') lines.set(Number(first), { state: 'done', hash, ...(id ? { id } : {}) });
    if (kind === 'f') lines.set(Number(first), { state: 'failed', hash });
  }
  return { startedAt, lines };
};

/** Written before a row is sent and after its answer, so that a killed run knows which rows are in doubt. */
export type Journal = {
  readonly past: Past;
  sent(line: number, hash: string): void;
  done(line: number, hash: string, id: unknown): void;
  failed(line: number, hash: string): void;
  close(): void;
};

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
/** Nothing is sent that could not be written down first: without its journal a run that breaks off cannot be resumed. */
const unwritable = (path: string, error: unknown): AppError =>
  new AppError('config', `the journal ${path} cannot be written: ${reason(error)}`, {
    code: 'JOURNAL_UNWRITABLE',
    tryThis: ['name another file with --journal, on a disk that has room'],
    cause: error,
  });

const open = async (host: Host, path: string, before: string | undefined): Promise<AppendFile> => {
  const info = await host.files.info(path);
  if (info !== undefined && info.kind !== 'file')
    throw usageError('wrong usage', [problem('--journal', 'rule', `names ${path}, which is not a plain file`)]);
  try {
    if (before !== undefined) await host.files.truncate(path, Buffer.byteLength(before.slice(0, before.lastIndexOf('\n') + 1)));
    else await host.files.replace(path, `h ${host.now()}\n`, 0o600);
    return host.files.append(path, 0o600);
  } catch (error) {
    throw unwritable(path, error);
  }
};

/** A new journal replaces an old one; with `resume` the old one is read and gone on with. */
export const openJournal = async (host: Host, path: string, resume: boolean): Promise<Journal> => {
  const before = resume ? await host.files.read(path) : undefined;
  const past: Past = before === undefined ? { startedAt: host.now(), lines: new Map() } : parseJournal(before);
  const file = await open(host, path, before);
  const write = (entry: string): void => {
    try {
      file.write(entry);
    } catch (error) {
      throw unwritable(path, error);
    }
  };
  return {
    past,
    sent: (line, hash) => write(`s ${line} ${hash}\n`),
    done: (line, hash, id) => write(`d ${line} ${hash}${id === undefined ? '' : ` ${id}`}\n`),
    failed: (line, hash) => write(`f ${line} ${hash}\n`),
    close: () => {
      try {
        file.sync();
      } finally {
        file.close();
      }
    },
  };
};
