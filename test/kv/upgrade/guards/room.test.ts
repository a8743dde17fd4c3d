import { describe, expect, it } from 'vitest';
import { memberRoomProblem } from '../../../../src/kv/upgrade/guards/disk-space.ts';
import type { HostFacts, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { planOptions, seen } from '../../../support/observations.ts';
import { type Given, said, second } from './said.ts';

const MiB = 1024 ** 2;

describe('room', () => {
  const place = (path: string, free_bytes: number) => ({ path, free_bytes, is_writable: true });
  it('required space is unknown for a database of unknown size', () => {
    const unknown: Partial<MemberStatus> = { db_size_bytes: undefined as never };
    const members = [seen('n1', { db_size_bytes: 10 * MiB }), seen('n2', unknown), seen('n3', unknown)];
    const at = (free: number) =>
      said('disk-space', {
        members,
        operator: { snapshots: place('/b', free), run: place('/r', 99 * MiB) },
      })[0]?.slice(0, 4);
    expect([at(20 * MiB), at(20 * MiB - 1), at(10 * MiB), at(10 * MiB - 1)]).toEqual([
      'pass',
      'warn',
      'warn',
      'fail',
    ]);
    const host = (free_bytes: number): HostFacts => ({
      ...seen('n2').host,
      free_bytes,
      db_file_bytes: undefined as never,
    });
    const on = (free: number) =>
      said('disk-space', { members: second({ ...unknown, host: host(free) }) })[0]?.slice(0, 7);
    expect([on(64 * MiB), on(64 * MiB - 1)]).toEqual(['pass: t', 'fail n2']);
    expect(memberRoomProblem('n2', host(64 * MiB), planOptions())).toBeUndefined();
  });
  const shared = (members: readonly MemberStatus[], more: object = {}, copy_data = false): number =>
    said('disk-space', { members, ...more } as Given, { options: planOptions({ copy_data }) }).filter((one) =>
      /^fail: one\b.*\bdisk\b/.test(one),
    ).length;
  const on = (name: string, free_bytes: number, patch: Partial<MemberStatus> = {}, host: object = {}) =>
    seen(name, {
      ...patch,
      host: { ...seen(name).host, disk: 'a', free_bytes, db_file_bytes: 0, ...host } as HostFacts,
    });
  it('a shared disk needs space for the known members with work', () => {
    const snapshots = (free: number) => ({
      operator: {
        snapshots: { ...place('/b', free), disk: 'a' },
        run: place('/r', 99 * MiB),
      },
    });
    const big = { db_size_bytes: 10 * MiB };
    const all = 30 * MiB + 64 * MiB;
    const three = (free: number, patch: Partial<MemberStatus> = big) => [
      on('n1', free, patch),
      on('n2', free, big),
      on('n3', free, big),
    ];
    expect(shared(three(all), snapshots(all))).toBe(0);
    expect(shared(three(all - 1), snapshots(all - 1))).toBe(1);
    // An unreachable member and an upgraded member need no snapshot.
    expect(shared(three(all - 1, { ...big, is_reachable: false }), snapshots(all - 1))).toBe(0);
    expect(shared(three(all - 1, { ...big, server_version: '3.4.9' }), snapshots(all - 1))).toBe(0);
    // An unknown size adds no bytes.
    const unknown: Partial<MemberStatus> = { db_size_bytes: undefined as never };
    expect(shared(three(84 * MiB, unknown), snapshots(84 * MiB))).toBe(0);
    expect(shared(three(84 * MiB - 1, unknown), snapshots(84 * MiB - 1))).toBe(1);
    // A directory with an unknown disk or unknown free space is not part of a sum.
    const { operator } = snapshots(all - 1);
    for (const missing of ['disk', 'free_bytes'])
      expect(
        shared(three(all - 1), {
          operator: { ...operator, snapshots: { ...operator.snapshots, [missing]: undefined } },
        }),
      ).toBe(0);
  });
  it('on a shared disk copies add up, and a member with unknown data needs none', () => {
    const two = (free: number, host: object = {}) => [on('n1', free, {}, host), on('n2', free, {}, host)];
    const copies = { data_dir_bytes: 10 * MiB };
    expect(shared(two(84 * MiB, copies), {}, true)).toBe(0);
    expect(shared(two(84 * MiB - 1, copies), {}, true)).toBe(1);
    expect(shared(two(84 * MiB - 1, { ...copies, disk: undefined }), {}, true)).toBe(0);
    expect(shared(two(0, { ...copies, free_bytes: undefined }), {}, true)).toBe(0);
    const unsized = two(64 * MiB, { db_file_bytes: undefined }).map((one) => ({
      ...one,
      db_size_bytes: undefined as never,
    }));
    expect(shared(unsized, {}, true)).toBe(0);
    // A member that lacks space for its own data has a separate finding. Here each member needs 10 MiB for
    // its copy and 64 MiB for its start.
    expect(shared(two(74 * MiB, copies), {}, true)).toBe(1);
    expect(shared(two(74 * MiB - 1, copies), {}, true)).toBe(0);
  });
});
