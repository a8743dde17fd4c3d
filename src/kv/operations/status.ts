import { hexId } from '../client/hex-id.ts';
import { type Endpoint, reasonOf } from './endpoint.ts';

export const askedStatus = async ({ endpoint, store }: Endpoint) => {
  try {
    const { member_id, leader_id, cluster_id, ...rest } = await store.status();
    const { server } = await store.versions();
    return {
      endpoint,
      id: hexId(member_id),
      cluster_id: hexId(cluster_id),
      is_leader: leader_id === member_id,
      leader: leader_id === undefined ? '' : hexId(leader_id),
      ...rest,
      version: server,
    };
  } catch (error) {
    return { endpoint, error: reasonOf(error) };
  }
};

type Row = { readonly [key: string]: unknown };

/** What the tools of the store show; what a version does not tell, and an error that nobody has, takes no room. */
export const statusColumns = (rows: readonly Row[]): string[] => {
  const isTold = (key: string): boolean =>
    rows.some((row) => row[key] !== undefined && (!Array.isArray(row[key]) || row[key].length > 0));
  const some = (...keys: string[]): string[] => keys.filter(isTold);
  return [
    ...[
      'endpoint',
      'id',
      'version',
      'db_size_bytes',
      'is_leader',
      ...some('is_learner'),
      'raft_term',
      'raft_index',
    ],
    ...some('applied_index', 'errors', 'error'),
  ];
};
