import { troubleBody } from './errors.ts';
import type { Outgoing } from '../platform/host.ts';
import { bool, int, map, maybe, obj, oneOf, record, str } from '../core/field.ts';
import type { Value } from '../core/field.ts';
import type { Store } from './store.ts';

/** What can go wrong on purpose. `path` is a pattern: `*` is one segment's text, `**` anything. */
export const faultInput = obj({
  method: str(10, { min: 1, summary: 'only requests with this method' }),
  path: str(500, {
    min: 1,
    summary: 'only paths like this; * stands for text without a slash, ** for any text',
  }),
  status: int({ min: 200, max: 599, summary: 'answer with this status' }),
  body: str(100_000, { summary: 'answer with this body' }),
  headers: map(str(1000)),
  content_type: str(200, { summary: 'answer with this content type' }),
  delay_ms: int({ min: 0, max: 600_000, summary: 'wait this long first' }),
  cut: bool({ summary: 'end the connection instead of answering' }),
  when: {
    ...oneOf('before', 'after'),
    summary: 'before: the request is not processed; after: it is, and the answer is lost or replaced',
  },
  count: int({ min: 1, max: 1_000_000, summary: 'how many requests it meets; all when absent' }),
});
const faultRecord = record('Fault', {
  id: int(),
  hits: int(),
  method: maybe(str()),
  path: maybe(str()),
  status: maybe(int()),
  body: maybe(str()),
  headers: maybe(map(str())),
  content_type: maybe(str()),
  delay_ms: maybe(int()),
  cut: maybe(bool()),
  when: maybe(oneOf('before', 'after')),
  count: maybe(int()),
});
export type FaultInput = Value<typeof faultInput>;
export type Fault = Value<typeof faultRecord>;

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '.*' : '[^/]*'))}$`,
  );

/** Kept with the state: a fault that is set while no server runs meets the next command. */
export const makeFaults = (store: Store) => {
  const faults = store.collection<Fault>('mock.faults');
  const patterns = new Map<string, RegExp>();
  const matches = (fault: Fault, method: string, path: string): boolean => {
    if (fault.method !== undefined && fault.method.toUpperCase() !== method) return false;
    if (fault.path === undefined) return true;
    const pattern = patterns.get(fault.path) ?? patternOf(fault.path);
    patterns.set(fault.path, pattern);
    return pattern.test(path);
  };
  return {
    list: (): Fault[] => [...faults.values()],
    add: (input: FaultInput): Fault =>
      store.transact(() => {
        const fault: Fault = { ...input, id: store.next('mock.faults'), hits: 0 };
        faults.put(fault.id, fault);
        return fault;
      }),
    remove: (id: number): boolean => store.transact(() => faults.delete(id)),
    clear: (): void =>
      store.transact(() => {
        for (const fault of faults.values()) faults.delete(fault.id);
      }),
    /** The first fault that this request meets; counted, and gone when its count is used up. */
    meet: (method: string, path: string): Fault | undefined => {
      if (faults.size === 0) return undefined;
      const fault = faults.find((one) => matches(one, method, path));
      if (fault === undefined) return undefined;
      const hits = fault.hits + 1;
      store.transact(() =>
        hits === fault.count ? faults.delete(fault.id) : faults.put(fault.id, { ...fault, hits }),
      );
      return fault;
    },
  };
};
export type Faults = ReturnType<typeof makeFaults>;

/** True when the fault answers by itself; a mere delay or another content type lets the service answer. */
export const answersAlone = (fault: Fault): boolean =>
  fault.when !== 'after' &&
  (fault.status !== undefined ||
    fault.cut === true ||
    (fault.body !== undefined && fault.content_type === undefined));

/** The answer under a fault; `made` is what the service said, absent when it was not asked. */
export const faultyAnswer = (fault: Fault, made: Outgoing | undefined, path: string): Outgoing => {
  if (fault.cut) return { status: made?.status ?? 200, headers: made?.headers, body: made?.body, cut: true };
  const status = fault.status ?? made?.status ?? 200;
  const body =
    fault.body ??
    (made && fault.status === undefined
      ? made.body
      : troubleBody(path, status, `injected fault ${fault.id}: status ${status}`));
  const type =
    fault.content_type ??
    (made && fault.status === undefined ? undefined : 'application/json; charset=utf-8');
  return {
    status,
    headers: { ...made?.headers, ...(type === undefined ? {} : { 'content-type': type }), ...fault.headers },
    body,
  };
};
