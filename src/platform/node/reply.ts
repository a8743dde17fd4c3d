import { type Bytes, type HttpReply, NetworkError } from '../host.ts';
import type { Wire } from './transport.ts';

const DEFAULT_REPLY_BYTES = 64 * 1024 * 1024;

/** What a reply must know of the request that it answers. */
export type Asked = {
  readonly where: string;
  /** The clock that runs while the next bytes are waited for. */
  wind(): void;
  unwind(): void;
  over(): void;
  fail(error: unknown): NetworkError;
};

async function* bytesOf(body: AsyncIterable<Bytes>, asked: Asked): AsyncGenerator<Bytes> {
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

/** An answer whose head is here; see `HttpReply`. */
export class Reply implements HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers?: () => Readonly<Record<string, string>>;
  readonly #body: Wire['body'];
  readonly #asked: Asked;
  readonly #limit: number;

  constructor({ status, headers, body, trailers }: Wire, asked: Asked, limit = DEFAULT_REPLY_BYTES) {
    this.status = status;
    this.headers = headers;
    if (trailers !== undefined) this.trailers = trailers;
    this.#body = body;
    this.#asked = asked;
    this.#limit = limit;
    if (body instanceof Uint8Array) asked.over();
  }
  stream(): AsyncIterable<Bytes> {
    return this.#body instanceof Uint8Array ? whole(this.#body) : bytesOf(this.#body, this.#asked);
  }
  async bytes(): Promise<Bytes> {
    if (!(this.#body instanceof Uint8Array)) return collect(this.stream(), (size) => this.#refuse(size));
    this.#refuse(this.#body.length);
    return this.#body;
  }
  async text(): Promise<string> {
    const body = this.#body;
    if (!(body instanceof Uint8Array)) return utf8(await this.bytes());
    this.#refuse(body.length);
    return utf8(body);
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
