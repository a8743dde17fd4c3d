/** Several commands change settings in parallel, each in its own profile, with the whole program. */
import { runProgram } from '../../../src/cli/run.ts';
import { program } from '../../../src/commands/program.ts';
import { type History, type Operation, breakDisk } from '../history.ts';
import {
  aFailureIsExplained,
  aFileIsOldOrNewAndNeverTorn,
  aSecretFileIsReadableByItsOwnerOnly,
  afterACrashTheNextCommandSucceeds,
  whatWasAcknowledgedIsKept,
} from '../invariants.ts';
import { filesBelow } from '../kernel/look.ts';
import { HOME } from '../kernel/machine.ts';

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
};
type Stored = { readonly profiles?: Record<string, Record<string, string>> };

const setting = (profile: string, n: number): string[] => [
  ...['config', 'set', 'tracker.url', `https://${profile}-${n}.example.com`, '--profile', profile],
];

export const configuration: Operation = {
  name: 'configuration',
  run: async (history: History) => {
    const { kernel, act, calm, desk } = history;
    const ledger = new Map<string, { tried: number; acknowledged: number }>();
    const broken: string[] = [];
    const set = async (profile: string): Promise<{ kind: string; value?: unknown; error?: unknown }> => {
      const entry = ledger.get(profile) ?? { tried: 0, acknowledged: 0 };
      ledger.set(profile, entry);
      entry.tried += 1;
      const n = entry.tried;
      let stderr = '';
      const ended = await act(profile, async (host) => {
        const code = await runProgram(host, setting(profile, n), program);
        stderr = host.err();
        return { code };
      });
      if (ended.kind === 'done' && ended.value.code === 0) entry.acknowledged = n;
      if (ended.kind === 'done' && ended.value.code !== 0)
        broken.push(...aFailureIsExplained('config set', ended.value.code, stderr));
      return ended;
    };
    breakDisk(history);
    for (let round = 0; round < 2; round += 1) {
      const profiles = history.plan.isRough
        ? ['one', 'two', 'three'].slice(0, 1 + kernel.random.below(3))
        : ['one'];
      await kernel.until(Promise.all(profiles.map(set)));
    }
    calm();
    const last = await kernel.until(set('last'));
    const path =
      [...filesBelow(desk.disk, HOME).keys()].find((one) => one.endsWith('/config.json')) ?? 'config.json';
    const text = filesBelow(desk.disk, HOME).get(path);
    const stored: Stored = text !== undefined && isJson(text) ? JSON.parse(text) : {};
    return [
      ...broken,
      ...afterACrashTheNextCommandSucceeds('config set', last),
      ...aFileIsOldOrNewAndNeverTorn(path, text, isJson),
      ...aSecretFileIsReadableByItsOwnerOnly(path, desk.disk.find(path)?.mode),
      ...[...ledger].flatMap(([profile, { tried, acknowledged }]) => {
        const value = stored.profiles?.[profile]?.['tracker.url'];
        const found = value === undefined ? undefined : Number(/-(\d+)\./.exec(value)?.[1]);
        return whatWasAcknowledgedIsKept(profile, acknowledged, tried, found);
      }),
    ];
  },
};
