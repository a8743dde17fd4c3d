import { describe, expect, it } from 'vitest';
import { refuseOther, takeOver } from '../../../../src/kv/engine/locks.ts';
import { adoptRun, shareProgress, sharedRun } from '../../../../src/kv/engine/progress.ts';
import { lastRun, runLine, statusLines } from '../../../../src/kv/upgrade/present/status.ts';
import { planText } from '../../../../src/kv/upgrade/present/plan-text.ts';
import type { JournalEntry, Outcome } from '../../../../src/kv/engine/model.ts';
import { observed, planned } from '../../../support/observations.ts';
import { STATE, conducted, inShort, journalOf, smallCluster } from '../../../support/small-cluster.ts';

const at = '2026-01-01T00:00:00.000Z';
const plan = planned();
const owner = { user: 'eve', host: 'h', pid: 7 };
const opened: JournalEntry = {
  ...{ kind: 'opened', at, run: 'r', action: 'upgrade', plan, owner, cluster_file: '/c.yaml' },
};
const closed = (outcome: Outcome, message = 'why'): JournalEntry => ({
  kind: 'closed',
  at,
  outcome,
  message,
});
const lineOf = (entries: JournalEntry[], isAtWork = false, version = '3.3.0') =>
  runLine(
    { run: 'r', directory: '', entries },
    isAtWork ? { run: 'r', owner, since: '2026-01-01T00:00:00Z' } : undefined,
    version,
  );

describe('status of a run', () => {
  it('the status shows the step, the owner, and the time', () => {
    const begun: JournalEntry = { kind: 'begin', at, step: 'n2.stop' };
    const { text, outcome } = lineOf([opened, begun], true);
    expect(outcome).toBe('at-work');
    expect(text).toMatch(
      /^run r is in progress at step 2 of 14: stop n2 .*\n {2}by eve on h, process 7, since 2026/,
    );
    expect(lineOf([opened], true).text).toMatch(/^run r is in progress\n/);
    expect(lineOf([opened, { ...begun, step: 'n9.move-leader' }]).text).toMatch(
      /^run r was interrupted at n9.move-leader\n/,
    );
  });

  it('the status shows the commands for resume and rollback; after the last member only the restore', () => {
    expect(lineOf([opened]).text.split('\n').slice(1)).toEqual([
      ...['  continue:  opsctl kv resume', '  roll back: opsctl kv rollback'],
    ]);
    expect(lineOf([opened], false, '3.4.0').text).toContain('restore:   opsctl kv restore');
    expect(lineOf([opened]).outcome).toBe('interrupted');
  });

  it.each<[Outcome, boolean]>([
    ['done', false],
    ['aborted', false],
    ['held', true],
    ['stopped', true],
    ['failed', true],
    ['rolled-back', true],
  ])('the status after the end %s suggests to continue: %s', (outcome, goesOn) => {
    const { text, ...rest } = lineOf([opened, closed(outcome)]);
    expect(text.split('\n')[0]).toBe(`last run r: ${outcome}: why`);
    expect(text.includes('continue:')).toBe(goesOn);
    expect(rest).toEqual({ run: 'r', outcome, from: '3.3', endedAt: at });
  });

  it('a rolled-back run is over; a message that starts with its outcome contains it once', () => {
    const rollback: JournalEntry = { kind: 'resumed', at, owner, action: 'rollback' };
    expect(lineOf([opened, rollback, closed('rolled-back')]).text).not.toContain('continue:');
    expect(lineOf([opened, closed('held', 'held before n1')]).text).toMatch(/^last run r: held before n1\n/);
  });
});

it.each([40, 60, 72, 80, 81, 100])(
  'no line below the members is wider than a terminal of %i columns',
  (columns) => {
    const text = 'last run r: rolled-back: n2 did not become healthy: version: its process exited '.repeat(6);
    const run = { run: 'r', outcome: 'rolled-back', text };
    const known = { observation: observed(), run, restored: undefined, operation: undefined };
    const plans = planText({ ...plan, cluster: 'prod '.repeat(60) }, { columns });
    const lines = [...statusLines(known, columns), plans.slice(0, plans.indexOf('Databases'))].flatMap(
      (part) => part.trim().split('\n'),
    );
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
  },
);

