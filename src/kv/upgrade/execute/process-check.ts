import { bad, failed, good, type Check, type Gate, type Verdict } from './gate-verdict.ts';
import type { ProcessState } from '../supervisors/driver.ts';

/** The process may be gone before its exit code has been noticed, and a start command that puts the server into the background before its server is there. */
const goneWithinMs = 1500;
const goneLookMs = 50;
/** Over ssh every look costs: between two failed checks the process is looked at this often, and its exit is noticed at once anyway. */
const processLookMs = 250;
const wasJustSeen = ({ exit, lookedAt, run }: Gate): boolean =>
  exit === undefined && lookedAt !== undefined && run.host.elapsed() - lookedAt < processLookMs;
/** Whatever a service manager waits for: only the gate's time, which counts from the start, ends it. */
const alive = (seen: Exclude<ProcessState, { state: 'gone' }>): Verdict =>
  seen.state === 'starting'
    ? { ...bad(`it is being started: ${seen.awaits}`), isStarting: true }
    : good('its process runs');
const gone = (reason: string | undefined): Verdict =>
  failed(reason === undefined ? 'its process is not there' : `its process is not there: ${reason}`);

export const processRuns: Check = async (gate) => {
  const { run, member } = gate;
  const { host, driver } = run;
  if (wasJustSeen(gate)) return gate.lookedLike ?? good('its process runs');
  const until = host.elapsed() + (gate.exited === undefined ? 0 : goneWithinMs);
  while (gate.exit === undefined) {
    const seen = await driver.process(member);
    if (seen.state !== 'gone') {
      gate.lookedAt = host.elapsed();
      gate.lookedLike = alive(seen);
      return gate.lookedLike;
    }
    if (host.elapsed() >= until) return gone(seen.reason);
    await Promise.race([gate.exited, host.sleep(goneLookMs)]);
  }
  return failed(`its process ended (${gate.exit.signal ?? `exit code ${gate.exit.code}`})`);
};
