import { alarmMessages } from './no-alarms.ts';
import { guard } from './guard.ts';

/** spec/store#procedure-1: check health and that the cluster runs the old version. */
export const allMembersHealthy = guard(
  'all-members-healthy',
  'every member answers and is healthy',
  ({ observation }, log) => {
    // Those that are away first: without them, members that wait for a new leader are not healthy either, and the cause would come second.
    const causesFirst = observation.members.toSorted(
      (a, b) => Number(a.is_reachable) - Number(b.is_reachable),
    );
    for (const member of causesFirst) {
      // It runs; how it is called is wrong, and the text says what to change.
      if (member.error_code === 'TLS')
        log.fail({
          member: member.name,
          message: `${member.name} cannot be asked: ${member.error}`,
          hint: 'opsctl kv version asks again',
        });
      else if (!member.is_reachable && member.host?.is_suspended === true)
        log.fail({
          member: member.name,
          message: `${member.name} does not answer: its process ${member.host.pid} is suspended`,
          hint: `kill -CONT ${member.host.pid} lets it go on`,
        });
      else if (!member.is_reachable)
        log.fail({
          member: member.name,
          message: `${member.name} does not answer: ${member.error ?? 'unknown'}`,
          hint: 'start it, or repair it, before an upgrade',
        });
      else if (!member.is_healthy) {
        const [alarm] = alarmMessages(observation);
        const why = member.health_reason ?? member.errors[0] ?? alarm?.message ?? '/health says so';
        log.fail({
          member: member.name,
          message: `${member.name} is not healthy: ${why}`,
          hint: alarm?.hint ?? 'read its log; an upgrade does not fix a sick member',
        });
      }
    }
  },
);
