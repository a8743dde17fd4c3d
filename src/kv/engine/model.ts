import type { Advice } from '../../core/next.ts';
import type { Minor, VersionTable } from '../../api-specs/etcd/versions.ts';
import type { Level } from '../../core/result.ts';
import type { TlsFiles } from '../client/certificates.ts';
import type { AlarmSeen, ListedMember } from '../client/etcd-client.ts';

/** What was seen of a cluster, and what the guards conclude from it. */

/** A directory of the machine on which the operator works, or of a member's host. */
export type DirectorySeen = {
  readonly path: string;
  readonly free_bytes?: number;
  readonly disk?: string;
  readonly is_writable: boolean;
};
/** A directory of a member's host. It may be a symbolic link or a mount point. */
export type PlaceSeen = {
  /** As the cluster file, a flag or the configuration names it. */
  readonly path: string;
  /** Without symbolic links. */
  readonly real: string;
  readonly exists: boolean;
  readonly is_mount?: boolean;
  readonly file_system?: string;
  /** Owner, group and mode of the real directory. */
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
  readonly free_bytes?: number;
  readonly disk?: string;
  /** The path to which endings are added for copies and new directories, and the room there. */
  readonly beside: DirectorySeen;
};
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
  /** The Go release that built the new binary: `1.19.8`. */
  readonly new_binary_go?: string;
  /** No connection to the host could be made. */
  readonly is_unreachable?: boolean;
  /** Where the process runs, and its successor will; and the data directory, both without symbolic links. */
  readonly working_directory?: string;
  readonly real_data_dir?: string;
  readonly data_place?: PlaceSeen;
  /** The directory of the write-ahead log, if it is not part of the data directory. */
  readonly wal_place?: PlaceSeen;
  /** The data directory has no member/wal, and no setting names another directory. */
  readonly is_wal_missing?: boolean;
  readonly data_dir_exists?: boolean;
  readonly data_dir_writable?: boolean;
  /** Owner of the data directory and of the running process, when they differ from each other. */
  readonly owner_mismatch?: string;
  /** `member/snap/db` is there. */
  readonly has_db_file?: boolean;
  readonly db_file_bytes?: number;
  /** Everything that a copy contains: with directories that links lead to, and with a separate write-ahead log. */
  readonly data_dir_bytes?: number;
  /** Largest of the v2 snapshot files: all v2 data of the store at that time. */
  readonly v2_bytes?: number;
  readonly free_bytes?: number;
  /** Which disk the data directory is on: the same text for directories that share one. */
  readonly disk?: string;
  /** Words of the server's command line, as it runs, and the variables that a server reads. Absent if they could not be read. */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Why the command line or the environment could not be read. */
  readonly command_error?: string;
  /** Content of the configuration file that the new version will read. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly config_error?: string;
  readonly clock_skew_ms?: number;
  readonly problems?: readonly string[];
  /** Whether `kv restore` could rebuild the member here; `problem` states why not. Absent: not checked. */
  readonly restore_check?: { readonly problem?: string };
};
/** A certificate of a member or of this client. `source`: the file, or the address of the handshake. */
export type CertificateSeen = {
  readonly role: 'server' | 'peer' | 'client';
  readonly source: string;
  readonly subject: string;
  readonly not_after: string;
  /** It has a Subject Alternative Name. Go 1.15 and later releases accept no server certificate without one. */
  readonly has_names: boolean;
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
  /** The version of its data, from 3.6 on. */
  readonly storage_version?: string;
  /** The version that a downgrade of the cluster goes to, while one is on; 3.5 does not say it. */
  readonly downgrade_to?: string;
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
  /** Of that what keys take; the rest is free inside the file. Versions before 3.4 do not tell it. */
  readonly db_in_use_bytes?: number;
  /** Size at which its database refuses every write. */
  readonly quota_bytes?: number;
  readonly errors: readonly string[];
  readonly latency_ms?: number;
  /** This member's own member list, ids sorted. */
  readonly listed_ids?: readonly string[];
  /** Members that its own connections do not reach, of those that answer. Absent if neither its metrics nor its log was read. */
  readonly unreached?: readonly string[];
  readonly certificates?: readonly CertificateSeen[];
  readonly host?: HostFacts;
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
  readonly client_certificate?: CertificateSeen;
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
  readonly level: Level;
  readonly member?: string;
  readonly message: string;
  /** What to do. */
  readonly hint?: Advice;
};

