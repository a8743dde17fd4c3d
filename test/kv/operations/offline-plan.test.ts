import { describe, expect, it } from 'vitest';
import { planNow } from '../../../src/kv/operations/plan.ts';
import {
  continuesOffline,
  observeStopped,
  missingConsents,
  offlinePlan,
  offlineToContinue,
  refuseStarted,
  type OfflineInput,
  storedHold,
} from '../../../src/kv/operations/offline-plan.ts';
import { operationText } from '../../../src/kv/operations/record.ts';
import type { FoundOperation, OperationPlan } from '../../../src/kv/operations/journal.ts';
import type { Driver, ProcessState } from '../../../src/kv/upgrade/supervisors/driver.ts';
import type { ClusterFile, MemberSpec, MemberStatus, Observation } from '../../../src/kv/engine/model.ts';
import { dbFile } from '../../../src/etcd-sim/disk/db-file.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';
import { offlineWork } from '../../support/traced-operation.ts';

const gone: ProcessState = { state: 'gone' };
type Given = {
  readonly cluster?: Partial<ClusterFile>;
  readonly accept?: readonly string[];
  /** Output of etcdutl for each data directory. */
  readonly utl?: (directory: string) => string;
  readonly processes?: readonly ProcessState[];
  readonly member?: Partial<MemberStatus>;
  readonly hold?: string;
  readonly unread?: string;
};
const inputOf = ({ cluster, accept = [], utl = () => '', processes = [] }: Given): OfflineInput => {
  const file = clusterFile(3, cluster);
  return {
    host: fakeHost({
      run: ({ args }) => ({ code: 0, stdout: utl(String(args.at(-1))) }),
      files: { '/bin/utl': 'x' },
    }),
    cluster: file,
    access: {} as OfflineInput['access'],
    driver: {
      process: async ({ name }: { name: string }) => processes[Number(name.slice(1)) - 1] ?? gone,
      readFile: async () => '{}',
    } as unknown as Driver,
    options: planOptions({ accept: [...accept] }),
  };
};
const to36 = { old_binary_version: '3.5.33', new_binary_version: '3.6.14', restore_check: {} };
const stoppedCluster = (given: Given): Observation => {
  const members = ['n1', 'n2', 'n3'].map((name) =>
    away(name, {
      server_version: '3.5.33',
      host: { ...seen(name).host, is_running: false, ...to36, data_dir_bytes: 100_000 },
      ...given.member,
    }),
  );
  const hold = given.hold === undefined ? null : { reason: given.hold, by: 'a@b', since: 'now' };
  const patch = given.unread === undefined ? { hold } : { hold_unread: given.unread };
  return observed(members, patch);
};
const planned = (given: Given) => offlinePlan(inputOf(given), 'op-1', stoppedCluster(given));
const clean = 'No custom content found in both v2store and WAL records';
const withUtl = { utl_binary: '/bin/utl' };
const refusals = async (given: Given): Promise<string[]> => {
  const made = await planned(given);
  return 'refused' in made ? made.refused.map(({ guard, message }) => `${guard}: ${message}`) : [];
};

