import type { Minor } from '../../api-specs/etcd/versions.ts';

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
