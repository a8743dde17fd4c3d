import { guard } from './guard.ts';

export const leaderAgreed = guard(
  'leader-agreed',
  'all members follow the same leader',
  ({ observation }, log) => {
    const leaders = new Set(
      observation.members.filter(({ is_reachable }) => is_reachable).map(({ leader_id }) => leader_id ?? ''),
    );
    const [said] = observation.members.flatMap(({ name, errors }) =>
      errors.map((error) => ` (${name}: ${error})`),
    );
    const { auth, listed } = observation;
    const [only] = leaders;
    // A member that the cluster file leaves out leads: one-cluster says which.
    if (observation.leader === undefined && leaders.size === 1 && listed.some(({ id }) => id === only))
      return;
    // Nobody told who leads because the login failed: the password is to blame, and auth-and-leases says so.
    if (observation.leader === undefined && auth.is_on === true && auth.problem !== undefined)
      log.fail({
        message: `who leads cannot be seen: ${auth.problem}`,
        hint: 'fix the user of the cluster file first',
      });
    else if (observation.leader === undefined)
      log.fail({
        message: `no leader: the cluster cannot accept writes${said ?? ''}`,
        hint: 'opsctl kv status; a majority of the members must be up',
      });
    else if (leaders.size > 1)
      log.fail({
        message: 'the members do not agree on the leader',
        hint: 'an election may be under way: look again in a few seconds',
      });
  },
);
