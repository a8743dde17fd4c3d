/** The events of a run. */
import type { Outcome, SnapshotRecord } from './journal-types.ts';
import type { Observation } from './model.ts';
import type { Plan, Step } from './plan-types.ts';
import type { GateCheck, Report } from './report-types.ts';

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
