import type { Context } from '../../cli/command.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { RehearsalResult } from '../../kv/upgrade/rehearse/rehearse.ts';
import type { Plan, UpgradeEvent } from '../../kv/engine/types.ts';
import type { Prepared } from './prepare.ts';
import type { RehearseValues } from './rehearse-flags.ts';

/** Real servers where they are possible and nobody asked for simulated ones. */
const chooseReal = async ({ opened }: Prepared, values: RehearseValues): Promise<boolean> => {
  const { canBeReal } = await import('../../kv/upgrade/rehearse/rehearse.ts');
  const isPossible = canBeReal(opened.cluster);
  if (!values.real || isPossible) return isPossible && !values.simulated;
  const rule = 'needs ctl_binary and both binaries of every member in the cluster file, on this machine';
  throw invalidArguments([problem('--real', 'rule', rule)]);
};

/** The same plan, carried out on a copy in the directory. */
export const rehearsedIn = async (
  context: Context,
  values: RehearseValues,
  prepared: Prepared,
  plan: Plan,
  directory: string,
): Promise<RehearsalResult> => {
  const { host, signal, log } = context;
  const { opened, observation, options } = prepared;
  const [{ rehearse: carryOut }, { lineOf }, { snapshotToRehearse }, { rehearsedVersions }] =
    await Promise.all([
      import('../../kv/upgrade/rehearse/rehearse.ts'),
      import('../../kv/upgrade/present/plain-lines.ts'),
      import('../../kv/upgrade/rehearse/snapshot-to-rehearse.ts'),
      import('../../kv/upgrade/rehearse/rehearsed-versions.ts'),
    ]);
  const { cluster, access } = opened;
  const isReal = await chooseReal(prepared, values);
  const snapshot = await snapshotToRehearse(host, {
    ...{ access, observation, directory },
    file: values.snapshot,
    info: log.info,
  });
  const where = `a private copy of ${isReal ? 'real' : 'simulated'} servers`;
  log.info(`rehearsing ${plan.from} → ${plan.to} on ${where}; ${cluster.name} is not touched`);
  const onEvent = (event: UpgradeEvent): void => {
    const line = lineOf(event);
    if (line !== undefined && event.event !== 'run-started') log.info(`rehearsal: ${line}`);
  };
  const versions = rehearsedVersions(observation, plan);
  return carryOut(
    { host, cluster, observation, snapshot, directory, isReal, versions, options, onEvent, signal },
    access,
  );
};
