import type { Command } from '../../cli/command.ts';
import { apply } from './apply.ts';
import { derived } from './derived.ts';
import { diff } from './diff.ts';
import { exportLabels } from './export.ts';
import { locks } from './locks.ts';
import { permissionsSync } from './permissions-sync.ts';
import { publish } from './publish.ts';
import { retire } from './retire.ts';

const own: readonly Command[] = [apply, exportLabels, diff, publish, retire, locks, permissionsSync];
const words = (command: Command): string => command.path.join(' ');

/** The 26 of the table, and those that a person wants beyond them; `publish` takes the place of its row. */
export const commands: readonly Command[] = [
  ...own,
  ...derived().filter((row) => !own.some((command) => words(command) === words(row))),
];
