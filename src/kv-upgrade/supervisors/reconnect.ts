import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { MemberSpec } from '../types.ts';
import { MAY_BE_DOWN } from './driver.ts';
import type { Driver } from './driver.ts';

const isCut = (error: unknown): error is AppError => error instanceof AppError && error.detail.code === 'SSH';
const everyMs = 500;

/**
 * From its stop on a member may be down, and only the next command brings it up: a connection that drops there is made again within the grace
 * period. What the host was doing went on meanwhile, so every command asks for the state first and may be repeated.
 */
export const reconnecting = (driver: Driver, host: Host, graceMs: number): Driver => {
  const again = async <T>(
    member: MemberSpec,
    act: () => Promise<T>,
    isDone: () => Promise<T | undefined> = async () => undefined,
  ): Promise<T> => {
    const until = host.elapsed() + graceMs;
    for (let tries = 0; ; tries += 1) {
      try {
        const done = tries === 0 ? undefined : await isDone();
        return done ?? (await act());
      } catch (error) {
        if (!isCut(error)) throw error;
        if (host.elapsed() > until)
          throw new AppError('stopped', `${member.name} may be down: ${error.message}`, {
            code: MAY_BE_DOWN,
            tryThis: [
              ...(error.detail.tryThis ?? []),
              `opsctl kv resume, as soon as ${member.host} can be reached: it brings ${member.name} up`,
            ],
            cause: error,
          });
        await host.sleep(everyMs);
      }
    }
  };
  /** It was started although the answer was lost. */
  const isStarted = async (member: MemberSpec): Promise<object | undefined> => {
    const { state } = await driver.process(member);
    return state === 'running' || state === 'starting' ? {} : undefined;
  };
  return {
    ...driver,
    stop: (member, graceOfStopMs) => again(member, () => driver.stop(member, graceOfStopMs)),
    kill: (member) => again(member, () => driver.kill(member)),
    activate: (member, which, placement) => again(member, () => driver.activate(member, which, placement)),
    start: (member, which, placement) =>
      again(
        member,
        () => driver.start(member, which, placement),
        () => isStarted(member),
      ),
    copyData: (member, to) => again(member, () => driver.copyData(member, to)),
    readFile: (member, path) => again(member, () => driver.readFile(member, path)),
    writeFile: (member, path, text) => again(member, () => driver.writeFile(member, path, text)),
  };
};
