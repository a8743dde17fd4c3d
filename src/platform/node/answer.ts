import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bytes, Outgoing } from '../host.ts';
import { drained } from './drained.ts';

/** Headers as Node's raw list, which it writes without looking each one up. */
const rawHeaders = (outgoing: Outgoing, length: number | undefined): string[] => {
  const raw: string[] = [];
  const { headers } = outgoing;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') raw.push(name, value);
    else if (value !== undefined) for (const one of value) raw.push(name, one);
  }
  if (length !== undefined && headers?.['content-length'] === undefined)
    raw.push('content-length', String(length));
  return raw;
};

/** A source that fails cuts the connection: the client must not take half an answer for a whole one. */
const pump = async (response: ServerResponse, body: AsyncIterable<Bytes>): Promise<void> => {
  try {
    for await (const chunk of body) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response);
    }
    response.end();
  } catch {
    response.destroy();
  }
};

/** Half of the body when there is one, then the end of the connection. */
const cut = (response: ServerResponse, outgoing: Outgoing): void => {
  const { body } = outgoing;
  if (typeof body !== 'string' || body === '') return void response.socket?.destroy();
  response.writeHead(outgoing.status, rawHeaders(outgoing, Buffer.byteLength(body)));
  response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.socket?.destroy());
};

const sizeOf = (body: string | Bytes | undefined): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : (body?.length ?? 0);

/** Text without a character of several bytes needs no second look at each. */
const encodingOf = (body: string | Bytes, size: number): 'latin1' | 'utf8' =>
  body.length === size ? 'latin1' : 'utf8';

/** Writes one answer. Strings and bytes go out in one piece with their length. */
export const answer = (message: IncomingMessage, response: ServerResponse, outgoing: Outgoing): void => {
  if (response.destroyed) return;
  if (outgoing.cut) {
    cut(response, outgoing);
    return;
  }
  const { body, status } = outgoing;
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    const isBodyless = status === 204 || status === 304;
    const size = sizeOf(body);
    response.writeHead(status, rawHeaders(outgoing, isBodyless ? undefined : size));
    if (body === undefined || isBodyless || message.method === 'HEAD') response.end();
    else response.end(body, encodingOf(body, size));
    return;
  }
  response.writeHead(status, rawHeaders(outgoing, undefined));
  if (message.method === 'HEAD') response.end();
  else void pump(response, body);
};
