import type { CommandLine } from '../../core/shell.ts';
import type { Advice } from '../../core/next.ts';
import type { Minor, VersionTable } from '../../api-specs/etcd/versions.ts';
import type { Level } from '../../core/result.ts';
import type { TlsFiles } from '../client/certificates.ts';
import type { AlarmStatus, ListedMember } from '../client/etcd-client.ts';

/** The observed state of a cluster and the findings of the guards. */

/** A directory on the operator's machine or on a member's host. */
export type DirectoryStatus = {
  readonly path: string;
  readonly free_bytes?: number;
  readonly disk?: string;
  readonly is_writable: boolean;
};
/** A directory on a member's host. It may be a symbolic link or a mount point. */
export type PathStatus = {
  /** The path in the cluster file, a flag or the configuration. */
  readonly path: string;
  /** The path without symbolic links. */
  readonly real: string;
  readonly exists: boolean;
  readonly is_mount?: boolean;
  readonly file_system?: string;
  /** Owner, group and mode of the real directory. */
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
  /** Modes of the directories in a data directory (`memberDirectories`). Undefined: they could not be read. */
  readonly inner_modes?: Readonly<Record<string, number>>;
  readonly free_bytes?: number;
  readonly disk?: string;
  /** The directory for copies and new directories next to this path, with its free space. */
  readonly beside: DirectoryStatus;
};
/** A data directory as a setting names it. `where` is the setting. */
export type DataDirectory = { readonly where: string; readonly directory: string };
/** `path`: without symbolic links. */
export type OtherDirectory = DataDirectory & { readonly path: string };
/** Facts that only the driver can collect on the member's host. An absent key is unknown. */
/** `is_config`: the configuration file that the process read at its start. Otherwise a file of its service manager. */
export type ChangedFile = {
  readonly path: string;
  readonly changed_at: string;
  readonly started_at: string;
  readonly is_config?: true;
};
/** How a member treats a connection without credentials. A connection without a result is absent. */
export type AccessProbe = 'certificate' | 'plain' | 'user' | 'host-name' | 'peer-certificate' | 'peer-plain';
export type AccessResults = Readonly<Partial<Record<AccessProbe, 'accepted' | 'rejected'>>>;
export type HostFacts = {
  readonly is_running?: boolean;
  /**
   * The condition that the service manager waits for while it starts the member. In this state `is_running`
   * is true.
   */
  readonly starting?: string;
  readonly pid?: number;
  /** A signal (SIGSTOP, a debugger) has suspended the process. */
  readonly is_suspended?: boolean;
  readonly old_binary_version?: string;
  readonly new_binary_version?: string;
  readonly new_binary_error?: string;
  /** The Go release that built the new binary, for example `1.19.8`. */
  readonly new_binary_go?: string;
  /** The driver could not connect to the host. */
  readonly is_unreachable?: boolean;
  /**
   * The working directory of the process and of its successor, and the data directory, both without symbolic
   * links.
   */
  readonly working_directory?: string;
  readonly real_data_dir?: string;
  readonly data_place?: PathStatus;
  /** The directory of the write-ahead log, if it is not part of the data directory. */
  readonly wal_place?: PathStatus;
  /** The data directory has no member/wal, and no setting specifies another directory. */
  readonly is_wal_missing?: boolean;
  readonly data_dir_exists?: boolean;
  readonly data_dir_writable?: boolean;
  /** Owners of the data directory and of the running process, if they differ. */
  readonly owner_mismatch?: string;
  /** `member/snap/db` exists. */
  readonly has_db_file?: boolean;
  readonly db_file_bytes?: number;
  /** Size of a full copy, including linked directories and a separate write-ahead log. */
  readonly data_dir_bytes?: number;
  /** Size of the largest v2 snapshot file. It contains all v2 data of the store at that time. */
  readonly v2_bytes?: number;
  readonly free_bytes?: number;
  /** The disk of the data directory. Directories on the same disk have the same value. */
  readonly disk?: string;
  /**
   * Arguments of the running server and the environment variables that a server reads. Absent if they could
   * not be read.
   */
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Files with settings of the next start that changed after the process started. */
  readonly changed_files?: readonly ChangedFile[];
  /** The data directory in which the process has opened its database. Absent: not checked, or not found. */
  readonly open_data_dir?: string;
  /** The directory in which the process has opened its write-ahead log. Absent: not checked, or not found. */
  readonly open_wal_dir?: string;
  /** Why the command line or the environment could not be read. */
  readonly command_error?: string;
  /** Whether the unit, the manifest or the container of a member without a readable process sets force-new-cluster. */
  readonly stopped_start?: { readonly is_forced: boolean } | { readonly problem: string };
  /** Content of the configuration file that the new version will read. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The configuration file contains a key twice, so opsctl cannot rewrite it. */
  readonly config_repeats?: boolean;
  readonly config_error?: string;
  /** Content of the configuration file that the process reads, if its next start reads another file. */
  readonly running_config?: Readonly<Record<string, unknown>>;
  /** Content of the configuration file that new_config_file replaces. */
  readonly replaced_config?: Readonly<Record<string, unknown>>;
  /** Only the variable ETCD_CONFIG_FILE names the file, which versions before 3.4 do not read. */
  readonly is_config_of_variable?: true;
  /** Connections to the client port by the address of the client. Connections of the host to itself are left out. */
  readonly connected?: Readonly<Record<string, number>>;
  readonly clock_skew_ms?: number;
  readonly problems?: readonly string[];
  /** The data directories of the process and of the commands that are not `data_dir`. */
  readonly other_directories?: readonly OtherDirectory[];
  /** The process has another root directory, such as that of a container, or its root could not be read. */
  readonly has_other_root?: boolean;
  /**
   * Whether `kv restore` could rebuild the member on this host. `problem` contains the reason if it could
   * not. Absent: not checked.
   */
  readonly restore_check?: { readonly problem?: string; readonly hint?: Advice };
};
/** A certificate of a member or of this client. `source` is the file or the address of the handshake. */
export type CertificateStatus = {
  readonly role: 'server' | 'peer' | 'client';
  readonly source: string;
  readonly subject: string;
  readonly not_after: string;
  /** It has a Subject Alternative Name. Go 1.15 and later reject server certificates without one. */
  readonly has_names: boolean;
  /** Its extended key usage allows servers and not clients. */
  readonly is_server_only?: true;
};
export type MemberStatus = {
  readonly name: string;
  readonly client_url: string;
  /** False if the member did not respond; `error` contains the reason. The inspection does not throw. */
  readonly is_reachable: boolean;
  readonly error?: string;
  readonly error_code?: string;
  readonly is_healthy: boolean;
  readonly health_reason?: string;
  /** Reported server and cluster versions, for example `3.3.25` and `3.3.0`. */
  readonly server_version?: string;
  readonly cluster_version?: string;
  /** When the process started, by the clock of its host. Not read before each stop. */
  readonly started_at?: string;
  /** The version of the data, available from 3.6 on. */
  readonly storage_version?: string;
  /** The target version of a downgrade in progress. 3.5 does not report it. */
  readonly downgrade_to?: string;
  readonly member_id?: string;
  readonly cluster_id?: string;
  /** '0' or absent: this member has no leader. */
  readonly leader_id?: string;
  readonly is_leader: boolean;
  readonly is_learner: boolean;
  readonly raft_term?: number;
  readonly raft_index?: number;
  readonly applied_index?: number;
  readonly revision?: number;
  readonly db_size_bytes?: number;
  /**
   * The part of the file that keys use; the rest is free inside the file. Versions before 3.4 do not report
   * it.
   */
  readonly db_in_use_bytes?: number;
  /** Database size at which the member rejects every write. */
  /** Negative: without a limit. */
  readonly quota_bytes?: number;
  readonly errors: readonly string[];
  readonly latency_ms?: number;
  /** This member's own member list, with sorted ids. */
  readonly listed_ids?: readonly string[];
  /**
   * Responding members that this member cannot connect to. Absent if neither its metrics nor its log could be
   * read.
   */
  readonly unreached?: readonly string[];
  /** Members of which this member cannot connect to at least one; its version does not report which one. */
  readonly unreached_among?: readonly string[];
  readonly certificates?: readonly CertificateStatus[];
  /** How the member treats connections without credentials. Present only if the settings of its process are unknown. */
  readonly access?: AccessResults;
  /** Absent if the metrics of the member could not be read. */
  readonly clients?: ClientRequests;
  readonly host?: HostFacts;
};
/** What the clients of a member have requested since the start of its process. */
export type ClientRequests = {
  /** Requests through the v2 interface, without those that opsctl sends to read the size of the tree. */
  readonly v2_requests: number;
  /** Clients that wait for a change through the v2 interface now. */
  readonly v2_watchers: number;
  /**
   * Requests by the API version that the client reports. `unknown` counts the JSON gateway and clients that
   * report no version. Absent if the member does not count them.
   */
  readonly versions?: Readonly<Record<string, number>>;
};
/** The hash of one member's keyspace at the revision that opsctl requested from all members. */
export type MemberHash = {
  readonly name: string;
  readonly server: string;
  readonly hash: number;
  readonly compact_revision: number;
};
/** The revision of one member from two linearizable reads. The second reads of all members follow the first ones. */
export type MemberRevisions = { readonly name: string; readonly before: number; readonly after: number };
/** Bytes of v2 data in the store, or why they are unknown. */
export type V2DataStatus = { readonly bytes: number } | { readonly unknown: string };
/** A stored decision that no run passes the point of no return. */
export type ClusterHold = { readonly reason: string; readonly by: string; readonly since: string };
export type Observation = {
  readonly taken_at: string;
  readonly cluster: string;
  readonly members: readonly MemberStatus[];
  /** The programs of the later hops of a path, as their hosts report them. */
  readonly later_programs?: readonly {
    readonly member: string;
    readonly to: Minor;
    readonly version?: string;
    readonly error?: string;
  }[];
  readonly listed: readonly ListedMember[];
  readonly alarms: readonly AlarmStatus[];
  /** `problem`: why authentication, or the access of our user, could not be read; `is_rejected`: a member rejected our user. */
  readonly auth: {
    readonly is_on: boolean | undefined;
    readonly problem?: string;
    readonly is_rejected?: true;
  };
  readonly client_certificate?: CertificateStatus;
  /** Directories for the snapshots, the journal and the report of this run. */
  readonly operator?: { readonly snapshots: DirectoryStatus; readonly run: DirectoryStatus };
  /**
   * Hashes of the members that support the call, all at one revision. Absent if opsctl requested no hashes.
   */
  readonly hashes?: readonly MemberHash[];
  /** Why opsctl requested no hashes. */
  readonly not_hashed?: string;
  /** Absent if opsctl did not compare the revisions of the members; `revisions_unread` has the reason if one is missing. */
  readonly revisions?: readonly MemberRevisions[];
  readonly revisions_unread?: string;
  /** The hold that is stored in the cluster. Null: no hold. Absent: not requested, or `hold_unread` has the reason. */
  readonly hold?: ClusterHold | null;
  readonly hold_unread?: string;
  /** Current data of the v2 API. Absent if opsctl did not check it. */
  readonly v2?: V2DataStatus;
  /** Remaining seconds of the lease that expires first, if the leases could be listed. */
  readonly shortest_lease_seconds?: number;
  readonly lease_count?: number;
  /** Name of the leader that a majority agrees on. */
  readonly leader?: string;
  readonly cluster_version?: string;
  /** Lowest and highest reported server minor. */
  readonly lowest?: Minor;
  readonly highest?: Minor;
};
export type Finding = {
  /** Name of the guard, for example `all-members-healthy`. */
  readonly guard: string;
  /**
   * `unknown`: the guard could not check, and the message contains the reason. It counts as a warning and
   * never as a pass.
   */
  readonly level: Level;
  readonly member?: string;
  readonly message: string;
  /** The recommended action. */
  readonly hint?: Advice;
};

