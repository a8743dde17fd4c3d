import { describe, expect, it } from 'vitest';
import { planLine } from '../../../src/commands/kv/compare.ts';
import { certificateRows, readCondition } from '../../../src/commands/kv/overview.ts';
import { findHold, parseHold } from '../../../src/kv/engine/locks.ts';
import { compareKeys, countChanges, type KeyChange } from '../../../src/kv/snapshots/catalog.ts';
import type { Store } from '../../../src/kv/client/etcd-client.ts';
import { observed, seen } from '../../support/observations.ts';
import { partlyMade } from '../../support/context.ts';

const key = (name: string, value: string, mod = 1) => ({ key: name, value, mod });

describe('a comparison by key', () => {
  it('lists what was added, removed and changed, in the order of the keys', () => {
    const changes = compareKeys(
      [key('/b', 'MQ=='), key('/c', 'MQ=='), key('/d', 'MQ==', 3)],
      [key('/a', 'MQ=='), key('/c', 'Mg==', 9), key('/d', 'MQ==', 7)],
    );
    expect(changes.map((one) => [one.change, one.key])).toEqual([
      ['added', '/a'],
      ['removed', '/b'],
      ['changed', '/c'],
    ]);
    expect(countChanges(changes)).toEqual({ added: 1, removed: 1, changed: 1 });
  });
  it('contains only keys with the prefix, and none of opsctl unless they are named', () => {
    const after = [key('/app/1', ''), key('/other', ''), key('opsctl/canary', '')];
    expect(compareKeys([], after, '/app/').map((one) => one.key)).toEqual(['/app/1']);
    expect(compareKeys([], after).map((one) => one.key)).toEqual(['/app/1', '/other']);
    expect(compareKeys([], after, 'opsctl/').map((one) => one.key)).toEqual(['opsctl/canary']);
  });
});

const entryOf = (text: string | null) =>
  text === null ? undefined : key('/k', Buffer.from(text).toString('base64'));
const changeOf = (change: KeyChange['change'], before: string | null, after: string | null): KeyChange => {
  const [old, restored] = [entryOf(before), entryOf(after)];
  return {
    ...{ key: '/k', change },
    ...(old === undefined ? {} : { before: old }),
    ...(restored === undefined ? {} : { after: restored }),
  };
};
it.each([
  ['added', null, 'new', ['/k', '"new"'], ['old']],
  ['removed', 'old', null, ['/k', '"old"'], ['new']],
  ['changed', 'old', 'new', ['/k', '"old" → "new"'], []],
  [
    'changed',
    'a\u001b[2J',
    'x'.repeat(500),
    ['\\u001b[2J', `"${'x'.repeat(40)}"…`],
    ['\u001b', 'x'.repeat(41)],
  ],
] as const)(
  'the plan of a restore shows the values of a key that is %s',
  (change, before, after, has, lacks) => {
    const line = planLine(changeOf(change, before, after), true);
    for (const part of has) expect(line).toContain(part);
    for (const part of lacks) expect(line).not.toContain(part);
  },
);
it.each([
  ['added', null, 'hunter2', ['7 bytes']],
  ['removed', 'hunter2!', null, ['8 bytes']],
  ['changed', 'é', 'hunter2', ['2 bytes → 7 bytes']],
] as const)('a log shows only the sizes of the values of a key that is %s', (change, before, after, has) => {
  const line = planLine(changeOf(change, before, after), false);
  for (const part of ['/k', ...has]) expect(line).toContain(part);
  expect(line).not.toMatch(/hunter|é/);
});

describe('a hold of the cluster', () => {
  it('holds with any value', () => {
    expect(parseHold(undefined)).toBeUndefined();
    expect(parseHold('{"reason":"soak","by":"a@b","since":"now"}')).toEqual({
      reason: 'soak',
      by: 'a@b',
      since: 'now',
    });
    for (const value of ['', 'null', '{"x":1}', 'a word']) expect(parseHold(value)).toBeDefined();
  });
  it('that cannot be read counts as a hold', async () => {
    const silent = partlyMade<Store>({ range: () => Promise.reject(new Error('silent')) });
    const free = partlyMade<Store>({ range: async () => ({ kvs: [], count: 0, revision: 1 }) });
    expect(await findHold([silent])).toBeDefined();
    expect(await findHold([silent, free])).toBeUndefined();
  });
});

describe('kv certs', () => {
  it('sorts by expiry, with the client certificate', () => {
    const certificate = (not_after: string, role: 'server' | 'client') =>
      ({ role, source: 's', subject: 'CN=x', not_after, has_names: true }) as const;
    const rows = certificateRows(
      observed([seen('n1', { certificates: [certificate('2026-03-02T00:00:00.000Z', 'server')] })], {
        client_certificate: certificate('2026-01-11T00:00:00.000Z', 'client'),
      }),
    );
    expect(rows.map(({ member, days_left }) => [member, days_left])).toEqual([
      ['opsctl', 10],
      ['n1', 60],
    ]);
  });
});

describe('kv wait', () => {
  const look = (patch = {}, outcome?: string) => ({ observation: observed([seen('n1', patch)]), outcome });
  it.each([
    ['healthy', look(), true],
    ['healthy', look({ is_healthy: false }), false],
    ['version=3.3', look(), true],
    ['version=3.3.25', look(), true],
    ['version=3.4', look(), false],
    ['version=3.4', look({ server_version: '3.4.1' }), false],
    ['finished', look(), false],
    ['finished', look({}, 'held'), false],
    ['finished', look({}, 'done'), true],
  ])('knows whether a cluster is %s: %#', (condition, seenNow, isTrue) => {
    expect(readCondition(condition)(seenNow) === undefined).toBe(isTrue);
  });
  it.each(['', 'ready', 'version=', 'version=x', 'version=3.9', 'version=4.0.1'])(
    'rejects the condition %j',
    (text) => {
      expect(() => readCondition(text)).toThrow(expect.objectContaining({ category: 'usage' }));
    },
  );
});
