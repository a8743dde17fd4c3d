import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { type HttpRequest, NetworkError } from '../../../../src/platform/host.ts';
import { takeSnapshot } from '../../../../src/kv/upgrade/execute/snapshot.ts';
import type { Step } from '../../../../src/kv/engine/model.ts';
import { snapshotFile, trailer } from '../../../../src/etcd-sim/disk/db-file.ts';
import { Machine } from '../../../../src/etcd-sim/state/machine.ts';
import { fakeHost, type FakeHost, type ScriptedReply } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { covers } from '../../../support/covers.ts';
import { expectInOrder, traceHost } from '../../../support/trace.ts';
import { naming } from '../../../support/facts.ts';

const page = Buffer.alloc(512, 7);
const snapshot = Buffer.concat([page, createHash('sha256').update(page).digest()]).toString('base64');
const status = {
  header: { member_id: '1002', cluster_id: '77', revision: '10', raft_term: '2' },
  raftIndex: '100',
  raftTerm: '2',
  dbSize: '512',
};
const silent = (): never => {
  throw new NetworkError('TIMEOUT', 'did not answer', true);
};
const step = { id: 'n2.snapshot', kind: 'snapshot', member: 'n2', title: '', why: '', commands: [] } as Step;

/** A member whose snapshot stream and status return these responses in order. */
const member = (streams: (() => ScriptedReply)[], statuses: (() => ScriptedReply)[] = []) => {
  const asked: HttpRequest[] = [];
  const reply = (request: HttpRequest): ScriptedReply => {
    if (request.url.endsWith('/version')) return { body: { etcdserver: '3.3.25', etcdcluster: '3.3.0' } };
    if (request.transport === 'http2') return { status: 404 };
    if (request.url.endsWith('/maintenance/status'))
      return (statuses.shift() ?? (() => ({ body: status })))();
    asked.push(request);
    return (streams.shift() ?? silent)();
  };
  return { host: fakeHost({ reply }), asked };
};
const whole = (): ScriptedReply => ({ body: { result: { blob: snapshot } } });

describe('a snapshot of a member that is cut off on its way', () => {
  it('an interrupted snapshot is requested again, with a message', async () => {
    const { host, asked } = member([silent, whole]);
    const run = runOn(host);
    expect(await takeSnapshot(run, step)).toMatchObject({ revision: 10, size_bytes: 544 });
    expect(asked).toHaveLength(2);
    expect(run.told.map((event) => (event.event === 'note' ? event.text : event.event))).toEqual([
      naming('snapshot', 'n2', '127.0.0.1:20002', 'interrupted', 'context', 'deadline'),
      'snapshot-saved',
    ]);
    expect(run.written.map(({ kind }) => kind)).toEqual(['snapshot']);
  });

  it('a snapshot is not started without enough space; unknown space is tried', async () => {
    const withRoom = (freeBytes: () => Promise<number>) => {
      const { host, asked } = member([whole]);
      Object.assign(host.files, { freeBytes });
      return { run: runOn(host), asked };
    };
    const little = withRoom(async () => 100);
    await expect(takeSnapshot(little.run, step)).rejects.toMatchObject({
      message: expect.stringMatching(/^n2: not enough space for its snapshot \S+\.db: .* free, .* required$/),
      detail: { code: 'DISK' },
    });
    expect(little.asked).toEqual([]);
    const unknown = withRoom(() => Promise.reject(new Error('statfs')));
    expect(await takeSnapshot(unknown.run, step)).toMatchObject({ revision: 10 });
  });

  it('twice: the run stops and names the member, and no file stays', async () => {
    const { host, asked } = member([silent, silent, whole]);
    const run = runOn(host);
    await expect(takeSnapshot(run, step)).rejects.toMatchObject({
      category: 'stopped',
      message: naming('n2', 'snapshot', '127.0.0.1:20002', 'context', 'deadline', 'response'),
      detail: { code: 'DEADLINE_EXCEEDED' },
    });
    expect(asked).toHaveLength(2);
    expect([run.written, Object.keys(host.files.all())]).toEqual([[], []]);
  });

  it('an interrupted snapshot of an unresponsive member is not awaited', async () => {
    const { host, asked } = member([silent], [() => ({ body: status }), silent]);
    await expect(takeSnapshot(runOn(host), step)).rejects.toMatchObject({
      message: expect.stringMatching(/^n2: cannot save its snapshot/),
    });
    expect(asked).toHaveLength(1);
  });

  it('an interrupted snapshot is not repeated if the operator wants to stop', async () => {
    const { host, asked } = member([silent, whole]);
    await expect(takeSnapshot(runOn(host, { signal: AbortSignal.abort() }), step)).rejects.toMatchObject({
      category: 'stopped',
    });
    expect(asked).toHaveLength(1);
  });

  it.each([
    [undefined, 8000],
    [3, 3000],
  ])('with snapshot_seconds %j a silent stream is aborted after %i ms', async (snapshot_seconds, ms) => {
    const { host, asked } = member([whole]);
    const cluster = {
      ...clusterFile(),
      ...(snapshot_seconds === undefined ? {} : { timeouts: { snapshot_seconds } }),
    };
    await takeSnapshot(runOn(host, { cluster }), step);
    expect(asked.map(({ timeoutMs }) => timeoutMs)).toEqual([ms]);
  });
});

it('a snapshot that the member rejects is not requested twice', async () => {
  const { host, asked } = member([
    () => ({ status: 400, body: { error: 'etcdserver: permission denied', code: 7 } }),
    whole,
  ]);
  await expect(takeSnapshot(runOn(host), step)).rejects.toThrow('permission denied');
  expect(asked).toHaveLength(1);
});

