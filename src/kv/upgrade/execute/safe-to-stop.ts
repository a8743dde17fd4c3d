import { AppError } from '../../../core/problem.ts';
import { notReadyToLead } from '../guards/members-keep-up.ts';
import { alarmError, alarmMessages } from '../guards/no-alarms.ts';
import { stopFinding } from '../guards/quorum-survives.ts';
import { observe } from '../observe/observe.ts';
import { memberOf, seenIn } from '../run.ts';
import type { Run } from '../run.ts';
import type { MemberSeen, Observation } from '../../engine/types.ts';
import { electionPatienceMs } from './patience.ts';

const transfereesWithinMs = 10_000;
const transfereesPollMs = 100;
/** A member without a process does not come back by waiting: the run looks again at once, and gives it its old version back when it is one of ours. */
const hasGone = async (run: Run, { members }: Observation): Promise<boolean> => {
  const away = members.filter(({ is_reachable }) => !is_reachable);
  const states = await Promise.all(away.map(({ name }) => run.driver.process(memberOf(run, name))));
  return states.some(({ state }) => state === 'gone');
};

/**
 * The last look before a member goes down: nothing that was seen earlier counts here. A leader hands over when it is asked to end (spec/store#measured-upgrade),
 * and drops every write until the new leader has all entries: with a new leader far behind that takes seconds, so it waits for them first.
 */
export const safeToStop = async (run: Run, name: string): Promise<MemberSeen> => {
  const { host, cluster, access, plan } = run;
  const until = host.elapsed() + transfereesWithinMs;
  const patientUntil = host.elapsed() + electionPatienceMs;
  for (;;) {
    const observation = await observe({ host, cluster, access });
    const [alarm] = alarmMessages(observation);
    if (alarm !== undefined) throw alarmError(alarm, `: ${name} was not stopped`);
    const finding = stopFinding(observation, name, plan.options.accept);
    if (finding !== undefined) {
      // An election, the hand-over before this stop too, makes members unhealthy for a moment.
      if (host.elapsed() > patientUntil || (await hasGone(run, observation)))
        throw new AppError('stopped', finding.message, { code: 'QUORUM', tryThis: [finding.hint as string] });
      await host.sleep(transfereesPollMs);
      continue;
    }
    const seen = seenIn(observation, name);
    const behind = notReadyToLead(observation.members, seen);
    if (behind.length === 0) return seen;
    if (host.elapsed() > until) {
      run.emit({
        event: 'note',
        level: 'warn',
        text: `${name} leads, and ${behind.join(', ')} did not catch up with it within 10 s; it is stopped anyway`,
      });
      return seen;
    }
    await host.sleep(transfereesPollMs);
  }
};