/** The contents of a cluster file. cluster-fields.ts defines the same fields for validation. */
export type DriverKind = 'local' | 'hooks' | 'systemd' | 'ssh' | 'docker' | 'podman' | 'static-pod';
/**
 * Commands of the `hooks` driver, and additional commands of the other drivers. Placeholders: {name}
 * {client_url} {data_dir} {binary} {config} {version} {to}.
 */
export type Hooks = {
  readonly stop?: CommandLine;
  /** Kills the process. Used only with --kill-after-grace, and when a reverted version does not stop. */
  readonly kill?: CommandLine;
  readonly start_old?: CommandLine;
  readonly start_new?: CommandLine;
  /** Exits with code 0 if the process runs, with 75 while it starts, and with 77 if the state is unknown. */
  readonly is_running?: CommandLine;
  /** Prints the version of the new or the old binary. */
  readonly new_version?: CommandLine;
  readonly old_version?: CommandLine;
  /** Prints the end of the member's log. */
  readonly log?: CommandLine;
  /**
   * Runs on the operator's machine before each member stops and after each member has passed its health
   * check.
   */
  readonly before_member?: CommandLine;
  readonly after_member?: CommandLine;
};
/** The programs of one version, for upgrades over several minor versions. */
export type VersionPrograms = {
  readonly binary?: string;
  readonly command?: CommandLine;
  readonly image?: string;
};
export type MemberSpec = {
  readonly name: string;
  readonly client_url: string;
  readonly peer_url?: string;
  readonly data_dir?: string;
  /**
   * Directory of the write-ahead log outside of data_dir, if no flag, variable or configuration file
   * specifies it.
   */
  readonly wal_dir?: string;
  readonly pid_file?: string;
  readonly log_file?: string;
  readonly old_binary?: string;
  readonly new_binary?: string;
  /** opsctl prepends the binary if the first argument starts with `-`. */
  readonly old_command?: CommandLine;
  readonly new_command?: CommandLine;
  /**
   * Configuration file that opsctl rewrites between stop and start. opsctl keeps the old text for a rollback.
   */
  readonly config_file?: string;
  /** A file on this machine that replaces config_file during `kv restart`. */
  readonly new_config_file?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** ssh: `user@host`, `host` or an alias of the ssh configuration. */
  readonly host?: string;
  /** systemd: the unit. */
  readonly unit?: string;
  /**
   * Path of the program that the unit, the container or the pod starts. The systemd driver installs
   * new_binary there.
   */
  readonly binary_path?: string;
  readonly container?: string;
  readonly old_image?: string;
  readonly new_image?: string;
  /** static pod: the manifest that the kubelet watches. */
  readonly manifest?: string;
  /** By minor version: the programs of this member. They precede those of the cluster. */
  readonly versions?: Readonly<Record<string, VersionPrograms>>;
};
export type ClusterFile = {
  readonly name: string;
  /** Target minor, for example `3.4` (default: the minor after the running version). */
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
  /** The password comes from a file, an environment variable or a prompt, never from this file or a flag. */
  readonly user?: { readonly name: string; readonly password_file?: string; readonly password_env?: string };
  /** A program that is compatible with `etcdctl`. Only `kv restore` needs it. */
  readonly ctl_binary?: string;
  /**
   * The `etcdutl` of the running version. It checks the directory of a stopped member for v2 data (3.5 to
   * 3.6).
   */
  readonly utl_binary?: string;
  /** By minor version: the programs of every member, and the programs of this machine for that version. */
  readonly versions?: Readonly<
    Record<string, VersionPrograms & Pick<ClusterFile, 'ctl_binary' | 'utl_binary'>>
  >;
  /** A directory of this machine. */
  readonly snapshot_dir?: string;
  /**
   * The value of snapshot_dir if it is a bucket: `s3://BUCKET/PREFIX`. In this case snapshot_dir is absent.
   */
  readonly snapshot_url?: string;
  readonly s3?: {
    readonly endpoint?: string;
    readonly region?: string;
    readonly addressing?: 'path' | 'virtual';
  };
  readonly timeouts?: {
    /** Time for a member to exit after the stop (default 120). */
    readonly stop_seconds?: number;
    /** Time for a member to pass its health check (default 60; longer with v2 data). */
    readonly gate_seconds?: number;
    /** Soak time of a member before the next member (default 1). */
    readonly stable_seconds?: number;
    /** Soak time of all upgraded members before the last old member stops (default 10). */
    readonly stable_before_last_seconds?: number;
    /** Time that the cluster runs one version before the upgrade to the next one (default 600). */
    readonly soak_seconds?: number;
    /** Time without data after which opsctl requests a snapshot stream again (default 8). */
    readonly snapshot_seconds?: number;
  };
  /** Created by `mock kv start`. This cluster is a rehearsal and not a database. */
  readonly simulated?: boolean;
};

