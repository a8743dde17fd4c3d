import type { Placement } from '../../src/kv/engine/model.ts';
import type { Finished } from '../../src/platform/host.ts';

/** A command that ended well and said nothing, but for what is given. */
export const done = (patch: Partial<Finished>): Finished => ({
  ...{ code: 0, signal: null, stdout: '', stderr: '', timedOut: false },
  ...patch,
});
/** Where a member n1 runs before and after its upgrade. */
export const placement = (previous: object, next: object): Placement =>
  ({ member: 'n1', previous: { minor: '3.4', ...previous }, next: { minor: '3.5', ...next } }) as Placement;
