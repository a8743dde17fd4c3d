import { bool, int, oneOf, req, str } from '../../core/field.ts';
import { defineCommand, type Flags } from '../../cli/command.ts';
import { bulk } from '../../tracker/bulk/bulk.ts';

const flags = {
  file: {
    effects: ['reads'],
    field: req(str()),
    short: 'f',
    summary: 'The rows; - is standard input',
    value: 'file|-',
    complete: 'file',
  },
  'input-format': {
    field: oneOf('ndjson', 'csv'),
    summary: 'Format of the rows (default: by the name of the file)',
    value: 'ndjson|csv',
  },
  delimiter: {
    field: oneOf('comma', 'semicolon', 'tab'),
    summary: 'What separates the cells of CSV (default: found in the header)',
    value: 'comma|semicolon|tab',
  },
  resource: { field: str(), summary: 'Resource of rows that name none', value: 'resource' },
  op: {
    field: oneOf('create', 'update', 'delete'),
    summary: 'What to do in rows that do not say',
    value: 'create|update|delete',
  },
  concurrency: {
    field: int({ min: 1, max: 64 }),
    summary: 'Requests at the same time (default 4); 1 keeps the order of the rows',
    value: 'number',
  },
  'create-labels': { field: bool(), summary: 'Make labels that rows name and that do not exist yet' },
  'create-categories': { field: bool(), summary: 'Make categories that rows name and that do not exist yet' },
  resume: { field: bool(), summary: 'Resume an interrupted run of the same file' },
  restart: { field: bool(), summary: 'Send every row again after an interrupted run' },
  journal: {
    effects: ['reads', 'writes'],
    field: str(),
    summary: 'File that remembers what was done (default: kept in the state directory)',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

export const bulkCommand = defineCommand({
  path: ['tracker', 'bulk'],
  summary: 'Create, update and delete many records from NDJSON or CSV',
  about:
    'Each row says what to do: {"op":"create","resource":"labels","name":"bug"} or {"op":"update","resource":"stories","id":7,"body":{…}}. ' +
    'In CSV the columns op, resource and id do the same, every other column is a field; an empty cell is left out, null unsets what can be unset, lists are separated by ; or |. ' +
    'A result is printed for each row as it is finished. After an interruption, --resume skips the rows that are done. ' +
    'Without --resume or --restart, bulk refuses a file that an interrupted run has applied in part (exit code 10).',
  flags,
  examples: [
    { line: 'opsctl tracker bulk -f changes.ndjson --dry-run', says: 'Check every row, send nothing' },
    {
      line: 'opsctl tracker bulk -f labels.csv --resource labels --op create --concurrency 8',
      says: 'Labels from a table',
    },
    { line: 'opsctl tracker bulk -f changes.ndjson --resume', says: 'Resume after an interruption' },
  ],
  isCheck: true,
  run: bulk,
});
