import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Field, type Fields, bare } from '../../src/core/field.ts';
import { type Operation, operations, fill } from '../../src/core/operation.ts';
import { defaultOptions, makeEnvironment, type MockReply } from '../../src/mock-server/service-set.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeTracker } from '../../src/mock-server/tracker/service.ts';
import { trackerState } from '../../src/mock-server/tracker/state.ts';
import { StoryCounters } from '../../src/mock-server/tracker/row.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { conformance } from '../support/conformance.ts';
import { fakeHost } from '../support/fake-host.ts';
import { testSeed } from '../support/seeded.ts';

const rows = operations(tracker.table).filter(
  ({ operation }) => operation.encoding !== 'multipart' && !operation.path.endsWith('/download'),
);
const problemsOf = conformance(tracker);
const UUIDS = [
  '11111111-0000-4000-8000-000000000001',
  '33333333-0000-4000-8000-000000000001',
  '44444444-0000-4000-8000-000000000011',
  '66666666-0000-4000-8000-000000000001',
];
/** Ids of the demo data, ids that the first requests create, and ids that do not exist. */
const someId = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 101, max: 125 }) },
  { weight: 3, arbitrary: fc.constantFrom(1, 10, 11, 12, 13, 21, 22, 23, 31) },
  fc.constantFrom(0, -1, 9_999),
);
const someUuid = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...UUIDS) }, fc.uuid());
const garbage = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, '', 'x'.repeat(300), -1, 1e300, '__proto__', [], {}) as fc.Arbitrary<any>,
);

const anyValue = (outer: Field, depth = 0): fc.Arbitrary<unknown> => {
  const field = bare(outer);
  const good = (): fc.Arbitrary<unknown> => {
    switch (field.type) {
      case 'integer':
      case 'number':
        return someId;
      case 'boolean':
        return fc.boolean();
      case 'array':
        return fc.array(anyValue(field.items, depth + 1), { maxLength: 3 });
      case 'object':
        return depth > 3 ? fc.constant({}) : objectOf(field.fields, depth + 1);
      case 'string':
        return stringOf(field);
      default:
        return garbage;
    }
  };
  return fc.oneof({ weight: 30, arbitrary: good() }, { weight: 1, arbitrary: garbage });
};
const stringOf = (field: Extract<Field, { type: 'string' }>): fc.Arbitrary<string> => {
  if (field.enum) return fc.constantFrom(...field.enum);
  const formats: Record<string, fc.Arbitrary<string>> = {
    uuid: someUuid,
    color: fc.constantFrom('#112233', '#AABBCC'),
    date: fc.constantFrom('2026-01-01', '2026-02-01', '2026-03-01'),
    datetime: fc.constantFrom('2026-01-01T00:00:00Z', '2020-06-15T12:30:45+02:00'),
    url: fc.constantFrom('https://a.example/x', 'http://127.0.0.1:9/none'),
  };
  return (
    (field.format && formats[field.format]) ||
    fc.oneof(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.constantFrom('onboarding', 'Growth', '@ana @platform', 'is:done', 'Low'),
    )
  );
};
const objectOf = (fields: Fields, depth: number): fc.Arbitrary<Record<string, unknown>> => {
  const required = Object.keys(fields).filter((key) => fields[key]?.required);
  const all = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, anyValue(field, depth)]));
  return fc.record(all, { requiredKeys: required });
};
const requestOf = (
  operation: Operation,
): fc.Arbitrary<{ operation: Operation; params: any; query: any; body: any }> =>
  fc.record({
    operation: fc.constant(operation),
    params: objectOf(operation.params ?? {}, 0),
    query: objectOf(operation.query ?? {}, 0),
    body: operation.body === undefined ? fc.constant(undefined) : objectOf(operation.body, 0),
  });
const anyRequest = fc.oneof(
  ...rows.map(({ operation }) => ({
    weight: operation.method === 'DELETE' ? 1 : operation.method === 'GET' ? 2 : 6,
    arbitrary: requestOf(operation),
  })),
);

const service = () => {
  const host = fakeHost({ network: { request: () => Promise.reject(new Error('nobody there')) } } as never);
  const store = new Store();
  const { env, listensAt } = makeEnvironment(
    host,
    store,
    { ...defaultOptions, ratePerMinute: undefined, trackerToken: 't' },
    'random',
  );
  listensAt('http://127.0.0.1:1');
  const made = makeTracker(env);
  store.transact(() => made.seed('demo'));
  return { made, state: trackerState(env) };
};