describe('the plan of an upgrade of a stopped cluster', () => {
  it.each([
    ['no version, to the next minor version', {}, {}],
    ['a version in the cluster file, to that version', {}, { to: '3.6' }],
    ['--to and another version in the cluster file, to the version of --to', { to: '3.6' }, { to: '3.7' }],
  ] as const)('leads from 3.5, with %s', async (_, options, file) => {
    const input = inputOf({ cluster: { ...withUtl, ...file }, utl: () => clean });
    const made = await offlinePlan({ ...input, options: planOptions(options) }, 'op-1', stoppedCluster({}));
    expect((made as OperationPlan).values).toEqual({ from: '3.5', to: '3.6' });
  });
  it('copies every member before any start, and checks each member and the version after it', async () => {
    const made = (await planned({ cluster: withUtl, utl: () => clean })) as OperationPlan;
    expect(made.steps.map(({ id }) => id)).toEqual([
      ...['n1.copy-data', 'n2.copy-data', 'n3.copy-data', 'verify-stopped', 'start'],
      ...['n1.check', 'n2.check', 'n3.check', 'verify-version'],
    ]);
    expect(made.values).toEqual({ from: '3.5', to: '3.6' });
  });
  it('is refused if a start would remove the other members', async () => {
    const members = clusterFile(3).members.map((spec) => ({
      ...spec,
      new_command: ['etcd', '--force-new-cluster'],
    }));
    expect(await refusals({ cluster: { ...withUtl, members }, utl: () => clean })).toContainEqual(
      expect.stringMatching(/^one-cluster: n3\b/),
    );
  });
  it.each([
    [{ is_forced: true }, 3],
    [{ problem: 'no unit' }, 3],
    [undefined, 3],
    [{ is_forced: false }, 0],
  ])('reads the unit of a stopped member: %j', async (stopped_start, count) => {
    const members = clusterFile(3).members.map(
      ({ old_command: _, new_command: __, ...spec }): MemberSpec => ({ ...spec, unit: 'kv' }),
    );
    const { command: _, environment: __, ...host } = seen('n1').host ?? {};
    const made = await refusals({
      cluster: { ...withUtl, driver: 'systemd', members },
      utl: () => clean,
      member: {
        host: {
          ...host,
          ...to36,
          is_running: false,
          ...(stopped_start === undefined ? {} : { stopped_start }),
        },
      },
    });
    expect(made.filter((one) => one.startsWith('one-cluster'))).toHaveLength(count);
  });
  it('starts members whose start was not read only if the operator accepts it, and keeps the flag', async () => {
    const members = clusterFile(3).members.map((spec) => ({ ...spec, new_command: ['/opt/start.sh'] }));
    const given = { cluster: { ...withUtl, members }, utl: () => clean };
    const refused = await planned(given);
    expect(missingConsents(refused)).toEqual(['one-cluster']);
    const made = await planned({ ...given, accept: ['one-cluster'] });
    if ('refused' in made) throw new Error(made.refused.map(({ message }) => message).join());
    expect(made.command).toContain('--accept one-cluster');
    expect(made.findings.filter(({ guard }) => guard === 'one-cluster').map(({ level }) => level)).toEqual(
      Array(3).fill('warn'),
    );
    expect(missingConsents(made)).toEqual([]);
  });
  it('does not accept a start that removes the other members', async () => {
    const members = clusterFile(3).members.map((spec) => ({
      ...spec,
      new_command: ['etcd', '--force-new-cluster'],
    }));
    const given = { cluster: { ...withUtl, members }, utl: () => clean, accept: ['one-cluster'] };
    expect(await refusals(given)).toContainEqual(expect.stringMatching(/^one-cluster: n3\b/));
    expect(missingConsents(await planned(given))).toEqual([]);
  });
  it('rewrites a configuration file that the new version rejects, after its copy and before the start', async () => {
    const members = clusterFile(3).members.map((spec) => ({ ...spec, config_file: `/etc/${spec.name}.yml` }));
    const config = { 'auto-compaction-retention': '24h' };
    const made = await planned({
      cluster: { ...withUtl, members },
      utl: () => clean,
      member: { host: { ...seen('n1').host, ...to36, is_running: false, config } },
    });
    const ids = (made as OperationPlan).steps.map(({ id }) => id);
    expect(ids.slice(3, 7)).toEqual(['n1.configure', 'n2.configure', 'n3.configure', 'verify-stopped']);
  });
  it('refuses v2 data before 3.6, with the member and the line of the program', async () => {
    const utl = (path: string): string =>
      path === '/data/n2' ? 'detected custom content in v2store /a' : clean;
    expect(await refusals({ cluster: withUtl, utl })).toEqual([
      'no-v2-data: n2 has v2 data, and 3.6 would not start with it: detected custom content in v2store /a',
    ]);
    expect(await refusals({ cluster: withUtl, utl: () => 'panic: what' })).toHaveLength(3);
  });
  it('refuses unknown v2 data, because no member can return to its old version; --accept continues', async () => {
    expect((await refusals({}))[0]).toEqual(naming('no-v2-data', 'directories'));
    expect(await refusals({ accept: ['no-v2-data'] })).toEqual([]);
  });
  it.each([
    [{ state: 'running', pid: 7 }, naming('n2', 'runs')],
    [{ state: 'starting', awaits: 'a job' }, naming('n2', 'runs')],
    [{ state: 'unknown', reason: 'no permission' }, naming('n2', 'no permission')],
  ] as const)('refuses a member that is not known to be stopped: %j', async (state, message) => {
    const found = await refusals({ cluster: withUtl, utl: () => clean, processes: [gone, state] });
    expect(found).toEqual([naming('member-runs', '--offline', message)]);
  });
  it('refuses a hold that is stored in the database', async () =>
    expect(await refusals({ cluster: withUtl, utl: () => clean, hold: 'audit' })).toEqual([
      naming('cluster-hold', 'a@b', 'now', 'audit', 'cluster', 'held'),
    ]));
  it('reports a hold that cannot be read as unknown, never as a pass', async () => {
    expect(await storedHold(inputOf({}))).toMatchObject({ hold_unread: expect.stringContaining('n1: ') });
    expect(await storedHold(inputOf({ cluster: { driver: 'ssh' } }))).toEqual({
      hold_unread: naming('n1', 'database', 'host'),
    });
  });
  it('stops at an interruption while it reads a database', async () => {
    const members = clusterFile(3).members.map((spec) => ({ ...spec, data_dir: `/data/${spec.name}` }));
    const key = Array.from({ length: 500 }, (_, i) => {
      const revision = Buffer.alloc(17);
      revision.writeBigUInt64BE(BigInt(i + 2));
      return { key: revision, value: Buffer.from([10, 1, 97]) };
    });
    const text = dbFile({ key, meta: [] });
    const machine = fakeHost();
    for (const { data_dir } of members)
      await machine.files.replace(`${data_dir}/member/snap/db`, new Uint8Array(text));
    const interrupt = new AbortController();
    let turns = 0;
    // Each look at the time costs a second.
    const host = {
      ...machine,
      elapsed: () => {
        machine.advance(1000);
        return machine.elapsed();
      },
      turn: async () => {
        turns += 1;
        if (turns === 3) interrupt.abort(new Error('interrupted'));
      },
    };
    const databases = { host, cluster: clusterFile(3, { members }) };
    await expect(storedHold({ ...databases, signal: interrupt.signal })).rejects.toThrow('interrupted');
    expect(turns).toBe(3);
    expect(await storedHold(databases)).toEqual({ hold: null });
  });
  it('refuses a hold that cannot be read until it is accepted; a stored hold is never accepted', async () => {
    const given = { cluster: withUtl, utl: () => clean };
    const accept = ['cluster-hold'];
    const unread = 'n1: its database is on another host';
    expect(await refusals({ ...given, unread })).toEqual([naming('cluster-hold', unread, 'cluster', 'held')]);
    const accepted = (await planned({ ...given, unread, accept })) as OperationPlan;
    expect(operationText(accepted)).toContain('(accepted)');
    expect(await refusals({ ...given, hold: 'audit', accept })).toHaveLength(1);
  });
  it('an interruption ends the reading of the databases, whose failures are findings otherwise', async () => {
    const { small } = await offlineWork();
    const input = { ...small, options: planOptions() };
    const seen = await observeStopped(input, '/state/run');
    expect(seen.hold_unread).toContain('n1: ');
    expect(seen.members.map(({ server_version }) => server_version)).toEqual(Array(3).fill('3.4.45'));
    const signal = AbortSignal.abort(new Error('interrupted'));
    await expect(observeStopped({ ...input, signal }, '/state/run')).rejects.toThrow('interrupted');
  });
  it('refuses members that ran different versions', async () => {
    const members = ['n1', 'n2', 'n3'].map((name) =>
      away(name, {
        server_version: name === 'n3' ? '3.4.0' : '3.5.33',
        host: { ...seen(name).host, ...to36, is_running: false },
      }),
    );
    const made = await offlinePlan(
      inputOf({ cluster: withUtl, utl: () => clean }),
      'op-1',
      observed(members, { hold: null }),
    );
    expect('refused' in made && made.refused[0]?.message).toBe('n3 ran 3.4.0, but the other members ran 3.5');
  });
});

