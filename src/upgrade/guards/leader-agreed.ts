import { guard } from './guard.ts';

export const leaderAgreed = guard('leader-agreed', 'all members follow the same leader', ({ observation }, say) => {
  const leaders = new Set(observation.members.filter(({ is_reachable }) => is_reachable).map(({ leader_id }) => leader_id ?? ''));
  const [said] = observation.members.flatMap(({ name, errors }) => errors.map((error) => ` (${name}: ${error})`));
  if (observation.leader === undefined)
    say.stop({ message: `no leader: the cluster cannot accept writes${said ?? ''}`, hint: 'opsctl kv status; a majority of the members must be up' });
  else if (leaders.size > 1)
    say.stop({ message: 'the members do not agree on the leader', hint: 'an election may be under way: look again in a few seconds' });
});
