import { hexId } from '../gateway/store.ts';
import { guard } from './guard.ts';

/** The cluster file and the cluster mean the same members: nobody is unknown, unstarted, a learner, or of another cluster. */
export const oneCluster = guard('one-cluster', 'all members are of one cluster and know the same members', ({ observation }, say) => {
  const { members, listed } = observation;
  const clusters = new Set(members.flatMap(({ cluster_id }) => cluster_id ?? []));
  if (clusters.size > 1)
    say.stop({
      message: `the members belong to ${clusters.size} clusters: ${members.map((m) => `${m.name} ${m.cluster_id === undefined ? '?' : hexId(m.cluster_id)}`).join(', ')}`,
      hint: 'one of the URLs or data folders is wrong',
    });
  const views = new Set(members.flatMap(({ listed_ids }) => listed_ids?.join(',') ?? []));
  if (views.size > 1) say.stop({ message: 'the members do not agree on who is a member', hint: 'opsctl kv member list --endpoints URL for each' });
  const ids = members.flatMap(({ member_id }) => member_id ?? []);
  const twice = members.find(
    ({ member_id }, i) => member_id !== undefined && ids.indexOf(member_id) < i && members.findIndex((m) => m.member_id === member_id) !== i,
  );
  if (twice !== undefined)
    say.stop({
      member: twice.name,
      message: `${twice.name} and another entry of the cluster file are the same member ${hexId(twice.member_id as string)}`,
      hint: 'check the client URLs',
    });
  for (const row of listed) {
    if (row.name === '')
      say.stop({ message: `member ${hexId(row.id)} (${row.peer_urls.join(', ')}) was added but never started`, hint: 'start it or remove it' });
    else if (row.is_learner)
      say.stop({ member: row.name, message: `${row.name} is a learner: it does not vote yet`, hint: 'promote it or remove it first' });
    else if (members.every(({ is_reachable }) => is_reachable) && !ids.includes(row.id))
      say.stop({ message: `member ${row.name} (${hexId(row.id)}) is not in the cluster file`, hint: 'add it: every member has to be upgraded' });
  }
});