/** The events of a run. */

/** Every event has `at` (ISO time) and `elapsed_ms` since the start of the run. */
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
      /** Null: opsctl skipped the check, and `detail` contains the reason. */
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
  | {
      readonly event: 'note';
      readonly level: 'info' | 'warn';
      readonly text: string;
      /** True: the run waits for this reason, until a note with false. Absent: the note does not change it. */
      readonly is_paused?: boolean;
    }
  | {
      readonly event: 'run-finished';
      readonly outcome: Outcome;
      readonly message: string;
      readonly report: Report;
    };
export type UpgradeEvent = EventBody & { readonly at: string; readonly elapsed_ms: number };
export type Unstamped = EventBody;
/**
 * Receives every event of a run. It must not throw or block. Live table, plain lines, ndjson and report are
 * sinks.
 */
export type Sink = (event: UpgradeEvent) => void;

/** The lines of a run's journal. */

export type SnapshotRecord = {
  readonly member: string;
  readonly path: string;
  readonly size_bytes: number;
  /** Hash of the whole file. */
  readonly file_sha256: string;
  /** The trailer that matches the content of the file. */
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
  /** A hash. Absent in records of version 0.1.0, like the next two fields. */
  readonly machine_id?: string;
  readonly boot_id?: string;
  readonly pid_namespace?: string;
};
export type Outcome = 'done' | 'held' | 'stopped' | 'rolled-back' | 'failed' | 'aborted' | 'refused';
/** Why a held run continues later: its window ended, users were affected, or the operator declined. */
export type HeldFor = 'window' | 'impact' | 'operator';
/** The result of a step and the note before it. opsctl displays these values, and a resume reads them. */
export type Detail = Readonly<Record<string, unknown>>;
/** The lines of one step in the journal of an upgrade or operation. `begin` is on disk before the effect. */
export type StepEntry<Id extends string> =
  | { readonly kind: 'begin'; readonly at: string; readonly step: Id; readonly note?: Detail }
  | { readonly kind: 'end'; readonly at: string; readonly step: Id; readonly detail?: Detail }
  | { readonly kind: 'failed'; readonly at: string; readonly step: Id; readonly reason: string };
