import { limits } from '../../core/limits.ts';
import type { Incoming, Outgoing } from '../../platform/host.ts';
import { redactedForm } from '../../core/redact-secrets.ts';
import {
  type Cassette,
  type Exchange,
  type KeptBody,
  type KeptRequest,
  bodyBytes,
  keptBody,
} from './cassette.ts';

const ordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
};
const bodyKey = (body: KeptBody | undefined): string =>
  body === undefined ? '' : JSON.stringify('json' in body ? ordered(body.json) : body);
const queryKey = (query: string): string => query.split('&').sort().join('&');

/** Requests that are the same to a cassette: method, path, query in any order, and body with its keys in any order. */
const requestKey = ({
  method,
  path,
  query,
  body,
}: Pick<KeptRequest, 'method' | 'path' | 'query' | 'body'>): string =>
  [method, path, queryKey(query), bodyKey(body)].join('\n');

export type Player = {
  handle(incoming: Incoming): Promise<Outgoing>;
  /** Requests that the cassette does not have, as `METHOD /path`. */
  readonly unknown: readonly string[];
  /** How many recorded exchanges were never asked for. */
  unused(): number;
};

const outgoing = ({ response }: Exchange): Outgoing => ({
  status: response.status,
  headers: response.headers,
  body: bodyBytes(response.body),
});

/** Answers from a cassette: equal requests get their responses in the recorded order, then the last one again. */
export const makePlayer = ({ exchanges }: Cassette): Player => {
  const queues = new Map<string, { readonly list: Exchange[]; next: number }>();
  for (const exchange of exchanges) {
    const key = requestKey(exchange.request);
    const queue = queues.get(key) ?? { list: [], next: 0 };
    queue.list.push(exchange);
    queues.set(key, queue);
  }
  const unknown: string[] = [];
  return {
    handle: async (incoming) => {
      const [path = '', query = ''] = incoming.url.split(/\?(.*)/s);
      const body = keptBody(await incoming.read(limits.cassetteBytes), incoming.headers['content-type']);
      const queue = queues.get(
        requestKey({ method: incoming.method, path, query: redactedForm(query), body }),
      );
      const found = queue?.list[Math.min(queue.next, queue.list.length - 1)];
      if (queue === undefined || found === undefined) {
        unknown.push(`${incoming.method} ${path}`);
        const message = `the cassette has no ${incoming.method} ${path} with this query and body`;
        return {
          status: 404,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ message }),
        };
      }
      queue.next += 1;
      return outgoing(found);
    },
    unknown,
    unused: () =>
      [...queues.values()].reduce((sum, { list, next }) => sum + Math.max(0, list.length - next), 0),
  };
};