const text = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));
const send = ({ made }: ReturnType<typeof service>, { operation, params, query, body }: any) => {
  const path =
    tracker.basePath +
    fill(
      operation.path,
      Object.fromEntries(Object.entries(params).map(([key, value]) => [key, text(value) || 'x'])),
    );
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) pairs.append(key, text(one));
  const reply = made.handle({
    method: operation.method,
    path,
    query: pairs.toString(),
    headers: { 'tracker-token': 't' },
    body: new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body)),
    remoteAddress: '127.0.0.1',
    isTls: false,
  }) as MockReply;
  const answer =
    typeof reply.body === 'string'
      ? reply.body
      : new TextDecoder().decode(reply.body as Uint8Array | undefined);
  return { path, status: reply.status, text: answer, body: answer === '' ? undefined : JSON.parse(answer) };
};

/** Returns the ids that a record references but that belong to no record. */
const dangling = (state: ReturnType<typeof service>['state']): string[] => {
  const found: string[] = [];
  const look = (at: string, known: { has(id: any): boolean }, ids: readonly unknown[]): void => {
    for (const id of ids) if (id !== null && !known.has(id)) found.push(`${at} names ${id}`);
  };
  for (const story of state.stories.values()) {
    look(`story ${story.id} epic_id`, state.epics, [story.epic_id]);
    look(`story ${story.id} iteration_id`, state.iterations, [story.iteration_id]);
    look(`story ${story.id} project_id`, state.projects, [story.project_id]);
    look(`story ${story.id} label_ids`, state.labels, story.label_ids);
    look(`story ${story.id} task_ids`, state.tasks, story.task_ids);
    look(`story ${story.id} comment_ids`, state.storyComments, story.comment_ids);
    look(`story ${story.id} linked_file_ids`, state.linkedFiles, story.linked_file_ids);
    look(
      `story ${story.id} story_links`,
      state.storyLinks,
      story.story_links.map(({ id }) => id),
    );
    look(
      `story ${story.id} custom_fields`,
      state.customFields,
      story.custom_fields.map((one) => one.field_id),
    );
  }
  for (const epic of state.epics.values()) {
    look(`epic ${epic.id} label_ids`, state.labels, epic.label_ids);
    look(`epic ${epic.id} objective_ids`, state.objectives, epic.objective_ids);
    look(`epic ${epic.id} group_ids`, state.groups, epic.group_ids);
  }
  for (const comment of state.comments.values())
    look(`comment ${comment.id}`, state.epics, [comment.epic_id]);
  for (const comment of state.comments.values())
    look(`comment ${comment.id} parent`, state.comments, [comment.parent_id]);
  for (const one of state.objectives.values())
    look(`objective ${one.id}`, state.categories, one.category_ids);
  for (const one of state.keyResults.values())
    look(`key result ${one.id}`, state.objectives, [one.objective_id]);
  return found;
};

test('random requests cause no failure, no invalid response, no dangling reference and no incorrect counter', () => {
  fc.assert(
    fc.property(fc.array(anyRequest, { minLength: 20, maxLength: 60 }), (requests) => {
      const running = service();
      const { state } = running;
      const counts = (counters: StoryCounters) =>
        ['label 105', 'epic 106', 'project 103', 'state 12'].map((name) => {
          const [kind, id] = name.split(' ') as ['label', string];
          const { total, points, stories, unestimated } = counters.of(kind, Number(id));
          return { total, points, stories, unestimated };
        });
      counts(state.counters);
      for (const request of requests) {
        const answer = send(running, request);
        expect([200, 201, 204, 400, 404, 405, 409, 422], answer.text).toContain(answer.status);
        expect(
          problemsOf(request.operation.method, answer.path, answer),
          `${request.operation.method} ${answer.path} ${JSON.stringify(request.body)}`,
        ).toEqual([]);
        if (answer.status >= 400) expect(typeof answer.body.message).toBe('string');
      }
      expect(dangling(state)).toEqual([]);
      expect(counts(state.counters)).toEqual(counts(new StoryCounters(state.stories, state.workflows)));
    }),
    { seed: testSeed, numRuns: process.env.OPSCTL_SOAK === '1' ? 1000 : 60 },
  );
});
