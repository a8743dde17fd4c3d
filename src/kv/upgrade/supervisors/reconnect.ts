import { AppError } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import type { MemberSpec } from '../../engine/types.ts';
import { MAY_BE_DOWN } from './driver.ts';
import type { Driver, StartedMember } from './driver.ts';

const isCut = (error: unknown): error is AppError => error instanceof AppError && error.detail.code === 'SSH';
const everyMs = 500;

const gaveUp = (member: MemberSpec, error: AppError): AppError =>
  new AppError('stopped', `${member.name} may be down: ${error.message}`, {
    code: MAY_BE_DOWN,
    tryThis: [
      ...(error.detail.tryThis ?? []),
      `opsctl kv resume, as soon as ${member.host} can be reached: it brings ${member.name} up`,
    ],
    cause: error,
  });

/** Before its stop a member is as it was. */
const notStopped = (member: MemberSpec, error: AppError): AppError =>
  new AppError('stopped', `${member.name} was not stopped: ${error.message}`, {
    code: 'SSH',
    tryThis: [...(error.detail.tryThis ?? []), `opsctl kv resume, as soon as ${member.host} can be reached`],
    cause: error,
  });

type Retry = <T>(
  member: MemberSpec,
  act: () => Promise<T>,
  more?: {
    /** Asked before every try but the first: it was done although the answer was lost. */
    readonly isDone?: () => Promise<T | undefined>;
    readonly failure?: typeof gaveUp;
  },
) => Promise<T>;
const retryFor =
  (host: Host, graceMs: number): Retry =>
  async (member, act, { isDone = async () => undefined, failure = gaveUp } = {}) => {
    const until = host.elapsed() + graceMs;
    const again = async () => (await isDone()) ?? act();
    for (let next = act; ; next = again) {
      try {
        return await next();
      } catch (error) {
        if (!isCut(error)) throw error;
        if (host.elapsed() > until) throw failure(member, error);
        await host.sleep(everyMs);
      }
    }
  };

/**
 * From its stop on a member may be down, and only the next command brings it up: a connection that drops there is made again within the grace
 * period. What the host was doing went on meanwhile, so every command asks for the state first and may be repeated. What comes just before the
 * stop is repeated too: a run need not end because a connection dropped for a moment.
 */
export const reconnecting = (driver: Driver, host: Host, graceMs: number): Driver => {
  const again = retryFor(host, graceMs);
  const isStarted = async (member: MemberSpec): Promise<StartedMember | undefined> => {
    const { state } = await driver.process(member);
    return state === 'running' || state === 'starting' ? {} : undefined;
  };
  const patientFacts: Driver['facts'] = async (member, want) => {
    for (const until = host.elapsed() + graceMs; ; ) {
      const seen = await driver.facts(member, want);
      if (seen.is_unreachable !== true || host.elapsed() > until) return seen;
      await host.sleep(everyMs);
    }
  };
  return {
    ...driver,
    facts: (member, want) => (want.isPatient ? patientFacts : driver.facts)(member, want),
    stage: (member, move) => again(member, () => driver.stage(member, move), { failure: notStopped }),
    stop: (member, graceOfStopMs) => again(member, () => driver.stop(member, graceOfStopMs)),
    kill: (member) => again(member, () => driver.kill(member)),
    activate: (member, which, placement) => again(member, () => driver.activate(member, which, placement)),
    start: (member, which, placement) =>
      again(member, () => driver.start(member, which, placement), { isDone: () => isStarted(member) }),
    copyData: (member, ending, walDir) => again(member, () => driver.copyData(member, ending, walDir)),
    readFile: (member, path) => again(member, () => driver.readFile(member, path)),
    writeFile: (member, path, text) => again(member, () => driver.writeFile(member, path, text)),
  };
};
