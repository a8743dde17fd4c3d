/** The report of a run. */
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { Outcome, Owner, SnapshotRecord } from './journal-types.ts';
import type { Finding } from './model.ts';
import type { PlanKind } from './plan-types.ts';

export type GateCheck =
  | 'process'
  | 'version'
  | 'identity'
  | 'ready'
  | 'membership'
  | 'health'
  | 'leader'
  | 'read'
  | 'write'
  | 'read-back'
  | 'lag'
  | 'alarms'
  | 'peers'
  | 'peer-links'
  | 'access'
  | 'hash'
  | 'stable';

export type MemberReport = {
  readonly name: string;
  readonly client_url: string;
  readonly version_before?: string;
  readonly version_after?: string;
  /** How it was at the end; absent when it could not be looked at. */
  readonly state?: 'up' | 'unhealthy' | 'down';
  readonly was_leader: boolean;
  readonly down_ms?: number;
  readonly snapshot?: SnapshotRecord;
  readonly data_copy?: string;
  readonly gate: readonly {
    readonly check: GateCheck;
    /** Null: it was skipped, and `detail` says why. */
    readonly ok: boolean | null;
    readonly detail: string;
  }[];
};
export type CanaryReport = {
  readonly writes: number;
  readonly failed: number;
  readonly longest_gap_ms: number;
  readonly median_ms?: number;
  readonly p99_ms?: number;
};
export type Report = {
  readonly run: string;
  /** Absent in reports of earlier versions, and for an upgrade. */
  readonly kind?: PlanKind;
  readonly cluster: string;
  readonly from: Minor;
  readonly to: Minor;
  readonly outcome: Outcome;
  readonly message: string;
  readonly owner: Owner;
  readonly started_at: string;
  readonly finished_at: string;
  readonly duration_ms: number;
  readonly plan_digest: string;
  readonly cluster_version_before?: string;
  readonly cluster_version_after?: string;
  readonly members: readonly MemberReport[];
  readonly steps: readonly {
    readonly id: string;
    readonly title: string;
    readonly started_at: string;
    readonly duration_ms: number;
    readonly outcome: 'done' | 'failed' | 'skipped';
  }[];
  readonly snapshots: readonly SnapshotRecord[];
  readonly canary?: CanaryReport;
  readonly unexpected_log_lines: readonly { readonly member: string; readonly line: string }[];
  readonly journal: string;
  readonly findings: readonly Finding[];
  /** What can be typed next, the best first. */
  readonly next?: readonly string[];
};
