import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import { unitState } from '../../../../src/kv/upgrade/supervisors/systemd.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { MemberSpec, Move, Placement } from '../../../../src/kv/engine/model.ts';
import { programHost, type ProgramHost } from '../../../support/programs.ts';
import { patient } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';

let real: ProgramHost;
beforeEach(async () => {
  real = patient(await programHost());
});

describe('the state of a unit', () => {
  const text = (values: Record<string, string | number>): string =>
    Object.entries({ LoadState: 'loaded', Result: 'success', Job: '', ...values })
      .map(([key, value]) => `${key}=${value}`)
      .join('\n');
  it.each<[string, Record<string, string | number>, unknown]>([
    [
      'active with its process',
      { ActiveState: 'active', SubState: 'running', MainPID: 42 },
      { state: 'running', pid: 42 },
    ],
    [
      'of Type=notify before the member has joined',
      { ActiveState: 'activating', SubState: 'start', MainPID: 42 },
      { state: 'starting', awaits: 'kv.service is activating (start)', pid: 42 },
    ],
    [
      'in ExecStartPre',
      { ActiveState: 'activating', SubState: 'start-pre', MainPID: 0 },
      { state: 'starting', awaits: 'kv.service is activating (start-pre)' },
    ],
    [
      'between start --no-block and the manager',
      { ActiveState: 'inactive', SubState: 'dead', MainPID: 0, Job: 7 },
      { state: 'starting', awaits: 'the start job of kv.service' },
    ],
    [
      'that crashed and is to be restarted',
      {
        ActiveState: 'activating',
        SubState: 'auto-restart',
        MainPID: 0,
        Result: 'exit-code',
        ExecMainStatus: 1,
      },
      {
        state: 'gone',
        reason: 'kv.service exited (exit-code, exit status 1) and waits for its next restart',
        exitCode: 1,
      },
    ],
    [
      'that failed',
      { ActiveState: 'failed', SubState: 'failed', MainPID: 0, Result: 'exit-code', ExecMainStatus: 203 },
      { state: 'gone', reason: 'kv.service failed (exit-code, exit status 203/EXEC)', exitCode: 203 },
    ],
    [
      'that could not be put into its control group',
      { ActiveState: 'failed', SubState: 'failed', MainPID: 0, Result: 'exit-code', ExecMainStatus: 219 },
      {
        state: 'gone',
        reason: 'kv.service failed (exit-code, exit status 219/CGROUP)',
        exitCode: 219,
        hasNotRun: true,
      },
    ],
    [
      'that could not be put into its control group and is to be restarted',
      { ActiveState: 'activating', SubState: 'auto-restart', MainPID: 0, ExecMainStatus: 219 },
      { state: 'starting', awaits: 'kv.service is activating (auto-restart)' },
    ],
    [
      'that was stopped',
      { ActiveState: 'inactive', SubState: 'dead', MainPID: 0 },
      { state: 'gone', reason: 'kv.service is inactive' },
    ],
    [
      'that ends',
      { ActiveState: 'deactivating', SubState: 'stop-sigterm', MainPID: 42 },
      { state: 'running', pid: 42 },
    ],
    [
      'that is not there',
      { LoadState: 'not-found', ActiveState: 'inactive' },
      { state: 'gone', reason: 'unit not found: kv.service' },
    ],
  ])(
    '%s',
    covers('spec/store#measured-service-managers-1', 'spec/store#measured-service-managers-2'),
    (_, values, state) => expect(unitState(text(values), 'kv.service')).toEqual(state),
  );
  it('a state that systemctl does not print is unknown', () =>
    expect(unitState('', 'kv.service').state).toBe('unknown'));
});

