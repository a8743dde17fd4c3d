import { describe, expect, it } from 'vitest';
import {
  type Shared,
  adoptRun,
  removeShared,
  shareProgress,
  sharedRun,
} from '../../../src/kv/engine/progress.ts';
import type { Store } from '../../../src/kv/client/etcd-client.ts';
import type { ClusterFile, JournalEntry, JournalStepId } from '../../../src/kv/engine/model.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterFile, observed, planned, seen } from '../../support/observations.ts';

const at = '2026-01-01T00:00:00.000Z';
const owner = { user: 'ada', host: 'bastion', pid: 1 };
const run = '20260101T000000Z-1';
const KEY = 'opsctl/upgrade-progress';
const FILE = '/snapshots/test.upgrade-progress.json';
const opened: JournalEntry = {
  ...{ kind: 'opened', at, run, action: 'upgrade', plan: planned(), owner, cluster_file: '/c.yaml' },
};
const begun = (step: JournalStepId): JournalEntry => ({ kind: 'begin', at, step });
const turns = async (count = 20): Promise<void> => {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A store with one key. `onPut` is called before the response. An unavailable store does not respond. */
const bed = (file: Partial<ClusterFile> = {}, onPut: () => void = () => {}) => {
  const host = fakeHost();
  const state = { value: undefined as string | undefined, puts: [] as string[], isAway: false };
  const answered = async <T>(work: () => T): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (state.isAway) throw new Error('no quorum');
    return work();
  };
  const store = {
    put: (key: string, value: string) =>
      answered(() => {
        onPut();
        state.puts.push(key);
        state.value = value;
        return { revision: 1 };
      }),
    del: (key: string) =>
      answered(() => {
        if (key === KEY) state.value = undefined;
      }),
    range: (key: string) =>
      answered(() => ({ kvs: state.value === undefined || key !== KEY ? [] : [{ value: state.value }] })),
  };
  const cluster = clusterFile(3, file);
  const stores = [store] as unknown as readonly Store[];
  const share = (entries: readonly JournalEntry[]): Shared =>
    shareProgress({ host, cluster, stores, run, entries });
  return { host, state, cluster, stores, share };
};
const entriesIn = (text: string | undefined): JournalEntry[] => JSON.parse(text ?? '{}').entries;

