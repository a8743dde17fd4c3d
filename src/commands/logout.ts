import { logoutCommand } from './auth/account.ts';
import type { Command } from '../cli/command.ts';

export const commands: readonly Command[] = [logoutCommand(['logout'])];
