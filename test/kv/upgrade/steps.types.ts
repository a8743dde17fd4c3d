// The compiler checks the fields of each step kind.
import type { JournalEntry, Step } from '../../../src/kv/engine/model.ts';

const text = { title: 'stop n1', why: 'one at a time', commands: [] };
const name: string = 'n1';
export const steps: readonly Step[] = [
  { ...text, id: 'n1.stop', kind: 'stop', member: 'n1', is_point_of_no_return: true },
  { ...text, id: `${name}.stop`, kind: 'stop', member: name },
  { ...text, id: 'n1.move-leader', kind: 'move-leader', member: 'n1', target: 'n2' },
  { ...text, id: 'n1.settle', kind: 'settle', member: 'n1', wait_seconds: 60 },
  { ...text, id: 'confirm', kind: 'confirm' },
  // @ts-expect-error a stop belongs to one member
  { ...text, id: 'n1.stop', kind: 'stop' },
  // @ts-expect-error a leader transfer has a target
  { ...text, id: 'n1.move-leader', kind: 'move-leader', member: 'n1' },
  // @ts-expect-error a wait has a length
  { ...text, id: 'n1.settle', kind: 'settle', member: 'n1' },
  // @ts-expect-error the cluster confirms, not a member
  { ...text, id: 'confirm', kind: 'confirm', member: 'n1' },
  // @ts-expect-error the ID names no kind of step
  { ...text, id: `${name}.stopp`, kind: 'stop', member: name },
];
// @ts-expect-error a misspelled step would never end
export const entry: JournalEntry = { kind: 'end', at: '', step: `${name}.gaet` };
