import type { Host } from '../../../platform/host.ts';
import { processState, signalRecorded } from '../../../platform/process-identity.ts';
import { whoIsAt } from '../../engine/machine-lock.ts';

/** The run under way is asked to stop after its current step, as by Ctrl-C in its own terminal. */
export const holdRun = async (host: Host, state: string, cluster: string): Promise<string> => {
  const held = await whoIsAt(host, state, cluster);
  if (held === undefined) return 'no run is in progress here; an upgrade takes --hold-last or --hold-after';
  const { pid, machine } = held;
  if (processState(host, held) !== 'alive')
    return `the run is in progress on ${machine}${machine === host.hostname ? ', in another container' : ''}: press Ctrl-C there`;
  const question = `Stop the run of ${cluster} (process ${pid}) after its current step?`;
  if (!(await host.terminal.prompts.confirm(question, false))) return 'not confirmed; the run goes on';
  return signalRecorded(host, held, 'SIGINT')
    ? 'the run stops after its current step; opsctl kv resume goes on'
    : `process ${pid} could not be signalled`;
};
