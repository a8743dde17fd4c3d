/** One line of the replicated log. `data` is undefined for the empty entry a new leader writes. */
export type Entry<D> = { readonly term: number; readonly index: number; readonly data?: D };

type Envelope = { readonly from: string; readonly to: string; readonly term: number };
export type Message<D> = Envelope &
  (
    | {
        readonly type: 'vote';
        readonly lastIndex: number;
        readonly lastTerm: number;
        readonly isPre: boolean;
        readonly isForced: boolean;
      }
    | { readonly type: 'voted'; readonly granted: boolean; readonly isPre: boolean }
    | {
        readonly type: 'append';
        readonly prevIndex: number;
        readonly prevTerm: number;
        readonly entries: readonly Entry<D>[];
        readonly commit: number;
        readonly round: number;
      }
    | { readonly type: 'appended'; readonly ok: boolean; readonly match: number; readonly round: number }
    | { readonly type: 'take-over' }
  );
/** A message before the sender's name and term are put on it. */
export type Draft<D> =
  Message<D> extends infer M ? (M extends Envelope ? Omit<M, keyof Envelope> : never) : never;

/** Who votes and who only gets the log. It changes by one member at a time, as soon as the entry that says so is applied. */
export type Configuration = { readonly voters: readonly string[]; readonly learners: readonly string[] };

export type RaftOptions = {
  readonly id: string;
  readonly configuration: Configuration;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  /** 0 to 1, other at each call: spreads the election times. */
  readonly jitter: () => number;
};

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';
export type HardState = { readonly term: number; readonly vote?: string };

/** What the shell must do, in this order: write `hard` and `entries`, then send, then apply, then answer `reads`. */
export type Ready<D> = {
  readonly hard?: HardState;
  /** The stored log is cut after this index before `entries` are written. */
  readonly cutAfter?: number;
  readonly entries: readonly Entry<D>[];
  readonly messages: readonly Message<D>[];
  readonly committed: readonly Entry<D>[];
  readonly reads: readonly { readonly id: number; readonly index: number }[];
  /** What happened, for the member's log, in the words of the real servers. */
  readonly said: readonly string[];
};
