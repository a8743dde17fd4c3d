import type { Command } from '../../cli/command.ts';
import { conformance, events } from './checks.ts';
import { dockerCredential, exec, gitCredential, kubectlCredential, setup } from './programs.ts';
import { header, inspect, refresh, token } from './token.ts';
import { list, logoutCommand, revoke, status, switchAccount } from './account.ts';

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
  setup,
  refresh,
  revoke,
  logoutCommand(['auth', 'logout']),
  events,
  conformance,
];
