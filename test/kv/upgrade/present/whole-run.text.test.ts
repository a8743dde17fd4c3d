import { beforeEach, describe, expect, it } from 'vitest';
import {
  joinRuns,
  type EarlierPart,
  type Part,
  partsBefore,
  readReport,
  reportFromJournal,
  rewriteReports,
  storedReport,
  writeReports,
} from '../../../../src/kv/upgrade/present/report.ts';
import { pageFrom } from '../../../../src/kv/upgrade/present/page.ts';
import { timelineFrom } from '../../../../src/kv/upgrade/present/timeline.ts';
import { wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import type { JournalEntry, Unstamped, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { type RealHost, realHost } from '../../../support/real-host.ts';
import { goodRun, report } from '../events.ts';
import { covers } from '../../../support/covers.ts';

const started = goodRun[0] as UpgradeEvent & { event: 'run-started' };
const { plan } = started;
const owner = { pid: 42, host: 'ops1', user: 'ann' };
const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 2, 31, 12, 0, 0) + seconds * 1000).toISOString();
const entry = (seconds: number, one: object): JournalEntry => ({ at: at(seconds), ...one }) as JournalEntry;
const opened = entry(0, {
  kind: 'opened',
  run: report.run,
  action: 'upgrade',
  plan,
  owner,
  cluster_file: '/c.yaml',
});
const event = (ms: number, from: string, one: Unstamped): UpgradeEvent =>
  ({ ...one, at: from, elapsed_ms: ms }) as UpgradeEvent;
const stop = plan.steps.find(({ id }) => id === 'n1.stop') as (typeof plan.steps)[number];

describe('a run that was held overnight', () => {
  const first: EarlierPart = {
    events: [
      event(0, at(0), { ...started }),
      event(900, at(1), { event: 'member-down', member: 'n2', was_leader: false }),
      event(1000, at(1), { event: 'member-up', member: 'n2', down_ms: 100 }),
      event(1900, at(2), { event: 'canary', ok: true, latency_ms: 4, member: 'n1' }),
    ],
    durationMs: 2000,
    canary: { writes: 10, failed: 1, longest_gap_ms: 70, median_ms: 4, p99_ms: 4 },
  };
  const night = 30_000;
  const second: Part = {
    events: [
      event(0, at(night), { ...started, action: 'resume' }),
      event(1, at(night), { event: 'step-finished', step: stop, duration_ms: 0, was_done_before: true }),
      event(500, at(night), { event: 'canary', ok: true, latency_ms: 8, member: 'n1' }),
    ],
    canary: { writes: 5, failed: 0, longest_gap_ms: 90, median_ms: 8, p99_ms: 8 },
  };
  const whole = joinRuns(first, second);

  it(
    'a run held overnight is one run: the night does not count, and repeated events are omitted',
    covers('defect/U-57'),
    () => {
      expect(whole.events.map((one) => [one.event, one.elapsed_ms])).toEqual([
        ['run-started', 0],
        ['member-down', 900],
        ['member-up', 1000],
        ['canary', 1900],
        ['run-started', 2000],
        ['canary', 2500],
      ]);
    },
  );
  it('a run held overnight has the total client impact', () => {
    expect(whole.canary).toEqual({ writes: 15, failed: 1, longest_gap_ms: 90, median_ms: 8, p99_ms: 8 });
    expect(joinRuns({ ...first, canary: undefined }, second).canary).toEqual(second.canary);
  });
  it('the drawing shows the rest, which is not a gap between writes, and the versions of each member', () => {
    const timeline = timelineFrom({ ...report, duration_ms: 5000 }, wholeRun(whole.events));
    expect(timeline.pauses).toEqual([{ atMs: 2000, forMs: (night - 2) * 1000 }]);
    expect(timeline.gaps).toEqual([]);
    expect(timeline.lanes.find(({ name }) => name === 'n2')?.spans.map(({ kind }) => kind)).toEqual([
      'old',
      'down',
      'new',
    ]);
    expect(timeline.leaders.map(({ fromMs }) => fromMs)).toEqual([0]);
    const page = pageFrom(report, wholeRun(whole.events));
    expect(page).toContain('the run was paused here for 8 h 20 min');
    expect(page).toContain('active time without pauses');
    expect(pageFrom(report, wholeRun(first.events))).not.toContain('rested');
  });
  it('a run in one part stays what it is', () => expect(joinRuns(undefined, second)).toBe(second));
});

