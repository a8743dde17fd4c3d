import { logoutCommand } from './auth/logout.ts';
import type { Command } from './command.ts';

export const commands: readonly Command[] = [logoutCommand(['logout'])];
