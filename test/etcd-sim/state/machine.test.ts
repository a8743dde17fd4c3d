import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/etcd-sim/state/command.ts';
import { Machine } from '../../../src/etcd-sim/state/machine.ts';

const b64 = (text: string): string => Buffer.from(text).toString('base64');
const machine = (quota = 1e9) => {
  const made = new Machine(quota);
  let index = 0;
  const run = (command: Command, id?: string) => {
    index += 1;
    return made.apply(index, id ?? `p${index}`, command);
  };
  const put = (key: string, value = '', lease?: string) => run({ op: 'put', key, value: b64(value), lease });
  return { made, run, put };
};
const all = { key: '\0', end: '\0' };
const keysOf = (made: Machine, range = all, revision?: number): string[] => {
  const found = made.keys.range({ ...range, revision });
  return 'code' in found ? [found.message] : found.kvs.map((kv) => kv.key);
};

describe('keys', () => {
  it('counts revisions, versions and creation as the store does', () => {
    const { made, put, run } = machine();
    put('a', '1');
    put('a', '2');
    expect(made.keys.get('a')).toMatchObject({ create: 2, mod: 3, version: 2 });
    run({ op: 'delete', key: 'a' });
    put('a', '3');
    expect(made.keys.get('a')).toMatchObject({ create: 5, mod: 5, version: 1 });
  });
  it('a delete of a missing key does not change the revision', () => {
    const { made, run } = machine();
    expect(run({ op: 'delete', key: 'none' })).toMatchObject({ ok: true, deleted: 0 });
    expect(made.keys.revision).toBe(1);
  });
  it.each([
    [{ key: 'b' }, ['b']],
    [{ key: 'b', end: 'd' }, ['b', 'c']],
    [{ key: 'b', end: '\0' }, ['b', 'c', 'd']],
    [{ key: '\0', end: '\0' }, ['a', 'b', 'c', 'd']],
    [{ key: 'x', end: 'z' }, []],
  ])('range %j', (range, expected) => {
    const { made, put } = machine();
    for (const key of ['c', 'a', 'd', 'b']) put(key);
    expect(keysOf(made, range as typeof all)).toEqual(expected);
  });
  it('reads the past until it is compacted', () => {
    const { made, put, run } = machine();
    put('a', '1');
    put('b');
    run({ op: 'delete', key: 'a' });
    expect(keysOf(made, all, 3)).toEqual(['a', 'b']);
    expect(keysOf(made)).toEqual(['b']);
    expect(run({ op: 'compact', revision: 4 })).toMatchObject({ ok: true });
    expect(keysOf(made, all, 3)).toEqual(['etcdserver: mvcc: required revision has been compacted']);
    expect(keysOf(made, all, 4)).toEqual(['b']);
    expect(run({ op: 'compact', revision: 99 })).toMatchObject({ ok: false, failure: { code: 11 } });
  });
  it('sorts and limits', () => {
    const { made, put } = machine();
    put('a', 'z');
    put('b', 'y');
    put('c', 'x');
    const found = made.keys.range({ ...all, sortOrder: 'ASCEND', sortTarget: 'VALUE', limit: 2 });
    expect('code' in found ? found : [found.kvs.map((kv) => kv.key), found.count, found.more]).toEqual([
      ['c', 'b'],
      3,
      true,
    ]);
  });
});

describe('transactions', () => {
  it.each([
    [{ key: 'a', target: 'VALUE', result: 'EQUAL', value: b64('1') }, true],
    [{ key: 'a', target: 'VALUE', result: 'NOT_EQUAL', value: b64('1') }, false],
    [{ key: 'a', target: 'VERSION', result: 'GREATER', value: 0 }, true],
    [{ key: 'none', target: 'VERSION', result: 'EQUAL', value: 0 }, true],
    [{ key: 'none', target: 'VALUE', result: 'EQUAL', value: b64('') }, false],
    [{ key: 'a', target: 'MOD', result: 'LESS', value: 2 }, false],
    [{ key: 'a', target: 'CREATE', result: 'EQUAL', value: 2 }, true],
  ] as const)('compares %j', (compare, expected) => {
    const { put, run } = machine();
    put('a', '1');
    expect(run({ op: 'txn', compare: [compare], success: [], failure: [] })).toMatchObject({
      txn: { succeeded: expected },
    });
  });
  it('all changes share one revision, and reads inside see them', () => {
    const { made, run } = machine();
    const done = run({
      op: 'txn',
      compare: [],
      success: [
        { op: 'put', key: 'a', value: '' },
        { op: 'put', key: 'b', value: '' },
        { op: 'range', ...all },
      ],
      failure: [],
    });
    expect(made.keys.revision).toBe(2);
    expect(done).toMatchObject({
      txn: { responses: [{ op: 'put' }, { op: 'put' }, { op: 'range', count: 2 }] },
    });
  });
});

describe('deterministic commands', () => {
  it('a repeated proposal makes no change and returns the same response', () => {
    const { made, run } = machine();
    const first = run({ op: 'put', key: 'a', value: '' }, 'same');
    expect(run({ op: 'put', key: 'a', value: '' }, 'same')).toBe(first);
    expect(made.keys.get('a')?.version).toBe(1);
  });
  it('a lease takes its keys with it in one revision', () => {
    const { made, run, put } = machine();
    run({ op: 'grant', id: '7', ttl: 5 });
    put('a', '', '7');
    put('b', '', '7');
    expect(made.leaseKeys('7')).toEqual(['a', 'b']);
    run({ op: 'revoke', id: '7' });
    expect([keysOf(made), made.keys.revision]).toEqual([[], 4]);
    expect(run({ op: 'revoke', id: '7' })).toMatchObject({ ok: false, failure: { code: 5 } });
    expect(put('c', '', '7')).toMatchObject({ ok: false, failure: { code: 5 } });
  });
  it('NOSPACE refuses puts and leases, takes deletes and compactions', () => {
    const { run, put } = machine();
    put('a');
    run({ op: 'alarm', action: 'ACTIVATE', member: '1', alarm: 'NOSPACE' });
    expect(put('b')).toMatchObject({
      failure: { code: 8, message: 'etcdserver: mvcc: database space exceeded' },
    });
    expect(run({ op: 'grant', id: '1', ttl: 5 })).toMatchObject({ ok: false });
    expect(run({ op: 'delete', key: 'a' })).toMatchObject({ ok: true });
    expect(run({ op: 'compact', revision: 3 })).toMatchObject({ ok: true });
    run({ op: 'alarm', action: 'DEACTIVATE', member: '0', alarm: 'NOSPACE' });
    expect(put('b')).toMatchObject({ ok: true });
  });
  it('knows when a write passes the quota; a compaction makes room, and a defragmentation gives it back', () => {
    const { made, put, run } = machine(60_000);
    put('a', 'x'.repeat(20_000));
    put('a', 'y'.repeat(1));
    expect(made.isFull(30_000)).toBe(true);
    run({ op: 'compact', revision: made.keys.revision });
    expect(made.sizeBytes).toBeLessThan(30_000);
    expect(made.isFull(30_000)).toBe(true);
    made.defragment();
    expect(made.fileBytes).toBe(made.sizeBytes);
    expect(made.isFull(30_000)).toBe(false);
  });
});
