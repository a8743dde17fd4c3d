import type { Command } from '../cli/command.ts';
import { doctorAuth } from './auth.ts';
import { doctor } from './doctor.ts';

export const commands: readonly Command[] = [doctor, doctorAuth];
