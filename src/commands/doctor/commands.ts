import type { Command } from '../command.ts';
import { doctorAuth } from './auth.ts';

export const commands: readonly Command[] = [doctorAuth];
