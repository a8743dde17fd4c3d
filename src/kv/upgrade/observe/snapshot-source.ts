import type { MemberSeen, Observation } from '../../engine/types.ts';

/** Members lag by a few entries while they follow; more than so many, and one is behind. */
const mostBehind = 1000;
const indexOf = ({ raft_index = 0 }: MemberSeen): number => raft_index;

/**
 * Whom a scheduled snapshot is read from: a healthy follower that keeps up, so that the leader's disk is left to the writes; else the leader; else
 * whoever answers. Undefined when nobody does. Pure.
 */
export const snapshotSource = ({ members }: Pick<Observation, 'members'>): MemberSeen | undefined => {
  const able = members.filter(({ is_reachable, is_healthy }) => is_reachable && is_healthy);
  const newest = Math.max(...able.map(indexOf));
  const followers = able.filter(
    (member) => !member.is_leader && member.is_learner !== true && newest - indexOf(member) <= mostBehind,
  );
  return (
    followers.toSorted((a, b) => indexOf(b) - indexOf(a))[0] ??
    able.find(({ is_leader }) => is_leader) ??
    members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0]
  );
};

/** Whom a snapshot is read from that is asked for now: the leader, because nobody is ahead of it; else whoever is nearest to it. Pure. */
export const mostCurrent = (members: readonly MemberSeen[]): MemberSeen | undefined =>
  members.find(({ is_leader }) => is_leader) ??
  members.filter(({ is_reachable }) => is_reachable).toSorted((a, b) => indexOf(b) - indexOf(a))[0];
