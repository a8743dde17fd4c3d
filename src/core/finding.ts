import type { Level } from './level.ts';

/** One thing that a check looked at, as reports of CI services show it. */
export type CheckFinding = {
  /** The rule: `no-alarms`, `badge_contrast`, `difference`. */
  readonly rule: string;
  readonly level: Level;
  readonly message: string;
  /** What it is about: a member, a label, a row. */
  readonly subject?: string;
  readonly hint?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
};
