import { messageOf } from '../../../core/error-message.ts';
import { startVersion } from '../switch-version.ts';
import { kindOf } from '../plan-kind.ts';
import { MemberFailure, memberOf, seenIn } from '../run.ts';
import type { Detail, Run } from '../run.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import type { Which } from '../supervisors/driver.ts';
import { gateMs } from './health-verdict.ts';
import { openGate, passGate, stayStable } from './gate.ts';
import type { Gate } from './gate.ts';
import { markLog } from './log-excerpt.ts';

/** A restart may change the patch, which the minor does not tell. */
export const openNewGate = (run: Run, name: string): Gate => {
  const seen = seenIn(run.plan.observation, name);
  const exact =
    kindOf(run.plan) === 'restart' ? (seen.host?.new_binary_version ?? seen.server_version) : undefined;
  return { ...openGate(run, name, run.plan.to), ...(exact === undefined ? {} : { exact }) };
};
export const openOldGate = (run: Run, name: string): Gate => {
  const exact =
    kindOf(run.plan) === 'restart' ? seenIn(run.plan.observation, name).server_version : undefined;
  return {
    ...openGate(run, name, run.plan.from),
    isOld: true,
    ...(exact === undefined ? {} : { exact }),
  };
};

/** Starts a member; the gate that is handed back sees when this very process ends. */
export const startMember = async (run: Run, name: string, which: Which): Promise<Gate> => {
  const gate = which === 'new' ? openNewGate(run, name) : openOldGate(run, name);
  await markLog(run, name);
  const started = await startVersion(run, memberOf(run, name), which, run.plan.from).catch(
    (error: unknown) => {
      if (mayBeDown(error)) throw error;
      throw new MemberFailure(name, `${name} could not be started: ${messageOf(error)}`);
    },
  );
  gate.exited = started.exited?.then((exit) => (gate.exit = exit));
  return gate;
};

/** The member's gate, and the time in which it must stay good. The last member stays under watch while the cluster's version is awaited. `onGood`: at the begin of that time. */
export const prove = async (run: Run, gate: Gate, onGood: () => void = () => {}): Promise<Detail> => {
  const { name } = gate.member;
  let down_ms: number | undefined;
  await passGate(gate, gateMs(run, name), (check) => {
    const since = run.downSince.get(name);
    if (check !== 'health' || since === undefined) return;
    down_ms = Math.round(run.host.elapsed() - since);
    run.downSince.delete(name);
    run.emit({ event: 'member-up', member: name, down_ms });
  });
  run.replacing.set(name, 'proved');
  onGood();
  await stayStable(gate, run.plan.options.stable_seconds * 1000);
  // Reverted to the old version there is nothing to watch for: it has been good for long.
  if (gate.isOld !== true) run.members.add(name, gate.exited);
  return { down_ms, version: (await gate.store.versions()).server };
};
