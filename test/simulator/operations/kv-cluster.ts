/** Three simulated members, the commands that a person runs on them, and the observed states of the members. */
import type { JournalEntry } from '../../../src/kv/engine/model.ts';
import type { History } from '../history.ts';
import {
  aHealthCheckPassesOnlyWhatIsHealthy,
  aMemberIsStoppedAfterALookAtTheOthers,
  afterACrashTheNextCommandSucceeds,
} from '../invariants.ts';
import type { Ended, Process } from '../kernel/kernel.ts';
import { HOME } from '../kernel/machine.ts';
import { programsOf } from '../kernel/programs.ts';
import { type Ran, command } from './service.ts';

export const DIRECTORY = `${HOME}/cluster`;
const FILE = `${DIRECTORY}/cluster.yaml`;
export const MEMBERS = ['n1', 'n2', 'n3'];
export const SIZE = MEMBERS.length;
export const versions = { old: '3.2.32', new: '3.3.27' };
export const consent = ['--cluster', FILE, '--yes', '-o', 'json'];
export const upgrade = ['kv', 'upgrade', ...consent, '--accept-point-of-no-return', '--stable-for', '0'];

type RunOptions = { readonly isSafe?: boolean; readonly onStart?: (process: Process) => void };
export const run = (
  history: History,
  name: string,
  argv: readonly string[],
  options: RunOptions = {},
): Promise<Ended<Ran>> => {
  const { kernel, net } = history;
  const processesOf = (process: Process) => programsOf(kernel, net, process);
  return kernel.until(command(history, name, argv, {}, { mostEffects: 900, processesOf, ...options }));
};
/** Runs a command that prepares the history. The kernel injects no faults into it. */
export const prepare = (history: History, argv: readonly string[]): Promise<Ended<Ran>> =>
  run(history, argv.slice(0, 3).join(' '), [...argv, '--dir', DIRECTORY, '-o', 'json'], { isSafe: true });

type Start = { readonly endpoints: readonly string[] };
export const startCluster = async (history: History): Promise<Start | string[]> => {
  const made = await prepare(history, [
    'mock',
    'kv',
    'start',
    '--monitor-ms',
    '500',
    '--heartbeat-ms',
    '200',
  ]);
  const broken = afterACrashTheNextCommandSucceeds('mock kv start', made);
  return made.kind === 'done' && broken.length === 0 ? (JSON.parse(made.value.out) as Start) : broken;
};

/** Splits a process name such as `member n1 3.3.27`. */
const wordsOf = ({ name }: Process): string[] => name.split(' ');
const nameOf = (process: Process): string => wordsOf(process)[1] ?? '';
const isMember = (process: Process): boolean => wordsOf(process)[0] === 'member';
export const versionOf = (process: Process): string | undefined => wordsOf(process)[2];
export const membersOf = ({ kernel }: History): Process[] =>
  kernel.processes.filter((one) => isMember(one) && !one.isDead);
const lastOf = ({ kernel }: History, name: string): Process | undefined =>
  kernel.processes.findLast((one) => isMember(one) && nameOf(one) === name);

/** Restarts the stopped members as a person would, with their last command. */
export const startAgain = async (history: History): Promise<void> => {
  for (const name of MEMBERS) {
    const last = lastOf(history, name);
    if (last?.isDead !== true) continue;
    const binary = versionOf(last) === versions.new ? 'new' : 'old';
    await prepare(history, ['mock', 'kv', 'start', '--member', name, '--binary', binary, '--no-wait']);
  }
};

const JOURNAL = '/journal.jsonl';
export const isJournalLine = (label: string): boolean =>
  label.startsWith('write ') && label.endsWith(JOURNAL);
const lastEntry = ({ desk }: History, label: string): JournalEntry | undefined => {
  const text = desk.disk.find(label.slice('write '.length))?.data.toString('utf8').trim();
  return text === undefined || text === ''
    ? undefined
    : (JSON.parse(text.split('\n').at(-1) ?? '') as JournalEntry);
};

/**
 * Records the times of the version requests to each member. A run sends them when it checks the cluster. `at` is
 * undefined for requests of other processes.
 */
const looksAt = ({ net }: History) => {
  const names = new Map<string, string>();
  const looked = new Map<string, number>();
  return {
    note: (label: string, at: number | undefined): void => {
      const port = /^GET \S+:(\d+)\/version$/.exec(label)?.[1];
      if (port === undefined) return;
      const owner = net.listening.get(Number(port))?.owner;
      // The port of a stopped member has no listener.
      if (owner !== undefined) names.set(port, nameOf(owner));
      const name = names.get(port);
      if (name !== undefined && at !== undefined) looked.set(name, at);
    },
    lastAt: (name: string): number => looked.get(name) ?? 0,
  };
};

type Begun = { readonly step: string; readonly at: number; readonly by: Process };
/**
 * Records the versions of the members, the maximum number of members that were down in parallel, and prohibited
 * actions of the run. `sick` is a member whose new version is unhealthy until the fault is cleared.
 */
export const watchMembers = (history: History, sick?: string) => {
  const { kernel } = history;
  let neverHealthy = sick;
  const endedAt = new Map<string, number>();
  const looks = looksAt(history);
  const broken: string[] = [];
  // Numbers events in their order, because several events can occur in one millisecond.
  let [events, mostDown] = [0, 0];
  let begun: Begun | undefined;
  const runsNew = (name: string): boolean => {
    const last = lastOf(history, name);
    return last !== undefined && versionOf(last) === versions.new;
  };
  const isDown = (name: string): boolean => lastOf(history, name)?.isDead !== false;
  const noteEntry = (by: Process, entry: JournalEntry | undefined): void => {
    if (entry?.kind === 'begin') {
      // A second line of the same step contains the result of the check.
      const isSame = begun?.step === entry.step && begun.by === by;
      begun = isSame ? begun : { step: entry.step, at: events, by };
    }
    if (entry?.kind === 'reverting') begun = undefined;
    if (entry?.kind === 'end' && entry.step === `${neverHealthy}.gate`)
      broken.push(...aHealthCheckPassesOnlyWhatIsHealthy(neverHealthy ?? '', runsNew(neverHealthy ?? '')));
  };
  kernel.onDeath = (process) => {
    if (!isMember(process)) return;
    events += 1;
    endedAt.set(nameOf(process), events);
    mostDown = Math.max(mostDown, SIZE - membersOf(history).length);
  };
  kernel.onEffect = (process, label) => {
    events += 1;
    if (isJournalLine(label)) noteEntry(process, lastEntry(history, label));
    else looks.note(label, process === begun?.by ? events : undefined);
  };
  kernel.onSignal = (target, signal) => {
    const member = nameOf(target);
    if (!isMember(target) || signal !== 'SIGTERM' || begun?.step !== `${member}.stop`) return;
    const others = MEMBERS.filter((name) => name !== member).map((name) => {
      const ended = isDown(name) ? endedAt.get(name) : undefined;
      return { member: name, looked: looks.lastAt(name), ...(ended === undefined ? {} : { ended }) };
    });
    broken.push(...aMemberIsStoppedAfterALookAtTheOthers({ member, begun: begun.at }, others));
  };
  return {
    cured: () => {
      neverHealthy = undefined;
    },
    mostDown: () => mostDown,
    broken: () => broken,
    versions: () => membersOf(history).map(versionOf),
  };
};
