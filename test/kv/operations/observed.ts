import type { ClusterFile, MemberStatus, Observation } from '../../../src/kv/engine/model.ts';

/** A healthy 3.5 cluster with the leader n1. */
export const observationOf = (
  size: number,
  change: (member: MemberStatus) => MemberStatus = (member) => member,
): Observation => {
  const ids = Array.from({ length: size }, (_, i) => String(1001 + i));
  const members = ids.map(
    (id, i): MemberStatus =>
      change({
        name: `n${i + 1}`,
        client_url: `http://127.0.0.1:${20001 + i}`,
        is_reachable: true,
        is_healthy: true,
        server_version: '3.5.16',
        cluster_version: '3.5.0',
        member_id: id,
        cluster_id: '77',
        leader_id: '1001',
        is_leader: i === 0,
        is_learner: false,
        raft_term: 2,
        raft_index: 100_000,
        applied_index: 100_000,
        revision: 900,
        db_size_bytes: 1e6,
        db_in_use_bytes: 1e6,
        errors: [],
        listed_ids: ids,
      }),
  );
  return {
    taken_at: '2026-11-22T08:00:00.000Z',
    cluster: 'test',
    members,
    listed: members.map(({ name, client_url }, i) => ({
      id: ids[i] as string,
      name,
      peer_urls: [`http://127.0.0.1:${30001 + i}`],
      client_urls: [client_url],
      is_learner: false,
    })),
    alarms: [],
    auth: { is_on: false },
    leader: 'n1',
    cluster_version: '3.5.0',
    lowest: '3.5',
    highest: '3.5',
  };
};

export const clusterOf = ({ members }: Observation): ClusterFile => ({
  name: 'test',
  members: members.map(({ name, client_url }) => ({ name, client_url })),
});
