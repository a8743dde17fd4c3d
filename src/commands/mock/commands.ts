import type { Command } from '../../cli/command.ts';
import {
  clockAdvance,
  clockReset,
  clockSet,
  clockShow,
  labelsToken,
  requestsCommand,
  webhookCommands,
} from './clock.ts';
import { compareCommand, recordCommand, replayCommand } from './record.ts';
import { faultsAdd, faultsClear, faultsList, faultsLoad, featuresSet, featuresShow } from './faults.ts';
import { commands as kv } from './kv.ts';
import { commands as oauth } from './oauth.ts';
import { resetCommand, seedCommand, snapshotCommands, stateCommand } from './snapshots.ts';
import { envCommand, runCommand, serveCommand } from './serve.ts';
import { startCommand, statusCommand, stopCommand } from './start-command.ts';

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
  recordCommand,
  replayCommand,
  compareCommand,
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
