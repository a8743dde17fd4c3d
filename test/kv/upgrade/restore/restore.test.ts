import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { snapshotFile, trailer } from '../../../../src/etcd-sim/disk/db-file.ts';
import { Machine } from '../../../../src/etcd-sim/state/machine.ts';
import {
  openRestore,
  readRestore,
  restore,
  type RestoreEntry,
  restoreLine,
} from '../../../../src/kv/upgrade/restore/execute.ts';
import {
  restorePlan,
  type RestorePlan,
  restoreSource,
  restoreText,
} from '../../../../src/kv/upgrade/restore/plan.ts';
import type { Shell } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { observed, seen } from '../../../support/observations.ts';
import { STATE, conducted, smallCluster } from '../../../support/small-cluster.ts';
import { naming } from '../../../support/facts.ts';

const snapshot = {
  ...{ member: 'n2', path: '/s.db', size_bytes: 1, file_sha256: 'abc', trailer_sha256: '', revision: 5 },
  duration_ms: 0,
};
const finished = (patch = {}) => ({
  ...{ code: 0, signal: null, stdout: '', stderr: '', timedOut: false },
  ...patch,
});
/** Three members on the new version, with shells that record their commands and the revisions of each build. */
const scene = async (kept = '') => {
  const small = smallCluster('upgrade', { ctl_binary: '/bin/ctl' });
  for (const name of ['n1', 'n2', 'n3']) small.members(name).which = 'new';
  const members = small.cluster.members.map((spec) => ({ ...spec, peer_url: `http://${spec.name}:2380` }));
  const cluster = { ...small.cluster, members };
  const observation = await small.observation();
  const planWith = (bump?: number): RestorePlan =>
    restorePlan({ cluster, observation, snapshot, to: '3.4', run: 'r', bump });
  const plan = planWith();
  const bumps: string[] = [];
  const { done } = small;
  let [isBuilt, isBroken, room] = [true, false, ''];
  const shellFor = ({ name }: { readonly name: string }): Shell => ({
    where: 'here',
    display: (command) => command,
    send: async (path) => ({ path, remove: async () => {} }),
    run: async (given) => {
      const script = String(given);
      if (script.includes(' version')) return finished({ stdout: 'etcdctl version: 3.4.45' });
      if (script.includes('df -Pk')) return finished({ stdout: room });
      if (script.startsWith('[ -d ')) return finished({ code: isBuilt ? 0 : 1 });
      const isSwap = script.startsWith('set -e');
      done.push(`${isSwap ? 'swap' : 'build'} ${name}`);
      if (!isSwap) bumps.push(`${name} ${/--bump-revision\W+(\d+)/.exec(script)?.[1] ?? 'none'}`);
      if (isBroken) return finished({ code: 1, stderr: 'first\nno room' });
      return finished({ stdout: isSwap ? `/data/${name}.kept${kept}` : '' });
    },
  });
  const [told, warned]: [string[], string[]] = [[], []];
  const stop = new AbortController();
  const run = async (patch: Partial<Parameters<typeof restore>[0]> = {}) => {
    const progress = await openRestore(small.host, STATE, patch.plan ?? plan);
    const parts = { ...small, cluster, plan, progress, shellFor, directory: `${STATE}/test/r` };
    const says = { log: (text: string) => told.push(text), warn: (text: string) => warned.push(text) };
    return restore({ ...parts, signal: stop.signal, ...says, ...patch });
  };
  const journal = async (): Promise<string[]> =>
    (await readRestore(small.host, STATE, 'test')).map((entry) =>
      'member' in entry ? `${entry.kind} ${entry.member}` : entry.kind,
    );
  const set = (patch: { isBuilt?: boolean; isBroken?: boolean; room?: string }): void => {
    room = patch.room ?? room;
    isBuilt = patch.isBuilt ?? isBuilt;
    isBroken = patch.isBroken ?? isBroken;
  };
  return { small, planWith, bumps, run, told, warned, stop, journal, set, done };
};
const all = (what: string): string[] => ['n1', 'n2', 'n3'].map((name) => `${what} ${name}`);

