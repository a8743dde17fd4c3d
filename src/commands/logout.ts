import { logoutCommand } from './auth/logout.ts';
import type { Command } from '../cli/command.ts';

export const commands: readonly Command[] = [logoutCommand(['logout'])];
