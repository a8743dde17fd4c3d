import type { Host } from '../../../platform/host.ts';
import type { Report } from '../../engine/types.ts';
import type { Upgraded } from './run-fleet.ts';

/** One cluster's own run, as this program started again ended it. */
export type ChildDetail = {
  readonly exit_code: number | null;
  readonly message: string;
  readonly report?: Report;
};
type Ended = {
  readonly code: number | null;
  readonly answer: any;
  readonly message: string;
  /** Of the error object that a run with -o json ends its stderr with. */
  readonly error: string | undefined;
};

const parsed = (text: string): any => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const runSelf = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const [command, ...first] = host.self;
  // No signal: a Ctrl-C reaches the child by itself and ends it between two members.
  const { code, stdout, stderr } = await host.processes.run(command, [...first, ...words, '-o', 'json']);
  const last = stderr.trim().split('\n').at(-1) ?? '';
  const complaint = parsed(last);
  const answer = parsed(stdout);
  return {
    code,
    answer,
    error: complaint?.code,
    message: answer?.message ?? complaint?.message ?? last,
  };
};

/** Undefined when the cluster can be upgraded or is done; else what speaks against it. */
export const checkCluster = async (host: Host, cluster: string): Promise<string | undefined> => {
  const { code, message } = await runSelf(host, [
    'kv',
    'upgrade',
    '--cluster',
    cluster,
    '--dry-run',
    '--yes',
  ]);
  return code === 0 ? undefined : `${cluster}: ${message}`;
};

const detailOf = ({ code, answer, message }: Ended): ChildDetail => ({
  exit_code: code,
  message,
  ...(answer?.run === undefined || answer?.members === undefined ? {} : { report: answer as Report }),
});
const isHeld = ({ answer, error }: Ended): boolean => answer?.outcome === 'held' || error === 'HELD';

const lockedForMs = 3_600_000;
const lockedPollMs = 2000;
/** The child of a fleet run that was killed may still be at work: it is waited for, and then looked at. */
const whenUnlocked = async (host: Host, words: readonly string[]): Promise<Ended> => {
  const until = host.elapsed() + lockedForMs;
  for (;;) {
    const ended = await runSelf(host, words);
    if (ended.error !== 'LOCKED' || host.elapsed() > until) return ended;
    await host.sleep(lockedPollMs);
  }
};

export type ChildOptions = {
  /** Flags that say what becomes of the last member. */
  readonly lastMember: readonly string[];
  /** A fleet run that was killed had begun with this cluster. */
  readonly wasBegun: boolean;
};
/** Upgrades one cluster, or goes on with what a fleet run that was killed had begun there. */
export const upgradeCluster = async (
  host: Host,
  cluster: string,
  { lastMember, wasBegun }: ChildOptions,
): Promise<Upgraded<ChildDetail>> => {
  const flags = ['--cluster', cluster, '--yes', ...lastMember];
  const resumed = wasBegun ? await whenUnlocked(host, ['kv', 'resume', ...flags]) : undefined;
  // It was killed before its own run had begun, or after that had come to its end: the plan says what is left.
  const isOver =
    resumed === undefined ||
    resumed.error === 'NO_RUN' ||
    (resumed.code === 0 && resumed.answer?.members === undefined);
  const ended = isOver ? await runSelf(host, ['kv', 'upgrade', ...flags]) : resumed;
  return { ok: ended.code === 0 || isHeld(ended), detail: detailOf(ended) };
};