/** What a cluster file may say; cluster-fields.ts holds the same as fields to check against. */
export type DriverKind = 'local' | 'hooks' | 'systemd' | 'ssh' | 'docker' | 'podman' | 'static-pod';
/** A command line as a list of words, or as one string that is split like a shell splits words (no variables, no globs). */
export type CommandLine = string | readonly string[];
/** Hook commands of the `hooks` driver (and extra ones of the others). Words may hold {name} {client_url} {data_dir} {binary} {config} {version} {to}. */
export type Hooks = {
  readonly stop?: CommandLine;
  /** Ends the process without asking it; only with --kill-after-grace, and for a version that is reverted and does not end. */
  readonly kill?: CommandLine;
  readonly start_old?: CommandLine;
  readonly start_new?: CommandLine;
  /** Exit 0 when the member's process runs, 75 while it is being started, 77 when that cannot be told. */
  readonly is_running?: CommandLine;
  /** Prints the version of the new / the old binary. */
  readonly new_version?: CommandLine;
  readonly old_version?: CommandLine;
  /** Prints the end of the member's log. */
  readonly log?: CommandLine;
  /** Run on the operator's machine before the stop and after the gate of each member. */
  readonly before_member?: CommandLine;
  readonly after_member?: CommandLine;
};
export type MemberSpec = {
  readonly name: string;
  readonly client_url: string;
  readonly peer_url?: string;
  readonly data_dir?: string;
  /** Directory of the write-ahead log outside of data_dir, if no flag, variable or configuration file names it. */
  readonly wal_dir?: string;
  readonly pid_file?: string;
  readonly log_file?: string;
  readonly old_binary?: string;
  readonly new_binary?: string;
  /** When the first word starts with `-` the binary is put before it. */
  readonly old_command?: CommandLine;
  readonly new_command?: CommandLine;
  /** Configuration file that is rewritten in place between stop and start; the old text is kept for the way back. */
  readonly config_file?: string;
  /** A text of this machine that `kv restart` puts in the place of config_file. */
  readonly new_config_file?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** ssh: `user@host`, `host` or an alias of the ssh configuration. */
  readonly host?: string;
  /** systemd: the unit. */
  readonly unit?: string;
  /** Path that the unit, the container or the pod starts; new_binary is put there (systemd). */
  readonly binary_path?: string;
  readonly container?: string;
  readonly old_image?: string;
  readonly new_image?: string;
  /** static pod: the manifest the kubelet watches. */
  readonly manifest?: string;
};
export type ClusterFile = {
  readonly name: string;
  /** Target minor, `3.4`; the next one after the running version when absent. */
  readonly to?: string;
  readonly driver?: DriverKind;
  readonly members: readonly MemberSpec[];
  readonly hooks?: Hooks;
  readonly ssh?: {
    readonly options?: readonly string[];
    readonly proxy_jump?: string;
    readonly sudo?: boolean;
    readonly then?: 'local' | 'systemd' | 'docker' | 'podman' | 'static-pod';
  };
  readonly tls?: TlsFiles;
  /** The password comes from a file, an environment variable, or a question; never from this file or a flag. */
  readonly user?: { readonly name: string; readonly password_file?: string; readonly password_env?: string };
  /** `etcdctl`-like program; only `kv restore` needs it. */
  readonly ctl_binary?: string;
  /** The store's `etcdutl` of the running version: looks for v2 data in the directory of a stopped member (3.5 to 3.6). */
  readonly utl_binary?: string;
  /** A directory of this machine. */
  readonly snapshot_dir?: string;
  /** What the file names as snapshot_dir, when that is a bucket: `s3://BUCKET/PREFIX`. Then snapshot_dir is absent. */
  readonly snapshot_url?: string;
  readonly s3?: {
    readonly endpoint?: string;
    readonly region?: string;
    readonly addressing?: 'path' | 'virtual';
  };
  readonly timeouts?: {
    /** Time a member has to end by itself after the stop (default 120). */
    readonly stop_seconds?: number;
    /** Time a member has to pass its gate (default 60) (longer with v2 data). */
    readonly gate_seconds?: number;
    /** Time a member must stay good before the next one (default 1). */
    readonly stable_seconds?: number;
    /** Time all upgraded members must have been good together before the last old member is stopped (default 10). */
    readonly stable_before_last_seconds?: number;
    /** Time a snapshot stream may give no byte before it is asked for once more (default 8). */
    readonly snapshot_seconds?: number;
  };
  /** Made by `mock kv start`: a rehearsal, not a database. */
  readonly simulated?: boolean;
};