describe('leftovers of a killed snapshot', () => {
  it('only the leftovers are removed before the next snapshot', covers('defect/U-58'), async () => {
    const { host } = member([whole]);
    const run = runOn(host);
    const directory = `${run.directory}/snapshots`;
    const [left, others] = [
      [`.test-n2-20260101T000000Z-1.db.77.0a1b2c3d.tmp`],
      ['.test-n1-20260101T000000Z-1.db.77.0a1b2c3d.tmp', '.other.tmp', 'test-n2-20250101T000000Z-1.db'],
    ];
    for (const name of [...left, ...others]) await host.files.replace(`${directory}/${name}`, 'x', 0o600);
    const traced = traceHost(host);
    await takeSnapshot({ ...run, host: traced.host }, step);
    // The disk may be too small for the old and the new file.
    const saved = traced.entries.find((entry) => entry.startsWith('replaceStream ')) ?? 'no file';
    expectInOrder(traced.entries, `remove ${left[0]} done`, saved);
    const names = await host.files.list(directory);
    for (const name of left) expect(names).not.toContain(name);
    for (const name of others) expect(names).toContain(name);
  });
});

describe('space for a snapshot', () => {
  const taken = async (freeBytes: number) => {
    const { host } = member([whole]);
    Object.assign(host.files, { freeBytes: async () => freeBytes });
    return takeSnapshot(runOn(host), step).then(
      () => 'taken',
      (error: { detail: { code: string } }) => error.detail.code,
    );
  };
  it('a snapshot needs the size of the database', async () => {
    expect([await taken(512), await taken(511)]).toEqual(['taken', 'DISK']);
  });
});

describe('a snapshot that cannot be written', () => {
  const failing = async (error: Error) => {
    const { host, asked } = member([whole, whole]);
    host.files.makeDirectory = () => Promise.reject(error);
    const run = runOn(host);
    const thrown = await takeSnapshot(run, step).catch((one: unknown) => one);
    return { thrown, asked, written: run.written };
  };
  it('names the member, and is not tried again', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const { thrown, asked, written } = await failing(full);
    expect(thrown).toMatchObject({
      ...{
        category: 'stopped',
        message: 'n2: cannot write its snapshot: ENOSPC: no space left on device',
      },
      detail: { code: 'DISK', tryThis: [expect.stringContaining('snapshot_dir')] },
    });
    expect([asked, written]).toEqual([[], []]);
  });
  it('an error that does not concern the disk is reported as it is', async () => {
    const odd = new Error('odd');
    expect((await failing(odd)).thrown).toBe(odd);
    const known = new AppError('config', 'known', { code: 'X' });
    expect((await failing(known)).thrown).toBe(known);
  });
});

it('a snapshot is reported and recorded with its duration', async () => {
  const { host } = member([
    () => {
      host.advance(250);
      return whole();
    },
  ]);
  host.advance(90_000);
  const run = runOn(host);
  const detail = await takeSnapshot(run, step);
  const path = '/state/run/snapshots/test-n2-run.db';
  expect(detail).toEqual({ path, revision: 10, size_bytes: 544 });
  expect(run.written).toMatchObject([
    { kind: 'snapshot', snapshot: { member: 'n2', path, revision: 10, raft_index: 100, duration_ms: 250 } },
  ]);
  expect(run.told).toMatchObject([{ event: 'snapshot-saved', snapshot: { duration_ms: 250 } }]);
});

describe('a snapshot that goes to another place', () => {
  const machine = new Machine(1e9);
  for (let i = 0; i < 12; i += 1) machine.apply(i + 1, `${i}`, { op: 'put', key: `k${i}`, value: 'dg==' });
  const pages = snapshotFile(machine);
  const stream = (): ScriptedReply => ({
    body: { result: { blob: Buffer.concat([pages, trailer(pages)]).toString('base64') } },
  });
  const stored = async (revision: string, change: (host: FakeHost) => void = () => {}) => {
    const body = { ...status, header: { ...status.header, revision } };
    const { host } = member([stream], [() => ({ body })]);
    change(host);
    const run = runOn(host, { cluster: { ...clusterFile(), snapshot_url: '/elsewhere' } });
    const taken = await takeSnapshot(run, step).catch((error: unknown) => error);
    const names = Object.keys(host.files.all());
    return { taken, run, names };
  };
  it('leaves no copy on this machine, and is known by where it is', async () => {
    const { taken, run, names } = await stored('10');
    const place = names.find((name) => name.startsWith('/elsewhere/') && name.endsWith('.db'));
    expect(taken).toMatchObject({ path: place, revision: 10 });
    expect(run.written).toMatchObject([{ kind: 'snapshot', snapshot: { path: place } }]);
    expect(names.filter((name) => name.startsWith('/state'))).toEqual([]);
  });
  it('a snapshot that the destination rejects reports the reason, and that a resume retries', async () => {
    const { taken, run } = await stored('99');
    expect(taken).toMatchObject({
      ...{
        category: 'stopped',
        message: expect.stringMatching(/^n2: cannot store its snapshot: .* 99 /),
      },
      detail: { code: 'SNAPSHOT_OLD', tryThis: [...Array(2).fill(expect.anything()), 'opsctl kv resume'] },
    });
    expect(run.written).toEqual([]);
  });
  it('a snapshot that fails on this machine reports that reason', async () => {
    const odd = new Error('odd');
    const { taken } = await stored('10', (host) => {
      const { remove } = host.files;
      host.files.remove = (path) => (path.startsWith('/state') ? Promise.reject(odd) : remove(path));
    });
    expect(taken).toBe(odd);
  });
});
