import type { Command } from '../../cli/command.ts';
import { clockAdvance, clockReset, clockSet, clockShow } from './clock.ts';
import { faultsAdd, faultsClear, faultsList } from './faults.ts';
import { featuresSet, featuresShow } from './features.ts';
import { commands as kv } from './kv/commands.ts';
import { commands as oauth } from './oauth/commands.ts';
import { requestsCommand } from './requests.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { resetCommand, seedCommand, stateCommand, statusCommand, stopCommand } from './state.ts';

/** `opsctl mock …` */
export const commands: readonly Command[] = [
  serveCommand,
  runCommand,
  statusCommand,
  stopCommand,
  resetCommand,
  seedCommand,
  stateCommand,
  requestsCommand,
  clockShow,
  clockSet,
  clockAdvance,
  clockReset,
  faultsList,
  faultsAdd,
  faultsClear,
  featuresShow,
  featuresSet,
  ...kv,
  ...oauth,
];
