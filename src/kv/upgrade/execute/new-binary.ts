import { AppError } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { kindOf, namesProgram } from '../plan-kind.ts';
import { memberOf } from '../run.ts';
import type { Run } from '../run.ts';
import type { HostFacts } from '../../engine/types.ts';

/** The binary may have been changed since the plan: a wrong one must not get near the data directory (spec/store#measured-upgrade: the servers do not refuse it). */
export const refuseWrongBinary = async (run: Run, name: string): Promise<void> =>
  wrongBinary(run, name, await hostOf(run, name, false));
export const hostOf = (run: Run, name: string, sizes: boolean): Promise<HostFacts> =>
  run.driver.facts(memberOf(run, name), { sizes, isPatient: true });
export const wrongBinary = (
  run: Run,
  name: string,
  { new_binary_version: version, new_binary_error: error }: HostFacts,
): void => {
  if (version !== undefined && minorOf(version) === run.plan.to) return;
  if (kindOf(run.plan) === 'restart' && !namesProgram(memberOf(run, name))) return;
  const what =
    version === undefined ? `cannot be asked for its version: ${error ?? 'unknown'}` : `is ${version}`;
  throw new AppError(
    'stopped',
    `${name}: the new binary ${what}; the ${kindOf(run.plan)} goes to ${run.plan.to}`,
    {
      code: 'WRONG_BINARY',
      tryThis: ['put the right binary there'],
    },
  );
};
