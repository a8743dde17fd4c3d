import type { Level } from '../../core/level.ts';

export type Finding = {
  readonly check: string;
  readonly state: Level;
  readonly found: string;
  readonly remedy?: string;
};