describe('a restore', () => {
  it('a restore makes no changes if the record of a placement is damaged', async () => {
    const { run, done, small } = await scene();
    await small.host.files.replace(`${STATE}/test/placements/n3.json`, '[]');
    await expect(run()).rejects.toThrow('n3.json is damaged');
    expect(done).toEqual([]);
  });
  it('builds every directory before it stops the first member, and starts all on their old version', async () => {
    const { run, done, told, journal, small } = await scene();
    small.keys.set('opsctl/upgrade-progress', { value: '{}', lease: '', mod: 1, create: 1 });
    const lock = JSON.stringify({ run: 'r', owner: { host: 'h', pid: 1 }, since: '' });
    small.keys.set('opsctl/upgrade-lock', { value: lock, lease: '', mod: 1, create: 1 });
    const restored = await run();
    expect(done).toEqual([
      ...[...all('build'), ...all('stop'), ...all('swap')],
      ...['n1', 'n2', 'n3'].flatMap((name) => [`activate ${name} old`, `start ${name} old`]),
    ]);
    expect(restored.kept[1]).toEqual({ name: 'n2', kept_data: '/data/n2.kept' });
    expect(restored.revision).toBe(10);
    // The snapshot contains the keys that the run wrote for itself.
    expect([...small.keys.keys()]).toEqual([]);
    expect(told).toEqual([
      ...all('').map((name) => `${name.trim()}: new data directory built`),
      ...all('').map((name) => `${name.trim()}: stopped`),
    ]);
    expect(await journal()).toEqual([
      ...['opened', ...all('built'), 'stopping', ...all('swapped'), 'starting', 'closed'],
    ]);
  });

  it.each([
    ['a disk with space for all of its directories', '7 300 100 /data\n', true],
    ['a disk with space for two of three directories', '7 299 100 /data\n', false],
    [
      'a disk with space for one of two directories of each member',
      '7 599 100 /data\n7 599 100 /log\n',
      false,
    ],
    ['a disk whose free space was not read', '7  100 /data\n', true],
  ])('every disk has space for all builds before the first: %s', async (_, room, isEnough) => {
    const { run, done, set, planWith, small } = await scene();
    set({ room });
    const ended = run().then(
      () => undefined,
      (error: AppError) => [error.category, error.detail.code],
    );
    expect(await ended).toEqual(isEnough ? undefined : ['unsafe', 'RESTORE_FAILED']);
    if (isEnough) return;
    expect(done).toEqual([]);
    await run({ plan: { ...planWith(), accepted: ['disk-space'] } });
    expect(done.slice(0, 4)).toEqual([...all('build'), 'stop n1']);
    const [opened] = await readRestore(small.host, STATE, 'test');
    expect(opened).toMatchObject({ kind: 'opened', accepted: ['disk-space'] });
  });
  it('a Ctrl-C before the first stop ends a restore with every member running', async () => {
    const { run, done, stop, warned, journal } = await scene();
    const log = (text: string): void => {
      if (text.startsWith('n2: new data')) stop.abort();
    };
    await expect(run({ log })).rejects.toMatchObject({
      category: 'stopped',
      message: naming('before any member was stopped'),
      detail: { tryThis: [naming('kv restore --snapshot /s.db --to 3.4 --bump-revision 0')] },
    });
    expect([done, warned]).toEqual([['build n1', 'build n2'], []]);
    expect(await journal()).toEqual(['opened', 'built n1', 'built n2']);
  });
  it('a restore that exceeds --max-time names the second Ctrl-C', async () => {
    const { run, stop, warned } = await scene();
    const log = (text: string): void => {
      const reason = new AppError('network', 'not done', { code: 'MAX_TIME' });
      if (text === 'n2: stopped') stop.abort(reason);
    };
    await run({ log });
    expect(warned).toEqual([naming('continues to its end after --max-time', 'A second Ctrl-C exits')]);
  });
  it('a Ctrl-C after the first stop finishes a restore and names the command for another one', async () => {
    const { run, stop, warned, journal } = await scene();
    const log = (text: string): void => {
      if (text === 'n2: stopped') stop.abort();
    };
    expect((await run({ log })).kept).toHaveLength(3);
    expect(warned).toEqual([
      naming(
        'continues to its end',
        'Another Ctrl-C exits',
        'kv restore --snapshot /s.db --to 3.4 --bump-revision 0',
      ),
    ]);
    expect((await journal()).at(-1)).toBe('closed');
  });
  it('a Ctrl-C after a restore has ended does not print a message', async () => {
    const { run, stop, warned } = await scene();
    await run();
    stop.abort();
    expect(warned).toEqual([]);
  });
  it('the commands of a file without a checksum accept it by its name', async () => {
    const { run, stop, warned, planWith, small } = await scene();
    const plan = planWith();
    const unverified = { ...plan, snapshot: { ...plan.snapshot, has_no_checksum: true as const } };
    const named = naming('--snapshot /s.db', '--skip-hash-check --accept-unverified s.db');
    const log = (text: string): void => {
      if (text === 'n2: stopped') stop.abort();
    };
    await run({ log, plan: unverified });
    expect(warned).toEqual([named]);
    expect(restoreLine((await readRestore(small.host, STATE, 'test')).slice(0, -1))?.text).toEqual(named);
  });
  it('an accepted check is in the journal and in the commands that continue', async () => {
    const { run, stop, warned, planWith, small } = await scene();
    const accepted = { ...planWith(), accepted: ['one-cluster'], unread_starts: ['n1 (no unit)'] };
    const log = (text: string): void => {
      if (text === 'n2: stopped') stop.abort();
    };
    await run({ log, plan: accepted });
    const entries = await readRestore(small.host, STATE, 'test');
    expect(entries[0]).toMatchObject({ accepted: ['one-cluster'], unread_starts: ['n1 (no unit)'] });
    expect(warned).toEqual([naming('--accept one-cluster')]);
    expect(restoreLine(entries.slice(0, -1))?.text).toEqual(naming('--accept one-cluster'));
  });
  it('a failed swap names the command with every option of the restore', async () => {
    const { run, set, planWith } = await scene();
    const plan = planWith(7);
    const unverified = { ...plan, snapshot: { ...plan.snapshot, has_no_checksum: true as const } };
    const log = (text: string): void => {
      if (text === 'n3: stopped') set({ isBroken: true });
    };
    await expect(run({ log, plan: unverified })).rejects.toMatchObject({
      detail: {
        code: 'RESTORE_STOPPED',
        tryThis: [
          naming('--snapshot /s.db', '--skip-hash-check --accept-unverified s.db', '--bump-revision 7'),
        ],
      },
    });
  });
  it('an interrupted restore with other revisions builds every member again', async () => {
    const { run, stop, planWith, bumps } = await scene();
    const log = (text: string): void => {
      if (text.startsWith('n1: new data')) stop.abort();
    };
    await expect(run({ log, plan: planWith(7) })).rejects.toMatchObject({
      detail: { tryThis: [naming('--bump-revision 7')] },
    });
    const { signal } = new AbortController();
    await run({ signal });
    await run({ signal, plan: planWith(7) });
    expect(bumps).toEqual([...['n1 7', 'n1 none', 'n2 none', 'n3 none'], ...['n1 7', 'n2 7', 'n3 7']]);
  });
  it('a restore after the first stop rejects another --bump-revision', async () => {
    const { run, planWith, small, done } = await scene();
    small.members('n2').ignoresStop = true;
    await expect(run({ plan: planWith(7) })).rejects.toMatchObject({ detail: { code: 'STOP_IGNORED' } });
    small.members('n2').ignoresStop = false;
    done.length = 0;
    await expect(run()).rejects.toMatchObject({
      message: naming('no changes', '--bump-revision 7', '0'),
      detail: {
        code: 'OTHER_BUMP_REVISION',
        tryThis: [naming('kv restore --snapshot /s.db --to 3.4 --bump-revision 7')],
      },
    });
    expect(done).toEqual([]);
    expect((await run({ plan: planWith(7) })).kept).toHaveLength(3);
  });
  it('a Ctrl-C does not end a restore whose earlier process stopped members', async () => {
    const { run, stop, small, journal } = await scene();
    small.members('n2').ignoresStop = true;
    await expect(run()).rejects.toThrow();
    small.members('n2').ignoresStop = false;
    stop.abort();
    await run();
    expect((await journal()).at(-1)).toBe('closed');
  });
  it('a restore that cannot build stops no member', async () => {
    const { run, set, done, small } = await scene();
    set({ isBroken: true });
    await expect(run()).rejects.toMatchObject({
      category: 'unsafe',
      message: naming('member', 'build', 'n1', 'stopped', 'directory'),
    });
    expect(done).toEqual(['build n1']);
    expect(small.members('n1').isUp).toBe(true);
  });

  it.each([
    ['a refusal', new AppError('unsafe', 'no changes were made: no start', { code: 'X' }), 'no start'],
    ['a setting', new AppError('config', 'no start', { code: 'X' }), 'no start'],
    ['a network error', new AppError('network', 'no start', { code: 'X' }), 'no start'],
    ['an unknown error', new Error('no start'), 'no start'],
  ])('%s after the stop is a stop, and the other members are started', async (_, error, message) => {
    const { run, small, done } = await scene();
    const start: typeof small.driver.start = async (member, which) => {
      if (member.name === 'n1') throw error;
      return small.driver.start(member, which);
    };
    await expect(run({ driver: { ...small.driver, start } })).rejects.toMatchObject({
      category: 'stopped',
      message,
      detail: { tryThis: [naming('kv restore --snapshot /s.db')] },
    });
    expect(done.filter((what) => what.startsWith('start'))).toEqual(['start n2 old', 'start n3 old']);
  });
  it('a build that fails after another directory was built is a stop', async () => {
    const { run, set, small } = await scene();
    const log = (text: string): void => {
      if (text.startsWith('n1: new data')) set({ isBroken: true });
    };
    await expect(run({ log })).rejects.toMatchObject({
      category: 'stopped',
      detail: { code: 'RESTORE_FAILED' },
    });
    expect(small.members('n1').isUp).toBe(true);
  });
  it('a killed restore builds and swaps no directory twice', async () => {
    const { run, set, done, small } = await scene();
    small.members('n2').ignoresStop = true;
    await expect(run()).rejects.toMatchObject({ detail: { code: 'STOP_IGNORED' } });
    small.members('n2').ignoresStop = false;
    done.length = 0;
    // The directory of n1 was moved to its final path just before the crash, so no temporary directory
    // exists.
    const { shellFor } = { shellFor: undefined };
    void shellFor;
    await run();
    expect(done.filter((what) => what.startsWith('build'))).toEqual([]);
    expect(done.filter((what) => what.startsWith('swap'))).toEqual(all('swap'));
    set({});
  });

  it('a restore treats a directory that is missing after the stop as swapped', async () => {
    const { run, set, done, small } = await scene();
    small.members('n3').ignoresStop = true;
    await expect(run()).rejects.toThrow();
    small.members('n3').ignoresStop = false;
    done.length = 0;
    set({ isBuilt: false });
    const { kept } = await run();
    expect(done.filter((what) => /^(?:build|swap)/.test(what))).toEqual([]);
    expect(kept[0]?.kept_data).toBe('/data/n1.before-restore-r');
  });

  it('a restore with unhealthy members names them, and starts again the next time', async () => {
    const { run, done, small, journal } = await scene();
    small.members('n3').sick = 'old';
    await expect(run()).rejects.toMatchObject({
      message: naming('n3', '3.4', 2),
      detail: { code: 'RESTORE_UNHEALTHY' },
    });
    expect((await journal()).at(-1)).toBe('failed');
    small.members('n3').sick = undefined;
    done.length = 0;
    await run();
    expect(done.slice(0, 3)).toEqual(all('build'));
  });

  it('waits for the version, not only for health', async () => {
    const { run, small } = await scene();
    const start = async ({ name }: { readonly name: string }) => {
      Object.assign(small.members(name), { isUp: true, which: 'new' });
      return {};
    };
    await expect(run({ driver: { ...small.driver, start } })).rejects.toThrow('n1, n2, n3');
  });
});

