import type { Exit } from '../../../platform/host.ts';
import type { Store } from '../../client/etcd-client.ts';
import { probeKey } from '../../client/own-keys.ts';
import type { Checking } from '../run.ts';
import type { GateCheck, MemberSpec } from '../../engine/types.ts';

export type Verdict = {
  /** Null: the check could not be made, and nothing is held against the member for it. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** No waiting will fix it. */
  readonly isFinal?: true;
  /** The process is not up yet: that says nothing against any other check. */
  readonly isStarting?: true;
};
export const good = (detail: string): Verdict => ({ ok: true, detail });
export const bad = (detail: string): Verdict => ({ ok: false, detail });
export const skipped = (why: string): Verdict => ({ ok: null, detail: `skipped: ${why}` });
/** The check was tried and showed nothing. This is not a pass; the run reports it as a warning. */
export const unknown = (why: string): Verdict => ({ ok: null, detail: `unknown: ${why}` });
export const failed = (detail: string): Verdict => ({ ok: false, detail, isFinal: true });

export type Gate = {
  readonly run: Checking;
  readonly member: MemberSpec;
  readonly store: Store;
  readonly others: readonly { readonly name: string; readonly store: Store }[];
  /** The version it must run: the new one in the gate, the old one after a return. */
  readonly minor: string;
  /** The very patch, where the minor does not tell old and new apart. */
  readonly exact?: string;
  /** The version before, after a rollback. */
  readonly isOld?: true;
  /** Checks that cannot pass in this operation, whatever the member does: a store without space takes no write. */
  readonly skips?: ReadonlySet<GateCheck>;
  /** Settles when the process this run started has ended; absent when this run did not start it. */
  exited?: Promise<Exit>;
  exit?: Exit;
  /** When the process was last seen, by `elapsed`, and how. */
  lookedAt?: number;
  lookedLike?: Verdict;
  /** Since when, by `elapsed`, it has been healthy and no check has found it otherwise. */
  goodSince?: number;
};
export type Check = (gate: Gate) => Promise<Verdict>;

/** The key that the checks of this member write and read. */
export const keyOf = ({ run, member }: Gate): string => probeKey(run.id, member.name);
