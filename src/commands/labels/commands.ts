import type { Command } from '../../cli/command.ts';
import { adopt, exportLabels, lint, locks, validate } from './adopt.ts';
import { apply, diff, plan, publish, retire } from './apply.ts';
import { deriveCommands, permissionsExport, permissionsImport, permissionsSync } from './rows.ts';
import { schema } from './flags.ts';

const own: readonly Command[] = [
  apply,
  plan,
  diff,
  exportLabels,
  adopt,
  validate,
  lint,
  schema,
  publish,
  retire,
  locks,
  permissionsSync,
  permissionsExport,
  permissionsImport,
];
const words = (command: Command): string => command.path.join(' ');

/**
 * The 26 commands of the table, and additional commands for users; `publish` replaces the command of its row.
 */
export const commands: readonly Command[] = [
  ...own,
  ...deriveCommands().filter((row) => !own.some((command) => words(command) === words(row))),
];