it('a comparison of revisions that was not possible is shown', () => {
  const observation = { ...observed(), revisions_unread: 'no revision from n1, n2' };
  const known = { observation, run: undefined, restored: undefined, operation: undefined };
  expect(statusLines(known, 80)).toEqual(['', 'revisions not compared: no revision from n1, n2']);
});

it('below the members stand alarms, the last run and what else is open; commands are not wrapped', () => {
  const known = { observation: observed(), run: undefined, restored: undefined, operation: undefined };
  expect(statusLines(known, 80)).toEqual([]);
  const run = { run: 'r', outcome: 'done', text: 'last run r\n  continue: x', from: '3.3' };
  const moved = observed(undefined, { cluster_version: '3.4.0' });
  expect(statusLines({ ...known, observation: moved, run }, 80)).toEqual(['', 'last run r', '  continue: x']);
  const back = observed(undefined, { cluster_version: '3.3.0' });
  expect(statusLines({ ...known, observation: back, run: { ...run, text: 'run r' } }, 80)).toEqual([
    ...['', 'run r; since then the cluster was rebuilt on 3.3'],
  ]);
  const restored = { text: 'restored' };
  expect(
    statusLines(
      { observation: back, run: { ...run, text: 'run r' }, restored, operation: { text: 'op' } },
      80,
    ),
  ).toEqual(['', 'run r', 'restored', 'op']);
  expect(statusLines({ ...known, observation: moved, run: { ...run, text: 'run r' } }, 80)).toEqual([
    '',
    'run r',
  ]);
  const alarmed = observed(undefined, { alarms: [{ member_id: '1001', alarm: 'NOSPACE' }] });
  const lines = statusLines({ ...known, observation: alarmed, run }, 30);
  expect(lines[1]).toMatch(/^alarm NOSPACE/);
  expect(lines.find((line) => line.startsWith('  next: '))?.length).toBeGreaterThan(30);
});

