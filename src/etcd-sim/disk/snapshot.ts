import type { Machine } from '../state/machine.ts';
import { type Item, dbFile } from './db-file.ts';

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
};
const text = (field: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes]);
const number = (field: number, value: number): Buffer =>
  value === 0 ? Buffer.alloc(0) : Buffer.from([field << 3, ...varint(value)]);

/** A revision as the store names its records: 8 bytes main, `_`, 8 bytes sub, `t` for a deletion. */
const revisionKey = (main: number, sub: number, isDeletion: boolean): Buffer => {
  const key = Buffer.alloc(isDeletion ? 18 : 17);
  key.writeBigUInt64BE(BigInt(main), 0);
  key[8] = 0x5f;
  key.writeBigUInt64BE(BigInt(sub), 9);
  if (isDeletion) key[17] = 0x74;
  return key;
};
const eight = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
const named = (name: string, value: Uint8Array): Item => ({ key: Buffer.from(name), value });

const records = (machine: Machine): Item[] => {
  const found: Item[] = [];
  for (const { name, mod, sub, kv } of machine.keys.versions()) {
    const key = Buffer.from(name, 'latin1');
    const value =
      kv === undefined
        ? text(1, key)
        : Buffer.concat([
            text(1, key),
            number(2, kv.create),
            number(3, kv.mod),
            number(4, kv.version),
            text(5, Buffer.from(kv.value, 'base64')),
          ]);
    found.push({ key: revisionKey(mod, sub, kv === undefined), value });
  }
  return found;
};

/** The member's v3 data as a database file, without the trailer. */
export const snapshotFile = (machine: Machine): Buffer =>
  dbFile({
    alarm: [],
    auth: [],
    authRoles: [],
    authUsers: [],
    cluster:
      machine.clusterVersion === undefined
        ? []
        : [named('clusterVersion', Buffer.from(machine.clusterVersion))],
    key: records(machine),
    lease: [],
    members: [],
    members_removed: [],
    meta: [
      named('consistent_index', eight(machine.applied)),
      named('simulated', Buffer.from('a rehearsal, not a database')),
    ],
  });
