import type { Incoming } from '../platform/host.ts';
import type { Noted } from './noted.ts';

type Headers = Noted['headers'];

/** A client sends the same headers with each request: the log then keeps them once, and the collector has a third of the work. */
export const headersOnce = (): ((headers: Headers) => Headers) => {
  let last: Headers = {};
  let size = 0;
  const isLast = (headers: Headers): boolean => {
    let count = 0;
    for (const name in headers) {
      if (headers[name] !== last[name]) return false;
      count += 1;
    }
    return count === size;
  };
  return (headers) => {
    if (!isLast(headers)) [last, size] = [headers, Object.keys(headers).length];
    return last;
  };
};

/** The same for a text. */
export const textOnce = (): ((text: string) => string) => {
  let last = '';
  return (text) => {
    if (text !== last) last = text;
    return last;
  };
};

const split = (url: string): { path: string; query: string } => {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
};

/** Notes each request as it comes and gives it its number. */
export const requestNoter = (now: () => number): ((incoming: Incoming) => Noted) => {
  const [headersOf, pathOf] = [headersOnce(), textOnce()];
  let count = 0;
  return ({ method, url, headers }) => {
    count += 1;
    const { path, query } = split(url);
    return {
      number: count,
      atMs: now(),
      method,
      path: pathOf(path),
      query,
      headers: headersOf(headers),
      bodyIn: undefined,
      bodyAt: 0,
      bodyBytes: undefined,
      service: undefined,
      fault: undefined,
      status: undefined,
      tookUs: undefined,
    };
  };
};
