import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import type { Driver, ProcessState } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { reconnecting } from '../../../../src/kv/upgrade/supervisors/ssh.ts';
import type { HostFacts, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { partlyMade } from '../../../support/context.ts';

const member: MemberSpec = { name: 'n1', client_url: 'http://h:2379', host: 'h1' };
const cut = () =>
  new AppError('network', 'h1: ssh: the connection ended', { code: 'SSH', tryThis: ['look'] });
const graceMs = 2000;
/** A driver whose connection fails `failures` times for any call. */
const behind = (failures: number, more: Partial<Driver> = {}, error: () => Error = cut) => {
  const host = fakeHost();
  const asked: string[] = [];
  let left = failures;
  const act =
    (name: string) =>
    async (...given: unknown[]): Promise<never> => {
      asked.push([name, ...given.slice(1)].map(String).join(' '));
      if (left-- > 0) throw error();
      return `${name} done` as never;
    };
  const names = ['stage', 'stop', 'kill', 'activate', 'start', 'copyData', 'readFile', 'writeFile'] as const;
  const driver = partlyMade<Driver>({
    ...Object.fromEntries(names.map((name) => [name, act(name)])),
    process: async (): Promise<ProcessState> => ({ state: 'gone' }),
    ...more,
  });
  return { host, asked, driver: reconnecting(driver, host, graceMs) };
};
const acts: readonly [string, (driver: Driver) => Promise<unknown>, string][] = [
  ['stage', (driver) => driver.stage(member, 'move' as never), 'stage move'],
  ['stop', (driver) => driver.stop(member, 7), 'stop 7'],
  ['kill', (driver) => driver.kill(member), 'kill'],
  ['activate', (driver) => driver.activate(member, 'new', 'place' as never), 'activate new place'],
  ['start', (driver) => driver.start(member, 'old', 'place' as never), 'start old place'],
  ['copyData', (driver) => driver.copyData(member, '.to', '/wal'), 'copyData .to /wal'],
  ['readFile', (driver) => driver.readFile(member, '/f'), 'readFile /f'],
  ['writeFile', (driver) => driver.writeFile(member, '/f', 'text'), 'writeFile /f text'],
];

describe.each(acts)('%s over a connection that drops', (name, act, asked) => {
  it('a dropped connection is repeated until the command is done', async () => {
    const some = behind(3);
    expect(await act(some.driver)).toBe(`${name} done`);
    expect(some.asked).toEqual(Array(4).fill(asked));
    expect(some.host.slept).toEqual([500, 500, 500]);
  });
  it('ends with the grace period', async () => {
    const some = behind(99);
    const said = name === 'stage' ? 'n1 was not stopped' : 'n1 may be down';
    await expect(act(some.driver)).rejects.toMatchObject({
      category: 'stopped',
      message: `${said}: h1: ssh: the connection ended`,
      detail: {
        code: name === 'stage' ? 'SSH' : 'MEMBER_MAY_BE_DOWN',
        tryThis: ['look', expect.toRead('opsctl kv resume, as soon as h1 can be reached')],
      },
    });
    // Immediately, then twice a second during the grace period, and once after it.
    expect(some.asked).toHaveLength(6);
  });
  it('an error other than a dropped connection fails immediately', async () => {
    for (const error of [new Error('x'), new AppError('stopped', 'x', { code: 'COMMAND_FAILED' })]) {
      const some = behind(1, {}, () => error);
      await expect(act(some.driver)).rejects.toBe(error);
      expect(some.asked).toHaveLength(1);
    }
  });
});

describe('a start whose response was lost', () => {
  it.each(['running', 'starting'] as const)('a lost start is done if the member is %s', async (state) => {
    const some = behind(1, { process: async () => ({ state }) as ProcessState });
    expect(await some.driver.start(member, 'new')).toEqual({});
    expect(some.asked).toHaveLength(1);
  });
  it.each(['gone', 'unknown'] as const)('a lost start is repeated if the member is %s', async (state) => {
    const some = behind(1, { process: async () => ({ state }) as ProcessState });
    expect(await some.driver.start(member, 'new')).toBe('start done');
    expect(some.asked).toHaveLength(2);
  });
  it('a start is not checked before the first attempt', async () => {
    const some = behind(0, { process: async () => ({ state: 'running' }) });
    expect(await some.driver.start(member, 'new')).toBe('start done');
  });
});

describe('inspection of a host', () => {
  const looks = (unreachable: number) => {
    const wanted: unknown[] = [];
    const facts: Driver['facts'] = async (_, want): Promise<HostFacts> => {
      wanted.push(want);
      return wanted.length <= unreachable ? { is_unreachable: true } : { is_running: true };
    };
    return { wanted, ...behind(0, { facts }) };
  };
  it('a check inspects a host once, and a run repeats it', async () => {
    const check = looks(1);
    expect(await check.driver.facts(member, { sizes: true })).toEqual({ is_unreachable: true });
    expect(check.wanted).toEqual([{ sizes: true }]);
    const run = looks(2);
    expect(await run.driver.facts(member, { sizes: false, isPatient: true })).toEqual({ is_running: true });
    expect([run.wanted.length, run.host.slept]).toEqual([3, [500, 500]]);
  });
  it('the last observation is reported when the grace period is over', async () => {
    const run = looks(99);
    expect(await run.driver.facts(member, { sizes: false, isPatient: true })).toEqual({
      is_unreachable: true,
    });
    expect(run.wanted).toHaveLength(6);
  });
});
