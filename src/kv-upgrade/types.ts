/** The values of an upgrade. Keys are snake_case where a user sees them: cluster file, `-o json`, plan file, journal, events, report. */
import type { Minor } from '../api-specs/etcd/versions.ts';
import type { AlarmSeen, ListedMember } from '../etcd-client/etcd-client.ts';
import type { Placement } from './placement-types.ts';

export type { ClusterFile, CommandLine, DriverKind, Hooks, MemberSpec } from './cluster-types.ts';
export type { AlarmSeen, ListedMember };
export type { Identity, Installed, Move, Placement } from './placement-types.ts';

// ── what was seen ───────────────────────────────────────────────────────────────────────────────────────────────────
/** What only the driver can see, on the member's own host. Absent keys could not be seen. */
export type HostFacts = {
  readonly is_running?: boolean;
  /** Its service manager is bringing it up: what that waits for. `is_running` is true meanwhile. */
  readonly starting?: string;
  readonly pid?: number;
  /** Stopped by a signal (SIGSTOP, a debugger): it is there and does nothing. */
  readonly is_suspended?: boolean;
  readonly old_binary_version?: string;
  readonly new_binary_version?: string;
  readonly new_binary_error?: string;
  readonly data_dir_exists?: boolean;
  readonly data_dir_writable?: boolean;
  /** Owner of the data directory and of the running process, when they differ from each other. */
  readonly owner_mismatch?: string;
  /** `member/snap/db` is there. */
  readonly has_db_file?: boolean;
  readonly db_file_bytes?: number;
  readonly data_dir_bytes?: number;
  /** Largest of the v2 snapshot files: all v2 data of the store at that time. */
  readonly v2_bytes?: number;
  readonly free_bytes?: number;
  /** Which disk the data directory is on: the same text for directories that share one. */
  readonly disk?: string;
  /** Content of the configuration file that the new version will read. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly config_error?: string;
  readonly clock_skew_ms?: number;
  readonly problems?: readonly string[];
};

export type MemberSeen = {
  readonly name: string;
  readonly client_url: string;
  /** False: nothing answered; `error` says why. A value, never an exception. */
  readonly is_reachable: boolean;
  readonly error?: string;
  readonly error_code?: string;
  readonly is_healthy: boolean;
  readonly health_reason?: string;
  /** Server and cluster version as answered: `3.3.25`, `3.3.0`. */
  readonly server_version?: string;
  readonly cluster_version?: string;
  readonly member_id?: string;
  readonly cluster_id?: string;
  /** '0' or absent: this member knows no leader. */
  readonly leader_id?: string;
  readonly is_leader: boolean;
  readonly is_learner: boolean;
  readonly raft_term?: number;
  readonly raft_index?: number;
  readonly applied_index?: number;
  readonly revision?: number;
  readonly db_size_bytes?: number;
  /** Size at which its database refuses every write. */
  readonly quota_bytes?: number;
  readonly errors: readonly string[];
  readonly latency_ms?: number;
  /** This member's own member list, ids sorted. */
  readonly listed_ids?: readonly string[];
  readonly host?: HostFacts;
};

/** A directory of the machine on which the operator works. */
export type DirectorySeen = {
  readonly path: string;
  readonly free_bytes?: number;
  readonly disk?: string;
  readonly is_writable: boolean;
};

/** The hash of one member's keyspace at a revision that all of them were asked for. */
export type MemberHash = {
  readonly name: string;
  readonly server: string;
  readonly hash: number;
  readonly compact_revision: number;
};

/** Bytes of v2 data in the store, or why they could not be seen. */
export type V2Seen = { readonly bytes: number } | { readonly unknown: string };

export type Observation = {
  readonly taken_at: string;
  readonly cluster: string;
  readonly members: readonly MemberSeen[];
  readonly listed: readonly ListedMember[];
  readonly alarms: readonly AlarmSeen[];
  readonly auth: { readonly is_on: boolean | undefined; readonly problem?: string };
  /** Where this run would put snapshots, journal and report. */
  readonly operator?: { readonly snapshots: DirectorySeen; readonly run: DirectorySeen };
  /** Of those that can tell, all at one revision; absent when nobody was asked. */
  readonly hashes?: readonly MemberHash[];
  /** Why nobody was asked for a hash. */
  readonly not_hashed?: string;
  /** Data of the store's old interface, as of now; absent when it was not looked at. */
  readonly v2?: V2Seen;
  /** Time to live in seconds of the shortest lease, where leases could be listed. */
  readonly shortest_lease_seconds?: number;
  readonly lease_count?: number;
  /** Name of the leader that a majority agrees on. */
  readonly leader?: string;
  readonly cluster_version?: string;
  /** Lowest and highest server minor that answered. */
  readonly lowest?: Minor;
  readonly highest?: Minor;
};

export type Finding = {
  /** The guard that speaks: `all-members-healthy`. */
  readonly guard: string;
  /** `unknown`: it could not be seen, and the reason stands in the message. It counts as a warning, never as a pass. */
  readonly level: 'pass' | 'unknown' | 'warn' | 'fail';
  readonly member?: string;
  readonly message: string;
  /** What to do. */
  readonly hint?: string;
};

// ── plan ────────────────────────────────────────────────────────────────────────────────────────────────────────────
export type StepKind =
  | 'snapshot' // save and verify a snapshot from this member
  | 'move-leader' // hand the leadership to an upgraded member
  | 'stop'
  | 'copy-data' // copy of the data directory, only while the member is stopped
  | 'configure' // rewrite the configuration file, old text kept
  | 'start'
  | 'gate' // everything a member must show before the next one is touched
  | 'settle' // wait rule of the document
  | 'hold' // ends here with --hold-last or --hold-after
  | 'confirm'; // every member reports the new cluster version

