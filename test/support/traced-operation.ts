/** An operation on three members in memory with a traced run and one fault, and the invariants after the run. */
import { accessWith } from '../../src/kv/engine/access.ts';
import { defragActs, defragPlan } from '../../src/kv/operations/defrag.ts';
import type {
  OperationEnding,
  OperationPlan,
  OperationRefusal,
  OperationStep,
  OperationStepHandlers,
  OperationStepKind,
} from '../../src/kv/operations/journal.ts';
import { membershipActs } from '../../src/kv/operations/membership.ts';
import type { MembershipInput } from '../../src/kv/operations/membership-plan.ts';
import { makeOfflineActs } from '../../src/kv/operations/offline.ts';
import { performOperation } from '../../src/kv/operations/perform.ts';
import { buildPlan } from '../../src/kv/operations/plan.ts';
import { replaceActs } from '../../src/kv/operations/replace.ts';
import { replacePlan } from '../../src/kv/operations/replace-plan.ts';
import { compactActs, compactPlan, recoverActs, recoverPlan } from '../../src/kv/operations/space.ts';
import type { HostFacts, Observation } from '../../src/kv/engine/model.ts';
import type { Shell } from '../../src/kv/upgrade/supervisors/driver.ts';
import type { Bed, MakeBed } from './failing-effects.ts';
import { STATE, type SmallCluster, smallCluster } from './small-cluster.ts';
import { clusterFile } from './observations.ts';
import { type Fault, type Traced, traceHost } from './trace.ts';

/** The first member of the file, so that a request to it would show that the run did not leave it out. */
const REPLACED = 'n1';
const ID = '20260102T030405Z-0001';
const peerUrl = (name: string): string => `http://${name}.example:2380`;
const namesIn = ({ cluster }: SmallCluster): string[] => cluster.members.map(({ name }) => name);

/** Names a request after its member, a read of the lock after the lock, and a disarm apart from the list of alarms. */
const nameOf = (small: SmallCluster) => {
  const ports = new Map(
    small.cluster.members.map(({ name, client_url }) => [new URL(client_url).port, name]),
  );
  const lock = Buffer.from('opsctl/upgrade-lock').toString('base64');
  return ({ method, url, body }: { method: string; url: string; body?: unknown }): string => {
    const { port, pathname } = new URL(url);
    const isLock = pathname.endsWith('/kv/range') && String(body ?? '').includes(lock);
    if (String(body ?? '').includes('DEACTIVATE')) return `disarm at ${ports.get(port)}`;
    return isLock ? 'read the lock' : `${method} ${ports.get(port)} ${pathname}`;
  };
};
export const traceOperation = (small: SmallCluster, fault?: Fault): Traced =>
  traceHost(small.host, { fault, nameRequest: nameOf(small) });

/** The directory of the data that the shell of a member moves. */
const shellOf = (small: SmallCluster, traced: Traced) => (): Shell => ({
  where: 'here',
  run: async () => {
    traced.note('set the data aside');
    small.done.push(`set aside ${REPLACED}`);
    return { code: 0, signal: null, stdout: '/data/n1.replaced', stderr: '' } as never;
  },
  send: () => Promise.reject(new Error('a replacement sends no file')),
  display: (command) => command,
});
export type Work = {
  readonly small: SmallCluster;
  readonly plan: OperationPlan;
  readonly acts: (traced: Traced) => OperationStepHandlers;
};
const planned = (made: OperationPlan | OperationRefusal): OperationPlan => {
  if ('refused' in made) throw new Error(made.refused.map(({ message }) => message).join('; '));
  return made;
};
/** A defragmentation cannot be canceled, so an interrupted run may end this long after the interruption. */
const maxBlockedMs = 30_000;
const options = { id: ID, maxBlockedMs, minFreePercent: 0 };