/** A manager of one unit without processes. Its state is in files, and `start` records the program. */
const manager = (): void => {
  real.program(
    'systemctl',
    `S=${real.at('state')}; [ -e $S ] || echo inactive > $S
case "$*" in
"show -p MainPID --value "*) echo 0;;
"show -p ActiveState --value "*) cat $S;;
show*) echo LoadState=loaded; echo ActiveState=$(cat $S); echo SubState=x; [ $(cat $S) = active ] && echo MainPID=4242; exit 0;;
stop*) echo inactive > $S;;
start*) echo active > $S; ${real.at('server')} --version >> ${real.at('started')};;
esac`,
  );
};
const version = (name: string, minor: string): string => {
  writeFileSync(real.at(name), `#!/bin/sh\necho "etcd Version: ${minor}"\n`, { mode: 0o755 });
  return real.at(name);
};
const member = (): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  unit: 'kv.service',
  binary_path: real.at('server'),
  new_binary: real.at('new'),
});
const move = (from: Move['from'], to: Move['to']): Move => ({ from, to, run: 'r' });
const started = (): string[] =>
  readFileSync(real.at('started'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.slice(14));
const switched = async (
  driver: Driver,
  spec: MemberSpec,
  which: 'old' | 'new',
  placement: Placement,
): Promise<void> => {
  expect(await driver.stop(spec, 60_000)).toBe(true);
  await driver.activate(spec, which, placement);
  await driver.start(spec, which, placement);
};

describe('a start for which systemd has no control group', () => {
  /** A unit whose first `times` starts exit with code 219. */
  const failing = (times: number): void => {
    real.program(
      'systemctl',
      `S=${real.at('state')}; N=${real.at('starts')}; touch $S $N
case "$*" in
show*) echo LoadState=loaded
  if [ ! -s $S ]; then echo ActiveState=inactive
  elif [ $(wc -l < $N) -gt ${times} ]; then echo ActiveState=active; echo MainPID=4242
  else echo ActiveState=failed; echo Result=exit-code; echo ExecMainStatus=219; fi;;
start*) echo start >> $N; echo started > $S;;
esac`,
    );
  };
  const starts = (): number => readFileSync(real.at('starts'), 'utf8').split('\n').length - 1;
  const opened = async (): Promise<Driver> =>
    openDriver(real.host, { name: 'c', driver: 'systemd', members: [member()] });

  it('a start without a control group is repeated', async () => {
    failing(1);
    const driver = await opened();
    await driver.start(member(), 'new');
    expect(await driver.process(member())).toEqual({
      state: 'starting',
      awaits: 'its second start, because kv.service failed (exit-code, exit status 219/CGROUP)',
    });
    expect(await driver.process(member())).toEqual({ state: 'running', pid: 4242 });
    expect(starts()).toBe(2);
  });
  it('a start without a control group is repeated only once', covers('spec/store#choices-7'), async () => {
    failing(9);
    const driver = await opened();
    await driver.start(member(), 'new');
    const seen = [await driver.process(member()), await driver.process(member())];
    expect(seen.map(({ state }) => state)).toEqual(['starting', 'gone']);
    expect(starts()).toBe(2);
  });
  it('an inspection never starts a unit that this run did not start', async () => {
    failing(9);
    await (await opened()).start(member(), 'new');
    expect(await (await opened()).process(member())).toMatchObject({ state: 'gone', hasNotRun: true });
    expect(starts()).toBe(1);
  });
});

describe('programs of a unit', () => {
  it(
    'staging does not change what a crash would start, and discarding leaves no file behind',
    covers('defect/U-11'),
    async () => {
      manager();
      const spec = member();
      version('server', '3.3.25');
      version('new', '3.4.23');
      const driver = await openDriver(real.host, { name: 'c', driver: 'systemd', members: [spec] });
      const placement = await driver.stage(spec, move('3.3', '3.4'));
      expect(readFileSync(real.at('server'), 'utf8')).toContain('3.3.25');
      expect(placement.previous.program_sha256).toMatch(/^[0-9a-f]{64}$/);
      await driver.discard(spec, placement);
      expect(existsSync(placement.next.program as string)).toBe(false);
      expect(existsSync(placement.previous.program as string)).toBe(true);
    },
  );

  it(
    'the rollback of the second and the third upgrade is the version before it',
    covers('defect/U-4'),
    async () => {
      manager();
      const spec = member();
      version('server', '3.2.32');
      const driver = await openDriver(real.host, { name: 'c', driver: 'systemd', members: [spec] });
      for (const [from, to, program] of [
        ['3.2', '3.3', '3.3.25'],
        ['3.3', '3.4', '3.4.23'],
        ['3.4', '3.5', '3.5.16'],
      ] as const) {
        version('new', program);
        const placement = await driver.stage(spec, move(from, to));
        await switched(driver, spec, 'new', placement);
        await switched(driver, spec, 'old', placement);
        await switched(driver, spec, 'new', placement);
      }
      expect(started()).toEqual([
        ...['3.3.25', '3.2.32', '3.3.25'],
        ...['3.4.23', '3.3.25', '3.4.23'],
        ...['3.5.16', '3.4.23', '3.5.16'],
      ]);
    },
  );

  it('a program that is not the recorded one is never installed', async () => {
    manager();
    const spec = member();
    version('server', '3.3.25');
    version('new', '3.4.23');
    const driver = await openDriver(real.host, { name: 'c', driver: 'systemd', members: [spec] });
    const placement = await driver.stage(spec, move('3.3', '3.4'));
    writeFileSync(placement.next.program as string, 'something else');
    await expect(driver.activate(spec, 'new', placement)).rejects.toThrow(
      /not the program that was recorded/,
    );
    expect(readFileSync(real.at('server'), 'utf8')).toContain('3.3.25');
  });

  it('a new program that cannot be read leaves the unit unchanged', async () => {
    manager();
    const spec = { ...member(), new_binary: real.at('nothing') };
    version('server', '3.3.25');
    const driver = await openDriver(real.host, { name: 'c', driver: 'systemd', members: [spec] });
    await expect(driver.stage(spec, move('3.3', '3.4'))).rejects.toThrow(/preparing the new version failed/);
    expect(readdirSync(real.directory).filter((name) => name.endsWith('.incoming'))).toEqual([]);
  });
});
