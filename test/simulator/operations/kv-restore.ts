/** A restore rebuilds an upgraded cluster on its old version from a snapshot. The restore is killed and runs again. */
import type { History, Operation } from '../history.ts';
import {
  aFailureIsExplained,
  afterACrashTheNextCommandSucceeds,
  nothingOfTheRestoreIsLeft,
  theEndIsWhatWasAskedFor,
  whatIsKeptAsideIsThereOnce,
} from '../invariants.ts';
import type { Ended } from '../kernel/kernel.ts';
import { filesBelow } from '../kernel/look.ts';
import { HOME } from '../kernel/machine.ts';
import { readKey, writeKey } from './cluster-client.ts';
import {
  DIRECTORY,
  MEMBERS,
  SIZE,
  consent,
  membersOf,
  run,
  startCluster,
  upgrade,
  versionOf,
  versions,
} from './kv-cluster.ts';
import { breakConnections, strikeRun } from './kv-faults.ts';
import type { Ran } from './service.ts';

const restore = ['kv', 'restore', ...consent];
const BEFORE = 'written-before-the-snapshot';
const AFTER = 'written-after-the-snapshot';

const put = async (history: History, url: string, key: string, value: string): Promise<void> => {
  const ended = await history.kernel.until(
    history.act('writer', (host) => writeKey(host, url, key, value), { isSafe: true }),
  );
  if (ended.kind !== 'done') throw new Error(`a write: ${JSON.stringify(ended)}`);
};

/** Runs an upgrade that creates snapshots, with one key from before the upgrade and one key from after it. */
const upgraded = async (history: History): Promise<{ endpoints: readonly string[] } | string[]> => {
  const started = await startCluster(history);
  if ('length' in started) return started;
  const { endpoints } = started;
  await put(history, endpoints[0] ?? '', 'before', BEFORE);
  const done = await run(history, 'upgrade', upgrade, { isSafe: true });
  const broken = afterACrashTheNextCommandSucceeds('the upgrade', done);
  if (broken.length > 0) return broken;
  await put(history, endpoints[0] ?? '', 'after', AFTER);
  return { endpoints };
};

/** Returns the data directories next to the data directories of the members, by member. */
const keptAside = ({ desk }: History): Map<string, string[]> => {
  const kept = new Map<string, string[]>();
  for (const [path, text] of filesBelow(desk.disk, DIRECTORY)) {
    const [, member, aside] = /\/(n\d)[^/]*?(\.before-restore-[^/]*)\/.*\.wal$/.exec(path) ?? [];
    if (member === undefined || aside === undefined) continue;
    const holds = text.includes(Buffer.from(AFTER).toString('base64')) ? 'all' : 'not all';
    kept.set(member, [...(kept.get(member) ?? []), holds]);
  }
  return kept;
};

/** Returns whether the journal reports that the restore has finished. A person who checks the status does not run it again. */
const isFinished = ({ desk }: History): boolean =>
  [...filesBelow(desk.disk, HOME)].some(
    ([path, text]) => path.endsWith('/restore.jsonl') && /"kind":"closed".*\n$/.test(text),
  );

export const kvRestore: Operation = {
  name: 'kv restore',
  losesPower: false,
  run: async (history) => {
    const { kernel, calm, plan } = history;
    const made = await upgraded(history);
    if ('length' in made) return made;
    const { endpoints } = made;
    const broken: string[] = [];
    breakConnections(history);
    let last: Ended<Ran> = { kind: 'killed' };
    for (let round = 0; round < (plan.isRough ? 3 : 1); round += 1) {
      const onStart = plan.isRough && kernel.random.chance(0.5) ? strikeRun(history, 80) : undefined;
      last = await run(history, `restore ${round}`, restore, onStart === undefined ? {} : { onStart });
      if (isFinished(history)) break;
      if (last.kind === 'done')
        broken.push(...aFailureIsExplained('kv restore', last.value.code, last.value.err));
    }
    calm();
    if (!isFinished(history)) last = await run(history, 'last', restore);
    const values = await kernel.until(
      history.act('reader', async (host) => {
        await host.sleep(6_000);
        const of = (url: string) => Promise.all(['before', 'after'].map((key) => readKey(host, url, key)));
        return Promise.all(endpoints.map(of));
      }),
    );
    const wanted = Array(SIZE).fill([BEFORE, undefined]);
    return [
      ...broken,
      ...(isFinished(history) ? [] : afterACrashTheNextCommandSucceeds('kv restore', last)),
      ...theEndIsWhatWasAskedFor(
        'the members',
        membersOf(history).map(versionOf),
        Array(SIZE).fill(versions.old),
      ),
      ...(values.kind === 'done'
        ? theEndIsWhatWasAskedFor('what the members hold', values.value, wanted)
        : afterACrashTheNextCommandSucceeds('reading', values)),
      ...whatIsKeptAsideIsThereOnce(MEMBERS, keptAside(history)),
      ...nothingOfTheRestoreIsLeft([...filesBelow(history.desk.disk, DIRECTORY).keys()]),
    ];
  },
};
