/**
 * Upgrades three simulated members. The run is killed, resumed, and sometimes rolled back, and members fail. Clients
 * write and read continuously.
 */
import { exitCodes } from '../../../src/core/problem.ts';
import type { History, Operation } from '../history.ts';
import {
  aFailureIsExplained,
  afterACrashTheNextCommandSucceeds,
  clientsSeeALinearizableStore,
  membersDownAtOnce,
  theEndIsWhatWasAskedFor,
  theFirstResumeFinishes,
} from '../invariants.ts';
import type { Ended } from '../kernel/kernel.ts';
import { readKey, startClients } from './cluster-client.ts';
import {
  SIZE,
  consent,
  prepare,
  run,
  startAgain,
  startCluster,
  upgrade,
  versions,
  watchMembers,
} from './kv-cluster.ts';
import { breakConnections, breakNewVersion, strikeMember, strikeRun } from './kv-faults.ts';
import type { Ran } from './service.ts';

const resume = ['kv', 'resume', ...consent, '--accept-point-of-no-return'];
const rollback = ['kv', 'rollback', ...consent];

const onlyTheRunWasKilled = ({ kernel }: History): boolean =>
  Object.keys(kernel.faults).every((name) => name === 'process killed');
/** Repeats the steps of an on-call person until one run completes without intervention. */
const toTheEnd = async (history: History): Promise<Ended<Ran>[]> => {
  const all: Ended<Ran>[] = [];
  const pass = (ms: number) =>
    history.kernel.until(history.act('operator', (host) => host.sleep(ms), { isSafe: true }));
  // After the fault is cleared, a process that started with the fault still exits. After a completed run, no other
  // command restarts it.
  if (history.kernel.faults['new version: exit-after'] !== undefined) await pass(2_000);
  for (const [i, argv] of [resume, upgrade, resume, upgrade].entries()) {
    // The next run starts the members that the run itself has stopped.
    if (!onlyTheRunWasKilled(history)) await startAgain(history);
    // An election takes seconds, and the on-call person needs a few seconds to react.
    await pass(8_000);
    const last = await run(history, `end ${i}`, argv);
    all.push(last);
    if (last.kind === 'done' && last.value.code === 0) break;
  }
  return all;
};

type Interrupted = { readonly broken: string[]; readonly hasRolledBack: boolean };
const interrupted = async (history: History): Promise<Interrupted> => {
  const { kernel, plan } = history;
  const broken: string[] = [];
  const strikes = [strikeMember(history), strikeRun(history), undefined] as const;
  let [hasRolledBack, wasKilled] = [false, false];
  for (let round = 0; round < (plan.isRough ? 3 : 1); round += 1) {
    const argv = round === 0 ? upgrade : kernel.random.chance(0.25) ? rollback : resume;
    hasRolledBack ||= argv === rollback;
    const onStart = plan.isRough ? kernel.random.pick(strikes) : undefined;
    const ended = await run(history, `${argv[1]} ${round}`, argv, onStart === undefined ? {} : { onStart });
    if (ended.kind === 'failed') broken.push(...afterACrashTheNextCommandSucceeds('the run', ended));
    if (ended.kind === 'done' && ended.value.code === 0 && round === 0) break;
    if (ended.kind === 'done') {
      const { code, err } = ended.value;
      broken.push(...aFailureIsExplained(argv.join(' '), code, err));
      const goesOn = argv === resume && wasKilled && !hasRolledBack && code !== exitCodes['not-found'].code;
      if (goesOn && onlyTheRunWasKilled(history)) broken.push(...theFirstResumeFinishes([code]));
    }
    wasKilled = ended.kind === 'killed';
  }
  return { broken, hasRolledBack };
};

export const kvUpgrade: Operation = {
  name: 'kv upgrade',
  // Simulated members do not sync their logs, so a power loss is outside the scope of the upgrade.
  losesPower: false,
  run: async (history) => {
    const { kernel, calm } = history;
    const started = await startCluster(history);
    if ('length' in started) return started;
    const { endpoints } = started;
    const clients = startClients(history, endpoints);
    const members = watchMembers(history, await breakNewVersion(history));
    breakConnections(history);
    const { broken, hasRolledBack } = await interrupted(history);
    calm();
    await prepare(history, ['mock', 'kv', 'fault', 'clear']);
    members.cured();
    const ends = await toTheEnd(history);
    if (onlyTheRunWasKilled(history) && !hasRolledBack)
      broken.push(
        ...theFirstResumeFinishes(ends.map((end) => (end.kind === 'done' ? end.value.code : end.kind))),
      );
    await clients.stop();
    const values = await kernel.until(
      history.act('reader', async (host) => {
        // A write whose response was lost may still be in transit.
        await host.sleep(6_000);
        const of = (url: string) => Promise.all([0, 1, 2].map((n) => readKey(host, url, `key-${n}`)));
        return (await Promise.all(endpoints.map(of))).map((found) => JSON.stringify(found));
      }),
    );
    return [
      ...broken,
      ...members.broken(),
      ...afterACrashTheNextCommandSucceeds('the upgrade', ends.at(-1) as Ended<Ran>),
      ...(kernel.faults['member killed'] === undefined ? membersDownAtOnce(members.mostDown(), 1) : []),
      ...theEndIsWhatWasAskedFor(
        'the version of the members',
        members.versions(),
        Array(SIZE).fill(versions.new),
      ),
      ...clientsSeeALinearizableStore(clients.seen),
      ...(values.kind === 'done'
        ? theEndIsWhatWasAskedFor('what the members hold', new Set(values.value).size, 1)
        : afterACrashTheNextCommandSucceeds('reading', values)),
    ];
  },
};
