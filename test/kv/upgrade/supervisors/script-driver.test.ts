import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { sh, type ShellScript } from '../../../../src/core/shell.ts';
import { AppError } from '../../../../src/core/problem.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import type { ProcessState, ScriptRunner, Service } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { factsFrom } from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import { scriptDriver } from '../../../../src/kv/upgrade/supervisors/script-driver.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { waitForKilled } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { naming, errorWith } from '../../../support/facts.ts';

const member: MemberSpec = { name: 'n1', client_url: 'http://h:2379', data_dir: '/data', host: 'h1' };
type Answer = Partial<Finished> | Error | undefined;
/** A driver whose scripts are plain texts, with the result of each script. */
const driven = (answer: (script: string) => Answer, more: Partial<Service> = {}, cluster: object = {}) => {
  const host = fakeHost();
  const ran: [string, number | undefined][] = [];
  const service: Service = {
    look: () => sh`look`,
    stateFrom: ({ stdout }) => JSON.parse(stdout) as ProcessState,
    stop: () => sh`stop`,
    kill: () => sh`kill`,
    start: (_, which) => sh`start ${[which]}`,
    logTail: (_, lines) => sh`tail ${lines}`,
    version: () => undefined,
    describe: (kind) => [`do ${kind}`, 'and more'],
    ...more,
  };
  const shell = {
    where: 'h1',
    run: async (
      given: ShellScript,
      { timeoutMs }: { timeoutMs?: number | undefined } = {},
    ): Promise<Finished> => {
      const script = String(given);
      ran.push([script, timeoutMs]);
      const answered = answer(script);
      if (answered instanceof Error) throw answered;
      return { code: 0, signal: null, stdout: '', stderr: '', timedOut: false, ...answered };
    },
    display: (command: string) => `on h1: ${command}`,
  };
  const driver = scriptDriver(
    host,
    { name: 'c', members: [member], ...cluster },
    () => shell as never,
    service,
  );
  return { driver, ran, host, scripts: () => ran.map(([script]) => script) };
};
const state = (value: ProcessState): Answer => ({ stdout: JSON.stringify(value) });

describe('a kill', () => {
  const said = 'the process was killed, but has not ended';
  const killed = (code: number, stderr = '') => driven(() => ({ code, stderr })).driver.kill(member);
  it('a process that survives the kill has the same code with every driver', async () => {
    await killed(0);
    await expect(killed(1, `${said}\n`)).rejects.toMatchObject({
      ...{ category: 'stopped', message: naming('n1', 'killed', '10'), detail: { code: 'STOP_IGNORED' } },
    });
    await expect(killed(3, 'no hook')).rejects.toMatchObject({ detail: { code: 'COMMAND_FAILED' } });
    const script = String(waitForKilled(sh`false`)).replace('-gt 100', '-gt 0');
    const { stderr } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
    expect(stderr.trim()).toBe(said);
  });
});

describe('a stop', () => {
  const stopped = (code: number, more: Partial<Finished> = {}) =>
    driven(() => ({ code, ...more })).driver.stop(member, 5000);
  it('a stop reports whether the process has exited', async () => {
    expect([await stopped(0), await stopped(1)]).toEqual([true, false]);
    await expect(stopped(2, { stderr: 'first\nlast\n' })).rejects.toMatchObject({
      ...{ category: 'stopped', message: naming('n1', 'stop', '2', 'failed', 'last') },
      detail: { code: 'COMMAND_FAILED' },
    });
    await expect(stopped(-1, { timedOut: true })).rejects.toThrow(
      errorWith('COMMAND_FAILED', 'n1', 'stop', 'failed', 'response'),
    );
  });
  it('a stop may take its grace period and ten seconds', async () => {
    const some = driven(() => undefined);
    await some.driver.stop(member, 5000);
    expect(some.ran).toEqual([['stop', 15_000]]);
  });
  it('a stop may ask first', async () => {
    const stop = () => async (ask: (script: ShellScript) => Promise<string>) =>
      sh`stop ${[await ask(sh`who`)]}`;
    const some = driven((script) => (script === 'who' ? { stdout: '7' } : undefined), { stop });
    await some.driver.stop(member, 1);
    expect(some.scripts()).toEqual(['who', 'stop 7']);
  });
});