type StepText = {
  /** `n2.stop`, `confirm`: the key in the journal. */
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** What the driver will run, as text for people. */
  readonly commands: readonly string[];
};
type Absent<K extends string> = { readonly [name in K]?: undefined };
/** What is done to one member. */
export type MemberStep = StepText & {
  readonly member: string;
  /** Once this member runs the new version the cluster's version moves, and only a restore brings the old version back. */
  readonly is_point_of_no_return?: true;
} & (
    | { readonly kind: 'move-leader'; readonly target: string; readonly wait_seconds?: undefined }
    | { readonly kind: 'settle'; readonly wait_seconds: number; readonly target?: undefined }
    | ({ readonly kind: Exclude<StepKind, 'move-leader' | 'settle' | 'confirm'> } & Absent<
        'target' | 'wait_seconds'
      >)
  );
export type Step =
  | MemberStep
  | (StepText & { readonly kind: 'confirm' } & Absent<
        'member' | 'target' | 'wait_seconds' | 'is_point_of_no_return'
      >);

export type PlanOptions = {
  readonly to?: Minor;
  readonly copy_data: boolean;
  readonly hold_last: boolean;
  /** Members of the plan that may run the new version before the run holds; absent: no hold. */
  readonly hold_after?: number;
  /** How long each member must stay good before the next one is touched. */
  readonly stable_seconds: number;
  /** How long all upgraded members must have been good together before the last old member is stopped (default 10). */
  readonly stable_before_last_seconds?: number;
  /** Guards whose `fail` the operator takes as a warning, by name. */
  readonly accept: readonly string[];
};

export type Plan = {
  readonly format: 1;
  readonly id: string;
  readonly cluster: string;
  readonly from: Minor;
  readonly to: Minor;
  readonly made_at: string;
  /** sha256 over everything that decides the steps (not over times, sizes and indexes). */
  readonly digest: string;
  /** Members in the order they are upgraded. */
  readonly order: readonly string[];
  readonly steps: readonly Step[];
  readonly findings: readonly Finding[];
  readonly observation: Observation;
  readonly options: PlanOptions;
};
/** All reasons at once; nothing was touched. */
export type Refusal = {
  readonly refused: readonly Finding[];
  readonly findings: readonly Finding[];
  readonly observation: Observation;
};

// ── run: journal, events, report ────────────────────────────────────────────────────────────────────────────────────
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
};
export type Outcome = 'done' | 'held' | 'stopped' | 'rolled-back' | 'failed' | 'aborted' | 'refused';

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
  | { readonly kind: 'closed'; readonly at: string; readonly outcome: Outcome; readonly message: string };

/** Every event carries `at` (ISO time) and `elapsed_ms` since the start of the run. */
type EventBody =
  | {
      readonly event: 'run-started';
      readonly run: string;
      readonly action: 'upgrade' | 'resume' | 'rollback';
      readonly plan: Plan;
      readonly journal: string;
    }
  | { readonly event: 'observed'; readonly observation: Observation }
  | { readonly event: 'step-started'; readonly step: Step; readonly number: number; readonly count: number }
  | {
      readonly event: 'step-finished';
      readonly step: Step;
      readonly duration_ms: number;
      readonly detail?: string;
      readonly was_done_before?: true;
    }
  | { readonly event: 'step-failed'; readonly step: Step; readonly reason: string }
  | { readonly event: 'snapshot-saved'; readonly snapshot: SnapshotRecord }
  | { readonly event: 'member-down'; readonly member: string; readonly was_leader: boolean }
  | {
      readonly event: 'member-up';
      readonly member: string;
      readonly version?: string;
      readonly down_ms: number;
    }
  | {
      readonly event: 'gate-check';
      readonly member: string;
      readonly check: GateCheck;
      /** Null: it was skipped, and `detail` says why. */
      readonly ok: boolean | null;
      readonly detail: string;
    }
  | { readonly event: 'leader-changed'; readonly from?: string; readonly to?: string }
  | {
      readonly event: 'canary';
      readonly ok: boolean;
      readonly latency_ms: number;
      readonly member: string;
      readonly error?: string;
    }
  | {
      readonly event: 'log-line';
      readonly member: string;
      readonly line: string;
      readonly expected: boolean;
      readonly meaning?: string;
    }
  | { readonly event: 'waiting'; readonly step: Step; readonly remaining_ms: number; readonly reason: string }
  | { readonly event: 'reverting'; readonly member: string; readonly reason: string }
  | { readonly event: 'reverted'; readonly member: string; readonly duration_ms: number }
  | { readonly event: 'note'; readonly level: 'info' | 'warn'; readonly text: string }
  | {
      readonly event: 'run-finished';
      readonly outcome: Outcome;
      readonly message: string;
      readonly report: Report;
    };
export type UpgradeEvent = EventBody & { readonly at: string; readonly elapsed_ms: number };
export type Unstamped = EventBody;
export type GateCheck =
  | 'process'
  | 'version'
  | 'identity'
  | 'health'
  | 'leader'
  | 'read'
  | 'write'
  | 'read-back'
  | 'lag'
  | 'alarms'
  | 'peers'
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
/** Gets every event of a run; must not throw and must not block. Live table, plain lines, ndjson and report are sinks. */
export type Sink = (event: UpgradeEvent) => void;
