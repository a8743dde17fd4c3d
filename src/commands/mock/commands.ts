import type { Command } from '../../cli/command.ts';
import type { Host } from '../../platform/host.ts';
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
import { commands as oauth, serverUrl, urlFlag } from './oauth.ts';
import { resetCommand, seedCommand, snapshotCommands, stateCommand } from './snapshots.ts';
import { envCommand, runCommand, serveCommand, startCommand, statusCommand, stopCommand } from './serve.ts';

/** Commands for a running server accept its URL only as `--url` or OPSCTL_MOCK_URL. */
const withUrl = (command: Command): Command => ({
  ...command,
  flags: { ...command.flags, url: urlFlag },
  run: async (context, values) => {
    const { url, ...others } = values;
    if (typeof url !== 'string') return command.run(context, values);
    const env = { ...context.host.env, OPSCTL_MOCK_URL: serverUrl(url) };
    // A host may inherit its parts from another one, and a spread would lose them.
    const host: Host = Object.create(context.host, { env: { value: env, enumerable: true } });
    return command.run({ ...context, host }, others as typeof values);
  },
});
/** `opsctl mock …` */
export const commands: readonly Command[] = [
  serveCommand,
  startCommand,
  envCommand,
  runCommand,
  stopCommand,
  recordCommand,
  replayCommand,
  compareCommand,
  ...[statusCommand, resetCommand, seedCommand, stateCommand, requestsCommand].map(withUrl),
  ...[...snapshotCommands, ...webhookCommands].map(withUrl),
  ...[clockShow, clockSet, clockAdvance, clockReset].map(withUrl),
  ...[faultsList, faultsAdd, faultsClear, faultsLoad, featuresShow, featuresSet, labelsToken].map(withUrl),
  ...kv,
  ...oauth,
];
