import { isHeaderName, isHeaderValue } from '../../core/operation.ts';
import { limits } from '../../core/limits.ts';
import { ChunkQueue, isBodyless, idleLimitMs, type Wire } from './transport.ts';

/** How the end of a body is known (RFC 9112 6.3): by its length, by its chunks, or by the end of the connection. */
type Framing = number | 'chunked' | 'to-end';
export type Head = {
  readonly status: number;
  /** Names in lower case. Repeated ones are joined by `, `, except the names with a single value, whose first line counts. */
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: Framing;
  /** How long the connection may wait for the next request after this response; 0 means that it closes. */
  readonly keptMs: number;
};
/** White space around a value is space and tab only (RFC 9110 5.6.3); `trim` also removes a no-break space. */
const SPACE = /^[ \t]+|(?<![ \t])[ \t]+$/g;
const STATUS = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n|$)/;
const makeMalformedError = (what: string): Error =>
  Object.assign(new Error(`the answer is not HTTP/1.1: ${what}`), { code: 'MALFORMED' });
/** One line of a head or of trailers. Throws as node:http does; a line that continues the one before it has no name (RFC 9112 5.2). */
const fieldOf = (line: string): { readonly name: string; readonly value: string } => {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).toLowerCase();
  // A space before the colon is rejected, because other readers would see a different body (RFC 9112 5.1).
  if (colon === -1 || !isHeaderName(name)) throw makeMalformedError('a header has no name');
  const value = line.slice(colon + 1);
  if (!isHeaderValue(value)) throw makeMalformedError(`the header ${name} has a control character`);
  return { name, value: value.replace(SPACE, '') };
};
type Field = ReturnType<typeof fieldOf> & { readonly line: string };
const MOST_FIELDS = 30;
/** The lines of the last head on a connection. A service repeats most of them, and an equal line is not read again. */
export class LastHead {
  #fields: readonly Field[] = [];
  /** The field that starts at a position. The last line of a head has no end. */
  fieldAt(text: string, at: number, index: number): Field {
    const known = this.#fields[index];
    if (known !== undefined && text.startsWith(known.line, at)) {
      const end = at + known.line.length;
      if (end === text.length || text.startsWith('\r\n', end)) return known;
    }
    const next = text.indexOf('\r\n', at);
    const line = text.slice(at, next === -1 ? text.length : next);
    return { line, ...fieldOf(line) };
  }
  keep(fields: readonly Field[]): void {
    if (fields.length <= MOST_FIELDS) this.#fields = fields;
  }
}
/** A proxy may repeat them. Two dates or two addresses in one value would mean something else. */
const SINGLE_VALUES: ReadonlySet<string> = new Set([
  ...['age', 'content-type', 'etag', 'expires', 'last-modified', 'location', 'retry-after', 'server'],
]);
const fieldsOf = (text: string, from: number, last: LastHead): Record<string, string> => {
  const headers: Record<string, string> = {};
  const fields: Field[] = [];
  for (let at = from; at < text.length; ) {
    const field = last.fieldAt(text, at, fields.length);
    const { name, value, line } = field;
    if (!Object.hasOwn(headers, name)) headers[name] = value;
    else if (!SINGLE_VALUES.has(name)) headers[name] = `${headers[name]}, ${value}`;
    fields.push(field);
    at += line.length + 2;
  }
  last.keep(fields);
  return headers;
};
const framingOf = (method: string, status: number, headers: Readonly<Record<string, string>>): Framing => {
  const [length, coding] = [headers['content-length'], headers['transfer-encoding']];
  if (length !== undefined && coding !== undefined) throw makeMalformedError('its body has two lengths');
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw makeMalformedError('its content-length is not a number');
  if (isBodyless(method, status)) return 0;
  if (coding !== undefined) {
    // Empty members of a list have no meaning (RFC 9110 5.6.1).
    return /(?:^|,)[ \t]*chunked[ \t,]*$/i.test(coding) ? 'chunked' : 'to-end';
  }
  return length === undefined ? 'to-end' : Number(length);
};
const keptMs = (isOld: boolean, framing: Framing, headers: Readonly<Record<string, string>>): number => {
  const connection = headers.connection?.toLowerCase() ?? '';
  if (framing === 'to-end' || connection.includes('close') || (isOld && !connection.includes('keep-alive')))
    return 0;
  return idleLimitMs(headers['keep-alive']);
};
/** Parses the head of a response without the empty line after it. Throws if it is not HTTP/1. */
export const parseHead = (text: string, method: string, last = new LastHead()): Head => {
  const [, minor, code] = STATUS.exec(text) ?? [];
  if (code === undefined) throw makeMalformedError('it has no status line');
  const line = text.indexOf('\r\n');
  const headers = line === -1 ? {} : fieldsOf(text, line + 2, last);
  const status = Number(code);
  const framing = framingOf(method, status, headers);
  return { status, headers, framing, keptMs: keptMs(minor === '0', framing, headers) };
};

