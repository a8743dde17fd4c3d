import { bad, failed, good } from './gate-verdict.ts';
import type { Check } from './gate-verdict.ts';

/** The process may be gone before its exit code has been noticed, and a start command that puts the server into the background before its server is there. */
const goneWithinMs = 1500;
const goneLookMs = 50;
/** Over ssh every look costs: between two failed checks the process is looked at this often, and its exit is noticed at once anyway. */
const processLookMs = 250;
export const processRuns: Check = async (gate) => {
  const { run, member } = gate;
  const { host, driver } = run;
  if (
    gate.exit === undefined &&
    gate.lookedAt !== undefined &&
    host.elapsed() - gate.lookedAt < processLookMs
  )
    return gate.lookedLike ?? good('its process runs');
  const until = host.elapsed() + (gate.exited === undefined ? 0 : goneWithinMs);
  while (gate.exit === undefined) {
    const seen = await driver.process(member);
    if (seen.state !== 'gone') {
      gate.lookedAt = host.elapsed();
      // Whatever a service manager waits for: only the gate's time, which counts from the start, ends it.
      gate.lookedLike =
        seen.state === 'starting'
          ? { ...bad(`it is being started: ${seen.awaits}`), isStarting: true }
          : good('its process runs');
      return gate.lookedLike;
    }
    if (host.elapsed() >= until)
      return failed(
        seen.reason === undefined ? 'its process is not there' : `its process is not there: ${seen.reason}`,
      );
    await Promise.race([gate.exited, host.sleep(goneLookMs)]);
  }
  return failed(`its process ended (${gate.exit.signal ?? `exit code ${gate.exit.code}`})`);
};
