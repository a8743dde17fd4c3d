import { beforeAll, describe, expect, test } from 'vitest';
import { readSpec } from '../spec/read.ts';
import { type Answer, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, EPIC, GROUP, OBJECTIVE, PRIORITY, STORY, cases, ready } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

type Row = Record<string, string>;
const inputs: Row[] = readSpec('tracker-inputs').map((row) => ({
  ...row,
  name: `${row.method} ${row.path}`,
}));
const bodies = inputs.filter((row) => row.where === 'body');
const queries = inputs.filter((row) => row.where === 'query');
const successOf = new Map(
  readSpec('tracker-endpoints').map((row) => [`${row.method} ${row.path}`, Number(row.status)]),
);

let server: TrackerServer;
beforeAll(async () => {
  server = await startTracker();
});

let count = 0;
/** Returns a text of exactly `length` characters, different for each call; a URL if the field requires a URL. */
const textOf = (field: string, length: number): string => {
  count += 1;
  const start = /url|external_link/.test(field) ? `https://x.example/${count}/` : `${count}-`;
  return start.length > length ? 'x'.repeat(length) : start.padEnd(length, 'x');
};
/** Returns a value that the field accepts. */
const goodValue = ({ field = '', type = '', enum: values = '' }: Row): unknown => {
  const byField: Record<string, unknown> = {
    values: [{ value: 'New' }],
    labels: [{ name: textOf('name', 20) }],
    categories: [{ name: textOf('name', 20) }],
    epic_state_id: 22,
    converted_from_story_id: STORY,
    story_id: STORY,
    milestone_id: OBJECTIVE,
    objective_ids: [OBJECTIVE],
    group_id: GROUP,
    group_ids: [GROUP],
    workflow_ids: [1],
    default_workflow_id: 1,
    story_contents: { name: 'x' },
    end_date: '2030-01-01',
    start_date: '2020-01-01',
    initial_observed_value: { numeric_value: '1' },
    observed_value: { numeric_value: '2' },
    target_value: { numeric_value: '3' },
    after_id: undefined,
    before_id: undefined,
  };
  if (field in byField) return byField[field];
  const byType: Record<string, unknown> = {
    bool: true,
    int: 3,
    uuid: BEN,
    '[uuid]': [BEN],
    color: '#A1b2C3',
    datetime: '2026-01-02T03:04:05Z',
    enum: values.split('|')[0],
  };
  return type === 'str' ? textOf(field, 40) : byType[type];
};