describe('status of a restore', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const opened: RestoreEntry = {
    ...{ kind: 'opened', at, to: '3.4', snapshot: '/s.db', file_sha256: 'abc', members: ['n1', 'n2'] },
    bump_revision: 0,
  };
  /** The entry of an earlier version. */
  const { bump_revision: _, ...openedBefore } = opened;
  const textOf = (...entries: RestoreEntry[]): unknown => restoreLine(entries)?.text.split('\n')[0];

  it('the status is one line, with the command to continue', () => {
    expect(restoreLine([])).toBeUndefined();
    expect(restoreLine([{ kind: 'stopping', at }])).toBeUndefined();
    expect(textOf(opened)).toEqual(naming('3.4', 'interrupted', 'member', 'restore', 'stopped'));
    expect(
      textOf(opened, { kind: 'stopping', at }, { kind: 'swapped', at, member: 'n1', kept: '/k' }),
    ).toEqual(naming('3.4', 'interrupted', '1', '2', 'swapped', 'restore', 'stopped', 'directories'));
    // Members may run until the first swap, and again from the first start on.
    expect(textOf(opened, { kind: 'stopping', at })).toEqual(naming('interrupted while it stopped'));
    expect(
      textOf(
        opened,
        { kind: 'stopping', at },
        { kind: 'swapped', at, member: 'n1', kept: '/k' },
        { kind: 'starting', at },
      ),
    ).toEqual(naming('interrupted while it started'));
    expect(textOf(opened, { kind: 'failed', at, reason: 'sick' })).toEqual(
      naming('3.4', 'sick', 'restore', 'failed'),
    );
    expect(restoreLine([opened, { kind: 'closed', at, revision: 9 }])).toEqual({
      ...{ outcome: 'restored', at, text: naming('restored', '3.4', '9', '/s.db', 'revision') },
    });
    expect(restoreLine([opened])?.outcome).toBe('interrupted');
    const command = 'kv restore --snapshot /s.db --to 3.4';
    for (const last of [[], [{ kind: 'failed', at, reason: 'sick' } as const]]) {
      expect(restoreLine([opened, ...last])?.text).toMatch(`${command} --bump-revision 0`);
      expect(restoreLine([{ ...opened, bump_revision: 7 }, ...last])?.text).toMatch('--bump-revision 7');
      expect(restoreLine([openedBefore, ...last])?.text).not.toMatch('--bump-revision');
    }
  });

  const plan = { cluster: 'test', to: '3.4', snapshot, members: [{ name: 'n1' }] } as never;
  it('a restore that has stopped members continues with the journal of an earlier version', async () => {
    const text = [openedBefore, { kind: 'built', at, member: 'n1' }, { kind: 'stopping', at }]
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join('');
    const host = fakeHost({ files: { '/state/test/restore.jsonl': text } });
    const progress = await openRestore(host, '/state', { ...(plan as RestorePlan), bump_revision: 7 });
    expect([progress.wasStopping, progress.isBuilt('n1')]).toEqual([true, true]);
  });
  it.each<[string, RestoreEntry[], boolean]>([
    ['the same snapshot', [opened, { kind: 'built', at, member: 'n1' }], true],
    [
      'one that has ended',
      [opened, { kind: 'built', at, member: 'n1' }, { kind: 'closed', at, revision: 1 }],
      false,
    ],
    [
      'one that failed',
      [opened, { kind: 'built', at, member: 'n1' }, { kind: 'failed', at, reason: '' }],
      false,
    ],
    [
      'another snapshot',
      [{ ...opened, file_sha256: 'x' } as RestoreEntry, { kind: 'built', at, member: 'n1' }],
      false,
    ],
    [
      'another version',
      [{ ...opened, to: '3.3' } as RestoreEntry, { kind: 'built', at, member: 'n1' }],
      false,
    ],
    [
      'other revisions',
      [{ ...opened, bump_revision: 7 } as RestoreEntry, { kind: 'built', at, member: 'n1' }],
      false,
    ],
    ['an earlier version of opsctl', [openedBefore, { kind: 'built', at, member: 'n1' }], false],
  ])('a restore goes on with one before of %s: %#', async (_, before, goesOn) => {
    const text = before.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    const host = fakeHost({ files: { '/state/test/restore.jsonl': text } });
    const progress = await openRestore(host, '/state', plan);
    expect([progress.isBuilt('n1'), progress.isBuilt('n2'), progress.wasStopping]).toEqual([
      goesOn,
      false,
      false,
    ]);
    progress.write({ kind: 'swapped', member: 'n1', kept: '/k' });
    progress.write({ kind: 'swapped', member: 'n1', kept: '/k2' });
    expect([progress.keptOf('n1'), progress.keptOf('n2')]).toEqual(['/k2', undefined]);
    const kinds = (await readRestore(host, '/state', 'test')).map(({ kind }) => kind);
    expect(kinds).toEqual([...(goesOn ? ['opened', 'built'] : ['opened']), 'swapped', 'swapped']);
    expect(host.files.mode('/state/test/restore.jsonl')).toBe(0o600);
  });
});