describe('a start that its service manager could not start', () => {
  const notRun: ProcessState = { state: 'gone', reason: 'no group', hasNotRun: true };
  const looks = (...states: ProcessState[]) =>
    driven((script) => (script === 'look' ? state(states.shift() as ProcessState) : undefined));
  const starts = (some: ReturnType<typeof looks>) =>
    some.scripts().filter((one) => one === 'start new').length;
  it('such a start is repeated once, and not a third time', async () => {
    const some = looks(notRun, notRun);
    await some.driver.start(member, 'new');
    expect(await some.driver.process(member)).toEqual({
      ...{ state: 'starting', awaits: naming('no group') },
    });
    expect(await some.driver.process(member)).toEqual(notRun);
    expect(starts(some)).toBe(2);
  });
  it('a start is not repeated if the program ran, if no unit was started, or after a stop', async () => {
    const crashed = looks({ state: 'gone', reason: 'it crashed' });
    await crashed.driver.start(member, 'new');
    expect(await crashed.driver.process(member)).toMatchObject({ state: 'gone' });
    const seen = looks({ state: 'running' }, notRun);
    await seen.driver.start(member, 'new');
    expect([await seen.driver.process(member), await seen.driver.process(member)]).toEqual([
      ...[{ state: 'running' }, notRun],
    ]);
    const none = looks(notRun);
    expect(await none.driver.process(member)).toEqual(notRun);
    const stopped = looks(notRun);
    await stopped.driver.start(member, 'new');
    await stopped.driver.stop(member, 1);
    expect(await stopped.driver.process(member)).toEqual(notRun);
    for (const some of [crashed, seen, stopped]) expect(starts(some)).toBe(1);
  });
  it('a start that failed itself is not awaited', async () => {
    const some = driven((script) => (script === 'look' ? state(notRun) : { code: 3 }));
    await expect(some.driver.start(member, 'new')).rejects.toThrow(
      errorWith('COMMAND_FAILED', 'n1', '3', 'failed'),
    );
    expect(await some.driver.process(member)).toEqual(notRun);
  });
  it('a look that fails is unknown, with its reason', async () => {
    const some = driven(() => new Error('no way'));
    expect(await some.driver.process(member)).toEqual({ state: 'unknown', reason: 'no way' });
  });
  it('the service learns whether this run started the member', async () => {
    const told: boolean[] = [];
    const some = driven(() => undefined, {
      stateFrom: (_, __, wasStarted) => {
        told.push(wasStarted);
        return { state: 'unknown', reason: '' };
      },
    });
    await some.driver.process(member);
    await some.driver.start(member, 'new');
    await some.driver.process(member);
    expect(told).toEqual([false, true]);
  });
});

describe('files and placements', () => {
  it('a missing file is undefined; an empty one is a file', async () => {
    const read = (stdout: string) => driven(() => ({ stdout })).driver.readFile(member, '/f');
    const text = Buffer.from('a: 1\n').toString('base64');
    expect([await read(''), await read('file\n'), await read(`file\n${text}\n`)]).toEqual([
      undefined,
      '',
      'a: 1\n',
    ]);
  });
  it('writes are whole or not at all', async () => {
    const some = driven(() => undefined);
    await some.driver.writeFile(member, '/f', 'text');
    expect(some.scripts()[0]).toContain(
      `printf %s 'dGV4dA==' | base64 -d > "$F.incoming"
mv -f "$F.incoming" "$F"`,
    );
  });
  const move = { from: '3.4', to: '3.5', run: 'r' } as const;
  it('the output of a stage is its placement', async () => {
    const stdout = 'noise\nprevious.program=/old\nprevious.image=\nnext.program=/new\nother=x\n';
    const some = driven(() => ({ stdout }), { stage: () => sh`staging` });
    expect(await some.driver.stage(member, move)).toEqual({
      ...{
        member: 'n1',
        previous: { minor: '3.4', program: '/old' },
        next: { minor: '3.5', program: '/new' },
      },
    });
    expect(some.scripts()[0]).toContain('\n( staging\n)\nc=$?; [ $c = 0 ] || exit $c\n');
    const plain = driven(() => undefined, { runsAs: async () => ({ uid: 7 }) });
    expect((await plain.driver.stage(member, move)).runs_as).toEqual({ uid: 7 });
    expect(plain.scripts()[0]).toContain('\n( true\n)');
  });
  it('the configuration file of a member is kept next to it', async () => {
    const stage = async (spec: MemberSpec) => {
      const some = driven(() => undefined);
      await some.driver.stage(spec, move);
      return some.scripts()[0];
    };
    expect(await stage({ ...member, config_file: '/c.yml' })).toMatch(
      /\nput '\/c\.yml' '[^']+' \|\| exit 1\necho previous\.config=/,
    );
    expect(await stage(member)).not.toContain('put ');
  });
  it('a service without a switch or cleanup runs no command', async () => {
    const none = driven(() => undefined);
    await none.driver.activate(member, 'new', undefined);
    const anyPlacement = {} as never;
    await none.driver.discard(member, anyPlacement);
    expect(none.ran).toEqual([]);
    const some = driven(() => undefined, {
      activate: (_, which) => sh`select ${[which]}`,
      discard: () => sh`clean`,
    });
    await some.driver.activate(member, 'old', undefined);
    await some.driver.discard(member, anyPlacement);
    expect(some.ran).toEqual([
      ['select old', 3_600_000],
      ['clean', undefined],
    ]);
    const failing = driven(() => ({ code: 1 }), { activate: () => sh`select`, discard: () => sh`clean` });
    await expect(failing.driver.activate(member, 'new', undefined)).rejects.toThrow(
      errorWith('COMMAND_FAILED', 'program', 'failed'),
    );
    await expect(failing.driver.discard(member, {} as never)).rejects.toThrow('the cleanup failed');
    await expect(failing.driver.kill(member)).rejects.toThrow('n1: ending it failed');
  });
});