/** One line per entry, fsynced before the effect that it announces. `at` is ISO time. */
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
      /** The holds that apply from this line on. */
      readonly holds?: Pick<PlanOptions, 'hold_last' | 'hold_after'>;
    }
  | StepEntry<JournalStepId>
  | { readonly kind: 'reverting'; readonly at: string; readonly member: string; readonly reason: string }
  | { readonly kind: 'reverted'; readonly at: string; readonly member: string }
  /** A started revert that is impossible or unnecessary because the cluster version has changed. */
  | { readonly kind: 'revert-dropped'; readonly at: string; readonly member: string; readonly reason: string }
  /** Written before a member stops: the current and the next installation, and where both are stored. */
  | { readonly kind: 'placed'; readonly at: string; readonly placement: Placement }
  /**
   * Written before a member starts: the last line of its log. Later lines belong to this start. Null for an
   * empty log, and for a log that could not be read.
   */
  | {
      readonly kind: 'log-marked';
      readonly at: string;
      readonly member: string;
      readonly line: string | null;
      readonly is_unread?: boolean;
    }
  | { readonly kind: 'snapshot'; readonly at: string; readonly snapshot: SnapshotRecord }
  | { readonly kind: 'crossing-confirmed'; readonly at: string; readonly confirmed_by: string }
  /** The cluster version has changed. From now on the old version cannot start. */
  | { readonly kind: 'crossed'; readonly at: string; readonly cluster_version: string }
  /** Written before a member: users were affected, or the impact is unknown. */
  | { readonly kind: 'paused'; readonly at: string; readonly member: string; readonly reason: string }
  | { readonly kind: 'continued'; readonly at: string; readonly member: string; readonly waited_ms: number }
  | {
      readonly kind: 'closed';
      readonly at: string;
      readonly outcome: Outcome;
      readonly message: string;
      /**
       * The run holds until the next window, until users are not affected, or because the operator declined.
       * Absent: the plan contains the hold.
       */
      readonly held_for?: HeldFor;
    };

