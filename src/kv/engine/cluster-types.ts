import type { TlsFiles } from '../client/certificates.ts';

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
