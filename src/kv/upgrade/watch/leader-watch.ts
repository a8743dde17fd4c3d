import type { Run } from '../run.ts';

const everyMs = 500;
export type LeaderWatch = { finish(): Promise<void> };
type Seen = { readonly leader: string; readonly term: number };

/** The leader that the members with the newest term name; undefined when nobody names one. Pure. */
export const newestLeader = (seen: readonly (Seen | undefined)[]): string | undefined =>
  seen.flatMap((one) => one ?? []).sort((a, b) => b.term - a.term)[0]?.leader;

/** Says when another member leads: a graceful stop moves the leadership without a word from us. */
export const watchLeader = (run: Run): LeaderWatch => {
  const names = new Map(run.plan.observation.members.map((member) => [member.member_id, member.name]));
  const over = new AbortController();
  let current = run.plan.observation.leader;
  const look = async (): Promise<void> => {
    const seen = run.cluster.members.map(async ({ client_url }): Promise<Seen | undefined> => {
      const status = await run.access
        .store(client_url)
        .status()
        .catch(() => undefined);
      const leader = names.get(status?.leader_id);
      return leader === undefined ? undefined : { leader, term: status?.raft_term ?? 0 };
    });
    const to = newestLeader(await Promise.all(seen));
    if (to === undefined || to === current) return;
    run.emit({ event: 'leader-changed', from: current, to });
    current = to;
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      await look();
      await run.host.sleep(everyMs, over.signal).catch(() => {});
    }
  })();
  return {
    finish: async () => {
      over.abort();
      await watching;
    },
  };
};
