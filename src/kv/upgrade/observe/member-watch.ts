import type { Exit, Host } from '../../../platform/host.ts';
import { AppError } from '../../../core/problem.ts';
import type { Access } from '../../engine/access.ts';
import type { Driver } from '../supervisors/driver.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';

/** Watches the members that passed their gate until the end of the run. */
export type MemberWatch = {
  /** From now on this member is watched. `exited` settles when the process that this run started has ended. */
  add(name: string, exited?: Promise<Exit>): void;
  /** It is being replaced or reverted: what its process does meanwhile is no news. */
  remove(name: string): void;
  isWatched(name: string): boolean;
  /** Since when all of these have been good without a break, by `elapsed`; undefined while one of them is not. */
  goodSince(names: readonly string[]): number | undefined;
  /** How often its service manager has brought it up again under this watch: a version that keeps ending may be healthy at every look. */
  restartsOf(name: string): number;
  /** Aborted when the process of a watched member has ended. Every wait that can be broken off listens to it. */
  signal(): AbortSignal;
  finish(): Promise<void>;
};

type Watched = { isEnded: boolean; goodSince: number | undefined; pid: number | undefined; restarts: number };

const ENDED = 'MEMBER_ENDED';
const memberEnded = (name: string): AppError =>
  new AppError('stopped', `${name} passed its health check, and its process has ended since`, {
    code: ENDED,
  });
export const isMemberEnded = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === ENDED;

const nearMs = 250;
/** Over ssh each look is a process on the other side. */
const farMs = 2000;
const healthMs = 1000;

type Parts = {
  readonly host: Host;
  readonly driver: Driver;
  readonly access: Access;
  readonly cluster: ClusterFile;
};

/** The members under watch, and the alarm that the end of one of them raises. */
type Board = {
  readonly watched: Map<string, Watched>;
  alarm: AbortController;
};
const markEnded = (board: Board, name: string, one: Watched): void => {
  if (board.watched.get(name) !== one || one.isEnded) return;
  Object.assign(one, { isEnded: true, goodSince: undefined });
  board.alarm.abort(memberEnded(name));
};

/** Another process than at the look before: it was not good all the time between them. */
const noticeRestart = (one: Watched, pid: number | undefined): void => {
  if (pid === undefined) return;
  if (one.pid !== undefined && one.pid !== pid) {
    one.restarts += 1;
    one.goodSince = undefined;
  }
  one.pid = pid;
};

/** Looks at every member under watch once; at their health only every `healthMs`. */
const lookingAt = (board: Board, { host, driver, access, cluster }: Parts): (() => Promise<void>) => {
  const specOf = (name: string): MemberSpec =>
    cluster.members.find((member) => member.name === name) as MemberSpec;
  const health = async (name: string, one: Watched): Promise<void> => {
    const seen = await access
      .store(specOf(name).client_url)
      .health()
      .catch(() => undefined);
    one.goodSince = seen?.is_healthy === true && !one.isEnded ? (one.goodSince ?? host.elapsed()) : undefined;
  };
  let healthAt = 0;
  return async () => {
    const isHealthTurn = host.elapsed() >= healthAt;
    if (isHealthTurn) healthAt = host.elapsed() + healthMs;
    await Promise.all(
      [...board.watched].map(async ([name, one]) => {
        const seen = await driver.process(specOf(name));
        if (seen.state === 'gone') return markEnded(board, name, one);
        // Whoever watches over it has started it again.
        one.isEnded = false;
        if (seen.state === 'running') noticeRestart(one, seen.pid);
        if (isHealthTurn) await health(name, one);
      }),
    );
  };
};

const goodTogether = ({ watched }: Board, names: readonly string[]): number | undefined => {
  const times = names.map((name) => watched.get(name)?.goodSince);
  return times.some((time) => time === undefined)
    ? undefined
    : Math.max(0, ...times.map((time) => time as number));
};

export const watchMembers = (parts: Parts): MemberWatch => {
  const { host, driver } = parts;
  const board: Board = { watched: new Map(), alarm: new AbortController() };
  const over = new AbortController();
  const everyMs = driver.kind === 'local' ? nearMs : farMs;
  const look = lookingAt(board, parts);
  const watching = (async () => {
    while (!over.signal.aborted) {
      await host.sleep(everyMs, over.signal).catch(() => {});
      if (!over.signal.aborted) await look();
    }
  })();
  return {
    add: (name, exited) => {
      const one: Watched = { isEnded: false, goodSince: host.elapsed(), pid: undefined, restarts: 0 };
      board.watched.set(name, one);
      void exited?.then(() => markEnded(board, name, one));
    },
    remove: (name) => void board.watched.delete(name),
    isWatched: (name) => board.watched.has(name),
    goodSince: (names) => goodTogether(board, names),
    restartsOf: (name) => board.watched.get(name)?.restarts ?? 0,
    signal: () => {
      if (board.alarm.signal.aborted) board.alarm = new AbortController();
      return board.alarm.signal;
    },
    finish: async () => {
      over.abort();
      await watching;
    },
  };
};
