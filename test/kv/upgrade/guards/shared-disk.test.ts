import { describe, expect, it } from 'vitest';
import { diskSpace } from '../../../../src/kv/upgrade/guards/disk-space.ts';
import type { MemberStatus, PlanOptions } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { naming } from '../../../support/facts.ts';

const mib = 1024 * 1024;
const db = 100 * mib;
const on = (name: string, disk: string, free: number, patch: Partial<MemberStatus> = {}): MemberStatus =>
  seen(name, {
    db_size_bytes: db,
    host: { ...seen(name).host, db_file_bytes: db, data_dir_bytes: 2 * db, free_bytes: free, disk },
    ...patch,
  });
const directory = (path: string, disk: string, free_bytes: number) => ({
  path,
  disk,
  free_bytes,
  is_writable: true,
});
const stops = (
  members: readonly MemberStatus[],
  snapshots: ReturnType<typeof directory>,
  options: Partial<PlanOptions> = {},
) =>
  diskSpace
    .findings({
      observation: observed(members, {
        operator: { snapshots, run: directory('/state/run', 'elsewhere', 1e12) },
      }),
      ...{ cluster: clusterFile(), options: planOptions(options), from: '3.3', to: '3.4' },
    })
    .filter(({ level }) => level === 'fail')
    .map(({ message }) => message);

// Three snapshots of 100 MiB remain. Each start temporarily needs 64 MiB and another copy of the db file.
const together = 3 * db + 64 * mib + db;
const all = (disk: string, free: number) => ['n1', 'n2', 'n3'].map((name) => on(name, disk, free));

describe('directories of one disk', () => {
  it('needs of directories on one disk are added: enough for each is not enough for all', () => {
    expect(stops(all('a', together - 1), directory('/backup', 'a', together - 1))).toEqual([
      naming('/backup', 'n1', 'n2', 'n3', '464', 'MiB', 'disk', 'snapshots'),
    ]);
    expect(stops(all('a', together), directory('/backup', 'a', together))).toEqual([]);
  });
  it('needs of directories on different disks are not added', () =>
    expect(stops(all('a', together - 1), directory('/backup', 'b', together - 1))).toEqual([]));
  it('copies stay, one for each member', () => {
    const wanted = 3 * 2 * db + 64 * mib + db;
    expect(stops(all('a', wanted - 1), directory('/backup', 'b', 1e12), { copy_data: true })).toEqual([
      naming('n1', 'n2', 'n3', 'MiB', 'disk', 'copy'),
    ]);
    expect(stops(all('a', wanted), directory('/backup', 'b', 1e12), { copy_data: true })).toEqual([]);
  });
  it('upgraded members need no space', () => {
    const done = all('a', 2 * db + 64 * mib).map((member, i) =>
      i === 0 ? member : { ...member, server_version: '3.4.23' },
    );
    expect(stops(done, directory('/backup', 'a', 2 * db + 64 * mib))).toEqual([]);
  });
  it('a problem of a single member is reported for that member only', () => {
    const said = stops(all('a', 2 * db), directory('/backup', 'a', 2 * db));
    expect(said).toEqual([naming('/backup', '200', 'MiB', '300', '3', 'required', 'snapshots', 'members')]);
  });
});
