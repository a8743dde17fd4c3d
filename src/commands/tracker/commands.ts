import { tracker } from '../../services/tracker/index.ts';
import type { Command } from '../command.ts';
import { commandsFrom } from '../from-table.ts';
import { trackerNaming } from './naming.ts';

export const commands: readonly Command[] = commandsFrom(tracker, trackerNaming);
