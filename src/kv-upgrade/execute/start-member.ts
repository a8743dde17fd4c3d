import { startVersion } from '../placement/switch-version.ts';
import { MemberFailure, memberOf } from '../run.ts';
import type { Detail, Run } from '../run.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import type { Which } from '../supervisors/driver.ts';
import { gateMs } from './gate-time.ts';
import { openGate, passGate, stayStable } from './gate.ts';
import type { Gate } from './gate.ts';
import { markLog } from './log-excerpt.ts';

/** Starts a member; the gate that is handed back sees when this very process ends. */
export const startMember = async (run: Run, name: string, which: Which): Promise<Gate> => {
  const gate = openGate(run, name, which === 'new' ? run.plan.to : run.plan.from);
  await markLog(run, name);
  const started = await startVersion(run, memberOf(run, name), which, run.plan.from).catch(
    (error: unknown) => {
      if (mayBeDown(error)) throw error;
      throw new MemberFailure(
        name,
        `${name} could not be started: ${error instanceof Error ? error.message : String(error)}`,
      );
    },
  );
  gate.exited = started.exited?.then((exit) => (gate.exit = exit));
  return gate;
};

/** The member's gate, and the time in which it must stay good. The last member stays under watch while the cluster's version is awaited. */
export const prove = async (run: Run, gate: Gate): Promise<Detail> => {
  const { name } = gate.member;
  let down_ms: number | undefined;
  await passGate(gate, gateMs(run, name), (check) => {
    const since = run.downSince.get(name);
    if (check !== 'health' || since === undefined) return;
    down_ms = Math.round(run.host.elapsed() - since);
    run.downSince.delete(name);
    run.emit({ event: 'member-up', member: name, down_ms });
  });
  await stayStable(gate, run.plan.options.stable_seconds * 1000);
  // Reverted to the old version there is nothing to watch for: it has been good for long.
  if (gate.minor === run.plan.to) run.members.add(name, gate.exited);
  return { down_ms, version: (await gate.store.versions()).server };
};
