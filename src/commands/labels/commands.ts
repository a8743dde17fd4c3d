import { type Command, extend, isReading, withWatch } from '../../cli/command.ts';
import { adopt, exportLabels, lint, locks, validate } from './adopt.ts';
import { apply, diff, plan, publish, retire } from './apply.ts';
import { deriveCommands, permissionsExport, permissionsImport, permissionsSync } from './rows.ts';
import { schema } from './flags.ts';

/** Saves the labels that the command changes, so that `opsctl undo` can revert it. */
const withUndo = (command: Command): Command => {
  if (isReading(command)) return command;
  return extend(command, {
    run: async (context, values) => {
      const { withLabelRecord } = await import('../../labels/record-writes.ts');
      return command.run(withLabelRecord(context, command.path.join(' ')), values);
    },
  });
};
const changing: ReadonlySet<Command> = new Set([apply, publish, retire, permissionsSync, permissionsImport]);
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
  ...own.map((command) => (changing.has(command) ? withUndo(command) : command)),
  ...deriveCommands()
    .filter((row) => !own.some((command) => words(command) === words(row)))
    .map(withUndo),
].map(withWatch);
