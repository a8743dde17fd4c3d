import type { Argument, Flags } from '../../cli/command.ts';
import { int, oneOf, str } from '../../core/field.ts';
import { defaultMs, type Fault, faultKinds } from '../../etcd-sim/faults.ts';
import { simulatedMinors } from '../../etcd-sim/forms.ts';
import { dirFlag } from './directory.ts';

const kinds = [...(Object.keys(faultKinds) as Fault['kind'][]), 'nospace', 'corrupt', 'clear'] as const;

const times = (Object.keys(faultKinds) as Fault['kind'][])
  .flatMap((kind) => (defaultMs(kind) === undefined ? [] : [`${defaultMs(kind)} for ${kind}`]))
  .join(', ');

export const faultFlags = {
  dir: dirFlag,
  member: {
    field: str(),
    summary: 'The member that fails (default all)',
    value: 'name',
    complete: 'kv-member',
  },
  ms: {
    field: int({ min: 0 }),
    summary: `Time of the fault (default ${times})`,
    value: 'ms',
  },
  'only-version': {
    field: str(undefined, { pattern: '^3\\.\\d+$' }),
    summary: 'Only while the member runs this version, for example the old one after a rollback',
    value: '3.x',
    suggest: simulatedMinors,
  },
} as const satisfies Flags;

export const faultArgs = [
  { name: 'kind', field: oneOf(...kinds), summary: 'What goes wrong' },
] as const satisfies readonly Argument[];
