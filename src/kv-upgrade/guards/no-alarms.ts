import { AppError } from '../../core/problem.ts';
import type { Observation } from '../types.ts';
import { guard } from './guard.ts';

type Said = { readonly member: string; readonly message: string; readonly hint: string };
/** Every alarm, with the member that raised it and what to do. Pure. */
export const alarmMessages = ({
  alarms,
  members,
  listed,
}: Pick<Observation, 'alarms' | 'members' | 'listed'>): readonly Said[] =>
  alarms.map(({ member_id, alarm }) => {
    const name =
      members.find((member) => member.member_id === member_id)?.name ??
      listed.find((row) => row.id === member_id)?.name ??
      member_id;
    const hint =
      alarm === 'NOSPACE'
        ? 'opsctl kv recover-space; or raise the quota, then opsctl kv alarm disarm'
        : 'the data of that member differs from the others: opsctl kv replace-member gives it the data of the others';
    return { member: name, message: `alarm ${alarm} is raised by ${name}`, hint };
  });

/** An alarm in the middle of a run: no member's doing that is in work, and no return fixes it. */
export const alarmError = ({ message, hint }: Said, where: string): AppError =>
  new AppError('stopped', `${message}${where}`, { code: 'ALARM', tryThis: [hint, 'opsctl kv alarm list'] });

export const noAlarms = guard('no-alarms', 'no alarm is raised', ({ observation }, log) => {
  for (const said of alarmMessages(observation)) log.fail(said);
});