describe('description of a member', () => {
  it('its newest lines are shown without empty ones, within the time limit of the caller', async () => {
    const some = driven(() => ({ stdout: 'a\n\nb\nc\n' }));
    expect(await some.driver.logTail(member, 2, 2000)).toEqual(['b', 'c']);
    expect(some.ran).toEqual([['tail 2', 2000]]);
    expect(await driven(() => undefined).driver.logTail(member, 2)).toEqual([]);
  });
  it.each<[string, Answer]>([
    ['the connection fails', new Error('away')],
    ['the command fails', { code: 1, stdout: 'no such container\n' }],
    ['the command does not end in time', { code: null, timedOut: true, stdout: 'a\n' }],
  ])('a log is not empty, but unread, if %s', (_, answer) =>
    expect(driven(() => answer).driver.logTail(member, 2)).rejects.toThrow(),
  );
  it('the commands of a step, as a person would run them', () =>
    expect(driven(() => undefined).driver.describe('stop', member, 'old')).toEqual([
      ...['on h1: do stop', 'on h1: and more'],
    ]));
  it('its driver is shown', () => {
    expect(driven(() => undefined).driver.kind).toBe('local');
    expect(driven(() => undefined, {}, { driver: 'docker' }).driver.kind).toBe('docker');
  });
  it('a host that is distinguished from an unreachable one', async () => {
    const facts = (error: Error) => driven(() => error).driver.facts(member, { sizes: false });
    expect(await facts(new Error('odd'))).toEqual({
      ...{ problems: ['odd'], new_binary_error: naming('odd', 'host') },
    });
    expect(await facts(new AppError('stopped', 'odd', { code: 'COMMAND_FAILED' }))).not.toHaveProperty(
      'is_unreachable',
    );
    expect(await facts(new AppError('network', 'cut', { code: 'SSH' }))).toMatchObject({
      is_unreachable: true,
    });
  });
  it('every script of the facts may take a minute, because it starts programs to read their versions', async () => {
    const service = {
      facts: async (_: MemberSpec, ask: ScriptRunner) => ({ pid: Number(await ask(sh`own`)) }),
    };
    const { driver, ran } = driven(() => undefined, service);
    await driver.facts(member, { sizes: false });
    const limits = ran.filter(([script]) => script !== 'look').map(([, timeoutMs]) => timeoutMs);
    expect(limits.length).toBeGreaterThan(1);
    expect(new Set(limits)).toEqual(new Set([60_000]));
  });
  it('a service with more data also reports whether the process exists', async () => {
    const answer = (script: string) => (script === 'look' ? state({ state: 'running', pid: 7 }) : undefined);
    expect(await driven(answer).driver.facts(member, { sizes: false })).toMatchObject({
      is_running: true,
      pid: 7,
    });
    const own = driven(answer, { facts: async () => ({ is_running: false }) });
    const seen = await own.driver.facts(member, { sizes: false });
    expect([seen.is_running, seen.pid, own.scripts().includes('look')]).toEqual([false, undefined, false]);
  });
});

