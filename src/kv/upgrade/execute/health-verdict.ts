import type { Exit } from '../../../platform/host.ts';
import { probeKey, type Store } from '../../client/etcd-client.ts';
import type { GateCheck, MemberSpec } from '../../engine/model.ts';
import { v2BytesOf } from '../guards/store.ts';
import { type Checking, memberOf, type Run, seenIn, type StartedProcess } from '../run.ts';

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

export type Verdict = {
  /** Null: the check could not be made, and nothing is held against the member for it. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** No waiting will fix it. */
  readonly isFinal?: true;
  /** The check was tried and showed nothing yet. */
  readonly isUnknown?: true;
  /** The process is not up yet: that says nothing against any other check. */
  readonly isStarting?: true;
  /** Present if the check failed because the process has ended. */
  readonly process?: StartedProcess;
};
export const good = (detail: string): Verdict => ({ ok: true, detail });
export const bad = (detail: string): Verdict => ({ ok: false, detail });
export const skip = (why: string): Verdict => ({ ok: null, detail: `skipped: ${why}` });
/** The check was tried and showed nothing. This is not a pass: the check is repeated for some seconds, then the run reports a warning. */
export const unknown = (why: string): Verdict => ({ ok: null, detail: `unknown: ${why}`, isUnknown: true });
export const failCheck = (detail: string): Verdict => ({ ok: false, detail, isFinal: true });
export type Gate = {
  readonly run: Checking;
  readonly member: MemberSpec;
  readonly store: Store;
  readonly others: readonly { readonly name: string; readonly store: Store }[];
  /** The version it must run: the new one in the gate, the old one after a return. */
  readonly minor: string;
  /** The very patch, where the minor does not tell old and new apart. */
  readonly exact?: string;
  /** The version before, after a rollback. */
  readonly isOld?: true;
  /** Checks that cannot pass in this operation, whatever the member does: a store without space takes no write. */
  readonly skips?: ReadonlySet<GateCheck>;
  /** Settles when the process this run started has ended; absent when this run did not start it. */
  exited?: Promise<Exit>;
  exit?: Exit;
  /** When the process was last seen, by `elapsed`, and how. */
  lookedAt?: number;
  lookedLike?: Verdict;
  /** Since when, by `elapsed`, it has been healthy and no check has found it otherwise. */
  goodSince?: number;
};
export type Check = (gate: Gate) => Promise<Verdict>;
/** The key that the checks of this member write and read. */
export const keyOf = ({ run, member }: Gate): string => probeKey(run.id, member.name);

/**
 * How long members may be unhealthy before that counts against one of them. An election takes one to two seconds, a split vote as long again, and
 * a question that is lost in one is answered when its time is over. Measured on three members of 3.3 and 3.4, one cut off for a second: it came
 * back as a candidate, and the others were unhealthy for up to 4.9 s.
 */
export const electionPatienceMs = 10_000;
