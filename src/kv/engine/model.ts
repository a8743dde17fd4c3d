/** What was seen of a cluster, and what the guards conclude from it. */
import type { Level } from '../../core/level.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { AlarmSeen, ListedMember } from '../client/etcd-client.ts';

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
  readonly hint?: string;
};
