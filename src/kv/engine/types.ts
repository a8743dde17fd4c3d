/** The values of an upgrade. Keys are snake_case where a user sees them: cluster file, `-o json`, plan file, journal, events, report. */
export type { AlarmSeen, ListedMember } from '../client/etcd-client.ts';
export type { ClusterFile, CommandLine, DriverKind, Hooks, MemberSpec } from './cluster-types.ts';
export type { Sink, Unstamped, UpgradeEvent } from './event-types.ts';
export type { HeldFor, JournalEntry, Outcome, Owner, SnapshotRecord } from './journal-types.ts';
export type {
  DirectorySeen,
  PlaceSeen,
  Finding,
  HostFacts,
  MemberHash,
  MemberSeen,
  Observation,
  V2Seen,
} from './model.ts';
export type { Identity, Installed, Move, Placement } from './placement-types.ts';
export type { MemberStep, Plan, PlanKind, PlanOptions, Refusal, Step, StepKind } from './plan-types.ts';
export type { CanaryReport, GateCheck, MemberReport, Report } from './report-types.ts';
