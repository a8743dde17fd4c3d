/** spec/store#measured-answers: without a quorum a write or a linearizable read fails after 7 s: 5 s and two election times. */
export const requestLimitMs = (electionMs: number): number => 5_000 + 2 * electionMs;

/** A request that the agreement has not decided yet. */
export type Waiting = {
  readonly until: number;
  offeredAt: number;
  term: number;
  readonly offer: () => void;
  readonly fail: (error: Error) => void;
};
