import type { Command } from '../../cli/command.ts';
import { adopt } from './adopt.ts';
import { apply } from './apply.ts';
import { derived } from './rows.ts';
import { diff } from './diff.ts';
import { exportLabels } from './export.ts';
import { lint } from './lint.ts';
import { locks } from './locks.ts';
import { permissionsSync } from './permissions-sync.ts';
import { plan } from './plan.ts';
import { publish } from './publish.ts';
import { retire } from './retire.ts';
import { schema } from './schema.ts';
import { validate } from './validate.ts';

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
];
const words = (command: Command): string => command.path.join(' ');

/** The 26 of the table, and those that a person wants beyond them; `publish` takes the place of its row. */
export const commands: readonly Command[] = [
  ...own,
  ...derived().filter((row) => !own.some((command) => words(command) === words(row))),
];
