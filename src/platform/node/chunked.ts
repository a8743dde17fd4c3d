import { fieldOf, malformed } from './head.ts';
import { limits } from '../../core/limits.ts';

type State = 'size' | 'data' | 'after' | 'trailers' | 'done';

const noSizes = (): Error => malformed('its chunks have no sizes');

/** A body in chunks (RFC 9112 7.1), fed in any pieces. Extensions and trailers are read over. */
export class Chunked {
  #state: State = 'size';
  #left = 0;
  #line = '';

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Hands the data in these bytes to `give`; the answer is what follows the body. Throws when the sizes make no sense. */
  push(bytes: Buffer, give: (data: Buffer) => void): Buffer {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done')
      at = this.#state === 'data' ? this.#data(bytes, at, give) : this.#text(bytes, at);
    return bytes.subarray(at);
  }

  #data(bytes: Buffer, at: number, give: (data: Buffer) => void): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'after';
    give(bytes.subarray(at, end));
    return end;
  }
  #text(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(10, at);
    this.#line += bytes.toString('latin1', at, end === -1 ? bytes.length : end);
    if (this.#line.length > limits.chunkLineBytes) throw noSizes();
    if (end === -1) return bytes.length;
    if (!this.#line.endsWith('\r')) throw noSizes();
    const line = this.#line.slice(0, -1);
    this.#line = '';
    this.#state = this.#after(line);
    return end + 1;
  }
  #after(line: string): State {
    if (this.#state === 'trailers') {
      if (line === '') return 'done';
      fieldOf(line);
      return 'trailers';
    }
    if (this.#state === 'after') {
      if (line !== '') throw noSizes();
      return 'size';
    }
    const size = /^([0-9a-f]{1,12})(?:;[\t\x20-\x7e\x80-\xff]*)?$/i.exec(line)?.[1];
    if (size === undefined) throw noSizes();
    this.#left = Number.parseInt(size, 16);
    return this.#left === 0 ? 'trailers' : 'data';
  }
}