describe('a run of another machine', () => {
  /** State of a run that holds before its last member, on a machine without its journal. */
  const left = async (patch = {}) => {
    const small = smallCluster('upgrade', { snapshot_dir: '/backups', ...patch });
    const run = await small.plan({ hold_last: true });
    await conducted(small, run);
    const theirs = journalOf(small, run);
    const { cluster, access, host } = small;
    const stores = cluster.members.map(({ client_url }) => access.store(client_url));
    return { small, run, theirs, sharing: { host, cluster, stores }, parts: { cluster, access } };
  };

  it('the status shows the machine with the journal, and adoption takes the whole run', async () => {
    const { small, run, theirs, parts, sharing } = await left();
    const shown = await lastRun(small.host, '/elsewhere', parts, '3.4.0');
    expect(shown?.run).toBe(run.id);
    expect(shown?.text).toMatch(
      /its journal is on testhost; kv resume and kv rollback adopt it on this machine$/,
    );
    const text = await takeOver(small.host, '/elsewhere', small.cluster, small.access);
    expect(text).toMatch(new RegExp(`^adopted run ${run.id} of uid 1000 on testhost:`));
    const taken = small.host.files.readNow(`/elsewhere/test/${run.id}/journal.jsonl`) ?? '';
    const entries = taken
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as JournalEntry);
    expect(inShort(entries)).toEqual(inShort(theirs));
    // The shared plan contains no commands or configurations, because they may contain secrets.
    const first = entries[0];
    expect(first?.kind === 'opened' && first.plan.steps.every(({ commands }) => commands.length === 0)).toBe(
      true,
    );
    // A restart has this version as its target.
    expect(first?.kind === 'opened' && first.plan.observation.members[0]?.host).toEqual({
      v2_bytes: 0,
      new_binary_version: '3.5.30',
    });
    // Now this machine has the journal, and a second takeover does not happen.
    expect(await takeOver(small.host, '/elsewhere', small.cluster, small.access)).toBeUndefined();
    expect((await lastRun(small.host, '/elsewhere', parts, '3.4.0'))?.text).not.toContain(
      'its journal is on',
    );
    expect(await sharedRun(sharing, STATE)).toBeUndefined();
  });

  it('the status shows it if it is newer than the local runs, and not if it is older', async () => {
    const { small, run, parts } = await left();
    /** Returns the display on a machine that has only the first journal line of the run. */
    const shownBeside = async (known: string) => {
      const path = `/elsewhere/test/${known}/journal.jsonl`;
      const line = { ...opened, run: known, plan: run };
      await small.host.files.replace(path, `${JSON.stringify(line)}\n`);
      const shown = await lastRun(small.host, '/elsewhere', parts, '3.4.0');
      await small.host.files.remove(path);
      return { run: shown?.run, isTheirs: shown?.text.includes('its journal is on') };
    };
    expect(await shownBeside('20250101T000000Z-0')).toEqual({ run: run.id, isTheirs: true });
    // The same run, which continued on another machine.
    expect(await shownBeside(run.id)).toEqual({ run: run.id, isTheirs: true });
    const newer = '20270101T000000Z-0';
    expect(await shownBeside(newer)).toEqual({ run: newer, isTheirs: false });
    small.keys.clear();
    await small.host.files.remove('/backups/test.upgrade-progress.json');
    expect(await lastRun(small.host, '/nowhere', parts, '3.4.0')).toBeUndefined();
  });

  it('the run is shared from its first line on', async () => {
    const small = smallCluster();
    const { host, cluster, access } = small;
    const plan = await small.plan();
    const stores = cluster.members.map(({ client_url }) => access.store(client_url));
    const entries: JournalEntry[] = [{ ...opened, run: plan.id, plan } as JournalEntry];
    const shared = shareProgress({ host, cluster, stores, run: plan.id, entries });
    await shared.flush();
    expect((await sharedRun({ host, cluster, stores }, '/elsewhere'))?.entries).toHaveLength(1);
    // The run does not wait for the shared progress.
    entries.push({ kind: 'begin', at: '', step: 'n2.stop' });
    shared.touch();
    for (let i = 0; i < 50; i += 1) await host.turn();
    expect((await sharedRun({ host, cluster, stores }, '/elsewhere'))?.entries).toHaveLength(2);
    await shared.end(true);
    expect(await sharedRun({ host, cluster, stores }, '/elsewhere')).toBeUndefined();
  });

  it('the run is read from the snapshot directory if the store does not have it', async () => {
    const { small, run, sharing } = await left();
    small.keys.clear();
    expect((await sharedRun(sharing, '/elsewhere'))?.run).toBe(run.id);
    expect(small.host.files.mode('/backups/test.upgrade-progress.json')).toBe(0o600);
    await small.host.files.replace('/backups/test.upgrade-progress.json', '{"format":1}');
    expect(await sharedRun(sharing, '/elsewhere')).toBeUndefined();
    expect(await adoptRun(sharing, '/elsewhere')).toBeUndefined();
  });

  it('a run of another format or cluster, without a name or without lines is ignored', async () => {
    const { small, sharing } = await left();
    await small.host.files.remove('/backups/test.upgrade-progress.json');
    const key = small.keys.get('opsctl/upgrade-progress');
    const shared = JSON.parse(key?.value ?? '{}');
    for (const patch of [{ format: 2 }, { cluster: 'other' }, { run: '../x' }, { entries: 'none' }]) {
      Object.assign(key ?? {}, { value: JSON.stringify({ ...shared, ...patch }) });
      expect(await sharedRun(sharing, '/elsewhere')).toBeUndefined();
    }
    Object.assign(key ?? {}, { value: JSON.stringify(shared) });
    expect(await sharedRun(sharing, '/elsewhere')).toBeDefined();
  });

  it('the run is not adopted from an active owner', async () => {
    const { small } = await left();
    const lock = JSON.stringify({ run: 'r', owner: { host: 'far', pid: 1 }, since: 'now' });
    small.keys.set('opsctl/upgrade-lock', { value: lock, lease: '', mod: 1, create: 1 });
    await expect(takeOver(small.host, '/elsewhere', small.cluster, small.access)).rejects.toMatchObject({
      detail: { code: 'LOCKED' },
    });
    await expect(
      refuseOther(small.host, '/elsewhere', small.cluster, small.access, ['http://127.0.0.1:20001']),
    ).rejects.toThrow(
      'the cluster is locked by another operator: an unknown user on far, process 1, since now (key opsctl/upgrade-lock in the cluster)',
    );
    await refuseOther(small.host, '/elsewhere', small.cluster, small.access, []);
  });

  it('a finished run leaves no shared data', async () => {
    const { small, run } = await left();
    const options = { ...run.options, hold_last: false };
    await conducted(small, { ...run, options }, { action: 'resume' });
    expect([...small.keys.keys()]).toEqual([]);
    expect(await small.host.files.read('/backups/test.upgrade-progress.json')).toBeUndefined();
  });
});