describe('the facts of a host', () => {
  const asked = { fromMs: 10_000, untilMs: 12_000 };
  const unknown: ProcessState = { state: 'unknown', reason: '' };
  const facts = (lines: string, patch: Partial<MemberSpec> = {}, seen: ProcessState = unknown) =>
    factsFrom(lines, { ...member, ...patch }, asked, seen);
  const none = { new_binary_error: naming('new_binary', 'cluster') };
  it('facts are those of the output, in bytes', async () => {
    expect(await facts('')).toEqual(none);
    expect(
      await facts(
        'data_dir_exists=true\ndata_dir_writable=false\nhas_db_file=true\ndb_file_bytes=5\nv2_bytes=0\nfree_kib=2\ndata_dir_kib=3\ndisk=66\nnew_version=etcd Version: 3.5.1\nold_version=etcd Version: 3.4.2 \nnow_s=11',
      ),
    ).toEqual({
      ...{
        data_dir_exists: true,
        data_dir_writable: false,
        has_db_file: true,
        db_file_bytes: 5,
        v2_bytes: 0,
      },
      ...{ free_bytes: 2048, data_dir_bytes: 3072, disk: 'h1 66', clock_skew_ms: 0 },
      ...{ new_binary_version: '3.5.1', old_binary_version: '3.4.2' },
    });
    expect(await facts('disk=66', { host: undefined as never })).toEqual({ ...none, disk: 'here 66' });
    const silent = async (patch: Partial<MemberSpec>, lines = 'new_version= ') =>
      (await facts(lines, patch)).new_binary_error;
    expect(await silent({ new_binary: '/opt/etcd' }, '')).toEqual(naming('/opt/etcd --version', 'nothing'));
    expect(await silent({ new_command: ['/opt/run', '-x'] })).toEqual(
      naming('/opt/run --version', 'nothing'),
    );
    expect(await silent({ new_image: 'etcd:3.5' })).toEqual(naming('etcd --version', 'nothing'));
    // A hook prints the version, and the cluster file names no program.
    expect(await silent({})).toEqual(naming('version call', 'nothing'));
    expect(await facts('disk=?\nfree_kib=x\nnew_version= not found \nold_version=?\nnow_s=x')).toEqual({
      ...{ new_binary_error: 'not found' },
    });
  });
  it.each([
    [8, -2000],
    [9, 0],
    [13, 0],
    [14, 2000],
    [60, 48_000],
  ])('a clock of %i s after 10 to 12 s has an offset of %i ms', async (now, skew) =>
    expect((await facts(`now_s=${now}`)).clock_skew_ms).toBe(skew),
  );
  it('a clock that is a second and a half off is not off', async () => {
    const at = (fromMs: number) => factsFrom('now_s=10', member, { fromMs, untilMs: fromMs }, unknown);
    expect([(await at(11_500)).clock_skew_ms, (await at(11_501)).clock_skew_ms]).toEqual([0, -1501]);
  });
  it.each<[ProcessState, object]>([
    [unknown, {}],
    [{ state: 'gone' }, { is_running: false }],
    [{ state: 'running' }, { is_running: true }],
    [
      { state: 'running', pid: 7 },
      { is_running: true, pid: 7 },
    ],
    [{ state: 'running', pid: 1 }, { is_running: true }],
    [
      { state: 'running', pid: 2 },
      { is_running: true, pid: 2 },
    ],
    [
      { state: 'starting', awaits: 'it' },
      { is_running: true, starting: 'it' },
    ],
  ])('a process that is %j', async (seen, expected) =>
    expect(await facts('', {}, seen)).toEqual({ ...none, ...expected }),
  );
  it('its configuration file has its settings, or the reason of their absence', async () => {
    const spec = { config_file: '/c.yml' };
    const config = (text: string) => facts(`config=${Buffer.from(text).toString('base64')}`, spec);
    expect((await config('name: n1')).config).toEqual({ name: 'n1' });
    expect((await config('- a')).config_error).toEqual(
      naming('/c.yml', 'configuration', 'mapping', 'settings'),
    );
    expect((await facts('config_missing=true', spec)).config_error).toEqual(
      naming('/c.yml', 'configuration'),
    );
    expect(await facts('', spec)).toEqual(none);
  });
});
