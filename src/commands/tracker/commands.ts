import type { Operation } from '../../kernel/operation.ts';
import { tracker } from '../../services/tracker/index.ts';
import type { Command } from '../command.ts';
import { commandsFrom } from '../from-table.ts';
import { bulkCommand } from './bulk/command.ts';
import { ensureCommands } from './ensure.ts';
import { fileCommands } from './files.ts';
import { trackerNaming } from './naming.ts';
import { paginatedCommands } from './paginated.ts';
import { searchCommand } from './search.ts';
import { listenCommand } from './webhooks-listen.ts';
import { withEditor } from './with-editor.ts';
import { withWeb } from './with-web.ts';
import { workspaceCommands } from './workspace/commands.ts';

const byHand: readonly Command[] = [
  ...paginatedCommands,
  ...fileCommands,
  searchCommand,
  bulkCommand,
  listenCommand,
  ...ensureCommands,
  ...workspaceCommands,
];
/** Rows whose hand-written command has other words. */
const covered: readonly Operation[] = [tracker.table.search.run, tracker.table.epics.page];
const key = ({ path }: Command): string => path.join(' ');

const derived = commandsFrom(tracker, trackerNaming).filter(
  (command) => !byHand.some((hand) => key(hand) === key(command)) && !covered.some((operation) => operation === command.operation?.operation),
);

export const commands: readonly Command[] = [...derived.map(withWeb).map(withEditor), ...byHand];
