import { decodeUtf8 } from '../../core/utf8.ts';
import { type Bytes, type HttpReply, NetworkError } from '../host.ts';
import { limits } from '../../core/limits.ts';
import { heapKeeper } from './small-heap.ts';
import type { Wire } from './transport.ts';

/** What a reply must know of the request that it answers. */
export type Asked = {
  readonly where: string;
  /** The clock that runs while the next bytes are waited for. */
  wind(): void;
  unwind(): void;
  over(): void;
  /** The whole answer has to be here in time, however often a byte of it comes. */
  limitWhole(): void;
  fail(error: unknown): NetworkError;
};

async function* bytesOf(
  body: AsyncIterable<Bytes>,
  asked: Asked,
  read?: (bytes: number) => void,
): AsyncGenerator<Bytes> {
  const iterator = body[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      asked.wind();
      const next = await iterator.next();
      asked.unwind();
      if (next.done) {
        isDone = true;
        return;
      }
      read?.(next.value.length);
      yield next.value;
    }
  } catch (error) {
    isDone = true;
    throw asked.fail(error);
  } finally {
    asked.over();
    if (!isDone) await iterator.return?.();
  }
}

async function* whole(bytes: Bytes): AsyncGenerator<Bytes> {
  if (bytes.length > 0) yield bytes;
}

const collect = async (body: AsyncIterable<Bytes>, refuse: (size: number) => void): Promise<Bytes> => {
  const chunks: Bytes[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    refuse(size);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
};

const BOM = 0xfeff;
const utf8 = (bytes: Bytes): string => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  return text.charCodeAt(0) === BOM ? text.slice(1) : text;
};

/** JSON of a success is shown and stored: a byte that is not UTF-8 would be replaced. An error page may have any encoding. */
const refuseOtherEncoding = (text: string, bytes: Bytes, status: number, where: string): string => {
  if (status < 400 && text.includes('\uFFFD') && /^\s*[[{]/.test(text)) decodeUtf8(bytes, where, 'network');
  return text;
};

/** An answer whose head is here; see `HttpReply`. */
export class Reply implements HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers?: () => Readonly<Record<string, string>>;
  readonly #body: Wire['body'];
  readonly #asked: Asked;
  readonly #limit: number;

  constructor({ status, headers, body, trailers }: Wire, asked: Asked, limit: number = limits.replyBytes) {
    this.status = status;
    this.headers = headers;
    if (trailers !== undefined) this.trailers = trailers;
    this.#body = body;
    this.#asked = asked;
    this.#limit = limit;
    if (body instanceof Uint8Array) asked.over();
  }
  stream(): AsyncIterable<Bytes> {
    if (this.#body instanceof Uint8Array) return whole(this.#body);
    return bytesOf(this.#body, this.#asked, heapKeeper());
  }
  limitWhole(): void {
    if (!(this.#body instanceof Uint8Array)) this.#asked.limitWhole();
  }
  async bytes(): Promise<Bytes> {
    const body = this.#body;
    if (!(body instanceof Uint8Array)) {
      this.limitWhole();
      return collect(bytesOf(body, this.#asked), (size) => this.#refuse(size));
    }
    this.#refuse(body.length);
    return body;
  }
  async text(): Promise<string> {
    const body = this.#body;
    const bytes = body instanceof Uint8Array ? body : await this.bytes();
    this.#refuse(bytes.length);
    return refuseOtherEncoding(utf8(bytes), bytes, this.status, this.#asked.where);
  }

  #refuse(size: number): void {
    if (size > this.#limit)
      throw new NetworkError(
        'TOO_LARGE',
        `the answer of ${this.#asked.where} is larger than ${this.#limit} bytes`,
        true,
      );
  }
}
