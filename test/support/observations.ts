/** Clusters as values, for the pure parts of the upgrade. */
import { observationFrom } from '../../src/kv/upgrade/observe/observe.ts';
import { planFrom } from '../../src/kv/upgrade/plan.ts';
import type { ClusterFile, MemberStatus, Observation, Plan, PlanOptions } from '../../src/kv/engine/model.ts';

export const idOf = (name: string): string => String(1000 + Number(name.slice(1)));

export const seen = (name: string, patch: Partial<MemberStatus> = {}): MemberStatus => ({
  name,
  client_url: `http://127.0.0.1:${20_000 + Number(name.slice(1))}`,
  is_reachable: true,
  is_healthy: true,
  server_version: '3.3.25',
  cluster_version: '3.3.0',
  member_id: idOf(name),
  cluster_id: '77',
  leader_id: '1001',
  is_leader: name === 'n1',
  is_learner: false,
  raft_term: 2,
  raft_index: 100,
  revision: 10,
  db_size_bytes: 20_480,
  quota_bytes: 2_147_483_648,
  errors: [],
  listed_ids: ['1001', '1002', '1003'],
  unreached: [],
  clients: { v2_requests: 0, v2_watchers: 0, versions: { '3.3': 1 } },
  host: {
    is_running: true,
    old_binary_version: '3.3.25',
    new_binary_version: '3.4.45',
    data_dir_exists: true,
    data_dir_writable: true,
    has_db_file: true,
    db_file_bytes: 20_480,
    free_bytes: 10_000_000_000,
    v2_bytes: 0,
    clock_skew_ms: 0,
    restore_check: {},
  },
  ...patch,
});

/** Returns a member that does not respond. */
export const away = (name: string, patch: Partial<MemberStatus> = {}): MemberStatus => ({
  ...{
    name,
    client_url: seen(name).client_url,
    is_reachable: false,
    is_healthy: false,
    error: 'connection refused',
    is_leader: false,
    is_learner: false,
    errors: [],
  },
  ...patch,
});

export const observed = (
  members: readonly MemberStatus[] = [seen('n1'), seen('n2'), seen('n3')],
  patch: Partial<Observation> = {},
): Observation => {
  const made = observationFrom('test', '2026-01-01T00:00:00.000Z', members, { is_on: false }, {});
  const listed = members.map(({ name, client_url }) => ({
    id: idOf(name),
    name,
    peer_urls: [],
    client_urls: [client_url],
    is_learner: false,
  }));
  return { ...made, listed, ...patch };
};

export const clusterFile = (size = 3, patch: Partial<ClusterFile> = {}): ClusterFile => ({
  name: 'test',
  ctl_binary: '/bin/ctl-3.3',
  members: Array.from({ length: size }, (_, i) => {
    const name = `n${i + 1}`;
    return {
      name,
      client_url: seen(name).client_url,
      data_dir: `/data/${name}`,
      pid_file: `/run/${name}.pid`,
      log_file: `/log/${name}`,
      old_command: ['/old/etcd', '--name', name],
      new_command: ['/new/etcd', '--name', name],
    };
  }),
  ...patch,
});

export const planOptions = (patch: Partial<PlanOptions> = {}): PlanOptions => ({
  copy_data: false,
  hold_last: false,
  stable_seconds: 1,
  accept: [],
  ...patch,
});

export const planned = (
  observation: Observation = observed(),
  cluster: ClusterFile = clusterFile(observation.members.length),
  options: PlanOptions = planOptions(),
): Plan => {
  const made = planFrom({ observation, cluster, options, describe: () => [], id: 'run' });
  if ('refused' in made) throw new Error(`refused: ${made.refused.map(({ message }) => message).join('; ')}`);
  return made;
};

/** Returns the names of the guards that refuse. */
export const refusals = (
  observation: Observation,
  cluster: ClusterFile = clusterFile(observation.members.length),
  options: PlanOptions = planOptions(),
): string[] => {
  const made = planFrom({ observation, cluster, options, describe: () => [], id: 'run' });
  return 'refused' in made ? [...new Set(made.refused.map(({ guard }) => guard))] : [];
};