/** Sends the case of the endpoint with `set` in its body; names differ from call to call. */
const send = async (row: Row, set: Record<string, unknown>): Promise<Answer> => {
  const { path, body } = await ready(server, row.name ?? '');
  const fresh = (body as Record<string, unknown>).name === undefined ? {} : { name: textOf('name', 20) };
  return server.ask(row.method ?? '', path, { ...body, ...fresh, ...set });
};
const expectRefused = (answer: Answer, field: string): void => {
  expect(answer.status, answer.text).toBe(400);
  expect(answer.body.message).toBe('The request included invalid or missing parameters.');
  expect(Object.keys(answer.body.errors).map((path) => path.split(/[.[]/)[0])).toContain(field);
};
const expectTaken = (answer: Answer, row: Row): void =>
  expect(answer.status, answer.text).toBe(successOf.get(row.name ?? ''));

const id = (row: Row): string => `${row.name} ${row.field}`;
const named = (rows: readonly Row[]): [string, Row][] => rows.map((row) => [id(row), row]);

describe('string lengths: n characters are accepted, n + 1 rejected', () => {
  test.each(named(bodies.filter((row) => row.max !== '' && row.type === 'str')))(
    '%s',
    covers('spec/tracker#limits-2'),
    async (_, row) => {
      const [field, max] = [row.field ?? '', Number(row.max)];
      expectTaken(await send(row, { [field]: textOf(field, max) }), row);
      expectRefused(await send(row, { [field]: textOf(field, max + 1) }), field);
    },
  );
  test('characters count, not bytes or UTF-16 units', covers('spec/tracker#limits-2'), async () => {
    const name = '😀'.repeat(128);
    expect((await server.ask('POST', '/labels', { name })).status).toBe(201);
    expect((await server.ask('POST', '/labels', { name: `${name}x` })).status).toBe(400);
  });
});

describe('enumerations: every value is accepted, others are rejected', () => {
  test.each(named(bodies.filter((row) => row.type === 'enum')))('%s', async (_, row) => {
    const field = row.field ?? '';
    for (const value of (row.enum ?? '').split('|')) expectTaken(await send(row, { [field]: value }), row);
    const first = (row.enum ?? '').split('|')[0] ?? '';
    for (const value of [
      '',
      'no such value',
      first.toUpperCase() === first ? first.toLowerCase() : first.toUpperCase(),
      ` ${first}`,
    ]) {
      expectRefused(await send(row, { [field]: value }), field);
    }
  });
});

describe('null values: accepted if documented, and unset the field', () => {
  test.each(named(bodies.filter((row) => row.nullable === 'yes')))('%s', async (_, row) => {
    const field = row.field ?? '';
    const answer = await send(row, { [field]: null });
    expectTaken(answer, row);
    if (field in answer.body) expect(answer.body[field]).toBe(field === 'archived' ? false : null);
  });
});
describe('null is refused everywhere else', () => {
  test.each(named(bodies.filter((row) => row.nullable === '')))('%s', async (_, row) => {
    expectRefused(await send(row, { [row.field ?? '']: null }), row.field ?? '');
  });
});

describe('valid values: every field accepts one', () => {
  test.each(named(bodies.filter((row) => goodValue(row) !== undefined)))('%s', async (_, row) => {
    expectTaken(await send(row, { [row.field ?? '']: goodValue(row) }), row);
  });
});

/** JSON values that are invalid for each field type. */
const wrong: Record<string, readonly unknown[]> = {
  str: [1, true, [], {}],
  int: ['1', 1.5, true, []],
  bool: ['true', 0, 1, {}],
  uuid: [1, '', 'not-a-uuid', '11111111-0000-4000-8000-00000000000', 'g1111111-0000-4000-8000-000000000001'],
  datetime: [
    '',
    'yesterday',
    '2026-13-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00+99:99',
    1767225600,
  ],
  date: ['', '2026-02-30', '2026-1-1', '2026-01-01T00:00:00Z', 20260101],
  color: [
    '',
    'red',
    'cc0000',
    '#cc00',
    '#cc00zz',
    '#cc000000',
    'rgb(1,2,3)',
    'inherit',
    'initial',
    'transparent',
    'currentColor',
    1,
  ],
  enum: [1, [], true],
  '[int]': [1, ['1'], [null], {}],
  '[uuid]': ['x', ['x'], [1], [null]],
  '[object]': [{}, ['x'], [null], 'x'],
};
describe('a value of another type or form is refused', () => {
  test.each(named(bodies))('%s', async (_, row) => {
    const values = wrong[row.type ?? ''] ?? [1, 'x', [], true];
    for (const value of values) expectRefused(await send(row, { [row.field ?? '']: value }), row.field ?? '');
  });
});

describe('a missing required field is refused', () => {
  test.each(named(bodies.filter((row) => row.required === 'yes')))('%s', async (_, row) => {
    const { path, body } = await ready(server, row.name ?? '');
    const rest = { ...(body as Record<string, unknown>) };
    delete rest[row.field ?? ''];
    expectRefused(await server.ask(row.method ?? '', path, rest), row.field ?? '');
  });
});

const withBody = Object.keys(cases).filter(
  (name) => cases[name]?.body !== undefined && name !== 'POST /files',
);
describe('the body', () => {
  test.each(withBody)(
    '%s rejects an unknown key and names it',
    covers('spec/tracker#values-4'),
    async (name) => {
      const { path, body } = await ready(server, name);
      const answer = await server.ask(name.split(' ')[0] ?? '', path, { ...body, colour_of_money: 1 });
      expectRefused(answer, 'colour_of_money');
    },
  );
  test.each(withBody)('%s refuses what is not a JSON object', async (name) => {
    const { path } = await ready(server, name);
    for (const text of ['{', '[]', '"x"', 'null', '7']) {
      const answer = await server.ask(name.split(' ')[0] ?? '', path, text);
      expect([answer.status, typeof answer.body.message]).toEqual([400, 'string']);
    }
  });
  test.each(withBody.filter((name) => name.startsWith('PUT ') && !name.includes('/comments/')))(
    '%s accepts an empty body and leaves the record unchanged',
    async (name) => {
      const { path } = await ready(server, name);
      const answer = await server.ask('PUT', path, {});
      expect(answer.status, answer.text).toBe(200);
    },
  );
});

const url = (row: Row, value: string): string => {
  const at: Record<string, string> = {
    'GET /groups/{group-public-id}/stories': `/groups/${GROUP}/stories`,
    'GET /members': '/members',
    'GET /labels': '/labels',
  };
  const path =
    at[row.name ?? ''] ??
    (row.path ?? '').replace(/\{(\w+)-public-id\}/, (_, kind) =>
      String({ epic: EPIC, iteration: 104, label: 105, project: 103 }[kind as 'epic']),
    );
  return `${path}?${row.field}=${encodeURIComponent(value)}`;
};
describe('query parameters', () => {
  test.each(named(queries.filter((row) => row.type === 'int')))('%s keeps its range', async (_, row) => {
    const low = row.field === 'offset' || row.field === 'limit' ? 0 : 1;
    for (const good of [low, ...(row.max === '' ? [5000] : [Number(row.max)])])
      expect((await server.ask('GET', url(row, String(good)))).status).toBe(200);
    const bad = [String(low - 1), '1.5', 'x', '', ...(row.max === '' ? [] : [String(Number(row.max) + 1)])];
    for (const value of bad) expectRefused(await server.ask('GET', url(row, value)), row.field ?? '');
  });
  test.each(named(queries.filter((row) => row.type === 'bool')))('%s is true or false', async (_, row) => {
    for (const value of ['true', 'false'])
      expect((await server.ask('GET', url(row, value))).status).toBe(200);
    for (const value of ['yes', '1', '', 'TRUE'])
      expectRefused(await server.ask('GET', url(row, value)), row.field ?? '');
  });
  test('an external link has at most 2048 characters and is required', async () => {
    const link = (length: number): string =>
      `/external-link/stories?external_link=${textOf('external_link', length)}`;
    expect((await server.ask('GET', link(2048))).status).toBe(200);
    expectRefused(await server.ask('GET', link(2049)), 'external_link');
    expectRefused(await server.ask('GET', '/external-link/stories'), 'external_link');
  });
  test.each(['/labels', '/epics', '/members', `/custom-fields/${PRIORITY}`])(
    '%s refuses an unknown parameter',
    async (path) => {
      expectRefused(await server.ask('GET', `${path}?nonsense=1`), 'nonsense');
    },
  );
});
