import type { Store } from '../client/etcd-client.ts';
import type { SnapshotKey } from '../client/snapshot-content.ts';
import { prefixEnd } from '../client/messages.ts';

/** A key of a snapshot or of a cluster. `key` is latin1 (one character per byte), and `value` is base64. */
export type ComparedKey = Pick<SnapshotKey, 'key' | 'value' | 'mod'> & { readonly lease?: string };
export type KeyChange = {
  readonly key: string;
  readonly change: 'added' | 'removed' | 'changed';
  readonly before?: ComparedKey;
  readonly after?: ComparedKey;
};
/** The keys of opsctl (locks, progress and canary) always differ. */
const isOwn = (key: string): boolean => key.startsWith('opsctl/');
const inPrefix = (keys: readonly ComparedKey[], prefix: string): Map<string, ComparedKey> =>
  new Map(
    keys
      .filter(({ key }) => key.startsWith(prefix) && (isOwn(prefix) || !isOwn(key)))
      .map((one) => [one.key, one]),
  );
/**
 * Returns the changes from `before` to `after` by key. A key that was written again with the same value is
 * unchanged. Pure.
 */
export const compareKeys = (
  before: readonly ComparedKey[],
  after: readonly ComparedKey[],
  prefix = '',
): KeyChange[] => {
  const [old, fresh] = [inPrefix(before, prefix), inPrefix(after, prefix)];
  const names = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  return names.flatMap((key): KeyChange[] => {
    const [a, b] = [old.get(key), fresh.get(key)];
    if (a === undefined && b !== undefined) return [{ key, change: 'added', after: b }];
    if (a !== undefined && b === undefined) return [{ key, change: 'removed', before: a }];
    return a?.value === b?.value || a === undefined || b === undefined
      ? []
      : [{ key, change: 'changed', before: a, after: b }];
  });
};
export const countChanges = (changes: readonly KeyChange[]) => {
  const count = (kind: KeyChange['change']): number => changes.filter(({ change }) => change === kind).length;
  return { added: count('added'), removed: count('removed'), changed: count('changed') };
};
const pageKeys = 500;
/** Returns every key below a prefix at one revision (default: the newest revision). */
export const readKeys = async (
  store: Store,
  prefix: string,
  revision?: number,
): Promise<{ readonly revision: number; readonly keys: readonly ComparedKey[] }> => {
  const end = prefixEnd(Buffer.from(prefix, 'latin1').toString());
  const keys: ComparedKey[] = [];
  let [from, at] = [Buffer.from(prefix === '' ? '\0' : prefix, 'latin1'), revision];
  for (;;) {
    const page = await store.range(from, {
      rangeEnd: end,
      limit: pageKeys,
      ...(at === undefined ? {} : { revision: at }),
    });
    at ??= page.revision;
    for (const kv of page.kvs) {
      const key = kv.key_base64 === undefined ? Buffer.from(kv.key) : Buffer.from(kv.key_base64, 'base64');
      const value = kv.value_base64 ?? Buffer.from(kv.value).toString('base64');
      keys.push({
        key: key.toString('latin1'),
        value,
        mod: kv.mod_revision,
        ...(kv.lease === undefined ? {} : { lease: kv.lease }),
      });
      from = Buffer.concat([key, Buffer.from([0])]);
    }
    if (page.kvs.length < pageKeys) return { revision: at, keys };
  }
};
/**
 * Applies each change only if its key has not changed since the comparison. Returns the keys that another
 * client changed in the meantime.
 */
export const applyChanges = async (store: Store, changes: readonly KeyChange[]): Promise<string[]> => {
  const conflicts: string[] = [];
  for (const { key, before, after } of changes) {
    const value = after === undefined ? undefined : Buffer.from(after.value, 'base64');
    if (!(await store.change(Buffer.from(key, 'latin1'), before?.mod ?? 0, value))) conflicts.push(key);
  }
  return conflicts;
};
