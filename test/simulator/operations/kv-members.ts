/** Simulated members without a run: members pause, crash and restart while clients write and read. */
import type { History, Operation } from '../history.ts';
import {
  afterACrashTheNextCommandSucceeds,
  clientsSeeALinearizableStore,
  theEndIsWhatWasAskedFor,
} from '../invariants.ts';
import { readKey, startClients } from './cluster-client.ts';
import { membersOf, startAgain, startCluster } from './kv-cluster.ts';

const wait = (history: History, ms: number): Promise<unknown> =>
  history.kernel.until(history.act('clock', (host) => host.sleep(ms), { isSafe: true }));

const disturb = async (history: History): Promise<void> => {
  const { kernel, plan } = history;
  const { random } = kernel;
  await wait(history, 500 + random.below(1500));
  const target = random.pick(membersOf(history));
  if (!plan.isRough || random.chance(0.3)) {
    kernel.fault('member killed');
    kernel.kill(target);
    await wait(history, random.below(3000));
    await startAgain(history);
  } else kernel.pause(target, 1200 + random.below(4000));
};

export const kvMembers: Operation = {
  name: 'kv members',
  losesPower: false,
  run: async (history) => {
    const { kernel, calm } = history;
    const started = await startCluster(history);
    if ('length' in started) return started;
    const { endpoints } = started;
    const clients = startClients(history, endpoints, { pauseMs: 30, keys: 1 });
    for (let i = 0; i < 3; i += 1) await disturb(history);
    calm();
    await wait(history, 6_000);
    await clients.stop();
    const values = await kernel.until(
      history.act('reader', async (host) =>
        Promise.all(endpoints.map(async (url) => (await readKey(host, url, 'key-0')) ?? 'nothing')),
      ),
    );
    return [
      ...clientsSeeALinearizableStore(clients.seen),
      ...(values.kind === 'done'
        ? theEndIsWhatWasAskedFor('what the members hold', new Set(values.value).size, 1)
        : afterACrashTheNextCommandSucceeds('reading', values)),
    ];
  },
};
