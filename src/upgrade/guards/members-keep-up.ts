import { guard } from './guard.ts';

/** Members are asked one after the other while writes go on, so a few entries of difference mean nothing. */
export const lagLimits = { warn: 1000, stop: 5000 };

export const membersKeepUp = guard('members-keep-up', 'no member lags behind', ({ observation }, say) => {
  const furthest = Math.max(0, ...observation.members.map(({ raft_index }) => raft_index ?? 0));
  for (const { name, is_reachable, raft_index } of observation.members) {
    if (!is_reachable || raft_index === undefined) continue;
    const lag = furthest - raft_index;
    if (lag > lagLimits.stop) say.stop({ member: name, message: `${name} is ${lag} entries behind`, hint: 'wait until it has caught up' });
    else if (lag > lagLimits.warn) say.warn({ member: name, message: `${name} is ${lag} entries behind` });
  }
});