/**
 * Everything that starts a member on one version, and where it is stored while another version is active.
 * Paths are on the member's host. It is small and contains no secrets, because it is in the journal.
 */
export type Installed = {
  readonly minor: Minor;
  readonly version?: string;
  /** The program file of this version. opsctl never writes to it after recording it. */
  readonly program?: string;
  /** Hash of the program file, which proves that the activated file is the recorded file. */
  readonly program_sha256?: string;
  /** The configuration file of this version. */
  readonly config?: string;
  /** Target of the symbolic link that the service starts, if `active_path` was a link. */
  readonly link_target?: string;
  /** Image digest or id. */
  readonly image?: string;
  /**
   * Name of the stopped container of this version, its id, and its restart policy, which is disabled while
   * the container is stopped.
   */
  readonly container?: string;
  readonly container_id?: string;
  readonly restart?: string;
  /** The manifest of this version, outside of the directory that the kubelet watches. */
  readonly manifest?: string;
  /** systemd drop-in that selects the program. Absent if the unit file selects it. */
  readonly drop_in?: string;
};
/** User and working directory of the stopped process. Its successor runs with the same values. */
export type Identity = {
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  readonly cwd?: string;
};
/** The installation of a member before and after its switch. */
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
  | 'copy-data' // copy the data directory, only while the member is stopped
  | 'check-data' // check whether the next version rejects the data directory, only while the member is stopped
  | 'configure' // rewrite the configuration file and keep the old text
  | 'start'
  | 'gate' // all health checks of a member before the next member
  | 'settle' // soak time
  | 'hold' // stop here with --hold-last or --hold-after
  | 'enable-downgrade' // let the cluster accept members of the previous version, confirmed by every member
  | 'confirm'; // every member reports the new cluster version

