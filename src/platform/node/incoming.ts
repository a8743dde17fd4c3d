import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Bytes, type Incoming, NetworkError } from '../host.ts';

const NOTHING = new Uint8Array(0);

const tooLarge = (limit: number): NetworkError =>
  new NetworkError('TOO_LARGE', `the body is larger than ${limit} bytes`, true);
const gone = (): NetworkError =>
  new NetworkError('RESET', 'the client closed the connection before its request was complete', true);

const isOver = ({ headers }: IncomingMessage, limit: number): boolean =>
  Number(headers['content-length'] ?? 0) > limit;

/** Listens for pieces, which costs less than iterating. */
const receive = <T>(
  message: IncomingMessage,
  limit: number,
  take: (chunk: Buffer) => void,
  whole: () => T,
): Promise<T> =>
  new Promise((resolve, reject) => {
    if (isOver(message, limit)) return reject(tooLarge(limit));
    let size = 0;
    let isRefused = false;
    const refuse = (error: unknown): void => {
      isRefused = true;
      reject(error);
    };
    // What comes after a refusal is read and dropped, so that the client sees the answer.
    message.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      size += chunk.length;
      if (size > limit) return refuse(tooLarge(limit));
      try {
        take(chunk);
      } catch (error) {
        refuse(error);
      }
    });
    message.on('end', () => resolve(whole()));
    message.on('error', () => reject(gone()));
    // Every request closes; making an error each time would be a tenth of the work of a small request.
    message.on('close', () => {
      if (!message.readableEnded) reject(gone());
    });
  });

const collect = (message: IncomingMessage, limit: number): Promise<Bytes> => {
  // Nothing of it will come, not even its end.
  if (message.destroyed) return Promise.reject(gone());
  const chunks: Buffer[] = [];
  return receive(
    message,
    limit,
    (chunk) => chunks.push(chunk),
    () => (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
  );
};
const whole = (message: IncomingMessage, limit: number): Bytes => {
  if (message.readableLength > limit) throw tooLarge(limit);
  return (message.read() as Buffer | null) ?? NOTHING;
};
/** The usual body comes in one packet with its head, and is here when the packet is parsed: it needs no listeners. */
const readAll = (message: IncomingMessage, limit: number): Promise<Bytes> =>
  isOver(message, limit)
    ? Promise.reject(tooLarge(limit))
    : Promise.resolve().then(() =>
        message.complete && !message.destroyed ? whole(message, limit) : collect(message, limit),
      );

/** One request as the handler sees it; what few handlers need is made only when it is asked for. */
class Request implements Incoming {
  readonly method: string;
  readonly url: string;
  readonly isTls: boolean;
  #message: IncomingMessage;
  #response: ServerResponse;
  #abort: AbortController | undefined;

  constructor(message: IncomingMessage, response: ServerResponse, isTls: boolean) {
    this.method = message.method as string;
    this.url = message.url as string;
    this.isTls = isTls;
    this.#message = message;
    this.#response = response;
  }

  get headers(): Incoming['headers'] {
    // Only set-cookie is ever a list, and it is no request header.
    return this.#message.headers as Incoming['headers'];
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? '';
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      const response = this.#response;
      if (response.destroyed) abort.abort(gone());
      else response.once('close', () => !response.writableFinished && abort.abort(gone()));
    }
    return this.#abort.signal;
  }

  async *body(): AsyncGenerator<Bytes> {
    try {
      for await (const chunk of this.#message) yield chunk as Bytes;
    } catch {
      throw gone();
    }
  }

  #hasBody(): boolean {
    const { headers, httpVersionMajor } = this.#message;
    return (
      headers['content-length'] !== undefined ||
      headers['transfer-encoding'] !== undefined ||
      httpVersionMajor === 2
    );
  }

  receive(limitBytes: number, take: (chunk: Bytes) => void): Promise<void> {
    return this.#hasBody() ? receive(this.#message, limitBytes, take, () => undefined) : Promise.resolve();
  }

  read(limitBytes: number): Promise<Bytes> {
    return this.#hasBody() ? readAll(this.#message, limitBytes) : Promise.resolve(NOTHING);
  }
}

export const incomingFrom = (message: IncomingMessage, response: ServerResponse, isTls: boolean): Incoming =>
  new Request(message, response, isTls);
