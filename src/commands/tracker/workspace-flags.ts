import { bool, req, str } from '../../core/field.ts';
import type { Flag, ValuesOf } from '../../cli/command.ts';
import type { PlanOptions } from '../../tracker/workspace/plan.ts';

export const file = {
  effects: ['reads'],
  field: req(str()),
  short: 'f',
  summary: 'The workspace file (YAML or JSON); - is standard input',
  value: 'file|-',
  complete: 'file',
} as const satisfies Flag;
const prune = {
  effects: [],
  field: bool(),
  summary: 'Also remove what the file does not name, in the lists that it has',
} as const satisfies Flag;
const force = { effects: [], field: bool(), summary: 'Prune even what is in use' } as const satisfies Flag;

export const changeFlags = { file, prune, force };

export const optionsOf = (values: Omit<ValuesOf<typeof changeFlags>, 'file'>): PlanOptions => ({
  prune: values.prune ?? false,
  force: values.force ?? false,
});