type State = 'size' | 'data' | 'after' | 'trailers' | 'done';
const noSizes = (): Error => makeMalformedError('its chunks have no sizes');
/** The size of a chunk and its extensions: names with an optional value, which is a token or a quoted text (RFC 9112 7.1.1). */
const SIZE =
  /^(0*[0-9a-f]{1,12})(?:;[\w!#$%&'*+.^`|~-]+(?:=(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*$/i;
/** A body in chunks (RFC 9112 7.1), fed in any pieces. Extensions and trailers are read over. */
export class Chunked {
  #state: State = 'size';
  #left = 0;
  #line = '';

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /**
   * Passes the data in these bytes to `give` and returns the bytes after the body. Throws if the sizes are
   * invalid.
   */
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
    const size = SIZE.exec(line)?.[1];
    if (size === undefined) throw noSizes();
    this.#left = Number.parseInt(size, 16);
    return this.#left === 0 ? 'trailers' : 'data';
  }
}

export const closedEarly = (): Error =>
  Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });
const [CR, LF] = [13, 10];
type Socket = { pause(): unknown; resume(): unknown; destroy(): unknown };
/**
 * One response as it arrives on a socket. A body that arrives with its head is delivered whole, any other
 * body through a queue.
 */
export class Answer {
  readonly reply: Promise<Wire>;
  isDone = false;
  /** Known when it is done: see `Head`. */
  keptMs = 0;
  readonly #method: string;
  readonly #socket: Socket;
  readonly #last: LastHead;
  #resolve!: (wire: Wire) => void;
  #reject!: (error: Error) => void;
  #isLast = false;
  #early: Buffer | undefined;
  #head: Head | undefined;
  #queue: ChunkQueue | undefined;
  #chunked: Chunked | undefined;
  #left = 0;

  /** `last` belongs to the connection. */
  constructor(method: string, socket: Socket, last = new LastHead()) {
    this.#method = method;
    this.#socket = socket;
    this.#last = last;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Throws when the bytes are not HTTP. */
  push(bytes: Buffer): void {
    const rest = this.#head === undefined ? this.#readHead(bytes) : bytes;
    if (rest !== undefined && rest.length > 0) this.#body(rest);
  }
  /** The server has closed its side. */
  end(): void {
    if (this.#head?.framing === 'to-end') this.#finish();
    else this.fail(closedEarly());
  }
  fail(error: Error): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#reject(error);
    this.#queue?.fail(error);
  }

  /** The bytes after the head, once it is whole. */
  #readHead(bytes: Buffer): Buffer | undefined {
    let given = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes]);
    // Some servers send an empty line first.
    while (given[0] === CR && given[1] === LF) given = given.subarray(2);
    for (;;) {
      const end = given.indexOf('\r\n\r\n');
      if (end === -1) break;
      const head = parseHead(given.toString('latin1', 0, end), this.#method, this.#last);
      given = given.subarray(end + 4);
      if (head.status === 101)
        throw makeMalformedError('the server switched to another protocol without a request');
      // Interim responses (100, 103) precede the final response, and may announce the end of the connection.
      if (head.status < 200) {
        this.#isLast ||= head.headers.connection?.toLowerCase().includes('close') === true;
        continue;
      }
      this.#begin(head, given);
      return given;
    }
    if (given.length > limits.replyHeadBytes) throw makeMalformedError('its head does not end');
    if (given.length >= 5 && given.toString('latin1', 0, 5) !== 'HTTP/')
      throw makeMalformedError('it has no status line');
    const lineEnd = given.indexOf(LF);
    // Such a head has no end that this client recognizes, so it would wait for the timeout.
    if (lineEnd > 0 && given[lineEnd - 1] !== CR) throw makeMalformedError('its lines do not end with CR LF');
    this.#early = given;
    return undefined;
  }
  #begin(head: Head, rest: Buffer): void {
    const { status, headers, framing } = head;
    this.#head = head;
    this.#early = undefined;
    if (typeof framing === 'number') this.#left = framing;
    if (typeof framing === 'number' && rest.length >= framing) {
      this.#resolve({ status, headers, body: rest.subarray(0, framing) });
      if (framing === 0) this.#finish(rest.length > 0);
      return;
    }
    if (framing === 'chunked') this.#chunked = new Chunked();
    this.#queue = new ChunkQueue({
      resume: () => this.#socket.resume(),
      abort: () => this.#socket.destroy(),
    });
    this.#resolve({ status, headers, body: this.#queue.chunks });
  }
  #give(data: Buffer): void {
    if (this.#queue?.push(data) === false) this.#socket.pause();
  }
  #body(bytes: Buffer): void {
    if (this.isDone) return;
    if (this.#chunked !== undefined) {
      const rest = this.#chunked.push(bytes, (data) => this.#give(data));
      if (this.#chunked.isDone) this.#finish(rest.length > 0);
    } else if (this.#head?.framing === 'to-end') this.#give(bytes);
    else {
      const data = bytes.subarray(0, this.#left);
      this.#left -= data.length;
      this.#give(data);
      if (this.#left === 0) this.#finish(bytes.length > data.length);
    }
  }
  /** Bytes after a response were not requested, so the connection cannot be trusted anymore. */
  #finish(hasMore = false): void {
    this.isDone = true;
    this.keptMs = hasMore || this.#isLast ? 0 : (this.#head?.keptMs ?? 0);
    this.#queue?.end();
  }
}
