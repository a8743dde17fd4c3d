/** Each effect of a restore fails once: it rejects, hangs until Ctrl-C, or is the last effect of its process. */
import { expect, test } from 'vitest';
import { accessWith } from '../../../../src/kv/engine/access.ts';
import { readRestore, runLockedRestore } from '../../../../src/kv/upgrade/restore/execute.ts';
import { restorePlan } from '../../../../src/kv/upgrade/restore/plan.ts';
import type { Finished, Host, RunOptions } from '../../../../src/platform/host.ts';
import { theEndIsWhatWasAskedFor } from '../../../simulator/invariants.ts';
import { type Bed, type MakeBed, expectEachEffectMayFail } from '../../../support/failing-effects.ts';
import { type SmallCluster, smallCluster } from '../../../support/small-cluster.ts';
import { type Fault, expectInOrder } from '../../../support/trace.ts';
import { traceCluster } from '../../../support/traced-cluster.ts';

const STATE = '/clusters';
const NAMES = ['n1', 'n2', 'n3'];
const snapshot = {
  ...{ member: 'n2', path: '/s.db', size_bytes: 1, file_sha256: 'abc', trailer_sha256: '', revision: 5 },
  duration_ms: 0,
};
type Data = 'old' | 'restored';
type Disk = { data: Data; isBuilt: boolean; kept: Data[] };

/** The hosts of the members. `broken` contains each change of a directory that would lose data. */
const hostsOf = (small: SmallCluster) => {
  const disks = new Map(
    NAMES.map((name): [string, Disk] => [name, { data: 'old', isBuilt: false, kept: [] }]),
  );
  const broken: string[] = [];
  const swap = (name: string, disk: Disk): Partial<Finished> => {
    if (small.members(name).isUp) broken.push(`the directory of ${name} was swapped while it ran`);
    if (!disk.isBuilt) return { code: 1, stderr: 'no such directory' };
    disk.kept.push(disk.data);
    Object.assign(disk, { data: 'restored', isBuilt: false });
    return { stdout: `/data/${name}.before-restore-r` };
  };
  const run = async (
    _: string,
    __: readonly string[],
    { input = '' }: RunOptions = {},
  ): Promise<Finished> => {
    const script = String(input);
    const [name = ''] = /\bn[123]\b/.exec(script) ?? [];
    const disk = disks.get(name);
    const ended = { code: 0, signal: null, stdout: '', stderr: '', timedOut: false };
    if (script.includes('df -Pk')) return ended;
    if (script.includes('snapshot restore') && disk !== undefined) disk.isBuilt = true;
    else if (script.includes('.restoring" "$R"') && disk !== undefined)
      return { ...ended, ...swap(name, disk) };
    else if (script.includes(' version')) return { ...ended, stdout: 'etcdctl version: 3.4.45' };
    else if (disk !== undefined) return { ...ended, code: disk.isBuilt ? 0 : 1 };
    return ended;
  };
  return { disks, broken, run };
};

const makeScene = async (fault: Fault | undefined) => {
  const small = smallCluster('upgrade', { ctl_binary: '/bin/ctl' });
  for (const name of NAMES) small.members(name).which = 'new';
  const members = small.cluster.members.map((spec) => ({ ...spec, peer_url: `http://${spec.name}:2380` }));
  const cluster = { ...small.cluster, members };
  const plan = restorePlan({
    cluster,
    observation: await small.observation(),
    snapshot,
    to: '3.4',
    run: 'r',
  });
  const hosts = hostsOf(small);
  Object.assign(small.host, { processes: { ...small.host.processes, run: hosts.run } });
  const stop = small.driver.stop.bind(small.driver);
  const isReady = ({ data, isBuilt }: Disk): boolean => isBuilt || data === 'restored';
  Object.assign(small.driver, {
    stop: async (...given: Parameters<typeof stop>) => {
      if (![...hosts.disks.values()].every(isReady))
        hosts.broken.push(`${given[0].name} was stopped before every directory was built`);
      return stop(...given);
    },
  });
  const restoreWith = (
    traced: ReturnType<typeof traceCluster>,
    pid: number,
    signal = new AbortController().signal,
  ): Promise<unknown> => {
    const isAlive = (one: number): boolean => one === pid;
    const host: Host = { ...traced.host, pid, processes: { ...traced.host.processes, isAlive } };
    const log = { info: () => {}, warn: () => {} };
    const place = { host, directories: { clusters: STATE, state: '/home' }, log, signal };
    const access = accessWith(host, undefined, undefined);
    return runLockedRestore(place, { cluster, access, plan, driver: traced.driver(small.driver) });
  };
  return { small, hosts, restoreWith, traced: traceCluster(small, fault) };
};