describe('earlier parts of a run', () => {
  let real: RealHost;
  beforeEach(async () => {
    real = await realHost();
  });
  const step = (seconds: number, id: string): JournalEntry[] => [
    entry(seconds, { kind: 'begin', step: id }),
    entry(seconds + 1, { kind: 'end', step: id }),
  ];
  const closed = (seconds: number): JournalEntry =>
    entry(seconds, { kind: 'closed', outcome: 'held', message: 'held' });
  const resumed = (seconds: number): JournalEntry =>
    entry(seconds, { kind: 'resumed', owner, action: 'upgrade' });
  const earlier = (...entries: JournalEntry[]) => partsBefore(real.host, real.directory, entries, '/j');

  it('the first part has no earlier work', async () => {
    expect(await earlier(opened, ...step(1, 'n2.stop'))).toBeUndefined();
  });
  it('the earlier work is what its part recorded at the end', async () => {
    await writeReports(
      real.host,
      real.directory,
      { ...report, started_at: at(0), finished_at: at(3), duration_ms: 2500 },
      goodRun,
    );
    const part = await earlier(opened, ...step(1, 'n2.stop'), closed(3), resumed(900));
    expect(part).toMatchObject({ durationMs: 2500, canary: report.canary });
    expect(part?.events).toHaveLength(goodRun.filter((one) => one.event !== 'run-finished').length);
  });
  it('the earlier work of a killed program comes from the journal, without idle time', async () => {
    const part = await earlier(
      opened,
      ...step(1, 'n2.stop'),
      resumed(900),
      ...step(901, 'n2.start'),
      resumed(5000),
    );
    expect(part).toMatchObject({ durationMs: 4000 });
    expect(part?.events.filter((one) => one.event === 'step-finished').map((one) => one.elapsed_ms)).toEqual([
      2000, 4000,
    ]);
  });
  it('a report older than the journal does not count as complete', async () => {
    await writeReports(real.host, real.directory, { ...report, finished_at: at(3) }, goodRun);
    const part = await earlier(
      opened,
      ...step(1, 'n2.stop'),
      closed(3),
      resumed(900),
      ...step(901, 'n2.start'),
      resumed(5000),
    );
    expect(part?.durationMs).toBe(5000);
  });
  it('a report from the journal alone leaves the rests out too', () => {
    const entries = [
      opened,
      ...step(1, 'n2.stop'),
      closed(3),
      resumed(900),
      ...step(901, 'n2.start'),
      closed(903),
    ];
    expect(reportFromJournal(entries, '/j')?.report).toMatchObject({
      started_at: at(0),
      finished_at: at(903),
      duration_ms: 6000,
    });
  });

  const held = [opened, ...step(1, 'n2.stop'), closed(3)];
  const recorded = goodRun.filter((one) => one.event !== 'run-finished');
  const writeHeld = () =>
    writeReports(
      real.host,
      real.directory,
      { ...report, finished_at: at(3), journal_lines: held.length },
      goodRun,
    );
  const aborted = (seconds: number): JournalEntry =>
    entry(seconds, { kind: 'closed', outcome: 'aborted', message: 'given up' });
  it.each([
    ['once', [resumed(900), ...step(901, 'n2.start')]],
    ['twice', [resumed(900), ...step(901, 'n2.start'), resumed(2000), ...step(2001, 'n2.gate')]],
  ])('an abort keeps the events and the canary of the part before a run was killed %s', async (_, later) => {
    await writeHeld();
    const entries = [...held, ...later, aborted(5000)];
    await rewriteReports(real.host, real.directory, { path: '/j', entries });
    const now = await readReport(real.host, real.directory);
    expect(now?.report).toMatchObject({
      ...{ outcome: 'aborted', canary: report.canary, journal_lines: entries.length },
    });
    expect(now?.events.slice(0, recorded.length)).toEqual(recorded);
    const added = now?.events.slice(recorded.length).map((one) => one.event) ?? [];
    for (const name of ['run-started', 'step-finished'])
      expect(added.filter((one) => one === name)).toHaveLength(
        later.filter(({ kind }) => kind === (name === 'run-started' ? 'resumed' : 'end')).length,
      );
  });
  it('the next part and kv report also keep the recorded part of a run that was killed later', async () => {
    await writeHeld();
    const killed = [...held, resumed(900), ...step(901, 'n2.start')];
    const part = await earlier(...killed, resumed(5000));
    expect(part?.canary).toEqual(report.canary);
    expect(part?.events.slice(0, recorded.length)).toEqual(recorded);
    const log = { info: () => {}, warn: () => {} };
    const found = { run: report.run, directory: real.directory, entries: [...killed, aborted(5000)] };
    const shown = await storedReport(real.host, log, found);
    expect(shown.report).toMatchObject({ outcome: 'aborted', canary: report.canary });
    expect(shown.events.slice(0, recorded.length)).toEqual(recorded);
  });
  it.each(['report.json', 'events.ndjson'])('a %s that cannot be read is never replaced', async (name) => {
    await writeHeld();
    const names = ['report.json', 'events.ndjson', 'report.md', 'report.html'];
    await real.host.files.replace(`${real.directory}/${name}`, '{"broken"\n{}\n', 0o600);
    const texts = () => Promise.all(names.map((one) => real.host.files.read(`${real.directory}/${one}`)));
    const before = await texts();
    const entries = [...held, aborted(5000)];
    await expect(rewriteReports(real.host, real.directory, { path: '/j', entries })).rejects.toThrow();
    await expect(writeReports(real.host, real.directory, report, [])).rejects.toThrow();
    expect(await texts()).toEqual(before);
  });
});
