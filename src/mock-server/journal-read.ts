import { Buffer } from 'node:buffer';
import { AppError } from '../core/problem.ts';
import type { Files } from '../platform/host.ts';
import { type Entry, entriesOf, isSound } from './journal-line.ts';
import { stateDamaged } from './state-damaged.ts';

export const HEADER = 'opsctl-mock 1\n';
const LINE_END = 10;
const VOID = 0x7e;

const damaged = (path: string, line: number, offset: number): AppError =>
  stateDamaged(path, `line ${line} of ${path} (byte ${offset}) does not match its checksum`);
const foreign = (path: string): AppError =>
  new AppError('config', `${path} was not written by this version of the mock server`, {
    code: 'MOCK_STATE_FOREIGN',
    tryThis: [
      'opsctl mock reset --discard (starts over with the demo data)',
      'use another directory with OPSCTL_HOME',
    ],
  });

/**
 * Applies lines in order, one line late: a later line may say that the one before was never acknowledged (its write
 * failed half-way, or all but the line end of it was written).
 */
class Replay {
  readonly #path: string;
  readonly #apply: (entry: Entry) => void;
  #count = 0;
  #last: { readonly offset: number; readonly entries: readonly Entry[] } | undefined;
  #doubt: { readonly line: number; readonly offset: number } | undefined;
  constructor(path: string, apply: (entry: Entry) => void) {
    this.#path = path;
    this.#apply = apply;
  }
  line(bytes: Buffer, start: number, end: number): void {
    this.#count += 1;
    if (this.#count === 1) {
      if (bytes.toString('latin1', start, end + 1) !== HEADER) throw foreign(this.#path);
    } else if (bytes[start] === VOID) this.#forget(Number(bytes.toString('latin1', start + 1, end)));
    else if (end > start && this.#doubt === undefined) {
      this.#flush();
      if (isSound(bytes, start, end)) this.#last = { offset: start, entries: entriesOf(bytes, start, end) };
      else this.#doubt = { line: this.#count, offset: start };
    }
  }
  end(): void {
    if (this.#doubt) throw damaged(this.#path, this.#doubt.line, this.#doubt.offset);
    this.#flush();
  }
  #forget(offset: number): void {
    if (this.#doubt && this.#doubt.offset >= offset) this.#doubt = undefined;
    if (this.#last && this.#last.offset >= offset) this.#last = undefined;
  }
  #flush(): void {
    for (const entry of this.#last?.entries ?? []) this.#apply(entry);
    this.#last = undefined;
  }
}

/** After a loss of power a file may have its length and not its content: blocks of zeros. */
const writtenBytes = (bytes: Buffer): number => {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return end;
};

/**
 * Reads one journal or snapshot and hands each change to `apply` in order. Resolves with the size up to which the file
 * is good: a last line without its end was being written when the process died, so nobody was told that it is kept.
 * The file is one block of memory: records are read from it when somebody asks for them, and when all were it goes back
 * to the system whole.
 */
export const readJournal = async (
  files: Files,
  path: string,
  apply: (entry: Entry) => void,
): Promise<{ goodBytes: number; sizeBytes: number }> => {
  const content = (await files.readBytes(path)) ?? new Uint8Array(0);
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const replay = new Replay(path, apply);
  let start = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, start)) {
    replay.line(bytes, start, end);
    start = end + 1;
  }
  replay.end();
  if (start === 0 && writtenBytes(bytes) >= HEADER.length) throw foreign(path);
  return { goodBytes: start, sizeBytes: bytes.length };
};
