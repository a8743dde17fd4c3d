import { createHash } from 'node:crypto';
import { invalid } from './errors.ts';

/** spec/labels#parameters: labels 50/200, permissions 50/200, locks 100/200. */
const MAX_PAGE = 200;
type Sequenced = { readonly seq: number };

const fingerprint = (about: unknown): string =>
  createHash('sha256').update(JSON.stringify(about)).digest('base64url').slice(0, 12);

/** Opaque to clients: where to go on, and a fingerprint of the arguments that must not change between pages. */
const tokenFor = (after: number, about: unknown): string => {
  const place = Buffer.from(`p1.${after}`).toString('base64url');
  return `${place}.${fingerprint([about, after])}`;
};

const placeIn = (token: string, about: unknown): number => {
  const [place = '', mark] = token.split('.');
  const after = Number(/^p1\.(\d+)$/.exec(Buffer.from(place, 'base64url').toString())?.[1]);
  // spec/labels#parameters: the page size may change between pages, other arguments may not.
  if (!Number.isSafeInteger(after) || mark !== fingerprint([about, after])) {
    throw invalid('pageToken', 'is not a token of this list with these arguments', 'INVALID_PAGE_TOKEN');
  }
  return after;
};

export type Page<T> = { readonly items: readonly T[]; readonly nextPageToken?: string };

/** One page in order of `seq`. `about` is the list and its arguments without size and token. */
export const pageOf = <T extends Sequenced>(
  all: Iterable<T>,
  query: Readonly<Record<string, unknown>>,
  standard: number,
  about: unknown,
): Page<T> => {
  const token = query.pageToken;
  const after = typeof token === 'string' && token !== '' ? placeIn(token, about) : 0;
  const asked = Number(query.pageSize ?? 0);
  const size = Math.min(asked === 0 ? standard : asked, MAX_PAGE);
  const rest = [...all].filter((item) => item.seq > after).sort((a, b) => a.seq - b.seq);
  const items = rest.slice(0, size);
  const last = items[items.length - 1];
  return rest.length > size && last ? { items, nextPageToken: tokenFor(last.seq, about) } : { items };
};
