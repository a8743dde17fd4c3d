import type { Checking, Run } from '../run.ts';
import { memberOf, seenIn } from '../run.ts';
import { v2BytesOf } from '../guards/store.ts';

const gibibyte = 1024 ** 3;
/** Measured: 1.2 GB took 7 to 17 s from the start to the first healthy answer, on a busy machine. */
const perGibibyteMs = 60_000;
const defaultMs = 60_000;
/** A member with much v2 data takes minutes to catch up (spec/store#limits). */
const v2Ms = 240_000;
const v2Bytes = 50_000_000;

/** Time a member has to pass its gate: what the cluster file says, and a share for the data that it has to read. */
export const gateMs = ({ cluster, plan }: Pick<Checking, 'cluster' | 'plan'>, name: string): number => {
  const given = cluster.timeouts?.gate_seconds;
  const base = given === undefined ? defaultMs : given * 1000;
  const size = seenIn(plan.observation, name)?.db_size_bytes ?? 0;
  const forV2 = v2BytesOf(plan.observation) > v2Bytes ? v2Ms : 0;
  return Math.round(base + (size / gibibyte) * perGibibyteMs + forV2);
};

const sampleMs = 2000;
/** Less than this in a sample is a log line, and no reading of data. */
const leastBytes = 1024 ** 2;
/** However busy it is: after so long it is not going to answer. */
const mostMs = 3_600_000;

const bytesMoved = (text: string | undefined): number | undefined => {
  const found = ['read_bytes', 'write_bytes'].map(
    (name) => new RegExp(`^${name}: (\\d+)`, 'm').exec(text ?? '')?.[1],
  );
  return found.includes(undefined) ? undefined : found.reduce((sum, one) => sum + Number(one), 0);
};

export type ProgressWatch = { look(): Promise<void>; isMoving(): boolean };
/** Whether the member's process reads or writes data: then it is on its way, whatever the clock says. Only where its process can be looked at. */
export const watchProgress = (
  { host, driver, cluster }: Pick<Run, 'host' | 'driver' | 'cluster'>,
  name: string,
): ProgressWatch => {
  const began = host.elapsed();
  let [lookedAt, moved, isMoving] = [began, undefined as number | undefined, false];
  return {
    look: async () => {
      if (driver.kind !== 'local' || host.elapsed() - lookedAt < sampleMs) return;
      lookedAt = host.elapsed();
      const state = await driver.process(memberOf({ cluster }, name));
      const pid = 'pid' in state ? state.pid : undefined;
      const now = pid === undefined ? undefined : bytesMoved(host.files.readNow(`/proc/${pid}/io`));
      isMoving = now !== undefined && moved !== undefined && now - moved >= leastBytes;
      moved = now;
    },
    isMoving: () => isMoving && host.elapsed() - began < mostMs,
  };
};
