import { isBodyless } from './transport.ts';

/** How the end of a body is known (RFC 9112 6.3): by its length, by its chunks, or by the end of the connection. */
export type Framing = number | 'chunked' | 'to-end';
export type Head = {
  readonly status: number;
  /** Names in lower case; repeated ones joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: Framing;
  /** How long the connection may wait for the next request after this answer; 0 is not at all. */
  readonly keptMs: number;
};

/** The characters of a field value (RFC 9110 5.5): no NUL, CR, LF or other control character but the tab. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const STATUS = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n|$)/;
/** Unless the server says how long it keeps a connection; and how much earlier than it we let go, so that no request meets the closing. */
const USUAL_MS = 4000;
const EARLIER_MS = 1000;

export const malformed = (what: string): Error =>
  Object.assign(new Error(`the answer is not HTTP/1.1: ${what}`), { code: 'MALFORMED' });

/** One line of a head or of trailers. Throws as node:http does; a line that continues the one before it has no name (RFC 9112 5.2). */
export const fieldOf = (line: string): { readonly name: string; readonly value: string } => {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon).toLowerCase();
  // A blank before the colon is refused: who reads it otherwise sees another body (RFC 9112 5.1).
  if (colon === -1 || !NAME.test(name)) throw malformed('a header has no name');
  const value = line.slice(colon + 1);
  if (!VALUE.test(value)) throw malformed(`the header ${name} has a control character`);
  return { name, value: value.trim() };
};

const fieldsOf = (text: string, from: number): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (let at = from; at < text.length; ) {
    const next = text.indexOf('\r\n', at);
    const end = next === -1 ? text.length : next;
    const { name, value } = fieldOf(text.slice(at, end));
    headers[name] = Object.hasOwn(headers, name) ? `${headers[name]}, ${value}` : value;
    at = end + 2;
  }
  return headers;
};

const framingOf = (method: string, status: number, headers: Readonly<Record<string, string>>): Framing => {
  const [length, coding] = [headers['content-length'], headers['transfer-encoding']];
  if (isBodyless(method, status)) return 0;
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('its body has two lengths');
    return /(?:^|,)\s*chunked$/i.test(coding) ? 'chunked' : 'to-end';
  }
  if (length === undefined) return 'to-end';
  if (!/^\d{1,15}$/.test(length)) throw malformed('its content-length is not a number');
  return Number(length);
};

const keptMs = (isOld: boolean, framing: Framing, headers: Readonly<Record<string, string>>): number => {
  const connection = headers.connection?.toLowerCase() ?? '';
  if (framing === 'to-end' || connection.includes('close') || (isOld && !connection.includes('keep-alive')))
    return 0;
  const seconds =
    headers['keep-alive'] === undefined ? undefined : /\btimeout=(\d+)/i.exec(headers['keep-alive'])?.[1];
  return seconds === undefined ? USUAL_MS : Math.max(0, Number(seconds) * 1000 - EARLIER_MS);
};

/** The head of an answer, without the empty line after it. Throws when it is not one of HTTP/1. Pure. */
export const parseHead = (text: string, method: string): Head => {
  const [, minor, code] = STATUS.exec(text) ?? [];
  if (code === undefined) throw malformed('it has no status line');
  const line = text.indexOf('\r\n');
  const headers = line === -1 ? {} : fieldsOf(text, line + 2);
  const status = Number(code);
  const framing = framingOf(method, status, headers);
  return { status, headers, framing, keptMs: keptMs(minor === '0', framing, headers) };
};
