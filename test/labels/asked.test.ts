import { describe, expect, test } from 'vitest';
import { readLive } from '../../src/labels/read-labels.ts';
import { labelText } from '../../src/labels/from-label.ts';
import { type Reader, disabledIn } from '../../src/labels/read-values.ts';
import { sendPermissions } from '../../src/labels/sync-permissions.ts';
import { fakeHost } from '../support/fake-host.ts';
import { contextWith } from '../support/context.ts';

/** Creates a context whose service has the labels A to F, and records the requests. */
const asking = () => {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  const labels = [...'ABCDEF'].map((id) => ({ id, properties: { title: `Title ${id}` } }));
  const call = async (
    _: unknown,
    { id }: { id: string },
    { params, body }: { params?: { name?: string }; body?: unknown },
  ) => {
    asked.push([id, params?.name].filter((part) => part !== undefined).join(' '));
    if (body !== undefined) bodies.push(body);
    return params?.name === undefined
      ? { labels }
      : labels.find((label) => `labels/${label.id}` === params.name);
  };
  const context = {
    call,
    lookups: { call },
    host: fakeHost(),
    settings: { directories: { cache: '/cache' } },
  };
  return { context: contextWith(context), asked, bodies };
};

describe('labels that are sought', () => {
  const seek = (id: string) => ({ ids: [id], titles: [] });
  test('four are read by id, five as pages', async () => {
    const four = asking();
    const live = await readLive(four.context, [...'ABCD'].map(seek), {});
    expect(four.asked.map((one) => one.split(' ')[1]).toSorted()).toEqual(
      [...'ABCD'].map((id) => `labels/${id}`),
    );
    expect(live.withId('D')?.properties?.title).toBe('Title D');
    const five = asking();
    const paged = await readLive(five.context, [...'ABCDE'].map(seek), {});
    expect(five.asked).toHaveLength(1);
    expect(paged.withId('E')?.properties?.title).toBe('Title E');
    expect(paged.withId('F')).toBeUndefined();
  });
  test('a label without an ID is found by its title, and all titles are kept for completion', async () => {
    const { context, asked } = asking();
    const live = await readLive(context, [seek('A'), { ids: [], titles: ['title b'] }], {});
    expect(asked).toHaveLength(1);
    expect(live.withTitle('Title B').map(({ id }) => id)).toEqual(['B']);
    expect(live.withTitle('Title C')).toEqual([]);
    expect(await context.host.files.read('/cache/names/label-title')).toBe(
      [...'ABCDEF'].map((id) => `Title ${id}\n`).join(''),
    );
  });
});

describe('permissions that are sent', () => {
  const none = { added: [], changed: [], removed: [] };
  const ada = { role: 'READER', email: 'ada@x' } as const;
  test('equal permissions cause no request', async () => {
    const { context, asked } = asking();
    expect(await sendPermissions(context, 'labels/L', none, {})).toBe(0);
    expect(asked).toEqual([]);
  });
  test('grants are one request, and removals a second one after it', async () => {
    const { context, asked, bodies } = asking();
    const removed = [{ name: 'labels/L/permissions/1' }];
    const changed = [{ from: 'READER', to: { ...ada, email: 'bob@x' } }];
    expect(await sendPermissions(context, 'labels/L', { ...none, added: [ada] }, {})).toBe(1);
    expect(await sendPermissions(context, 'labels/L', { ...none, removed }, {})).toBe(1);
    expect(
      await sendPermissions(
        context,
        'labels/L',
        { added: [ada], changed, removed },
        { useAdminAccess: true },
      ),
    ).toBe(2);
    expect(asked.map((id) => /batch\w+/.exec(id)?.[0])).toEqual([
      ...['batchUpdate', 'batchDelete'],
      ...['batchUpdate', 'batchDelete'],
    ]);
    expect(bodies.slice(2)).toEqual([
      {
        requests: [
          { parent: 'labels/L', labelPermission: ada },
          { parent: 'labels/L', labelPermission: { ...ada, email: 'bob@x' } },
        ],
        useAdminAccess: true,
      },
      { requests: [{ name: 'labels/L/permissions/1' }], useAdminAccess: true },
    ]);
  });
});

test('`disabled` is a policy, a plain word or absent', () => {
  const given = (value: object) => {
    const reader: Reader = { problems: [] };
    return [disabledIn(value as never, 'p', reader), reader.problems.length];
  };
  const policy = { hideInSearch: false, showInApply: false };
  expect(given({})).toEqual([undefined, 0]);
  expect(given({ disabled: false })).toEqual([false, 0]);
  expect(given({ disabled: null })).toEqual([false, 0]);
  expect(given({ disabled: true })).toEqual([policy, 0]);
  expect(given({ disabled: {} })).toEqual([policy, 0]);
  expect(given({ disabled: { hideInSearch: true } })).toEqual([{ ...policy, hideInSearch: true }, 0]);
  expect(given({ disabled: { showInApply: true } })).toEqual([{ ...policy, showInApply: true }, 0]);
  expect(given({ disabled: 'yes' })).toEqual([undefined, 1]);
});

test('six choices are named, of seven the last is counted', () => {
  const withChoices = (count: number): string | undefined => {
    const choices = Array.from({ length: count }, (_, i) => ({
      id: `${i}`,
      properties: { displayName: `c${i}` },
      lifecycle: { state: 'PUBLISHED' },
    }));
    const field = {
      properties: { displayName: 'S' },
      selectionOptions: { choices },
      lifecycle: { state: 'PUBLISHED' },
    };
    return labelText({ name: 'labels/x', id: 'x', fields: [field] })
      .split('\n')
      .at(-1);
  };
  expect(withChoices(6)).toMatch(/: c0, c1, c2, c3, c4, c5$/);
  expect(withChoices(7)).toMatch(/: c0, c1, c2, c3, c4, c5 and 1 more$/);
});