describe('the plan of a restore', () => {
  const { cluster } = smallCluster('upgrade', { ctl_binary: '/bin/ctl' });
  const input = { cluster, snapshot, to: '3.4', run: 'r' } as const;
  const listed = observed().listed.map((one) => ({ ...one, peer_urls: [`http://${one.name}:2380`] }));
  it('the plan lists the losses', () => {
    const plan = restorePlan({ ...input, observation: observed([seen('n1', { revision: 12 })], { listed }) });
    expect([plan.revision_now, plan.lost_revisions]).toEqual([12, 7]);
    expect(restoreText(plan)).toEqual(naming('LOST', '7', 'snapshot'));
    const older = restorePlan({ ...input, observation: observed([seen('n1', { revision: 3 })], { listed }) });
    expect(older.lost_revisions).toBe(0);
    const silent = observed([seen('n1', { revision: undefined } as never)], { listed });
    expect(restoreText(restorePlan({ ...input, observation: silent }))).toEqual(
      naming('LOST', 'unknown', 'number', 'revisions'),
    );
  });
  it('needs the ctl program and the address of every member', () => {
    const observation = observed([seen('n1')], { listed });
    const { ctl_binary: _, ...without } = cluster;
    expect(() => restorePlan({ ...input, observation, cluster: without })).toThrow(
      'does not name a ctl_binary',
    );
    expect(() => restorePlan({ ...input, observation: observed() })).toThrow('member n1 needs peer_url');
  });
});

