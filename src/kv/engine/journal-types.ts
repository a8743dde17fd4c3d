/** The lines of a run's journal. */
import type { Placement } from './placement-types.ts';
import type { Plan, PlanOptions } from './plan-types.ts';

export type SnapshotRecord = {
  readonly member: string;
  readonly path: string;
  readonly size_bytes: number;
  /** Of the whole file. */
  readonly file_sha256: string;
  /** The trailer, which the file's own content was checked against. */
  readonly trailer_sha256: string;
  readonly revision: number;
  readonly raft_index?: number;
  readonly duration_ms: number;
};
export type Owner = {
  readonly user?: string;
  readonly host: string;
  readonly pid: number;
  readonly start_mark?: string;
  /** A hash; absent in records of version 0.1.0, as are the next two. */
  readonly machine_id?: string;
  readonly boot_id?: string;
  readonly pid_namespace?: string;
};
export type Outcome = 'done' | 'held' | 'stopped' | 'rolled-back' | 'failed' | 'aborted' | 'refused';

/** Why a run holds that is to go on when the time has come: its window ended, users were affected, or the operator said no. */
export type HeldFor = 'window' | 'impact' | 'operator';

/** One line each, fsynced before the effect it announces. `at` is ISO time. */
export type JournalEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly run: string;
      readonly action: 'upgrade' | 'rollback';
      readonly plan: Plan;
      readonly owner: Owner;
      readonly cluster_file: string;
    }
  | {
      readonly kind: 'resumed';
      readonly at: string;
      readonly owner: Owner;
      readonly action: 'upgrade' | 'rollback';
      /** Where it is to hold from now on. */
      readonly holds?: Pick<PlanOptions, 'hold_last' | 'hold_after'>;
    }
  | {
      readonly kind: 'begin';
      readonly at: string;
      readonly step: string;
      readonly note?: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'end';
      readonly at: string;
      readonly step: string;
      readonly detail?: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'failed'; readonly at: string; readonly step: string; readonly reason: string }
  | { readonly kind: 'reverting'; readonly at: string; readonly member: string; readonly reason: string }
  | { readonly kind: 'reverted'; readonly at: string; readonly member: string }
  /** A revert that was begun and is impossible or unnecessary: the cluster's version has moved. */
  | { readonly kind: 'revert-dropped'; readonly at: string; readonly member: string; readonly reason: string }
  /** Before a member's stop: what it runs with, what it is switched to, and where both are kept. */
  | { readonly kind: 'placed'; readonly at: string; readonly placement: Placement }
  | { readonly kind: 'snapshot'; readonly at: string; readonly snapshot: SnapshotRecord }
  | { readonly kind: 'crossing-confirmed'; readonly at: string; readonly confirmed_by: string }
  /** The cluster's version was seen to have moved: from now on the old version cannot start any more. */
  | { readonly kind: 'crossed'; readonly at: string; readonly cluster_version: string }
  /** Before a member: users were affected, or that could not be told. */
  | { readonly kind: 'paused'; readonly at: string; readonly member: string; readonly reason: string }
  | { readonly kind: 'continued'; readonly at: string; readonly member: string; readonly waited_ms: number }
  | {
      readonly kind: 'closed';
      readonly at: string;
      readonly outcome: Outcome;
      readonly message: string;
      /** It holds for the next window, until users are not affected, or because the operator said no; absent: because of the plan. */
      readonly held_for?: HeldFor;
    };
