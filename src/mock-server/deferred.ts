import { Buffer } from 'node:buffer';

const MARK = '"$bytes"';

/** Records may be bytes or hold bytes in their first level (uploaded files); JSON has no form for them, so they get one here. */
export const encode = (value: unknown): string => {
  if (value instanceof Uint8Array) return JSON.stringify(wrapped(value));
  if (typeof value === 'object' && value !== null) {
    for (const key in value) {
      const inner = (value as Record<string, unknown>)[key];
      if (inner instanceof Uint8Array) return JSON.stringify(withWrapped(value as Record<string, unknown>));
    }
  }
  return JSON.stringify(value);
};

const wrapped = (bytes: Uint8Array) => ({
  $bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
});
const withWrapped = (value: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner instanceof Uint8Array ? wrapped(inner) : inner]),
  );

const unwrapped = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && typeof (value as { $bytes?: unknown }).$bytes === 'string'
    ? new Uint8Array(Buffer.from((value as { $bytes: string }).$bytes, 'base64'))
    : value;

export const decode = (text: string): unknown =>
  text.includes(MARK) ? JSON.parse(text, unwrapped) : JSON.parse(text);

/**
 * A record as it stands in the journal, parsed when somebody asks for it: a state of 100,000 stories starts in a
 * fraction of a second, and a command that needs one of them parses one.
 */
export class Deferred {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }
  text(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }
  value(): unknown {
    return decode(this.text());
  }
}