/** Returns what is missing after a restore that reported success. */
const missing = async ({ small, hosts }: Awaited<ReturnType<typeof makeScene>>): Promise<string[]> => {
  const disks = [...hosts.disks.values()];
  const entries = await readRestore(small.host, STATE, 'test');
  const running = NAMES.map((name) => (small.members(name).isUp ? small.members(name).which : 'down'));
  return [
    ...theEndIsWhatWasAskedFor('the versions', running, ['old', 'old', 'old']),
    ...theEndIsWhatWasAskedFor(
      'the data',
      disks.map(({ data }) => data),
      ['restored', 'restored', 'restored'],
    ),
    ...theEndIsWhatWasAskedFor(
      'the kept directories with the data from before the restore',
      disks.map(({ kept }) => kept.filter((one) => one === 'old').length),
      [1, 1, 1],
    ),
    ...theEndIsWhatWasAskedFor('the last entry of the journal', entries.at(-1)?.kind, 'closed'),
    ...[...small.keys.keys()].map((key) => `the key ${key} is left`),
  ];
};
/** Restores with the fault, and repeats the command until it succeeds. */
const bed: MakeBed = async (fault): Promise<Bed> => {
  const scene = await makeScene(fault);
  const { small, hosts, restoreWith, traced } = scene;
  return {
    start: (signal) => ({ traced, result: restoreWith(traced, small.host.pid, signal) }),
    check: async (ended) => {
      const isDone = ended.kind === 'ended';
      const early = isDone ? await missing(scene) : [];
      for (const [key, { lease }] of small.keys) if (lease !== '') small.keys.delete(key);
      const ends: string[] = [];
      let isOver = isDone;
      for (let pid = 5000; pid < 5004 && !isOver; pid += 1)
        isOver = await restoreWith(traceCluster(small), pid).then(
          () => true,
          (error: unknown) => ends.push(String(error)) < 0,
        );
      return [
        ...early.map((one) => `after success: ${one}`),
        ...(isOver ? await missing(scene) : [`no repetition succeeded: ${ends.join(' | ')}`]),
        ...hosts.broken,
      ];
    },
  };
};

test('each effect of a restore may fail: no data is lost, and a repeated restore completes it', async () => {
  await expectEachEffectMayFail(bed, 20);
});
test('a restore: every build, the line before the stops, every stop, every swap, the starts, and the end after the removed keys', async () => {
  const { hosts, small, restoreWith, traced } = await makeScene(undefined);
  small.keys.set('opsctl/canary/r', { value: '1', lease: '', mod: 2, create: 2 });
  await restoreWith(traced, small.host.pid);
  expect(hosts.broken).toEqual([]);
  const sync = 'sync restore.jsonl';
  expectInOrder(
    traced.entries,
    ...NAMES.flatMap((name) => [`write restore.jsonl: built ${name}`, sync]),
    ...['write restore.jsonl: stopping', sync],
    ...NAMES.flatMap((name) => [`driver stop ${name}`, `driver stop ${name} done`]),
    ...NAMES.flatMap((name) => [`write restore.jsonl: swapped ${name}`, sync]),
    ...['write restore.jsonl: starting', sync],
    ...NAMES.flatMap((name) => [`driver start ${name}`, `driver start ${name} done`]),
    ...Array<string>(4).fill('POST n1 /v3/kv/deleterange done'),
    ...['write restore.jsonl: closed', sync],
  );
});
