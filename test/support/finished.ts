import type { Placement } from '../../src/kv/engine/model.ts';
import type { Finished } from '../../src/platform/host.ts';

/** Returns the result of a command that succeeded without output, with the given changes. */
export const done = (patch: Partial<Finished>): Finished => ({
  ...{ code: 0, signal: null, stdout: '', stderr: '', timedOut: false },
  ...patch,
});
/** Returns the placement of a member n1 before and after its upgrade. */
export const placement = (previous: object, next: object): Placement =>
  ({ member: 'n1', previous: { minor: '3.4', ...previous }, next: { minor: '3.5', ...next } }) as Placement;
