import type { Command } from '../../cli/command.ts';
import { fleet } from './fleet.ts';
import { rehearse } from './rehearse.ts';
import { report } from './report.ts';

export const extraCommands: readonly Command[] = [report, rehearse, fleet];
