import type { Argument, Flags, ValuesOf } from '../../cli/command.ts';
import { oneOf, str } from '../../core/field.ts';
import type { ReportForm } from '../../kv/operations/shown-report.ts';
import { clusterFlags } from './flags.ts';

export const reportFlags = {
  ...clusterFlags,
  as: {
    effects: [],
    field: oneOf('markdown', 'html', 'json'),
    summary: 'Form of the report (default: from the name of --out)',
    value: 'markdown|html|json',
  },
  out: {
    effects: ['writes'],
    field: str(undefined, { min: 1 }),
    summary: 'File to write it into',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

export const reportArgs = [
  {
    name: 'run',
    effects: [],
    field: str(),
    summary: 'The run (default: the newest of the cluster)',
    optional: true,
    complete: 'kv-run',
  },
] as const satisfies readonly Argument[];

type ReportValues = ValuesOf<typeof reportFlags, typeof reportArgs>;

/** --as, else what the name of the file says; undefined: the answer follows -o. */
export const formOf = (values: Pick<ReportValues, 'as' | 'out'>): ReportForm | undefined =>
  values.as ??
  (/\.html?$/.test(values.out ?? '')
    ? 'html'
    : /\.json$/.test(values.out ?? '')
      ? 'json'
      : values.out === undefined
        ? undefined
        : 'markdown');
