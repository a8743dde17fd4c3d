import type { Command } from '../../cli/command.ts';
import { clockAdvance, clockReset, clockSet, clockShow } from './clock.ts';
import { compareCommand } from './compare.ts';
import { faultsAdd } from './faults-add.ts';
import { faultsClear } from './faults-clear.ts';
import { faultsList } from './faults-list.ts';
import { faultsLoad } from './faults-load.ts';
import { featuresSet, featuresShow } from './faults.ts';
import { commands as kv } from './kv-commands.ts';
import { commands as oauth } from './oauth-commands.ts';
import { labelsToken } from './token.ts';
import { recordCommand } from './record.ts';
import { replayCommand } from './replay.ts';
import { requestsCommand } from './requests.ts';
import { resetCommand } from './reset.ts';
import { runCommand } from './run.ts';
import { seedCommand } from './seed.ts';
import { serveCommand } from './serve.ts';
import { snapshotCommands } from './snapshots.ts';
import { envCommand } from './env.ts';
import { startCommand } from './start-command.ts';
import { webhookCommands } from './webhooks.ts';
import { stateCommand } from './state.ts';
import { statusCommand } from './status.ts';
import { stopCommand } from './stop.ts';

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
