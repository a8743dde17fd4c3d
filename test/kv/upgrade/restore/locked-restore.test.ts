import { describe, expect, it } from 'vitest';
import { findRuns, openRun } from '../../../../src/kv/engine/journal.ts';
import { runLockedRestore } from '../../../../src/kv/upgrade/restore/execute.ts';
import { restorePlan } from '../../../../src/kv/upgrade/restore/plan.ts';
import type { Finished, RunOptions } from '../../../../src/platform/host.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';

const snapshot = {
  ...{ member: 'n2', path: '/s.db', size_bytes: 1, file_sha256: 'abc', trailer_sha256: '', revision: 5 },
  duration_ms: 0,
};
const LOCK = '/clusters/test/lock';
/**
 * Members on the new version. A fake shell builds their directories and records for each line whether the
 * lock is held.
 */
const scene = async (version = '3.4.45') => {
  const small = smallCluster('upgrade', { ctl_binary: '/bin/ctl' });
  for (const name of ['n1', 'n2', 'n3']) small.members(name).which = 'new';
  const members = small.cluster.members.map((spec) => ({ ...spec, peer_url: `http://${spec.name}:2380` }));
  const cluster = { ...small.cluster, members };
  const observation = await small.observation();
  const plan = restorePlan({ cluster, observation, snapshot, to: '3.4', run: 'r' });
  const locked: boolean[] = [];
  const done = { code: 0, signal: null, stdout: '', stderr: '', timedOut: false };
  const run = async (
    _: string,
    __: readonly string[],
    { input = '' }: RunOptions = {},
  ): Promise<Finished> => {
    locked.push(small.host.files.readNow(LOCK)?.includes('"run":"r"') === true);
    return { ...done, stdout: String(input).includes(' version') ? `etcdctl version: ${version}` : '' };
  };
  const host = { ...small.host, processes: { ...small.host.processes, run } };
  const [told, warned]: [string[], string[]] = [[], []];
  const log = { info: (text: string) => told.push(text), warn: (text: string) => warned.push(text) };
  const stop = new AbortController();
  const directories = { clusters: '/clusters', state: '/home' };
  const place = { host, directories, log, signal: stop.signal };
  const runIt = () => runLockedRestore(place, { ...small, cluster, plan });
  return { small, runIt, locked, told, warned };
};

describe('a restore of a cluster', () => {
  it('a restore holds the lock of this machine and that of the store, which end with it', async () => {
    const { small, runIt, locked, told, warned } = await scene();
    // The run was interrupted before it removed its own keys.
    for (const key of ['opsctl/canary/r', 'opsctl/probe/r/n2'])
      small.keys.set(key, { value: '1', lease: '', mod: 2, create: 2 });
    const { revision, kept } = await runIt();
    expect([revision > 0, kept.map(({ name }) => name)]).toEqual([true, ['n1', 'n2', 'n3']]);
    expect(new Set(locked)).toEqual(new Set([true]));
    expect([small.host.files.readNow(LOCK), [...small.keys.keys()], warned]).toEqual([undefined, [], []]);
    expect(told).toContain('n1: new data directory built');
    expect(small.host.files.readNow('/clusters/test/restore.jsonl')).toContain('"closed"');
  });
  it.each([
    [
      'held',
      [{ kind: 'closed', at: '2026-01-01T00:00:00.000Z', outcome: 'held', message: 'held before n1' }],
    ],
    ['crashed', []],
  ])('a restore ends the %s run of the cluster, and no finished run', async (_, more) => {
    const { small, runIt } = await scene();
    const path = '/clusters/test/20260101T000000Z-0001/journal.jsonl';
    const plan = await smallCluster().plan({});
    const opened = { kind: 'opened', at: '2026-01-01T00:00:00.000Z', run: 'r', plan };
    const entries = [{ ...opened, action: 'upgrade', owner: { host: 'h', pid: 1 } }, ...more];
    await small.host.files.makeDirectory('/clusters/test/20260101T000000Z-0001', 0o700);
    await small.host.files.replace(
      path,
      entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
      0o600,
    );
    await runIt();
    const [found] = await findRuns(small.host, '/clusters', 'test');
    expect(found?.entries.at(-1)).toMatchObject({ kind: 'closed', outcome: 'aborted' });
    expect(openRun(found === undefined ? [] : [found])).toBeUndefined();
    const ended = small.host.files.readNow(path);
    await runIt();
    expect(small.host.files.readNow(path)).toBe(ended);
  });
  it('a failed restore releases both locks', async () => {
    const { small, runIt } = await scene('3.5.1');
    await expect(runIt()).rejects.toMatchObject({ detail: { code: 'WRONG_CTL' } });
    expect([small.host.files.readNow(LOCK), [...small.keys.keys()]]).toEqual([undefined, []]);
  });
  it('a restore of an unresponsive store continues with the lock of this machine, and reports it', async () => {
    const { small, runIt, warned } = await scene();
    for (const name of ['n1', 'n2', 'n3']) small.end(name);
    await runIt();
    expect(warned).toEqual([
      naming('lock', 'cluster', '127.0.0.1:20003', 'connection refused', 'this machine'),
    ]);
    expect(small.host.files.readNow(LOCK)).toBeUndefined();
  });
});
