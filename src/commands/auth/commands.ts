import type { Command } from '../../cli/command.ts';
import { conformance } from './conformance.ts';
import { events } from './events.ts';
import { list } from './list.ts';
import { logoutCommand } from './logout.ts';
import { refresh } from './refresh.ts';
import { revoke } from './revoke.ts';
import { status } from './status.ts';
import { switchAccount } from './switch.ts';
import { token } from './token.ts';

export const commands: readonly Command[] = [
  status,
  list,
  switchAccount,
  token,
  refresh,
  revoke,
  logoutCommand(['auth', 'logout']),
  events,
  conformance,
];