describe('the progress of a run in the store', () => {
  it('the shared progress is the journal, with its owner and the time of the write', async () => {
    const { host, state, share } = bed();
    await share([opened, begun('n2.stop')]).flush();
    expect(state.puts).toEqual([KEY]);
    expect(JSON.parse(state.value ?? '')).toMatchObject({
      ...{ format: 1, cluster: 'test', run, written_at: new Date(host.now()).toISOString() },
      entries: [{ kind: 'opened', owner, run }, begun('n2.stop')],
    });
  });
  it('the shared progress contains no command, no configuration, and of the hosts only what a resume reads', async () => {
    const { state, share } = bed();
    const facts = { ...seen('n1').host, v2_bytes: 7 };
    const { new_binary_version } = facts;
    const { host: _, ...bare } = seen('n3');
    const members = [seen('n1', { host: facts }), seen('n2', { host: { is_running: true } }), bare];
    const plan = planned(observed([seen('n1'), seen('n2'), seen('n3')]));
    const steps = plan.steps.map((step) => ({ ...step, commands: ['rm secret'], replaces: 'secret' }));
    const finding = { guard: 'g', level: 'warn', message: 'secret' } as const;
    const whole = {
      ...{ ...plan, steps, findings: [finding] },
      observation: { ...plan.observation, members },
    } as never;
    await share([{ ...opened, plan: whole } as JournalEntry]).flush();
    expect(state.value).not.toContain('secret');
    const [first] = entriesIn(state.value) as [Extract<JournalEntry, { kind: 'opened' }>];
    expect(first.plan.steps).toHaveLength(steps.length);
    expect(first.plan.steps[0]).toMatchObject({ commands: [] });
    expect(first.plan.findings).toEqual([]);
    expect(first.plan.observation.members.map(({ host }) => host)).toEqual([
      ...[{ v2_bytes: 7, new_binary_version }, undefined, undefined],
    ]);
    expect(first.plan.observation.members[0]).not.toHaveProperty('listed_ids');
    expect(first.plan.observation.members[1]).not.toHaveProperty('host');
  });
  it('the progress is written soon after a line, never twice at a time, and not again without new lines', async () => {
    const entries: JournalEntry[] = [opened];
    const { state, share } = bed({}, () => {
      if (entries.length < 3) entries.push(begun(`n${entries.length}.stop`));
    });
    const shared = share(entries);
    for (let i = 0; i < 3; i += 1) shared.touch();
    await turns();
    expect([state.puts.length, entriesIn(state.value).length]).toEqual([3, 3]);
    await shared.flush();
    expect(state.puts).toHaveLength(3);
  });
  it('the progress is complete before a member stops, and a stream of lines does not delay it', async () => {
    const entries: JournalEntry[] = [opened];
    const { state, share } = bed({}, () => {
      entries.push(begun('n2.stop'));
    });
    const shared = share(entries);
    let isFlushed = false;
    void shared.flush().then(() => {
      isFlushed = true;
    });
    await turns(8);
    expect(isFlushed).toBe(true);
    expect(state.puts.length).toBeGreaterThan(1);
    void shared.end(true);
    await turns();
  });
  it('progress up to 512 KiB is written; longer progress is not, and is not retried forever', async () => {
    const padded = (text: string): JournalEntry[] => [
      ...[opened, { kind: 'failed', at, step: 'confirm', reason: text } as JournalEntry],
    ];
    const base = bed();
    await base.share(padded('')).flush();
    const room = 512 * 1024 - Buffer.byteLength(base.state.value ?? '');
    const full = bed();
    await full.share(padded('x'.repeat(room))).flush();
    expect(full.state.value).toHaveLength(512 * 1024);
    const { state, share } = bed({ snapshot_dir: '/snapshots' });
    const shared = share(padded('x'.repeat(room + 1)));
    shared.touch();
    await shared.flush();
    await shared.end(false);
    expect(state.puts).toEqual([]);
  });
  it('the progress is also next to the snapshots if the cluster file names their directory', async () => {
    const { host, state, share } = bed({ snapshot_dir: '/snapshots' });
    await share([opened]).flush();
    expect(host.files.readNow(FILE)).toBe(`${state.value}\n`);
    expect([host.files.mode('/snapshots'), host.files.mode(FILE)]).toEqual([0o700, 0o600]);
    const without = bed();
    await without.share([opened]).flush();
    expect(Object.keys(without.host.files.all())).toEqual([]);
  });
  it('unwritable progress does not stop the run', async () => {
    const { host, state, share } = bed({ snapshot_dir: '/snapshots' });
    state.isAway = true;
    host.files.makeDirectory = () => Promise.reject(new Error('ENOSPC'));
    const shared = share([opened]);
    shared.touch();
    await shared.flush();
    await shared.end(true);
    host.files.remove = () => Promise.reject(new Error('EROFS'));
    await shared.end(true);
    expect(state.value).toBeUndefined();
  });
  it('the progress is removed at the end of the run, including a pending write, and stays for a resumable run', async () => {
    const { host, state, share } = bed({ snapshot_dir: '/snapshots' });
    const entries: JournalEntry[] = [opened];
    const shared = share(entries);
    shared.touch();
    await shared.end(false);
    expect(entriesIn(state.value)).toHaveLength(1);
    entries.push(begun('n2.stop'));
    shared.touch();
    entries.push(begun('n2.start'));
    await shared.end(true);
    shared.touch();
    await turns();
    expect([state.value, host.files.readNow(FILE)]).toEqual([undefined, undefined]);
  });
  it('the command that abandons the run removes the progress', async () => {
    const { host, state, cluster, stores, share } = bed({ snapshot_dir: '/snapshots' });
    await share([opened]).flush();
    await removeShared({ host, cluster, stores });
    expect([state.value, host.files.readNow(FILE)]).toEqual([undefined, undefined]);
  });
});

