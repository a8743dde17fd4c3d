import type { Connection, Json } from './endpoint.ts';

export type ListedMember = {
  readonly id: string;
  readonly name: string;
  readonly peer_urls: readonly string[];
  readonly client_urls: readonly string[];
  readonly is_learner: boolean;
};

const idOf = (value: unknown): string => String(value ?? '0');

export const listedFrom = (member: Json): ListedMember => ({
  id: idOf(member['ID']),
  name: String(member['name'] ?? ''),
  peer_urls: (member['peerURLs'] ?? []) as string[],
  client_urls: (member['clientURLs'] ?? []) as string[],
  is_learner: member['isLearner'] === true,
});

/** Changes of the cluster's membership. Each is agreed on by a majority; the answer comes when it was. */
const memberCalls = ({ call }: Connection) => ({
  addMember: async (peerUrls: readonly string[], isLearner = false): Promise<ListedMember> => {
    const answer = await call((row) => (isLearner && !row.can.learners ? undefined : '/cluster/member/add'), {
      peerURLs: peerUrls,
      ...(isLearner ? { isLearner } : {}),
    });
    return listedFrom((answer['member'] ?? {}) as Json);
  },
  removeMember: async (id: string): Promise<void> => void (await call('/cluster/member/remove', { ID: id })),
  updateMember: async (id: string, peerUrls: readonly string[]): Promise<void> =>
    void (await call('/cluster/member/update', { ID: id, peerURLs: peerUrls })),
  /** Only to the leader: with authentication on, a follower before 3.5.28 cannot pass it on. */
  promoteMember: async (id: string): Promise<void> =>
    void (await call((row) => (row.can.learners ? '/cluster/member/promote' : undefined), { ID: id })),
});

/** What frees space: inside the database file, and of the file itself. */
const spaceCalls = ({ call }: Connection) => ({
  /** With `isPhysical` the answer comes when the space inside the file is free. */
  compact: async (revision: number, isPhysical: boolean): Promise<void> =>
    void (await call('/kv/compaction', {
      revision: String(revision),
      ...(isPhysical ? { physical: true } : {}),
    })),
  /** This member alone, which answers nothing else until it has finished. */
  defragment: async (): Promise<void> => void (await call('/maintenance/defragment', {})),
});

export const operationCalls = (connection: Connection) => ({
  ...memberCalls(connection),
  ...spaceCalls(connection),
});
