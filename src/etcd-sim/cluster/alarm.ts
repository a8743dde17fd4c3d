import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { formOf } from '../forms.ts';
import { type Rehearsal, type RehearsalMember, passwordFile } from './layout.ts';
import { ask } from './processes.ts';

export const isAlarm = (kind: string): kind is 'nospace' | 'corrupt' =>
  kind === 'nospace' || kind === 'corrupt';

/** Raises the alarm in the store itself, or with `clear` takes all alarms back. */
export const changeAlarm = async (
  host: Host,
  rehearsal: Rehearsal,
  member: RehearsalMember,
  action: string,
  kind: string,
): Promise<void> => {
  const version = (await ask<Record<string, string>>(host, `${member.clientUrl}/version`))?.data[
    `${rehearsal.options.word}server`
  ];
  const prefix = formOf(version ?? rehearsal.options.version)?.prefixes[0] ?? '';
  const self = await ask<{ id?: string }>(host, `${member.peerUrl}/simulation/state`);
  const memberID = BigInt(`0x${self?.data.id ?? '0'}`).toString();
  const headers: Record<string, string> = {};
  if (rehearsal.options.auth) {
    const password = ((await host.files.read(passwordFile(rehearsal.directory))) ?? '').trim();
    const token = await ask<{ token?: string }>(host, `${member.clientUrl}${prefix}/auth/authenticate`, {
      name: 'root',
      password,
    });
    headers['grpc-metadata-token'] = token?.data.token ?? '';
  }
  const answer = await ask(
    host,
    `${member.clientUrl}${prefix}/maintenance/alarm`,
    { action, memberID, alarm: kind.toUpperCase() },
    headers,
  );
  if (answer?.status !== 200)
    throw new AppError('refused', `${member.name} did not take the alarm`, { code: 'ALARM_NOT_SET' });
};