/** Steps of the whole cluster. Every other kind belongs to one member. */
type ClusterStepKind = 'confirm' | 'enable-downgrade';
export type MemberStepKind = Exclude<StepKind, ClusterStepKind>;
/** For example `n2.stop`. */
export type MemberStepId<K extends MemberStepKind = MemberStepKind> = `${string}.${K}`;
/** The key of a step in the plan and in the journal. A misspelled kind does not compile. */
export type StepId = MemberStepId | ClusterStepKind;
/** `cancel-downgrade` is not part of a plan. A rollback and an abort write it. */
export type JournalStepId = StepId | 'cancel-downgrade';
type StepText = {
  readonly title: string;
  readonly why: string;
  /** The commands that the driver will run, for display. */
  readonly commands: readonly string[];
  /**
   * The commands that the driver would run for the previous version. Absent: the commands replace no others.
   */
  readonly replaces?: readonly string[];
};
type Absent<K extends string> = { readonly [name in K]?: undefined };
type KindOfMember<K extends MemberStepKind> = { readonly id: MemberStepId<K>; readonly kind: K };
/** A step for one member. */
export type MemberStep = StepText & {
  readonly member: string;
  /**
   * When this member runs the new version, the cluster version changes, and only a restore can return to the
   * old version.
   */
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
/** restart: the same minor with another configuration, other certificates or another patch. */
export type PlanKind = 'upgrade' | 'downgrade' | 'restart';
/**
 * An upgrade over several minor versions. Each hop is a separate run with its own plan, checks and point of no
 * return. Every plan of the path contains the whole path.
 */
export type UpgradePath = {
  readonly to: Minor;
  /** Time between the end of one hop and the start of the next one. */
  readonly soak_seconds: number;
  readonly hops: readonly {
    readonly from: Minor;
    readonly to: Minor;
    /** The program or image of each member. */
    readonly programs: Readonly<Record<string, string>>;
  }[];
};
export type PlanOptions = {
  readonly to?: Minor;
  /** Absent: the upgrade has one hop. */
  readonly path?: UpgradePath;
  readonly copy_data: boolean;
  readonly hold_last: boolean;
  /** Number of members that may run the new version before the run holds. Absent: no hold. */
  readonly hold_after?: number;
  /** Soak time of each member before the next member. */
  readonly stable_seconds: number;
  /** Soak time of all upgraded members before the last old member stops (default 10). */
  readonly stable_before_last_seconds?: number;
  /** Names of the guards whose `fail` the operator accepts as a warning. */
  readonly accept: readonly string[];
  /**
   * A restart starts the running program. This selects which of the two programs in the cluster file it is.
   */
  readonly keep_program?: 'old' | 'new';
  /** Version data from a given file. Absent: the built-in data. A resume uses the same data. */
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
  /** sha256 of everything that determines the steps (without times, sizes and indexes). */
  readonly digest: string;
  /** Members in upgrade order. */
  readonly order: readonly string[];
  readonly steps: readonly Step[];
  readonly findings: readonly Finding[];
  readonly observation: Observation;
  readonly options: PlanOptions;
};
/** All reasons for a refusal. No changes were made. */
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
  /** The final state. Absent if opsctl could not check it. */
  readonly state?: 'up' | 'unhealthy' | 'down';
  readonly was_leader: boolean;
  readonly down_ms?: number;
  readonly snapshot?: SnapshotRecord;
  readonly data_copy?: string;
  readonly gate: readonly {
    readonly check: GateCheck;
    /** Null: opsctl skipped the check, and `detail` contains the reason. */
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
  /** Absent for an upgrade and in reports of earlier versions. */
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
  /** How many lines of the journal the report covers. Absent in reports of earlier versions. */
  readonly journal_lines?: number;
  readonly findings: readonly Finding[];
  /** Recommended next commands, best first. */
  readonly next?: readonly Advice[];
};
