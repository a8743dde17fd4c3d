import { AppError } from '../../../core/problem.ts';
import { hexId } from '../../client/hex-id.ts';
import type { Observation } from '../../engine/types.ts';
import { guard } from './guard.ts';

type Said = { readonly member: string; readonly message: string; readonly hint: string };
type Seen = Pick<Observation, 'alarms' | 'members' | 'listed'>;

/** The store keeps an alarm after the member that raised it was removed, and goes on refusing writes. */
export const isOfRemovedMember = (
  { member_id }: Seen['alarms'][number],
  { members, listed }: Pick<Seen, 'members' | 'listed'>,
): boolean =>
  listed.length > 0 &&
  member_id !== '0' &&
  [...listed.map(({ id }) => id), ...members.map((member) => member.member_id)].every(
    (id) => id !== member_id,
  );

/** The next command, by who raised the alarm and what kind it is. */
const hintFor = (alarm: string, name: string): string => {
  if (alarm === 'NOSPACE') return 'opsctl kv recover-space; or raise the quota, then opsctl kv alarm disarm';
  return `opsctl kv replace-member ${name} gives it the data of the others, from which its own differ`;
};

/** Every alarm, with the member that raised it and what to do. Pure. */
export const alarmMessages = (seen: Seen): readonly Said[] =>
  seen.alarms.map((raised) => {
    const { member_id, alarm } = raised;
    if (isOfRemovedMember(raised, seen)) {
      const member = hexId(member_id);
      const message = `alarm ${alarm} of member ${member} is still raised, and ${member} is no member any more`;
      return { member, message, hint: `opsctl kv alarm disarm --alarm ${alarm}` };
    }
    if (member_id === '0')
      return {
        member: 'unknown',
        message: `alarm ${alarm} is raised for no single member: no majority has the same data`,
        hint: 'opsctl kv endpoint hashkv compares them; opsctl kv restore rebuilds the cluster from a snapshot',
      };
    const name =
      seen.members.find((member) => member.member_id === member_id)?.name ??
      seen.listed.find((row) => row.id === member_id)?.name ??
      hexId(member_id);
    return { member: name, message: `alarm ${alarm} is raised by ${name}`, hint: hintFor(alarm, name) };
  });

/** An alarm in the middle of a run: no member's doing that is in work, and no return fixes it. */
export const alarmError = ({ message, hint }: Said, where: string): AppError =>
  new AppError('stopped', `${message}${where}`, { code: 'ALARM', tryThis: [hint, 'opsctl kv alarm list'] });

export const noAlarms = guard('no-alarms', 'no alarm is raised', ({ observation }, log) => {
  for (const said of alarmMessages(observation)) log.fail(said);
});
