import type { Exit, Host } from '../../../platform/host.ts';
import { AppError } from '../../../core/problem.ts';
import type { Access } from '../../engine/access.ts';
import type { Driver } from '../supervisors/driver.ts';
import type { ClusterFile, MemberSpec } from '../../engine/model.ts';

/** Watches the members that passed their health check until the end of the run. */
export type MemberWatch = {
  /** Starts to watch a member. `exited` resolves when the process that this run started has exited. */
  add(name: string, exited?: Promise<Exit>): void;
  /** The member is being replaced or reverted: the exit of its process is expected. */
  remove(name: string): void;
  isWatched(name: string): boolean;
  /**
   * Time since which all of these members have been healthy without interruption, by `elapsed`; undefined
   * while one of them is not.
   */
  goodSince(names: readonly string[]): number | undefined;
  /**
   * How often the service manager has restarted the member since the watch started: a version that exits
   * repeatedly may be healthy at every check.
   */
  restartsOf(name: string): number;
  /** Aborted when the process of a watched member has exited. Every wait that can be canceled uses it. */
  signal(): AbortSignal;
  finish(): Promise<void>;
};

type Watched = { isEnded: boolean; goodSince: number | undefined; pid: number | undefined; restarts: number };

const ENDED = 'MEMBER_ENDED';
const memberEnded = (name: string): AppError =>
  new AppError('stopped', `${name} passed its health check, but its process has exited since`, {
    code: ENDED,
  });
export const isMemberEnded = (error: unknown): boolean =>
  error instanceof AppError && error.detail.code === ENDED;

const nearMs = 250;
/** Over ssh each check is a process on the remote host. */
const farMs = 2000;
const healthMs = 1000;

type Parts = {
  readonly host: Host;
  readonly driver: Driver;
  readonly access: Access;
  readonly cluster: ClusterFile;
};

/** The watched members, and the alarm that the exit of a member raises. */
type Board = {
  readonly watched: Map<string, Watched>;
  alarm: AbortController;
};
const markEnded = (board: Board, name: string, one: Watched): void => {
  if (board.watched.get(name) !== one || one.isEnded) return;
  Object.assign(one, { isEnded: true, goodSince: undefined });
  board.alarm.abort(memberEnded(name));
};

/** The process differs from the previous check: the member was not healthy for the whole time. */
const noticeRestart = (one: Watched, pid: number | undefined): void => {
  if (pid === undefined) return;
  if (one.pid !== undefined && one.pid !== pid) {
    one.restarts += 1;
    one.goodSince = undefined;
  }
  one.pid = pid;
};

/** Checks every watched member once. Checks its health only every `healthMs`. */
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
        // The service manager has restarted it.
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