/** The events of a run. */

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
/** Gets every event of a run; must not throw and must not block. Live table, plain lines, ndjson and report are sinks. */
export type Sink = (event: UpgradeEvent) => void;

/** The lines of a run's journal. */

export type SnapshotRecord = {
  readonly member: string;
  readonly path: string;
  readonly size_bytes: number;
  /** Of the whole file. */
  readonly file_sha256: string;
  /** The trailer, which the file's own content was checked against. */
  readonly trailer_sha256: string;
  readonly has_no_checksum?: true;
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
/** What a step returns, and what was noted before it: values that are shown, and read by a resume. */
export type Detail = Readonly<Record<string, unknown>>;
/** The lines of one step, in the journal of an upgrade and of an operation. `begin` is on the disk before the effect. */
export type StepEntry<Id extends string> =
  | { readonly kind: 'begin'; readonly at: string; readonly step: Id; readonly note?: Detail }
  | { readonly kind: 'end'; readonly at: string; readonly step: Id; readonly detail?: Detail }
  | { readonly kind: 'failed'; readonly at: string; readonly step: Id; readonly reason: string };
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
  | StepEntry<JournalStepId>
  | { readonly kind: 'reverting'; readonly at: string; readonly member: string; readonly reason: string }
  | { readonly kind: 'reverted'; readonly at: string; readonly member: string }
  /** A revert that was begun and is impossible or unnecessary: the cluster's version has moved. */
  | { readonly kind: 'revert-dropped'; readonly at: string; readonly member: string; readonly reason: string }
  /** Before a member's stop: what it runs with, what it is switched to, and where both are kept. */
  | { readonly kind: 'placed'; readonly at: string; readonly placement: Placement }
  /** Before a member's start: the last line of its log by then. Later lines belong to this start. Null for an empty log. */
  | {
      readonly kind: 'log-marked';
      readonly at: string;
      readonly member: string;
      readonly line: string | null;
    }
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

/**
 * Everything a member is started with on one version, and where it is kept while another version is active.
 * Paths of the member's host. Small and without secrets: it is in the journal.
 */
export type Installed = {
  readonly minor: Minor;
  readonly version?: string;
  /** File with the program of this version. Nothing writes to it after it was recorded. */
  readonly program?: string;
  /** Of that file: what is made active is what was recorded. */
  readonly program_sha256?: string;
  /** File with the configuration of this version. */
  readonly config?: string;
  /** Link that the service starts, when `active_path` was a symbolic link. */
  readonly link_target?: string;
  /** Image by its digest or id. */
  readonly image?: string;
  /** Name under which the stopped container of this version is kept, its id, and its restart policy, which is off meanwhile. */
  readonly container?: string;
  readonly container_id?: string;
  readonly restart?: string;
  /** File with the manifest of this version, outside of the directory that the kubelet watches. */
  readonly manifest?: string;
  /** systemd drop-in that selects the program; absent when the unit's own text does. */
  readonly drop_in?: string;
};
/** As whom and where the process ran that was stopped: its successor runs the same way. */
export type Identity = {
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  readonly cwd?: string;
};
/** What a member ran with before its switch, and what it is switched to. */
export type Placement = {
  readonly member: string;
  readonly previous: Installed;
  readonly next: Installed;
  readonly runs_as?: Identity;
};
/** The two versions of a switch. */
export type Move = { readonly from: Minor; readonly to: Minor; readonly run: string };

/** Steps, options and the plan of an upgrade. */

export type StepKind =
  | 'snapshot' // save and verify a snapshot from this member
  | 'move-leader' // transfer the leadership to an upgraded member
  | 'stop'
  | 'copy-data' // copy of the data directory, only while the member is stopped
  | 'check-data' // whether the next version refuses what is in the data directory, only while the member is stopped
  | 'configure' // rewrite the configuration file, old text kept
  | 'start'
  | 'gate' // everything a member must show before the next one is touched
  | 'settle' // wait rule of the document
  | 'hold' // ends here with --hold-last or --hold-after
  | 'enable-downgrade' // the store takes members of the version before in, and every member says so
  | 'confirm'; // every member reports the new cluster version

/** Steps of the whole cluster; every other kind belongs to one member. */
type ClusterStepKind = 'confirm' | 'enable-downgrade';
export type MemberStepKind = Exclude<StepKind, ClusterStepKind>;
/** `n2.stop`. */
export type MemberStepId<K extends MemberStepKind = MemberStepKind> = `${string}.${K}`;
/** The key of a step in the plan and in the journal. A misspelled kind does not compile. */
export type StepId = MemberStepId | ClusterStepKind;
/** `cancel-downgrade` belongs to no plan: a rollback and an abort write it. */
export type JournalStepId = StepId | 'cancel-downgrade';
type StepText = {
  readonly title: string;
  readonly why: string;
  /** What the driver will run, as text for people. */
  readonly commands: readonly string[];
  /** What the driver would run for the version before. Absent: the commands replace none. */
  readonly replaces?: readonly string[];
};
type Absent<K extends string> = { readonly [name in K]?: undefined };
type KindOfMember<K extends MemberStepKind> = { readonly id: MemberStepId<K>; readonly kind: K };
/** What is done to one member. */
export type MemberStep = StepText & {
  readonly member: string;
  /** Once this member runs the new version the cluster's version moves, and only a restore brings the old version back. */
  readonly is_point_of_no_return?: true;
} & (
    | (KindOfMember<'move-leader'> & { readonly target: string; readonly wait_seconds?: undefined })
    | (KindOfMember<'settle'> & { readonly wait_seconds: number; readonly target?: undefined })
    | (KindOfMember<Exclude<MemberStepKind, 'move-leader' | 'settle'>> & Absent<'target' | 'wait_seconds'>)
  );
export type Step =
  | MemberStep
  | (StepText & { readonly id: ClusterStepKind; readonly kind: ClusterStepKind } & Absent<
        'member' | 'target' | 'wait_seconds' | 'is_point_of_no_return'
      >);
/** restart: the same minor, with another configuration, other certificates or another patch. */
export type PlanKind = 'upgrade' | 'downgrade' | 'restart';
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
  /** A restart starts the program that runs: which of the cluster file's two that is. */
  readonly keep_program?: 'old' | 'new';
  /** What is known of single versions, where a file was given; absent: what is built in. A resume goes by the same. */
  readonly versions?: VersionTable;
};
export type Plan = {
  readonly format: 1;
  /** Absent: an upgrade. */
  readonly kind?: PlanKind;
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

/** The report of a run. */

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
  readonly next?: readonly Advice[];
};
