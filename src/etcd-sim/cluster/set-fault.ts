import type { Host } from '../../platform/host.ts';
import { defaultMs, type Fault, type FaultKind, faultFile, readFaults } from '../faults.ts';
import { changeAlarm, isAlarm } from './alarm.ts';
import { type Rehearsal, type RehearsalMember, faultsDirectory } from './layout.ts';
import { ask, pidOf } from './processes.ts';

/** What goes wrong with a member, or `clear`. */
type Wanted = {
  readonly kind: FaultKind | 'nospace' | 'corrupt' | 'clear';
  readonly ms?: number | undefined;
  readonly 'only-version'?: string | undefined;
};

const change = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  next: (before: Fault[]) => Fault[],
): Promise<void> => {
  const path = faultFile(faultsDirectory(rehearsal.directory), member.name);
  await host.files.replace(path, JSON.stringify(next(await readFaults(host, path))));
  await ask(host, `${member.peerUrl}/simulation/faults`, {});
};

export const setFault = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  wanted: Wanted,
): Promise<void> => {
  if (isAlarm(wanted.kind)) return changeAlarm(host, rehearsal, member, 'ACTIVATE', wanted.kind);
  if (wanted.kind !== 'clear') {
    const ms = wanted.ms ?? defaultMs(wanted.kind);
    const fault: Fault = {
      kind: wanted.kind,
      ...(ms === undefined ? {} : { ms }),
      ...(wanted['only-version'] === undefined ? {} : { version: wanted['only-version'] }),
    };
    return change(host, rehearsal, member, (before) => [
      ...before.filter((one) => one.kind !== fault.kind || one.version !== fault.version),
      fault,
    ]);
  }
  await change(host, rehearsal, member, () => []);
  if (pidOf(host, member) === undefined) return;
  for (const kind of ['nospace', 'corrupt']) await changeAlarm(host, rehearsal, member, 'DEACTIVATE', kind);
};