export const defragWork = async (): Promise<Work> => {
  const small = smallCluster('restart');
  const { cluster } = small;
  const observation = await small.observation();
  return { small, plan: planned(defragPlan({ observation, cluster, options })), acts: () => defragActs };
};
/** Removes the history before revision 5, after a wait. */
export const compactWork = async (waitMs: number): Promise<Work> => {
  const small = smallCluster('restart');
  const observation = await small.observation();
  const plan = planned(compactPlan(observation, { id: ID, oldest: 1, newest: 10, revision: 5, waitMs }));
  return { small, plan, acts: () => compactActs };
};
export const recoverWork = async (): Promise<Work> => {
  const small = smallCluster('restart');
  const { cluster, state } = small;
  state.alarms.push({ memberID: small.members('n2').id, alarm: 'NOSPACE' });
  const observation = await small.observation();
  const plan = planned(recoverPlan({ ...options, observation, cluster, oldest: 1, newest: 10, revision: 5 }));
  return { small, plan, acts: () => recoverActs };
};
/** A follower joins the cluster again with an empty directory. `started` receives the command of its start. */
export const replaceWork = async (started: string[] = [], hasFile = false): Promise<Work> => {
  const members = clusterFile(3).members.map((one) =>
    hasFile ? { ...one, config_file: `/etc/${one.name}.yaml` } : one,
  );
  const small = smallCluster('restart', { members });
  for (const { name } of members)
    await small.host.files.replace(`/etc/${name}.yaml`, `# the file of ${name}\nname: ${name}\n`);
  const { cluster, driver, state } = small;
  state.leader = 'n2';
  for (const one of state.listed) one.peerURLs = [peerUrl(one.name)];
  const observation: Observation = await small.observation();
  const start = driver.start.bind(driver);
  Object.assign(driver, {
    start: async (...given: Parameters<typeof start>) => {
      const added = state.listed.find(({ peerURLs }) => peerURLs.includes(peerUrl(REPLACED)));
      const client_url = cluster.members[0]?.client_url as string;
      if (added !== undefined) Object.assign(added, { name: REPLACED, clientURLs: [client_url] });
      if (added !== undefined) small.members(REPLACED).id = added.ID;
      started.push(...((given[0].old_command ?? []) as string[]));
      return start(...given);
    },
  });
  const [member] = cluster.members;
  if (member === undefined) throw new Error('the cluster file has no member');
  const plan = planned(replacePlan({ id: ID, observation, cluster, member }));
  return { small, plan, acts: (traced) => replaceActs(shellOf(small, traced)) };
};

/** A change of the member list. The plan may use another cluster than three healthy members. */
export const membershipWork = async (
  plan: (input: MembershipInput) => OperationPlan | OperationRefusal,
  prepare: (small: SmallCluster) => void = () => {},
): Promise<Work> => {
  const small = smallCluster('restart');
  for (const one of small.state.listed) one.peerURLs = [peerUrl(one.name)];
  prepare(small);
  const observation = await small.observation();
  const made = planned(plan({ id: ID, observation, cluster: small.cluster }));
  return { small, plan: made, acts: () => membershipActs };
};
/** Three stopped members. `started` receives each start with the user of the process. */
export const offlineWork = async (started: string[] = [], hasFile = false): Promise<Work> => {
  const members = clusterFile(3).members.map((one) =>
    hasFile ? { ...one, config_file: `/etc/${one.name}.yaml` } : one,
  );
  const small = smallCluster('upgrade', { members });
  const { driver } = small;
  const seen = await small.observation();
  const owned = { uid: 7, gid: 8 } as NonNullable<HostFacts['data_place']>;
  const observation: Observation = {
    ...seen,
    members: seen.members.map((one) => ({
      ...one,
      host: { ...(one.host as HostFacts), data_place: owned },
    })),
  };
  const names = namesIn(small);
  for (const name of names) small.members(name).isUp = false;
  const start = driver.start.bind(driver);
  Object.assign(driver, {
    start: async (...given: Parameters<typeof start>) => {
      started.push(`${given[0].name} ${given[1]} ${JSON.stringify(given[2]?.runs_as ?? null)}`);
      return start(...given);
    },
  });
  const each = (kind: 'copy-data' | 'configure' | 'check'): OperationStep[] =>
    names.map((member) => ({ id: `${member}.${kind}`, kind, title: kind, member }));
  const one = (kind: OperationStepKind): OperationStep => ({ id: kind, kind, title: kind });
  const plan = planned(
    buildPlan({
      ...{ id: ID, operation: 'upgrade-offline', command: 'opsctl kv upgrade --offline' },
      steps: [
        ...[...each('copy-data'), ...(hasFile ? each('configure') : []), one('verify-stopped'), one('start')],
        ...[...each('check'), one('verify-version')],
      ],
      ...{ notes: [], findings: [], values: { from: '3.4', to: '3.5' }, observation },
    }),
  );
  return { small, plan, acts: () => makeOfflineActs() };
};