describe('a run of another machine', () => {
  const text = (entries: readonly unknown[], patch: object = {}): string =>
    JSON.stringify({ format: 1, cluster: 'test', run, written_at: at, entries, ...patch });
  /**
   * Sets the text in the store and in the snapshot directory, and the number of journal lines that this
   * machine has.
   */
  const found = async (value: string | undefined, file?: string, known = 0) => {
    const made = bed(file === undefined ? {} : { snapshot_dir: '/snapshots' });
    made.state.value = value;
    if (file !== undefined) await made.host.files.replace(FILE, file);
    const lines = [opened, ...Array.from({ length: 9 }, () => begun('n2.stop'))].slice(0, known);
    if (known > 0)
      await made.host.files.replace(
        `/state/test/${run}/journal.jsonl`,
        lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      );
    return { ...made, run: await sharedRun(made, '/state') };
  };

  it('a run of another machine is found with its lines, its local path, and its last owner', async () => {
    const resumed = { kind: 'resumed', at, owner: { host: 'b2', pid: 2 }, action: 'upgrade' } as const;
    expect((await found(text([opened]))).run).toMatchObject({
      ...{ run, directory: `/state/test/${run}`, owner, entries: [{ kind: 'opened' }] },
    });
    expect((await found(text([opened, resumed, begun('n1.stop')]))).run?.owner).toEqual(resumed.owner);
    const nobody = (await found(text([begun('n1.stop')]))).run;
    expect(nobody).not.toHaveProperty('owner');
    expect(nobody?.entries).toHaveLength(1);
  });
  it('a run of an earlier version is read with the current names', async () => {
    const entries = [opened, { kind: 'returning', at, member: 'n2', reason: 'why' }];
    expect((await found(text(entries))).run?.entries[1]).toMatchObject({ kind: 'reverting' });
  });
  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['another format', text([opened], { format: 2 })],
    ['another cluster', text([opened], { cluster: 'other' })],
    ['a name that is none of a run', text([opened], { run: '../../x' })],
    ['a path that starts like a run', text([opened], { run: `${run}/../../../x` })],
    ['a run with a line break', text([opened], { run: `${run}\n` })],
    ['a run that is no text', text([opened], { run: [run] })],
    ['no lines', text([], { entries: {} })],
  ])('a shared run is ignored if it is %s', async (_, value) => {
    expect((await found(value)).run).toBeUndefined();
  });
  it('the more complete copy of a shared run is read', async () => {
    const [short, long] = [text([opened]), text([opened, begun('n1.stop')])];
    expect((await found(short, long)).run?.entries).toHaveLength(2);
    expect((await found(long, short)).run?.entries).toHaveLength(2);
    expect((await found(undefined, short)).run?.entries).toHaveLength(1);
    const away = bed({ snapshot_dir: '/snapshots' });
    away.state.isAway = true;
    await away.host.files.replace(FILE, short);
    expect((await sharedRun(away, '/state'))?.run).toBe(run);
  });
  it('a missing run is not reported if the store does not respond and no copy is next to the snapshots', async () => {
    const away = bed({ snapshot_dir: '/snapshots' });
    away.state.isAway = true;
    const error: unknown = await sharedRun(away, '/state').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      category: 'network',
      message: expect.stringContaining(
        'whether another machine has an unfinished run of cluster test: no quorum',
      ),
      detail: { code: 'PROGRESS_UNREAD' },
    });
  });
  it('a shared run is new only while this machine has fewer lines', async () => {
    const value = text([opened, begun('n1.stop')]);
    expect((await found(value, undefined, 1)).run?.entries).toHaveLength(2);
    expect((await found(value, undefined, 2)).run).toBeUndefined();
    expect((await found(value, undefined, 3)).run).toBeUndefined();
  });
  it('an adopted run has its journal on this machine', async () => {
    const made = await found(text([opened, begun('n1.stop')]));
    expect(await adoptRun(made, '/state')).toMatchObject({ run, owner });
    const path = `/state/test/${run}/journal.jsonl`;
    const lines = made.host.files.readNow(path)?.split('\n') ?? [];
    expect(lines.map((line) => line.slice(0, 16))).toEqual(['{"kind":"opened"', '{"kind":"begin",', '']);
    expect([made.host.files.mode(path), made.host.files.mode(`/state/test/${run}`)]).toEqual([0o600, 0o700]);
    // Now this machine has the journal.
    expect(await adoptRun(made, '/state')).toBeUndefined();
  });
});
