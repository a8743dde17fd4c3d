import type { Command } from '../../cli/command.ts';
import { fault } from './fault.ts';
import { log } from './log.ts';
import { member } from './member.ts';
import { start } from './kv-start-2.ts';
import { status } from './kv.ts';
import { stop } from './kv-stop.ts';

export const commands: readonly Command[] = [start, stop, status, fault, log, member];