describe('an upgrade of a stopped cluster that was interrupted', () => {
  const found = (...steps: readonly string[]): FoundOperation =>
    ({
      plan: { operation: 'upgrade-offline', command: 'opsctl x', values: { from: '3.5', to: '3.6' } },
      entries: steps.map((step) => ({ kind: 'begin', at: '', step })),
    }) as unknown as FoundOperation;
  const started = found('n1.copy-data', 'verify-stopped', 'start');
  const running = inputOf({ processes: [gone, gone, { state: 'running' }] });
  const responding = (version: string) =>
    observed([away('n1'), away('n2'), seen('n3', { server_version: version })]);
  const silent = observed([away('n1'), away('n2'), away('n3')]);
  it.each([
    ['a member of the new version runs', running, started, responding('3.6.14'), true],
    ['a started member does not respond yet', running, started, silent, true],
    ['every member is stopped', inputOf({}), started, silent, false],
    ['a member of the old version runs', running, started, responding('3.5.33'), false],
    ['no member was started by the upgrade', running, found('verify-stopped'), responding('3.6.14'), false],
  ])('continues only from its own start, with its own version: %s', async (_, input, left, state, expected) =>
    expect(await continuesOffline(input, left, state)).toBe(expected),
  );
  /** No member responds. */
  const noAccess = () => {
    const access = { store: () => new Proxy({}, { get: () => () => Promise.reject(new Error('away')) }) };
    return access as unknown as OfflineInput['access'];
  };
  it('refuses another target than that of the interrupted upgrade, and names the command that continues', async () => {
    const input = { ...running, access: noAccess() };
    expect(await offlineToContinue(input, started, undefined)).toBe(started.plan);
    expect(await offlineToContinue(input, started, '3.6')).toBe(started.plan);
    await expect(offlineToContinue(input, started, '3.7')).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'UNFINISHED_OPERATION', tryThis: ['opsctl x'] },
    });
  });
  it('refuses a member that was started while the question was open, without a journal', async () => {
    const input = { ...running, access: noAccess() };
    await expect(refuseStarted(input)).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'MEMBER_RUNS' },
    });
  });
  it('is refused immediately, because no election changes a stopped cluster', async () => {
    const { host, cluster, access, driver } = inputOf({});
    const begin = host.elapsed();
    const refusal = planNow(
      { host, state: '/state', cluster, access, driver },
      {
        operation: 'upgrade-offline',
        observe: async () => observed([away('n1')]),
        plan: async (observation) => ({
          refused: [{ guard: 'member-runs', level: 'fail', message: 'n1 runs' }],
          findings: [],
          observation,
        }),
      },
    );
    await expect(refusal).rejects.toMatchObject({ detail: { code: 'MEMBER_RUNS' } });
    expect(host.elapsed()).toBe(begin);
  });
});
