// Checked by the compiler alone: what a step of each kind has.
import type { Step } from '../../../src/kv/engine/model.ts';

const text = { id: 'n1.stop', title: 'stop n1', why: 'one at a time', commands: [] };
export const steps: readonly Step[] = [
  { ...text, kind: 'stop', member: 'n1', is_point_of_no_return: true },
  { ...text, kind: 'move-leader', member: 'n1', target: 'n2' },
  { ...text, kind: 'settle', member: 'n1', wait_seconds: 60 },
  { ...text, kind: 'confirm' },
  // @ts-expect-error a stop is of one member
  { ...text, kind: 'stop' },
  // @ts-expect-error the leadership goes to somebody
  { ...text, kind: 'move-leader', member: 'n1' },
  // @ts-expect-error a wait has a length
  { ...text, kind: 'settle', member: 'n1' },
  // @ts-expect-error the cluster confirms, not a member
  { ...text, kind: 'confirm', member: 'n1' },
];
