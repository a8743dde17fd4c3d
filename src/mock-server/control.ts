import { json as jsonHeaders } from './body.ts';
import { Buffer } from 'node:buffer';
import { check } from '../core/check.ts';
import { bool, type Field, type Value, int, obj, oneOf, str } from '../core/field.ts';
import { type Problem, problem } from '../core/problem.ts';
import {
  type Clock,
  type Environment,
  type MockReply,
  type SavedState,
  savedStateFrom,
  savedStateText,
  type ServiceSet,
} from './service-set.ts';
import { faultInput, faultProfile, type Faults } from './faults.ts';
import type { RequestLog, RequestQuery } from './request-log.ts';
import type { Store } from './store.ts';

export const CONTROL_PATH = '/__opsctl/';
export type Controlled = {
  readonly env: Environment;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly snapshots: Snapshots;
  readonly services: ServiceSet;
  /** Facts for `mock status`: url, directory, start time, options. */
  facts(): Readonly<Record<string, unknown>>;
  /** Called after the state was replaced: limits restart, and the journal is compacted. */
  onReplaced(): Promise<void>;
  shutdown(): void;
};
type Asked = { readonly id: string; readonly query: URLSearchParams; readonly body: Uint8Array };
type Route = { readonly method: string; readonly path: RegExp; run(on: Controlled, asked: Asked): unknown };
class Wrong extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  constructor(status: number, message: string, problems: readonly Problem[] = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}
class Text {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
const textOf = ({ body }: Asked): string =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
const jsonOf = (asked: Asked): unknown => {
  try {
    return JSON.parse(textOf(asked));
  } catch {
    throw new Wrong(400, 'the body is not JSON');
  }
};
const bodyAs = <F extends Field>(asked: Asked, field: F): Value<F> => {
  const value = asked.body.length === 0 ? {} : jsonOf(asked);
  const problems = check(field, value);
  if (problems.length > 0) throw new Wrong(400, 'the body is not right', problems);
  return value as Value<F>;
};
const clockInput = obj(
  {
    time: { ...str(40), format: 'datetime' },
    advance_ms: int({ min: -1e13, max: 1e13 }),
    frozen: bool(),
  } as const,
  { exclusive: [['time', 'advance_ms']] },
);
const setClock = ({ clock }: Controlled, asked: Asked) => {
  const { time, advance_ms: advanceMs, frozen } = bodyAs(asked, clockInput);
  if (time !== undefined) clock.set(Date.parse(time), frozen);
  else if (advanceMs !== undefined) clock.advance(advanceMs);
  else if (frozen !== undefined) clock.set(clock.now(), frozen);
  return clock.state();
};
const clearClock = ({ clock }: Controlled) => {
  clock.clear();
  return clock.state();
};
/** Switches of the tracker's workspace (spec/tracker#errors-2; States of the two features); one that was never set is on. */
const featuresInput = obj({
  documents: bool(),
  'entity-templates': bool(),
  iterations: bool(),
  'group-entitlement': bool(),
  'objective-entitlement': bool(),
});
const features = async ({ env, services }: Controlled) => {
  await services.loadAll();
  const set = env.store.collection<boolean>('tracker.features');
  return Object.fromEntries(Object.keys(featuresInput.fields).map((name) => [name, set.get(name) ?? true]));
};
const setFeatures = async (on: Controlled, asked: Asked) => {
  const wanted: Readonly<Record<string, boolean>> = bodyAs(asked, featuresInput);
  // Filled first: a reset that comes after would set them all on again.
  await on.services.loadAll();
  on.env.store.transact(() => {
    for (const [name, isOn] of Object.entries(wanted))
      on.env.store.collection<boolean>('tracker.features').put(name, isOn);
  });
  return features(on);
};
const kindInput = obj({ kind: oneOf('demo', 'empty') });
const reset = async (on: Controlled, asked: Asked) => {
  await on.services.reset(bodyAs(asked, kindInput).kind ?? 'demo');
  await on.onReplaced();
  return status(on);
};
const restore = async (on: Controlled, asked: Asked) => {
  const saved = savedStateFrom(textOf(asked));
  if (saved === undefined) throw new Wrong(400, 'this is not a saved state: `opsctl mock state` writes one');
  on.services.restore(saved);
  await on.onReplaced();
  return status(on);
};
const status = async ({ env, clock, faults, log, services, facts }: Controlled) => {
  await services.loadAll();
  const records = [...env.store.collections()].filter(
    ({ name, size }) => size > 0 && !name.startsWith('mock.') && name !== 'sequences',
  );
  return {
    ...facts(),
    clock: clock.state(),
    faults: faults.list().length,
    requests: log.count,
    records: Object.fromEntries(records.map(({ name, size }) => [name, size])),
  };
};
const limitOf = ({ query }: Asked): number => {
  const limit = Number(query.get('limit') ?? 100);
  if (!Number.isInteger(limit) || limit < 1)
    throw new Wrong(400, 'limit', [problem('limit', 'min', 'must be a whole number from 1')]);
  return limit;
};
const queryOf = ({ query }: Asked): RequestQuery => {
  const status = query.get('status');
  return {
    method: query.get('method') ?? undefined,
    path: query.get('path') ?? undefined,
    status: status === null ? undefined : Number(status),
    service: query.get('service') ?? undefined,
    token: query.get('token') ?? undefined,
    body: query.get('body') ?? undefined,
  };
};
const removeFault = ({ faults }: Controlled, { id }: Asked) => {
  if (!faults.remove(Number(id))) throw new Wrong(404, `there is no fault ${id}`);
};
/** Services that were not asked yet are filled first, so that a saved state is whole. */
const wholeState = async ({ env, services }: Controlled) => {
  await services.loadAll();
  return new Text(savedStateText(env));
};
const saveSnapshot = async ({ env, services, snapshots }: Controlled, { id }: Asked) => {
  await services.loadAll();
  return snapshots.save(id, savedStateText(env), env.now());
};
const restoreSnapshot = async (on: Controlled, { id }: Asked) => {
  const saved = on.snapshots.get(id);
  if (saved === undefined) throw new Wrong(404, `there is no snapshot ${id}`);
  on.services.restore(saved);
  await on.onReplaced();
  return status(on);
};
const removeSnapshot = ({ snapshots }: Controlled, { id }: Asked) => {
  if (!snapshots.remove(id)) throw new Wrong(404, `there is no snapshot ${id}`);
};
/** The webhooks of the tracker, which only the tracker can serve. */
const ofTracker =
  (path: string) =>
  async ({ services }: Controlled, asked: Asked): Promise<unknown> => {
    const tracker = (await services.loadAll()).find(({ name }) => name === 'tracker');
    const answer = tracker?.control?.(path, asked.body.length === 0 ? {} : jsonOf(asked));
    if (answer === undefined) throw new Wrong(404, 'this server has no tracker');
    if ('status' in answer) throw new Wrong(answer.status, answer.message, answer.problems);
    return answer.value;
  };
const routes: readonly Route[] = [
  { method: 'GET', path: /^webhooks$/, run: ofTracker('webhooks') },
  { method: 'GET', path: /^webhooks\/deliveries$/, run: ofTracker('webhooks/deliveries') },
  { method: 'POST', path: /^webhooks\/trigger$/, run: ofTracker('webhooks/trigger') },
  { method: 'POST', path: /^webhooks\/resend$/, run: ofTracker('webhooks/resend') },
  { method: 'GET', path: /^status$/, run: status },
  { method: 'POST', path: /^reset$/, run: reset },
  { method: 'GET', path: /^state$/, run: wholeState },
  { method: 'PUT', path: /^state$/, run: restore },
  { method: 'GET', path: /^snapshots$/, run: ({ snapshots }) => snapshots.list() },
  { method: 'PUT', path: /^snapshots\/([\w.-]{1,100})$/, run: saveSnapshot },
  { method: 'POST', path: /^snapshots\/([\w.-]{1,100})\/restore$/, run: restoreSnapshot },
  { method: 'DELETE', path: /^snapshots\/([\w.-]{1,100})$/, run: removeSnapshot },
  { method: 'GET', path: /^clock$/, run: ({ clock }) => clock.state() },
  { method: 'PUT', path: /^clock$/, run: setClock },
  { method: 'DELETE', path: /^clock$/, run: clearClock },
  { method: 'GET', path: /^features$/, run: features },
  { method: 'PUT', path: /^features$/, run: setFeatures },
  { method: 'GET', path: /^faults$/, run: ({ faults }) => faults.list() },
  { method: 'POST', path: /^faults$/, run: ({ faults }, asked) => faults.add(bodyAs(asked, faultInput)) },
  {
    method: 'PUT',
    path: /^faults$/,
    run: ({ faults }, asked) => faults.replace(bodyAs(asked, faultProfile)),
  },
  { method: 'DELETE', path: /^faults$/, run: ({ faults }) => faults.clear() },
  { method: 'DELETE', path: /^faults\/(\d+)$/, run: removeFault },
  { method: 'GET', path: /^requests$/, run: ({ log }, asked) => log.last(limitOf(asked)) },
  {
    method: 'GET',
    path: /^requests\/match$/,
    run: ({ log }, asked) => log.find(queryOf(asked), limitOf(asked)),
  },
  { method: 'DELETE', path: /^requests$/, run: ({ log }) => log.clear() },
  { method: 'POST', path: /^shutdown$/, run: ({ shutdown }) => shutdown() },
];
const json = (statusCode: number, value: unknown): MockReply =>
  value === undefined
    ? { status: 204 }
    : {
        status: statusCode,
        headers: jsonHeaders,
        body: value instanceof Text ? value.text : JSON.stringify(value),
      };
/** The mock server's own interface, below `/__opsctl/`; `path` is the rest of the path. */
export const control = async (
  on: Controlled,
  method: string,
  path: string,
  query: string,
  body: Uint8Array,
): Promise<MockReply> => {
  const here = routes.filter((route) => route.path.test(path));
  const route = here.find((one) => one.method === method);
  if (route === undefined) {
    if (here.length === 0) return json(404, { message: `there is no ${CONTROL_PATH}${path}` });
    return {
      ...json(405, { message: 'method not allowed' }),
      headers: { ...jsonHeaders, allow: here.map((one) => one.method).join(', ') },
    };
  }
  try {
    return json(
      200,
      await route.run(on, { id: route.path.exec(path)?.[1] ?? '', query: new URLSearchParams(query), body }),
    );
  } catch (error) {
    if (error instanceof Wrong)
      return json(error.status, { message: error.message, problems: error.problems });
    throw error;
  }
};

type Snapshot = {
  readonly name: string;
  readonly saved_at: string;
  readonly bytes: number;
  readonly text: string;
};
export type SnapshotRow = Omit<Snapshot, 'text'>;
/** The server's own records. A reset or a restore does not change them. */
const SNAPSHOT_COLLECTION = 'mock.snapshots';
const row = ({ name, saved_at, bytes }: Snapshot): SnapshotRow => ({ name, saved_at, bytes });
/** States of all services under a name, kept with the state of the server. */
export const makeSnapshots = (store: Store) => {
  const kept = store.collection<Snapshot>(SNAPSHOT_COLLECTION);
  return {
    list: (): SnapshotRow[] => [...kept.values()].map(row),
    /** Replaces a snapshot of the same name. */
    save: (name: string, text: string, nowMs: number): SnapshotRow =>
      store.transact(() => {
        const made: Snapshot = { name, saved_at: new Date(nowMs).toISOString(), bytes: text.length, text };
        kept.put(name, made);
        return row(made);
      }),
    get: (name: string): SavedState | undefined => {
      const found = kept.get(name);
      return found && savedStateFrom(found.text);
    },
    remove: (name: string): boolean => store.transact(() => kept.delete(name)),
  };
};
type Snapshots = ReturnType<typeof makeSnapshots>;
