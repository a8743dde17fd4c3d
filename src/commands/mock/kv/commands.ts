import type { Command } from '../../../cli/command.ts';
import { fault } from './fault.ts';
import { log } from './log.ts';
import { member } from './member.ts';
import { start } from './start.ts';
import { status } from './status.ts';
import { stop } from './stop.ts';

export const commands: readonly Command[] = [start, stop, status, fault, log, member];
