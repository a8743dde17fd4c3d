import { bool, duration, list, oneOf, str } from '../core/field.ts';
import { formatNames } from '../core/output-format.ts';
import { reportFormatNames } from '../core/report-format.ts';
import type { Flags, ValuesOf } from './command.ts';

/** Flags of every command. A command's own flag of the same name wins in that command. */
export const globalFlags = {
  output: {
    effects: [],
    field: oneOf(...formatNames),
    short: 'o',
    summary: 'Format of the answer (default table on a terminal, json elsewhere)',
    value: formatNames.join('|'),
  },
  columns: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: 'Columns of a table or CSV, comma-separated; dots reach inside',
    value: 'names',
    complete: 'column',
  },
  jq: { effects: [], field: str(), summary: 'Filter the JSON answer with a jq program', value: 'program' },
  template: {
    effects: [],
    field: str(),
    summary: 'Print each row through a Mustache template, such as {{name}}',
    value: 'text',
  },
  'all-fields': {
    effects: [],
    field: bool(),
    summary: 'Every field of a record on a terminal, not only the usual ones',
  },
  pager: { effects: ['runs'], field: bool(), negated: true, summary: 'Do not show a long answer in a pager' },
  'csv-safe': {
    effects: [],
    field: bool(),
    summary: 'CSV for spreadsheets: no cell is taken for a formula',
  },
  header: {
    effects: [],
    field: bool(),
    negated: true,
    summary: 'Leave out the header line of a table or CSV',
  },
  color: {
    effects: [],
    field: oneOf('auto', 'always', 'never'),
    summary: 'Colour on a terminal',
    value: 'auto|always|never',
  },
  quiet: { effects: [], field: bool(), short: 'q', summary: 'Only errors on stderr' },
  verbose: {
    effects: [],
    field: bool(),
    short: 'v',
    summary: 'Say what is done: requests, retries, origins of settings',
  },
  debug: {
    effects: [],
    field: bool(),
    summary:
      'Trace every request on stderr: headers, bodies, times, retries, a curl line; secrets are redacted',
  },
  har: {
    effects: ['writes'],
    field: str(),
    summary: 'Write every request and answer to a HAR file; secrets are redacted',
    value: 'file',
    complete: 'file',
  },
  report: {
    effects: ['writes'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: `Also write what a check found to a file: ${reportFormatNames.join(', ')}`,
    value: 'format=file',
  },
  record: {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary: 'Write every request and answer to a trace that --replay reads; secrets are redacted',
    value: 'file',
    complete: 'file',
  },
  replay: {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'Answer from a trace instead of the network',
    value: 'file',
    complete: 'file',
  },
  profile: {
    effects: ['sends'],
    field: str(),
    summary: 'Profile to use',
    value: 'name',
    complete: 'profile',
  },
  yes: { effects: [], field: bool(), short: 'y', summary: 'Do not ask' },
  'dry-run': { effects: [], field: bool(), summary: 'Print the request without sending it' },
  timeout: {
    field: duration(),
    summary: 'Request timeout, such as 30s (default 30s)',
    value: 'duration',
  },
  'max-time': {
    field: duration(),
    summary: 'Most time for the whole run, such as 5m; then it stops as after Ctrl-C (default none)',
    value: 'duration',
  },
  input: { effects: [], field: bool(), negated: true, summary: 'Never ask; fail instead' },
  help: { effects: [], field: bool(), short: 'h', summary: 'Show help' },
  'approved-files': {
    effects: ['reads', 'writes'],
    field: str(4096, { min: 1 }),
    summary: 'Directory with copies of the files that a dry run read; with --dry-run, where to put them',
    value: 'directory',
    hidden: true,
  },
  'tracker-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the tracker',
    value: 'url',
    hidden: true,
  },
  'labels-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the label service',
    value: 'url',
    hidden: true,
  },
  'api-url': {
    effects: ['sends'],
    field: str(),
    summary: 'Base URL of the data API',
    value: 'url',
    hidden: true,
  },
} as const satisfies Flags;

export type Globals = ValuesOf<typeof globalFlags>;
