/** Steps, options and the plan of an upgrade. */
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { VersionTable } from '../../api-specs/etcd/version-rules.ts';
import type { Finding, Observation } from './model.ts';

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

type StepText = {
  /** `n2.stop`, `confirm`: the key in the journal. */
  readonly id: string;
  readonly title: string;
  readonly why: string;
  /** What the driver will run, as text for people. */
  readonly commands: readonly string[];
  /** What the driver would run for the version before. Absent: the commands replace none. */
  readonly replaces?: readonly string[];
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
    | ({
        readonly kind: Exclude<StepKind, 'move-leader' | 'settle' | 'confirm' | 'enable-downgrade'>;
      } & Absent<'target' | 'wait_seconds'>)
  );
export type Step =
  | MemberStep
  | (StepText & { readonly kind: 'confirm' | 'enable-downgrade' } & Absent<
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
