import type { Command } from '../../cli/command.ts';
import { cassetteCommands } from './cassettes.ts';
import { clockAdvance, clockReset, clockSet, clockShow } from './clock.ts';
import { faultsAdd, faultsClear, faultsList, faultsLoad } from './faults.ts';
import { featuresSet, featuresShow } from './features.ts';
import { commands as kv } from './kv/commands.ts';
import { commands as oauth } from './oauth/commands.ts';
import { labelsToken } from './labels/token.ts';
import { requestsCommand } from './requests.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { snapshotCommands } from './snapshots.ts';
import { envCommand } from './env.ts';
import { startCommand } from './start-command.ts';
import { webhookCommands } from './webhooks.ts';
import { resetCommand, seedCommand, stateCommand, statusCommand, stopCommand } from './state.ts';

/** `opsctl mock …` */
export const commands: readonly Command[] = [
  serveCommand,
  startCommand,
  envCommand,
  runCommand,
  statusCommand,
  stopCommand,
  resetCommand,
  seedCommand,
  stateCommand,
  requestsCommand,
  ...snapshotCommands,
  ...cassetteCommands,
  ...webhookCommands,
  clockShow,
  clockSet,
  clockAdvance,
  clockReset,
  faultsList,
  faultsAdd,
  faultsClear,
  faultsLoad,
  featuresShow,
  featuresSet,
  labelsToken,
  ...kv,
  ...oauth,
];
