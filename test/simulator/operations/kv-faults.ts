/** Faults of the members and of the run during an upgrade. */
import type { History } from '../history.ts';
import type { Process } from '../kernel/kernel.ts';
import { SIZE, isJournalLine, membersOf, prepare } from './kv-cluster.ts';

/** Injects a fault at one effect of a command: at any effect, or at a journal line, where the run decides on the next step. */
const atOneEffect = ({ kernel }: History, process: Process, act: () => void, most = 800): void => {
  const { random } = kernel;
  const isAtJournal = most === 800 && random.chance(0.6);
  let left = 1 + random.below(isAtJournal ? 60 : most);
  process.onEffect = (label) => {
    if (isAtJournal && !isJournalLine(label)) return;
    left -= 1;
    if (left === 0) act();
  };
};

/** Kills a member or pauses it for a while. */
export const strikeMember =
  (history: History) =>
  (process: Process): void => {
    const { kernel } = history;
    const isKill = kernel.random.chance(0.6);
    atOneEffect(history, process, () => {
      const members = membersOf(history);
      if (members.length === 0) return;
      const target = kernel.random.pick(members);
      if (!isKill) return kernel.pause(target, 1000 + kernel.random.below(5000));
      kernel.fault('member killed');
      kernel.kill(target);
    });
  };

/** Kills the run itself. */
export const strikeRun =
  (history: History, most?: number) =>
  (process: Process): void =>
    atOneEffect(history, process, () => history.kernel.crash(process, false), most);

/**
 * Injects faults into the new version of a member until the calm phase. Returns the member that is never healthy with
 * the new version.
 */
export const breakNewVersion = async (history: History): Promise<string | undefined> => {
  const { kernel, plan } = history;
  if (!plan.isRough || !kernel.random.chance(0.3)) return undefined;
  const others = ['crash-at-start', 'slow-start', 'exit-after'] as const;
  const kind = kernel.random.chance(0.5) ? 'never-healthy' : kernel.random.pick(others);
  kernel.fault(`new version: ${kind}`);
  const member = `n${1 + kernel.random.below(SIZE)}`;
  await prepare(history, ['mock', 'kv', 'fault', kind, '--member', member, '--only-version', '3.3']);
  return kind === 'never-healthy' ? member : undefined;
};
export const breakConnections = (history: History): void => {
  if (history.plan.isRough && history.kernel.random.chance(0.3))
    history.net.weather = { lost: 0.002, cutAfter: 0.005, refused: 0.01, twice: 0, late: 0.01 };
};
