import { guard } from './guard.ts';

export const noAlarms = guard('no-alarms', 'no alarm is raised', ({ observation }, say) => {
  for (const { member_id, alarm } of observation.alarms) {
    const name =
      observation.members.find((member) => member.member_id === member_id)?.name ??
      observation.listed.find((row) => row.id === member_id)?.name ??
      member_id;
    const hint =
      alarm === 'NOSPACE'
        ? 'compact, defragment or raise the quota, then opsctl kv alarm disarm'
        : 'the data of that member differs from the others: replace the member before any upgrade';
    say.stop({ member: name, message: `alarm ${alarm} is raised by ${name}`, hint });
  }
});
