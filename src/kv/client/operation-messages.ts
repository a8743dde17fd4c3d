import type { DirectCall, Shape } from '../../core/protobuf.ts';

export const member: Shape = {
  ID: [1, 'uint64'],
  name: [2, 'text'],
  peerURLs: [3, 'text', 'many'],
  clientURLs: [4, 'text', 'many'],
  isLearner: [5, 'flag'],
};
const members: Shape = { members: [2, { shape: member }, 'many'] };
const byId: Shape = { ID: [1, 'uint64'] };

/** Calls of maintenance and membership, by path, without the version's prefix. */
export const operationMessages: Readonly<Record<string, DirectCall>> = {
  '/kv/compaction': {
    method: 'KV/Compact',
    request: { revision: [1, 'int64'], physical: [2, 'flag'] },
    answer: {},
  },
  '/maintenance/defragment': { method: 'Maintenance/Defragment', request: {}, answer: {} },
  '/cluster/member/add': {
    method: 'Cluster/MemberAdd',
    request: { peerURLs: [1, 'text', 'many'], isLearner: [2, 'flag'] },
    answer: { member: [2, { shape: member }] },
  },
  '/cluster/member/remove': {
    method: 'Cluster/MemberRemove',
    request: byId,
    answer: members,
  },
  '/cluster/member/update': {
    method: 'Cluster/MemberUpdate',
    request: { ...byId, peerURLs: [2, 'text', 'many'] },
    answer: members,
  },
  '/cluster/member/promote': {
    method: 'Cluster/MemberPromote',
    request: byId,
    answer: members,
  },
};