/** Performs or resumes the operation in one process. */
export const performTraced = (
  { small, plan, acts }: Work,
  traced: Traced,
  signal = new AbortController().signal,
  pid = small.host.pid,
  hasCanary = false,
): Promise<OperationEnding> => {
  const host = {
    ...traced.host,
    pid,
    processes: { ...traced.host.processes, isAlive: (one: number) => one === pid },
  };
  return performOperation({
    ...{ host, state: STATE, cluster: small.cluster, plan, acts: acts(traced), signal },
    ...{ access: accessWith(host, undefined, undefined), driver: traced.driver(small.driver) },
    ...{ hasCanary, say: (text) => traced.note(`say ${text.split(' ')[0]}`) },
  });
};

/** A change of a member follows its synced line, and a read of the lock since that line. */
export const uncheckedChanges = (entries: readonly string[]): string[] =>
  entries.flatMap((entry, at) => {
    const isChange =
      /^(?:POST \w+ \/v3\/(?:maintenance\/defragment|cluster\/member\/(?:add|remove|promote))|driver stop \w+)$/;
    if (!isChange.test(entry)) return [];
    const before = entries.slice(0, at);
    const begun = before.findLastIndex((one) => one.startsWith('write journal.jsonl: begin'));
    const since = before.slice(begun);
    return [
      ...(since.includes('sync journal.jsonl') ? [] : [`${entry} precedes its synced line`]),
      ...(since.includes('read the lock done') ? [] : [`${entry} follows no check of the lock`]),
    ];
  });

type Goal = (small: SmallCluster) => readonly string[];
/** Performs the operation with the fault, and repeats it until it is done. `goal` returns what is missing at the end. */
export const operationBed =
  (make: () => Promise<Work>, goal: Goal): MakeBed =>
  async (fault): Promise<Bed> => {
    const work = await make();
    const { small } = work;
    const traced = traceOperation(small, fault);
    let mostDown = 0;
    const stop = small.driver.stop.bind(small.driver);
    Object.assign(small.driver, {
      stop: async (...given: Parameters<typeof stop>) => {
        const isStopped = await stop(...given);
        mostDown = Math.max(mostDown, namesIn(small).filter((name) => !small.members(name).isUp).length);
        return isStopped;
      },
    });
    return {
      start: (signal) => ({ traced, result: performTraced(work, traced, signal) }),
      check: async (ended, trace) => {
        const isDone = ended.kind === 'ended' && (ended.value as OperationEnding).error === undefined;
        const early = isDone ? goal(small) : [];
        for (const [key, { lease }] of small.keys) if (lease !== '') small.keys.delete(key);
        const ends: string[] = [];
        let isOver = isDone;
        for (let pid = 5000; pid < 5004 && !isOver; pid += 1) {
          const ending = await performTraced(work, traceOperation(small), undefined, pid).catch(
            (error: unknown) => String((error as Error).stack),
          );
          isOver = typeof ending !== 'string' && ending.error === undefined;
          ends.push(typeof ending === 'string' ? ending : (ending.error?.message ?? 'done'));
        }
        return [
          ...early.map((one) => `after "done": ${one}`),
          ...(isOver ? goal(small) : [`the operation did not end: ${ends.join(' | ')}`]),
          ...(mostDown > 1 ? [`${mostDown} members were down at the same time`] : []),
          ...uncheckedChanges(trace),
          ...[...small.keys.keys()].filter((key) => /^opsctl\/(?:canary|probe)/.test(key)),
        ];
      },
    };
  };