describe('the snapshot of a restore', () => {
  const dirs = { clusters: STATE, state: '/home' };
  const wanted = { snapshot: undefined, to: undefined, bucket: {} };
  it('the snapshot is the newest of the last run, or the named one, and is verified again', async () => {
    const page = Buffer.alloc(512, 7);
    const whole = Buffer.concat([page, createHash('sha256').update(page).digest()]);
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    await conducted(small, plan);
    const { host, cluster } = small;
    const sourceOf = (patch: object) =>
      restoreSource(host, dirs, { ...wanted, ...patch }, cluster).catch((error: unknown) => error);
    // The pages of this snapshot contain no keys. The snapshot is selected and verified but not read.
    expect(String(await sourceOf({}))).not.toContain('no run of this cluster');
    await host.files.replace('/place/s.db', whole);
    expect(String(await sourceOf({ snapshot: 's.db' }))).not.toContain('no run of this cluster');
    await expect(restoreSource(fakeHost(), dirs, wanted, cluster)).rejects.toMatchObject({
      detail: { code: 'NO_SNAPSHOT' },
    });
    await expect(
      restoreSource(fakeHost(), dirs, { ...wanted, snapshot: 's.db' }, cluster),
    ).rejects.toMatchObject({ detail: { code: 'NO_SNAPSHOT' } });
    await host.files.replace('/place/s.db', page);
    expect(await sourceOf({ snapshot: 's.db' })).toMatchObject({ detail: { code: 'SNAPSHOT_DAMAGED' } });
  });
  it('the snapshot is attributed to the recorded member', async () => {
    const small = smallCluster();
    const plan = await small.plan({ hold_last: true });
    const { journal } = await conducted(small, plan);
    const recorded = journal.findLast((entry) => entry.kind === 'snapshot');
    const path = recorded?.kind === 'snapshot' ? recorded.snapshot.path : '';
    const machine = new Machine(1e9);
    machine.apply(1, '1', { op: 'put', key: 'a', value: 'dg==' });
    const pages = snapshotFile(machine);
    for (const file of [path, '/place/copy.db'])
      await small.host.files.replace(file, Buffer.concat([pages, trailer(pages)]));
    const memberOf = async (patch: object): Promise<string> =>
      (await restoreSource(small.host, dirs, { ...wanted, ...patch }, small.cluster)).snapshot.member;
    expect(await memberOf({})).toBe('n3');
    expect(await memberOf({ snapshot: path })).toBe('n3');
    expect(await memberOf({ snapshot: 'copy.db' })).toBe('a file');
  });
});
