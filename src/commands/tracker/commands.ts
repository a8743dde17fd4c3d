import { tracker } from '../../api-specs/tracker/index.ts';
import { operations } from '../../core/operation.ts';
import type { Command } from '../../cli/command.ts';
import { commandsFrom } from '../../cli/derived/command.ts';
import { bulkCommand } from './many.ts';
import { ensureCommands } from './records.ts';
import { downloadCommand } from './files.ts';
import { uploadCommand } from './files-upload.ts';
import { trackerNaming } from '../../tracker/names/tracker-naming.ts';
import { byHand } from './by-hand.ts';
import { paginatedCommands } from './paginated.ts';
import { searchCommand } from './search.ts';
import { listenCommand } from './webhooks-listen.ts';
import { withEditor } from './with-editor.ts';
import { withWeb } from './extensions.ts';
import { applyCommand } from './workspace-apply.ts';
import { diffCommand } from './workspace-diff.ts';
import { exportCommand } from './workspace-export.ts';

const handWritten: readonly Command[] = [
  ...paginatedCommands,
  uploadCommand,
  downloadCommand,
  searchCommand,
  bulkCommand,
  listenCommand,
  ...ensureCommands,
  exportCommand,
  diffCommand,
  applyCommand,
];
const key = ({ path }: Command): string => path.slice(1).join(' ');
const derived = commandsFrom(tracker, trackerNaming).filter((command) => !byHand.has(key(command)));

const rows = operations(tracker.table).map(({ operation }) => operation);

export const commands: readonly Command[] = [
  ...derived.map((command) => withEditor(withWeb(command), rows)),
  ...handWritten,
];
