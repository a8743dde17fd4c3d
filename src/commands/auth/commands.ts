import type { Command } from '../../cli/command.ts';
import { conformance } from './conformance.ts';
import { events } from './events.ts';
import { dockerCredential } from './docker-credential.ts';
import { exec } from './programs.ts';
import { gitCredential } from './git-credential.ts';
import { header } from './header.ts';
import { inspect } from './inspect.ts';
import { kubectlCredential } from './kubectl-credential.ts';
import { list } from './list.ts';
import { logoutCommand } from './account.ts';
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
  header,
  exec,
  inspect,
  kubectlCredential,
  gitCredential,
  dockerCredential,
  refresh,
  revoke,
  logoutCommand(['auth', 'logout']),
  events,
  conformance,
];
