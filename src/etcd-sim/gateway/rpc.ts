import { scryptSync } from 'node:crypto';
import { limits } from '../../core/limits.ts';
import { endOfQuotes } from '../../core/json-scan.ts';
import type { Host } from '../../platform/host.ts';
import type { Faults, Form, MemberLog } from '../forms.ts';
import type { Lessor, Node } from '../node/node.ts';
import type { ServerSettings } from '../server-flags.ts';
import type { MemberRecord } from '../state/command.ts';

/** What the interfaces of one member work on. */
export type Api = {
  readonly host: Host;
  readonly node: Node;
  readonly form: Form;
  readonly settings: ServerSettings;
  readonly faults: Faults;
  readonly log: MemberLog;
  readonly lessor: Lessor;
  readonly tokens: Tokens;
  readonly version: string;
  readonly clusterId: string;
  /** The initial members of the log. */
  readonly first: readonly MemberRecord[];
  /** `kv` (spec/store) or the word of real servers. */
  readonly word: string;
  /** The raw body of a response of /v2/keys. */
  readonly v2Bytes: number;
  /** Time of the start in milliseconds. */
  readonly startedAt: number;
  /** Requests of clients, by the metric that counts them. */
  readonly counters: Map<string, number>;
};
/** A real member prints a counter only after its first request. */
export const countRequest = ({ counters }: Api, metric: string): void =>
  void counters.set(metric, (counters.get(metric) ?? 0) + 1);
export type Body = Readonly<Record<string, unknown>>;
export type Stream = { readonly stream: AsyncIterable<Uint8Array> };
export type Call = {
  readonly body: Body;
  readonly token: string | undefined;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal;
};
export type Rpc = (api: Api, call: Call) => Promise<Body | Stream>;
/** A refusal with the gRPC code and text that the gateway passes on. */
export class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
const httpCodes: Readonly<Record<number, number>> = {
  1: 408,
  2: 500,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 403,
  9: 412,
  11: 400,
  12: 501,
  14: 503,
  15: 500,
  16: 401,
};
/** spec/store#measured-versions, spec/store#measured-answers: gateway status of a gRPC code. */
export const httpCode = (code: number, form: Form): number =>
  form.isGateway2 && code === 8
    ? 429
    : code === 9 && form.errorBody === 'code+message'
      ? 400
      : (httpCodes[code] ?? 500);
