/** What a downgrade can and cannot do, said before it starts. */
import { hexId } from '../client/hex-id.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { MemberSeen } from '../engine/types.ts';

export const downgradeLimits: readonly string[] = [
  'one minor, from 3.6 to 3.5, while every member answers; the data of every key stays',
  'until it is over no 3.6 member can be added: an empty one does not start',
  'settings that only 3.6 knows have to go: flags end 3.5 at its start, keys of the file are ignored',
  'it can be cancelled, and a member can go back to 3.6, until the last member runs 3.5; then kv upgrade goes to 3.6 again',
  'when it fails: kv restore, from a snapshot of 3.6 or 3.5',
];

/** Every member that answers takes members of the older version in: cluster and data have its version. */
export const isReadyFor = (to: string, members: readonly MemberSeen[]): boolean =>
  members
    .filter(({ is_reachable }) => is_reachable)
    .every(
      ({ cluster_version, storage_version }) =>
        minorOf(cluster_version) === to && (storage_version === undefined || minorOf(storage_version) === to),
    );

export const notReady = (to: string, members: readonly MemberSeen[]): string =>
  members
    .filter((member) => !member.is_reachable || !isReadyFor(to, [member]))
    .map(
      ({ name, member_id, cluster_version, storage_version }) =>
        `${name}${member_id === undefined ? '' : ` (${hexId(member_id)})`}: cluster ${cluster_version ?? 'no answer'}, storage ${storage_version ?? '-'}`,
    )
    .join('; ');
