/** Three members in memory with a traced run and one fault, and the invariants after the run. */
import { accessWith } from '../../src/kv/engine/access.ts';
import type { PlanKind } from '../../src/kv/engine/model.ts';
import type { SessionInput } from '../../src/kv/upgrade/execute/session.ts';
import { membersDownAtOnce, theEndIsWhatWasAskedFor } from '../simulator/invariants.ts';
import type { Bed, MakeBed } from './failing-effects.ts';
import { type SmallCluster, conducted, journalOf, smallCluster } from './small-cluster.ts';
import { type Fault, type Traced, traceHost } from './trace.ts';

const NAMES = ['n1', 'n2', 'n3'];

/** Traces requests by the name of their member. */
export const traceCluster = (small: SmallCluster, fault?: Fault, isSlow = false): Traced => {
  const ports = new Map(
    small.cluster.members.map(({ name, client_url }) => [new URL(client_url).port, name]),
  );
  return traceHost(small.host, {
    ...{ fault, isSlow },
    nameRequest: ({ method, url }) => `${method} ${ports.get(new URL(url).port)} ${new URL(url).pathname}`,
  });
};
/** The process has ended, so its leases and its PID are no longer valid. */
const forgetProcess = (small: SmallCluster): void => {
  for (const [key, { lease }] of small.keys) if (lease !== '') small.keys.delete(key);
};
/** Returns the input of a session for one process. */
export const inputOf = (
  small: SmallCluster,
  traced: Traced,
  pid = small.host.pid,
): Pick<SessionInput, 'host' | 'driver' | 'access'> => {
  const host = {
    ...traced.host,
    pid,
    processes: { ...traced.host.processes, isAlive: (one: number) => one === pid },
  };
  return { host, driver: traced.driver(small.driver), access: accessWith(host, undefined, undefined) };
};

/** A member stops only after its line is on disk and the run has observed the other members since then. */
export const brokenStops = (entries: readonly string[]): string[] =>
  entries.flatMap((entry, at) => {
    const [, member] = /^driver (?:stop|kill) (\w+)$/.exec(entry) ?? [];
    if (member === undefined) return [];
    const before = entries.slice(0, at);
    const begun = before.findLastIndex(
      (one) => one.endsWith(`begin ${member}.stop`) || one.endsWith(`reverting ${member}`),
    );
    if (begun < 0) return [`${member} was stopped without a line in the journal`];
    const since = before.slice(begun);
    const unsynced = since.includes('sync journal.jsonl')
      ? []
      : [`${member} was stopped before its line was synced`];
    if (since[0]?.includes('reverting') === true) return unsynced;
    const unseen = NAMES.filter((other) => other !== member && !since.includes(`GET ${other} /health done`));
    return [...unsynced, ...unseen.map((other) => `${member} was stopped without a look at ${other}`)];
  });

/** Runs the upgrade, and afterwards resumes and upgrades until every member runs the new version. */
export const upgradeBed =
  (kind: PlanKind = 'upgrade'): MakeBed =>
  async (fault): Promise<Bed> => {
    const small = smallCluster(kind);
    const plan = await small.plan();
    const traced = traceCluster(small, fault);
    let mostDown = 0;
    const count = (): void => {
      mostDown = Math.max(mostDown, NAMES.filter((name) => !small.members(name).isUp).length);
    };
    const stop = small.driver.stop.bind(small.driver);
    Object.assign(small.driver, {
      stop: async (...given: Parameters<typeof stop>) => {
        const isStopped = await stop(...given);
        count();
        return isStopped;
      },
    });
    const versions = (): string[] =>
      NAMES.map((name) => (small.members(name).isUp ? small.members(name).which : 'down'));
    const goal = NAMES.map(() => 'new');
    const again = async (pid: number): Promise<string> => {
      const calm = traceCluster(small);
      const entries = journalOf(small, plan);
      const isOver = entries.length === 0 || entries.at(-1)?.kind === 'closed';
      const next = isOver ? { ...(await small.plan()), id: `${plan.id}-${pid}` } : plan;
      const patch = isOver ? {} : { action: 'resume' as const };
      const ran = await conducted(small, next, { ...inputOf(small, calm, pid), ...patch }).catch(
        (error: unknown) => String((error as Error).stack),
      );
      return typeof ran === 'string' ? ran : ran.ending.outcome;
    };
    return {
      start: (signal) => ({
        traced,
        result: conducted(small, plan, { ...inputOf(small, traced), signal }),
      }),
      check: async (ended, trace) => {
        const claims =
          ended.kind === 'ended' &&
          (ended.value as { ending: { outcome: string } }).ending.outcome === 'done';
        const broken = claims ? theEndIsWhatWasAskedFor('after "done"', versions(), goal) : [];
        forgetProcess(small);
        const ends: string[] = [];
        for (let pid = 5000; pid < 5004 && versions().join() !== goal.join(); pid += 1)
          ends.push(await again(pid));
        const end = theEndIsWhatWasAskedFor(`the versions after ${ends.join(', ')}`, versions(), goal);
        return [...broken, ...end, ...membersDownAtOnce(mostDown, 1), ...brokenStops(trace)];
      },
    };
  };
