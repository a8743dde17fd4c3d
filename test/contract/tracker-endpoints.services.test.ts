import { beforeAll, describe, expect, test } from 'vitest';
import { readSpec } from '../spec/read.ts';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { NO_ID, NO_UUID, cases, ready } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

const endpoints = readSpec('tracker-endpoints').map(
  (row) => ({ ...row, name: `${row.method} ${row.path}` }) as Record<string, string>,
);
const fieldsOf = (record: string) => readSpec('tracker-records').filter((row) => row.record === record);

/** spec/tracker#records: fields that are absent rather than null, or that have their own shape. */
const mayBeAbsent = /^(description|.*_observed_value\..*|current_target_value\..*|story_contents\..*)$/;

const reach = (value: any, path: string): { has: boolean } => {
  const [head = '', ...rest] = path.split('.');
  const isList = head.endsWith('[]');
  const inner = value?.[isList ? head.slice(0, -2) : head];
  if (inner === undefined) return { has: false };
  if (rest.length === 0 || inner === null) return { has: true };
  if (!isList) return reach(inner, rest.join('.'));
  return { has: inner.every((one: unknown) => reach(one, rest.join('.')).has) };
};
const kinds: Record<string, (value: unknown) => boolean> = {
  int: Number.isSafeInteger,
  bool: (value) => typeof value === 'boolean',
  str: (value) => typeof value === 'string',
  uuid: (value) => typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
  datetime: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value),
  date: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  '[int]': (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
  '[uuid]': (value) => Array.isArray(value) && value.every((one) => kinds.uuid?.(one)),
};

/** Every field of the document is present, with the type that the document defines. */
const expectRecord = (record: string, value: any): void => {
  for (const { field = '', type = '' } of fieldsOf(record)) {
    const at = `${record}.${field}`;
    if (!mayBeAbsent.test(field)) expect(reach(value, field).has, at).toBe(true);
    const plain = value[field];
    const isKind = kinds[type];
    if (isKind && plain !== undefined && plain !== null && !field.includes('.'))
      expect(isKind(plain), `${at} is ${type}: ${JSON.stringify(plain)}`).toBe(true);
  }
};

describe.each(endpoints)('$name', ({ name = '', method = '', path: template = '', status, success = '' }) => {
  let server: TrackerServer;
  beforeAll(async () => {
    server = await startTracker();
  });

  test(
    'no token and a wrong token are 401, each with its body',
    covers('spec/tracker#errors-4'),
    async () => {
      const path = template
        .replace(/\{(custom-field|entity-template|group|health|key-result|member)[^}]*\}/g, NO_UUID)
        .replace(/\{[^}]*\}/g, '1');
      const none = await server.ask(method, path, undefined, { 'Tracker-Token': '' });
      expect([none.status, none.body.tag]).toEqual([401, 'organization2_missing']);
      const wrong = await server.ask(method, path, undefined, { 'Tracker-Token': 'not-the-token' });
      expect([wrong.status, wrong.body]).toEqual([401, { message: 'Unauthorized', tag: 'unauthorized' }]);
    },
  );

  const params = [...template.matchAll(/\{([^}]*)\}/g)].map((match) => match[1] ?? '');
  test.each(params)('an unknown %s is 404', covers('spec/tracker#every-endpoint-2'), async (param) => {
    const { body } = await ready(server, name);
    const known: Record<string, string> = { 'epic-public-id': '106' };
    const isUuid = /^(custom-field|entity-template|group|health|key-result|member)-/.test(param);
    const path = template.replace(/\{([^}]*)\}/g, (_, each: string) =>
      each === param ? (isUuid ? NO_UUID : String(NO_ID)) : (known[each] ?? '1'),
    );
    const answer = await server.ask(method, path, body);
    expect([answer.status, answer.body]).toEqual([404, { message: 'Resource not found.' }]);
  });

  test.each(params)(
    'a %s of the wrong form is 400 and named',
    covers('spec/tracker#every-endpoint-2'),
    async (param) => {
      const { body } = await ready(server, name);
      const path = template.replace(/\{([^}]*)\}/g, (_, each: string) => (each === param ? 'x.y' : '106'));
      const answer = await server.ask(method, path, body);
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([
        400,
        expect.arrayContaining([param]),
      ]);
    },
  );

  test(`the endpoint returns ${status} ${success}`, async () => {
    const { path, body } = await ready(server, name);
    const answer = await server.ask(method, path, body);
    expect(answer.status, answer.text).toBe(Number(status));
    if (status === '204') {
      expect(answer.text).toBe('');
      return;
    }
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const list = /^\[(.*)\]$/.exec(success)?.[1];
    if (list !== undefined) {
      expect(answer.body.length, 'an example to look at').toBeGreaterThan(0);
      for (const record of answer.body) expectRecord(list, record);
    } else if (success === 'Search result')
      expect(Object.keys(answer.body).sort()).toEqual(['epics', 'iterations', 'milestones', 'stories']);
    else if (success !== '') expectRecord(success, answer.body);
  });
});

test('every endpoint of the document has exactly one case', () => {
  expect(Object.keys(cases).sort()).toEqual(endpoints.map(({ name }) => name).sort());
});