export const errorText = (form: Form, code: number, message: string): string => {
  if (form.errorBody === 'error+code') return JSON.stringify({ error: message, code });
  if (form.errorBody === 'error+message+code') return JSON.stringify({ error: message, message, code });
  return writeSpaced({ code, message });
};
/** JSON with `", "` between fields, as 3.5 writes it. */
export const writeSpaced = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(writeSpaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${pairs.map(([key, one]) => `${JSON.stringify(key)}:${writeSpaced(one)}`).join(', ')}}`;
};
/** A stream of one piece. */
export async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
/** Zero values are left out, as the gateway does. */
export const omitZeros = (record: Body): Body =>
  Object.fromEntries(
    Object.entries(record).filter(
      ([, v]) =>
        v !== undefined &&
        v !== '' &&
        v !== '0' &&
        v !== 0 &&
        v !== false &&
        !(Array.isArray(v) && v.length === 0),
    ),
  );

const LIFE_MS = 300_000;
/**
 * Tokens are kept in the memory of the issuing member and are lost when it stops
 * (spec/store#measured-answers). Each use extends the lifetime.
 */
export class Tokens {
  readonly #known = new Map<string, { readonly user: string; usedAt: number }>();
  readonly #host: Host;
  constructor(host: Host) {
    this.#host = host;
  }
  give(user: string): string {
    const token = `${Buffer.from(this.#host.random(8)).toString('hex')}.${this.#known.size + 8}`;
    this.#known.set(token, { user, usedAt: this.#host.elapsed() });
    return token;
  }
  userOf(token: string): string | undefined {
    const known = this.#known.get(token);
    if (known === undefined || this.#host.elapsed() - known.usedAt > LIFE_MS) return undefined;
    known.usedAt = this.#host.elapsed();
    return known.user;
  }
}
export const passwordHash = (password: string, salt: string): string =>
  scryptSync(password, salt, 32, { N: 1024 }).toString('base64');

/** A number as text: IDs of leases and members have 64 bits, and a float would lose the low bits. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };
/**
 * Reads one JSON value like the members' own decoder: with its error messages, and without checking the text
 * after the value.
 */
class Reader {
  readonly #text: string;
  #at = 0;
  constructor(text: string) {
    this.#text = text;
  }
  #blank(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }
  #wrong(where: string): RpcError {
    const found = this.#text[this.#at];
    if (found === undefined) return new RpcError(3, 'unexpected EOF');
    return new RpcError(3, `invalid character ${found === "'" ? "'\\''" : `'${found}'`} ${where}`);
  }
  #take(form: RegExp): string | undefined {
    form.lastIndex = this.#at;
    const [found] = form.exec(this.#text) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
  #string(where: string): string {
    if (this.#text[this.#at] !== '"') throw this.#wrong(where);
    const end = endOfQuotes(this.#text, this.#at);
    if (end === undefined) throw new RpcError(3, 'unexpected EOF');
    const found = this.#text.slice(this.#at, end);
    this.#at = end;
    try {
      return JSON.parse(found) as string;
    } catch {
      const control = [...found].find((one) => one < ' ');
      const [shown, place] =
        control === undefined
          ? ['\\', 'in string escape code']
          : [JSON.stringify(control).slice(1, -1), 'in string literal'];
      throw new RpcError(3, `invalid character '${shown}' ${place}`);
    }
  }
  /** True when another part follows, false at the end. */
  #hasMore(end: string, where: string): boolean {
    this.#blank();
    if (this.#text[this.#at] !== ',' && this.#text[this.#at] !== end) throw this.#wrong(where);
    this.#at += 1;
    return this.#text[this.#at - 1] === ',';
  }
  #isEmpty(end: string): boolean {
    this.#at += 1;
    this.#blank();
    if (this.#text[this.#at] !== end) return false;
    this.#at += 1;
    return true;
  }
  #record(depth: number): Body {
    const found: [string, unknown][] = [];
    if (this.#isEmpty('}')) return {};
    do {
      this.#blank();
      const name = this.#string('looking for beginning of object key string');
      this.#blank();
      if (this.#text[this.#at] !== ':') throw this.#wrong('after object key');
      this.#at += 1;
      found.push([name, this.value(depth + 1)]);
    } while (this.#hasMore('}', 'after object key:value pair'));
    return Object.fromEntries(found);
  }
  #list(depth: number): unknown[] {
    const found: unknown[] = [];
    if (this.#isEmpty(']')) return found;
    do found.push(this.value(depth + 1));
    while (this.#hasMore(']', 'after array element'));
    return found;
  }
  value(depth = 0): unknown {
    if (depth > limits.gatewayDepth) throw new RpcError(3, 'exceeded max depth');
    this.#blank();
    const first = this.#text[this.#at];
    if (first === '{') return this.#record(depth);
    if (first === '[') return this.#list(depth);
    if (first === '"') return this.#string('');
    const number = this.#take(NUMBER);
    if (number !== undefined) return new NumberText(number);
    const word = this.#take(WORD);
    if (word === undefined) throw this.#wrong('looking for beginning of value');
    return words[word];
  }
}
/** What a value is called in `json: cannot unmarshal … into`. */
const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (value instanceof NumberText) return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};
/** The request of a call. An empty body is an error up to 3.3 and the empty request from 3.4 on. */
export const requestIn = (text: string, takesNothing: boolean): Body => {
  if (text.trim() === '') {
    if (takesNothing) return {};
    throw new RpcError(3, 'EOF');
  }
  const value = new Reader(text).value() ?? {};
  if (typeof value === 'object' && !Array.isArray(value) && !(value instanceof NumberText))
    return value as Body;
  throw new RpcError(
    3,
    `json: cannot unmarshal ${kindOf(value)} into Go value of type map[string]json.RawMessage`,
  );
};

/** Reads request fields as the gateway does: unknown ones are ignored, names in either spelling, numbers as text or number. */
const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const field = (body: Body, name: string): unknown => body[name] ?? body[camel(name)];
const wrongKind = (value: unknown, type: string): RpcError =>
  new RpcError(3, `json: cannot unmarshal ${kindOf(value)} into Go value of type ${type}`);
const ALPHABET = /[^A-Za-z0-9+/]/;
/**
 * spec/store#measured-answers: `illegal base64 data at input byte 0`. Returns the bytes as a string with one
 * character per byte.
 */
export const bytesField = (body: Body, name: string): string => {
  const text = base64Field(body, name);
  return Buffer.from(text, 'base64').toString('latin1');
};
export const base64Field = (body: Body, name: string): string => {
  const given = field(body, name) ?? '';
  if (typeof given !== 'string') throw wrongKind(given, '[]uint8');
  // Line ends inside the text are skipped.
  const value = given.replace(/[\r\n]/g, '');
  const plain = /^[^=]*/.exec(value)?.[0] ?? '';
  const at = ALPHABET.exec(plain)?.index ?? paddingProblem(plain.length, value.slice(plain.length));
  if (at !== undefined) throw new RpcError(3, `illegal base64 data at input byte ${at}`);
  return value;
};
/** Returns the position of invalid padding; undefined if it is valid. */
const paddingProblem = (length: number, padding: string): number | undefined => {
  const odd = length % 4;
  const wanted = { 2: '==', 3: '=' }[odd] ?? '';
  if (padding === wanted && odd !== 1) return undefined;
  if (padding === '') return length - odd;
  if (wanted !== '' && padding.startsWith(wanted)) return length + wanted.length;
  return padding === '=' && odd === 2 ? length + 1 : length;
};
export const textField = (body: Body, name: string): string => {
  const value = field(body, name) ?? '';
  if (typeof value !== 'string') throw wrongKind(value, 'string');
  return value;
};
/** Decimal text of a 64-bit number; '0' when absent. Ids of members are unsigned: half of them are above the largest signed one. */
export const bigField = (body: Body, name: string): string => wholeField(body, name, 'int64', BigInt.asIntN);
export const unsignedField = (body: Body, name: string): string =>
  wholeField(body, name, 'uint64', BigInt.asUintN);
const wholeField = (
  body: Body,
  name: string,
  type: string,
  within: (bits: number, value: bigint) => bigint,
): string => {
  const value = field(body, name) ?? '0';
  if (typeof value !== 'string' && !(value instanceof NumberText)) throw wrongKind(value, type);
  const text = typeof value === 'string' ? value : value.text;
  if (/^-?\d+$/.test(text) && within(64, BigInt(text)) === BigInt(text)) return BigInt(text).toString();
  const [number] = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/.exec(text) ?? [];
  if (number === text)
    throw new RpcError(3, `json: cannot unmarshal number ${text} into Go value of type ${type}`);
  if (number !== undefined)
    throw new RpcError(3, `invalid character '${text[number.length]}' after top-level value`);
  if (text === '') throw new RpcError(3, 'unexpected end of JSON input');
  throw new RpcError(3, `invalid character '${text[0]}' looking for beginning of value`);
};
export const numberField = (body: Body, name: string): number => Number(bigField(body, name));
export const booleanField = (body: Body, name: string): boolean => {
  const value = field(body, name) ?? false;
  if (typeof value !== 'boolean') throw wrongKind(value, 'bool');
  return value;
};
/** A name of the list, or its number; a number that has no name counts as the first. */
export const enumField = <const N extends readonly string[]>(
  body: Body,
  name: string,
  names: N,
  type: string,
): N[number] => {
  const value = field(body, name) ?? names[0];
  if (value instanceof NumberText) return names[Number(value.text)] ?? (names[0] as N[number]);
  const found = names.find((one) => one === value);
  if (found === undefined)
    throw new RpcError(3, `unknown value ${JSON.stringify(value)} for enum etcdserverpb.${type}`);
  return found;
};
export const listField = (body: Body, name: string): Body[] => {
  const value = field(body, name) ?? [];
  if (!Array.isArray(value)) throw wrongKind(value, '[]json.RawMessage');
  return value.map((one) => {
    if (typeof one === 'object' && one !== null && !Array.isArray(one) && !(one instanceof NumberText))
      return one as Body;
    throw wrongKind(one, 'map[string]json.RawMessage');
  });
};
