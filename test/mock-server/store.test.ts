import { describe, expect, it } from 'vitest';
import { type Change, Store } from '../../src/mock-server/store.ts';

type Item = { readonly id: number; readonly group?: string | null; readonly tags?: readonly string[] };
const filled = (ids: readonly number[], commit?: (changes: readonly Change[]) => void) => {
  const store = new Store(commit);
  const items = store.collection<Item>('items');
  store.transact(() => {
    for (const id of ids) items.put(id, { id });
  });
  return { store, items };
};
const ids = (items: Iterable<Item>): number[] => [...items].map(({ id }) => id);

describe('a transaction', () => {
  it('keeps all changes', () => {
    const { items, store } = filled([1, 2, 3]);
    store.transact(() => {
      items.delete(2);
      items.put(4, { id: 4 });
      items.put(1, { id: 1, group: 'a' });
    });
    expect(ids(items.values())).toEqual([1, 3, 4]);
    expect(items.size).toBe(3);
    expect(items.get(1)).toEqual({ id: 1, group: 'a' });
    expect(items.has(2)).toBe(false);
  });

  it('undoes everything in reverse, and every record has its old place', () => {
    const { items, store } = filled([1, 2, 3]);
    const work = () => {
      items.delete(2);
      items.put(4, { id: 4 });
      items.put(2, { id: 2, group: 'again' });
      items.delete(1);
      items.delete(4);
      throw new Error('no');
    };
    expect(() => store.transact(work)).toThrow('no');
    expect(ids(items.values())).toEqual([1, 2, 3]);
    expect(items.get(2)).toEqual({ id: 2 });
    expect(items.size).toBe(3);
  });

  it('an undo of the inner transaction keeps the outer one', () => {
    const commits: (readonly Change[])[] = [];
    const { items, store } = filled([1], (changes) => commits.push(changes));
    store.transact(() => {
      items.put(2, { id: 2 });
      expect(() =>
        store.transact(() => {
          items.put(3, { id: 3 });
          items.delete(1);
          throw new Error('inner');
        }),
      ).toThrow('inner');
    });
    expect(ids(items.values())).toEqual([1, 2]);
    expect(commits[1]).toEqual([{ c: 'items', k: 2, v: { id: 2 } }]);
  });

  it('reports the last change of each record once', () => {
    const commits: (readonly Change[])[] = [];
    const { items, store } = filled([1], (changes) => commits.push(changes));
    store.transact(() => {
      items.put(1, { id: 1, group: 'a' });
      items.put(1, { id: 1, group: 'b' });
      items.put(9, { id: 9 });
      items.delete(9);
    });
    expect(commits[1]).toEqual([
      { c: 'items', k: 1, v: { id: 1, group: 'b' } },
      { c: 'items', k: 9 },
    ]);
  });

  it.each([3, 30])('reports records in the order that they have, with %i changes', (count) => {
    const commits: (readonly Change[])[] = [];
    const { items, store } = filled([], (changes) => commits.push(changes));
    const made = Array.from({ length: count - 1 }, (_, i) => i + 1);
    store.transact(() => {
      for (const id of made) items.put(id, { id });
      items.put(1, { id: 1, group: 'later' });
    });
    expect(commits[0]?.map(({ k }) => k)).toEqual(made);
    expect(commits[0]?.[0]?.v).toEqual({ id: 1, group: 'later' });
    expect(ids(items.values())).toEqual(made);
  });

  it('a transaction without changes commits no write, and committed ones are counted', () => {
    const commits: unknown[] = [];
    const { store } = filled([1], (changes) => commits.push(changes));
    const before = store.version;
    store.transact(() => 5);
    expect(commits.length).toBe(1);
    expect(store.version).toBe(before);
  });

  it('undoes when the commit fails', () => {
    let isFull = false;
    const { items, store } = filled([1], () => {
      if (isFull) throw new Error('disk full');
    });
    isFull = true;
    expect(() => store.transact(() => items.put(2, { id: 2 }))).toThrow('disk full');
    expect(() => store.transact(() => items.delete(1))).toThrow('disk full');
    expect(ids(items.values())).toEqual([1]);
  });

  it('changes are possible only in a transaction', () => {
    const { items } = filled([1]);
    expect(() => items.put(2, { id: 2 })).toThrow('outside a transaction');
    expect(() => items.delete(1)).toThrow('outside a transaction');
    expect(ids(items.values())).toEqual([1]);
  });

  it('records may be deleted during an iteration', () => {
    const { items, store } = filled([1, 2, 3, 4]);
    const seen: number[] = [];
    store.transact(() => {
      for (const { id } of items.values()) {
        seen.push(id);
        items.delete(id);
        items.delete(id + 1);
      }
    });
    expect(seen).toEqual([1, 3]);
    expect(items.size).toBe(0);
  });

  it('counts sequences as part of the state', () => {
    const store = new Store();
    expect(store.transact(() => [store.next('a'), store.next('a'), store.next('b', 500)])).toEqual([
      1, 2, 500,
    ]);
    expect(() =>
      store.transact(() => {
        store.next('a');
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(store.transact(() => store.next('a'))).toBe(3);
  });

  it('empties every collection', () => {
    const { items, store } = filled([1, 2]);
    store.transact(() => store.clear());
    expect(items.size).toBe(0);
  });
});

describe('an index', () => {
  const grouped = () => {
    const store = new Store();
    const items = store.collection<Item>('items');
    store.transact(() => {
      items.put(1, { id: 1, group: 'a', tags: ['x', 'y'] });
      items.put(2, { id: 2, group: 'b', tags: [] });
      items.put(3, { id: 3, group: 'a' });
      items.put(4, { id: 4, group: null });
    });
    return {
      store,
      items,
      byGroup: items.index('group', ({ group }) => group),
      byTag: items.index('tag', ({ tags }) => tags),
    };
  };

  it('finds by one value and by several', () => {
    const { byGroup, byTag } = grouped();
    expect(ids(byGroup.get('a'))).toEqual([1, 3]);
    expect(byGroup.first('b')?.id).toBe(2);
    expect(byGroup.first('c')).toBeUndefined();
    expect(ids(byTag.get('y'))).toEqual([1]);
    expect(byTag.count('z')).toBe(0);
  });

  it('follows puts, deletes and undo', () => {
    const { store, items, byGroup } = grouped();
    expect(byGroup.count('a')).toBe(2);
    store.transact(() => {
      items.put(2, { id: 2, group: 'a' });
      items.delete(1);
    });
    expect(ids(byGroup.get('a'))).toEqual([3, 2]);
    expect(() =>
      store.transact(() => {
        items.delete(3);
        items.put(2, { id: 2, group: 'z' });
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(new Set(ids(byGroup.get('a')))).toEqual(new Set([2, 3]));
    expect(byGroup.count('z')).toBe(0);
  });

  it('keeps what else has a value when one record loses it', () => {
    const { store, items, byGroup } = grouped();
    store.transact(() => items.put(4, { id: 4, group: 'b' }));
    expect([byGroup.count('b'), ...ids(byGroup.get('b'))]).toEqual([2, 2, 4]);
    store.transact(() => items.delete(2));
    expect([byGroup.count('b'), byGroup.first('b')?.id]).toEqual([1, 4]);
    store.transact(() => items.put(4, { id: 4, group: null }));
    expect([byGroup.count('b'), ...ids(byGroup.get('b'))]).toEqual([0]);
    store.transact(() => items.put(5, { id: 5, group: 'b' }));
    expect([byGroup.count('b'), ...ids(byGroup.get('b'))]).toEqual([1, 5]);
  });

  it('an index with the same name is the same index', () => {
    const { items, byGroup } = grouped();
    expect(items.index('group', () => 'other')).toBe(byGroup);
  });
});
