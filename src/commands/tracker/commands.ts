import { tracker } from '../../api-specs/tracker/index.ts';
import { type Command, defineCommand, withWatch } from '../../cli/command.ts';
import { commandsFrom } from '../../cli/derived/command.ts';
import { int, str, url } from '../../core/field.ts';
import type { Flags } from '../../core/flag.ts';
import { operations } from '../../core/operation.ts';
import { trackerNames } from '../../tracker/names/name-resolution.ts';
import { listenForEvents, secretOf } from '../../tracker/webhooks.ts';
import { everydayCommands } from './everyday.ts';
import { byHand, withEditor, withUndo, withWeb } from './extensions.ts';
import {
  downloadCommand,
  uploadCommand,
  ensureCommands,
  paginatedCommands,
  searchCommand,
} from './records.ts';
import {
  applyCommand,
  bulkCommand,
  diffCommand,
  exportCommand,
  runsCommand,
  syncCommand,
  undoCommand,
} from './many.ts';

const flags = {
  port: {
    field: int({ min: 0, max: 65_535 }),
    summary: 'Port to listen on (default: a free port)',
    value: 'number',
  },
  host: {
    effects: ['sends'],
    field: str(),
    summary: 'Address to listen on (default 127.0.0.1)',
    value: 'address',
  },
  'secret-file': {
    effects: ['reads', 'sends'],
    field: str(),
    summary: 'File that contains the secret of the webhook',
    value: 'file',
    complete: 'file',
  },
  forward: {
    effects: ['sends'],
    field: url(),
    summary: 'Forward each valid delivery to this URL, byte for byte',
    value: 'url',
  },
  count: { field: int({ min: 1 }), summary: 'Exit after N events', value: 'number' },
} as const satisfies Flags;
export const listenCommand = defineCommand({
  path: ['tracker', 'webhooks', 'listen'],
  summary: 'Receive webhook events and verify their signatures',
  about:
    'Prints one line per event. A delivery that was received before has the field replayed. The secret comes from a file or from OPSCTL_WEBHOOK_SECRET; without a secret, signatures are not verified and a warning is printed. Stop it with Ctrl-C.',
  flags,
  examples: [
    {
      line: 'opsctl tracker webhooks listen --port 8080 --secret-file secret.txt -o ndjson',
      says: 'Print events as they arrive',
    },
  ],
  run: async (context, values) => {
    const secret = await secretOf(context, values['secret-file']);
    if (secret === undefined) context.log.warn('no secret is set: signatures are not verified');
    return {
      kind: 'rows',
      rows: await listenForEvents(context, { ...values, secret }),
      view: {
        columns: [
          ...['changed_at', 'primary_id', 'actions.0.action', 'actions.0.entity_type', 'actions.0.name'],
          'replayed',
        ],
      },
    };
  },
});

const handWritten: readonly Command[] = [
  ...paginatedCommands,
  ...everydayCommands.map(withUndo),
  uploadCommand,
  downloadCommand,
  searchCommand,
  bulkCommand,
  syncCommand,
  runsCommand,
  undoCommand,
  listenCommand,
  ...ensureCommands.map(withUndo),
  exportCommand,
  diffCommand,
  withUndo(applyCommand),
];
const key = ({ path }: Command): string => path.slice(1).join(' ');
const derived = commandsFrom(tracker, trackerNames).filter((command) => !byHand.has(key(command)));
const rows = operations(tracker.table).map(({ operation }) => operation);
export const commands: readonly Command[] = [
  ...derived.map((command) => withUndo(withEditor(withWeb(command), rows))),
  ...handWritten,
].map(withWatch);
