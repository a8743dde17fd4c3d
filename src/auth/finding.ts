import type { Level } from '../core/level.ts';

/** One thing that signing in depends on. `fail` makes the command end with 20; `warn` has a way around it. */
export type Finding = {
  readonly check: string;
  readonly state: Level;
  readonly found: string;
  readonly remedy: string;
};

export const ok = (check: string, found: string): Finding => ({ check, state: 'pass', found, remedy: '' });
export const warns = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'warn',
  found,
  remedy,
});
export const fails = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'fail',
  found,
  remedy,
});
