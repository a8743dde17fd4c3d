import type { MemberSeen } from '../../engine/types.ts';
import { guard } from './guard.ts';

/** Members are asked one after the other while writes go on, so a few entries of difference mean nothing. */
export const lagLimits = { warn: 1000, stop: 5000 };

export const membersKeepUp = guard('members-keep-up', 'no member lags behind', ({ observation }, log) => {
  const furthest = Math.max(...observation.members.flatMap(({ raft_index }) => raft_index ?? []));
  for (const { name, is_reachable, raft_index } of observation.members) {
    if (!is_reachable || raft_index === undefined) continue;
    const lag = furthest - raft_index;
    if (lag > lagLimits.stop)
      log.fail({
        member: name,
        message: `${name} is ${lag} entries behind`,
        hint: 'wait until it has caught up',
      });
    else if (lag > lagLimits.warn) log.warn({ member: name, message: `${name} is ${lag} entries behind` });
  }
});

const transfereeLag = 500;
/** Members that could not take the leadership over at once: they lag, or follow somebody else. None when `leader` does not lead. Pure. */
export const notReadyToLead = (members: readonly MemberSeen[], leader: MemberSeen): string[] =>
  members
    .filter(
      ({ name, is_reachable, is_learner }) =>
        leader.is_leader && name !== leader.name && is_reachable && !is_learner,
    )
    .filter(
      ({ leader_id, raft_index = 0 }) =>
        leader_id !== leader.member_id || (leader.raft_index ?? 0) - raft_index > transfereeLag,
    )
    .map(({ name }) => name);
