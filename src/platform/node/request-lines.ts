import type { HttpRequest } from '../host.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** How long the body is, is ours to say. */
const OURS = new Set(['content-length', 'transfer-encoding']);

/** Headers as they go over the wire. `isAscii`: head and body can be written as one text. */
export type Lines = {
  readonly text: string;
  readonly hasHost: boolean;
  readonly isAscii: boolean;
  readonly length: string | undefined;
};

const line = (name: string, value: string): string => {
  if (!TOKEN.test(name)) throw new Error(`the header name ${JSON.stringify(name)} cannot be sent`);
  if (!VALUE.test(value)) throw new Error(`the header ${name} has a character that cannot be sent`);
  return `${name}: ${value}\r\n`;
};

const linesFrom = (headers: Readonly<Record<string, string>>): Lines => {
  const given = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (!given.has('connection')) given.set('connection', 'keep-alive');
  const text = [...given].map(([name, value]) => (OURS.has(name) ? '' : line(name, value))).join('');
  return {
    text,
    hasHost: given.has('host'),
    isAscii: Buffer.byteLength(text) === text.length,
    length: given.get('content-length'),
  };
};

/** Puts headers into words. A caller that sends many requests gives the same object with each: it is read once. */
export const headerLines = (): ((headers: HttpRequest['headers']) => Lines) => {
  const known = new WeakMap<object, Lines>();
  const none = {};
  return (headers = none) => {
    const found = known.get(headers);
    if (found !== undefined) return found;
    const lines = linesFrom(headers);
    known.set(headers, lines);
    return lines;
  };
};

/** A method is written into the first line as it is. */
export const checkMethod = (method: string): void => {
  if (!TOKEN.test(method)) throw new Error(`the method ${JSON.stringify(method)} cannot be sent`);
};
