import { type HttpReply, NetworkError } from '../host.ts';
import { limits } from '../../core/limits.ts';
import { networkErrorFrom } from './network-error.ts';
import { Reply } from './reply.ts';
import type { Attempt, Prepared, Progress, Transport, Wire } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;

/** One request under way: what every transport has in common. It is given up when its clock rings or its signal is aborted. */
class Call implements Progress {
  readonly where: string;
  readonly #prepared: Prepared;
  readonly #timeoutMs: number;
  readonly #calls: Set<Call> | undefined;
  #attempt: Attempt | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ringing: NodeJS.Immediate | undefined;
  #whole: NodeJS.Timeout | undefined;
  #isSent = false;
  #isAnswered = false;
  /** Set by whatever ended the request from this side; it names the failure better than the transport can. */
  #ended: NetworkError | undefined;

  /** `calls` are those that the signal of the request stops. */
  constructor(prepared: Prepared, calls: Set<Call> | undefined) {
    this.where = prepared.to.origin;
    this.#prepared = prepared;
    this.#timeoutMs = prepared.request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#calls = calls;
  }

  start(transport: Transport): Promise<Wire> {
    this.#calls?.add(this);
    // Throws at once for a header that cannot be sent.
    this.#attempt = transport.start(this.#prepared, this);
    if (!this.#isSent) this.wind(this.#connectMs);
    return this.#attempt.reply;
  }
  connected(): void {
    this.#isSent = true;
    this.wind(this.#timeoutMs);
  }
  /** After an early answer the upload may go on; the clock is then the answer's. */
  moved(): void {
    if (!this.#isAnswered) this.wind(this.#timeoutMs);
  }
  answered(): void {
    this.#isAnswered = true;
    this.unwind();
  }
  /** Nothing more can come. */
  over(): void {
    this.answered();
    clearTimeout(this.#whole);
    this.#calls?.delete(this);
  }
  fail(error: unknown): NetworkError {
    this.over();
    return this.#ended ?? networkErrorFrom(error, this.where, this.#isSent, this.#prepared.to.proxy);
  }
  abort(reason: unknown): void {
    this.#end(
      new NetworkError('ABORTED', `the request to ${this.where} was cancelled`, this.#isSent, reason),
    );
  }

  /** A clock that is wound up again at each sign of life. */
  wind(ms: number = this.#timeoutMs): void {
    this.unwind();
    this.#timer = setTimeout(() => this.#ring(), ms);
  }
  unwind(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#ringing);
  }
  /** Where this process did not run for a while, timers come before what has arrived in the meantime: that is looked at first. */
  #ring(): void {
    this.#ringing = setImmediate(() => this.#end(this.#late()));
  }

  limitWhole(): void {
    const ms = this.#timeoutMs * limits.replyTimeouts;
    this.#whole = setTimeout(() => this.#end(this.#endless(ms)), ms);
  }

  get #connectMs(): number {
    return this.#prepared.request.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  }
  #late(): NetworkError {
    return this.#isSent
      ? new NetworkError(
          'TIMEOUT',
          `${this.where} did not answer within ${this.#timeoutMs / 1000} s; --timeout changes the limit`,
          true,
        )
      : new NetworkError(
          'CONNECT_TIMEOUT',
          `cannot reach ${this.where}: no connection within ${this.#connectMs / 1000} s`,
          false,
        );
  }
  #endless(ms: number): NetworkError {
    return new NetworkError(
      'TIMEOUT',
      `${this.where} did not finish its answer within ${ms / 1000} s, ${limits.replyTimeouts} times --timeout`,
      true,
    );
  }
  #end(error: NetworkError): void {
    this.#ended ??= error;
    this.#attempt?.destroy(error);
  }
}

/** One signal stops all requests of a run: it is listened to once. */
const followers = (): ((signal: AbortSignal | undefined) => Set<Call> | undefined) => {
  const known = new WeakMap<AbortSignal, Set<Call>>();
  return (signal) => {
    if (signal === undefined) return undefined;
    const found = known.get(signal);
    if (found !== undefined) return found;
    const calls = new Set<Call>();
    known.set(signal, calls);
    signal.addEventListener('abort', () => {
      for (const call of calls) call.abort(signal.reason);
    });
    return calls;
  };
};

/** Sends requests with the limits of `HttpRequest`, whatever carries them. Throws NetworkError only. */
export const exchanges = (): ((transport: Transport, prepared: Prepared) => Promise<HttpReply>) => {
  const following = followers();
  return async (transport, prepared) => {
    const { signal } = prepared.request;
    const { origin } = prepared.to;
    if (signal?.aborted)
      throw new NetworkError('ABORTED', `the request to ${origin} was cancelled`, false, signal.reason);
    const call = new Call(prepared, following(signal));
    try {
      const wire = await call.start(transport);
      call.answered();
      return new Reply(wire, call, prepared.request.maxReplyBytes);
    } catch (error) {
      throw call.fail(error);
    }
  };
};
