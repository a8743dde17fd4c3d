import { type Body, RpcError } from './rpc.ts';
import { limits } from '../../core/limits.ts';

/** A number as it was written: ids of leases and members have 64 bits, and a float would lose the last of them. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const words: Readonly<Record<string, unknown>> = { true: true, false: false, null: null };
/** Reads one JSON value the way the members' own decoder does: its words for what is wrong, and no look at what comes after the value. */
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
    const found = this.#take(STRING);
    if (found === undefined) throw new RpcError(3, 'unexpected EOF');
    try {
      return JSON.parse(found);
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
export const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (value instanceof NumberText) return 'number';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

/** The request of a call. Nothing at all is an error up to 3.3 and the empty request from 3.4 on. */
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
