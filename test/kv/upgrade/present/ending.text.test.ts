import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { emptyRun, runAfter } from '../../../../src/kv/upgrade/present/run-model.ts';
import { closing, endingText, errorWithMembers } from '../../../../src/kv/upgrade/present/text.ts';
import { lineOf } from '../../../../src/kv/upgrade/present/live.ts';
import { storedReport } from '../../../../src/kv/upgrade/present/report.ts';
import { countsOf, reportable } from '../../../../src/kv/upgrade/guards/guard.ts';
import { readServerFile } from '../../../../src/kv/upgrade/configuration/configuration.ts';
import {
  keepReport,
  rehearsalEnding,
  rehearsedVersions,
} from '../../../../src/kv/upgrade/rehearse/rehearse.ts';
import type { Finding, Report, Unstamped, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';
import { STATE, conducted, journalOf, smallCluster } from '../../../support/small-cluster.ts';

const member = (name: string, patch: object = {}) => ({
  ...{ name, client_url: '', was_leader: false, gate: [], ...patch },
});
const report: Report = {
  ...{ run: 'r', cluster: 'c', from: '3.4', to: '3.5', outcome: 'done', message: 'it went well' },
  ...{ owner: { host: 'h', pid: 1 }, started_at: '', finished_at: '', duration_ms: 1250, plan_digest: '' },
  ...{ steps: [], unexpected_log_lines: [], findings: [], journal: '/runs/r/journal.jsonl' },
  members: [member('n1', { down_ms: 7, version_after: '3.5.1', state: 'up' }), member('n2')],
  snapshots: [{} as never],
};

describe('how a run ended', () => {
  it('the end of a run is reported in a few lines', () => {
    expect(endingText(report, 200).split('\n')).toEqual([
      'it went well (1.3 s, 1 verified snapshot)',
      'members unavailable: n1 7 ms',
      'members: n1 3.5.1 up · n2 not checked',
      'report /runs/r/report.html',
      'journal /runs/r/journal.jsonl',
    ]);
    const canary = { writes: 9, failed: 1, longest_gap_ms: 30 };
    const more = { ...report, members: [member('n2')], snapshots: [], canary, next: ['a', 'b'] };
    expect(endingText(more, 200).split('\n')).toEqual([
      'it went well (1.3 s, 0 verified snapshots)',
      'canary writes 9, failed 1, longest gap 30 ms',
      'members: n2 not checked',
      ...['report /runs/r/report.html', 'journal /runs/r/journal.jsonl', 'next: a', '  or: b'],
    ]);
  });

  it('both paths of the end of a run are shown in the form that the terminal needs', () => {
    const text = endingText(report, 200, undefined, (path) => path.replace('/runs', '~'));
    expect(text.split('\n').slice(-2)).toEqual(['report ~/r/report.html', 'journal ~/r/journal.jsonl']);
  });

  it('error data contains each member, the next command, and the findings that refused', () => {
    const error = new AppError('stopped', 'no', { code: 'GUARD', data: ['finding'] });
    expect(errorWithMembers(error, report).detail).toEqual({
      code: 'GUARD',
      data: {
        findings: ['finding'],
        members: [
          { name: 'n1', version: '3.5.1', state: 'up' },
          { name: 'n2', version: null, state: null },
        ],
        next: [],
      },
    });
    const plain = errorWithMembers(new AppError('stopped', 'no', {}), { ...report, next: ['x'] });
    expect(plain.detail.data).not.toHaveProperty('findings');
    expect(plain.detail.data).toMatchObject({ next: ['x'] });
  });
});

describe('the report of a run on later request', () => {
  /** All tests share one run. Each test gets its files on a separate machine. */
  const ran = (async () => {
    const small = smallCluster();
    const plan = await small.plan();
    await conducted(small, plan);
    return { plan, files: small.host.files.all(), entries: journalOf(small, plan) };
  })();
  const asked = async (
    change: (files: ReturnType<typeof fakeHost>['files'], directory: string) => Promise<unknown>,
  ) => {
    const { plan, files, entries } = await ran;
    const host = fakeHost({ files });
    const directory = `${STATE}/test/${plan.id}`;
    await change(host.files, directory);
    const said: string[] = [];
    const log = { info: (text: string) => said.push(text), warn: (text: string) => said.push(text) };
    const found = { run: plan.id, directory, entries };
    return { said, found, log, host, stored: await storedReport(host, log, found) };
  };

  it('the written report is returned', async () => {
    const { said, stored } = await asked(async () => {});
    expect([said, stored.report.outcome]).toEqual([[], 'done']);
    expect(stored.report.members.every(({ gate }) => gate.length > 0)).toBe(true);
  });

  it('the report has all events except the incomplete one', async () => {
    const { said } = await asked(async (files, directory) => {
      const path = `${directory}/events.ndjson`;
      await files.replace(path, `${await files.read(path)}{"event":`);
    });
    expect(said).toEqual([expect.stringContaining('is incomplete and was skipped')]);
  });

  it('a report that was never written is built from the journal; an unfinished run has none', async () => {
    const { said, stored, found, log, host } = await asked((files, directory) =>
      files.remove(`${directory}/report.json`),
    );
    expect(said).toEqual([expect.stringContaining('finished before its report was written')]);
    expect(stored.report.outcome).toBe('done');
    const open = { ...found, entries: [] };
    await expect(storedReport(host, log, open)).rejects.toMatchObject({ detail: { code: 'NO_REPORT' } });
  });
});

describe('the findings of a check', () => {
  const finding = (guard: string, level: Finding['level']): Finding => ({ guard, level, message: 'm' });
  it('findings are counted, with the next command', () => {
    expect(
      countsOf([finding('a', 'pass'), finding('a', 'warn'), finding('b', 'warn'), finding('c', 'fail')]),
    ).toEqual({ pass: 1, warn: 2, unknown: 0, fail: 1 });
    expect(closing([finding('a', 'pass')], ['--to 3.5'])).toEqual([
      ...['Ready for an upgrade.', 'Next: opsctl kv upgrade --to 3.5'],
    ]);
    expect(closing([finding('a', 'warn')], [])[0]).toBe('Ready for an upgrade, with 1 warning.');
    expect(closing([finding('a', 'unknown')], [])[0]).toBe('Ready for an upgrade, with 1 unknown.');
    expect(closing([finding('a', 'warn'), finding('b', 'unknown')], [])[0]).toBe(
      'Ready for an upgrade, with 1 warning and 1 unknown.',
    );
  });
  it('acceptable findings are listed with the flag, unless one cannot be accepted', () => {
    const quota = finding('quota', 'fail');
    expect(closing([quota, quota], [])).toEqual([
      '2 findings against an upgrade now; no changes were made.',
      'To continue and accept the risk: --accept quota',
    ]);
    expect(closing([quota, finding('version-path', 'fail')], [])).toHaveLength(1);
  });
  it('findings are annotations in CI services with their known data', () => {
    expect(reportable(finding('quota', 'fail'), undefined)).toEqual({
      rule: 'quota',
      level: 'fail',
      message: 'm',
    });
    expect(reportable({ ...finding('quota', 'fail'), member: 'n1', hint: 'h' }, '/c.yaml')).toEqual({
      ...{ rule: 'quota', level: 'fail', message: 'm', subject: 'n1', hint: 'h', file: '/c.yaml' },
    });
  });
});

it('events as plain lines omit normal results', () => {
  const said = (event: Unstamped) => lineOf({ ...event, at: '', elapsed_ms: 0 } as UpgradeEvent);
  const check = { event: 'gate-check', member: 'n1', check: 'lag', detail: 'd' } as const;
  expect([true, false, null].map((ok) => said({ ...check, ok }))).toEqual([
    ...[undefined, '      n1: lag: d', '      n1: lag: d'],
  ]);
  const log = { event: 'log-line', member: 'n1', line: 'l' } as const;
  expect([true, false].map((expected) => said({ ...log, expected }))).toEqual([
    undefined,
    '      log of n1: l',
  ]);
  const [step] = planned().steps;
  const done = { event: 'step-finished', step: step as never, duration_ms: 999 } as const;
  expect(said(done)).toBe('      save and verify a snapshot of n2: done in 999 ms');
  expect(said({ ...done, duration_ms: 1000, detail: 'x' })).toBe(
    '      save and verify a snapshot of n2: done in 1.0 s (x)',
  );
  expect(said({ ...done, detail: '' })).toBe('      save and verify a snapshot of n2: done in 999 ms');
  expect(said({ ...done, was_done_before: true })).toBeUndefined();
  // Steps overlap, so the closing line repeats the number of its step.
  let run = emptyRun;
  const inRun = (event: Unstamped) => {
    const stamped = { ...event, at: '', elapsed_ms: 0 } as UpgradeEvent;
    run = runAfter(run, stamped);
    return lineOf(stamped, run);
  };
  const step2 = { ...step, id: 'n3.snapshot', title: 'save and verify a snapshot of n3' };
  expect(
    [
      { event: 'step-started', step: step as never, number: 4, count: 13 } as const,
      { event: 'step-started', step: step2 as never, number: 5, count: 13 } as const,
      { ...done, duration_ms: 2300 },
      { event: 'step-failed', step: step2 as never, reason: 'r' } as const,
    ].map(inRun),
  ).toEqual([
    '[4/13] save and verify a snapshot of n2',
    '[5/13] save and verify a snapshot of n3',
    '[4/13] save and verify a snapshot of n2: done in 2.3 s',
    '[5/13] save and verify a snapshot of n3: failed: r',
  ]);
  const started = (action: 'upgrade' | 'rollback' | 'resume', plan = planned()) =>
    said({ event: 'run-started', run: 'r', action, plan, journal: '/j' });
  expect(started('upgrade')).toBe('upgrade 3.3 → 3.4, run r, journal /j');
  expect(started('rollback')).toBe('rollback 3.4 → 3.3, run r, journal /j');
  expect(started('resume')).toBe('resume 3.3 → 3.4, run r, journal /j');
  expect(said({ event: 'observed', observation: observed() })).toBeUndefined();
});

describe('a rehearsal', () => {
  const result = {
    mode: 'real servers',
    outcome: 'done',
    message: 'm',
    keys_before: 3,
    keys_after: 3,
  } as const;
  const ended = (patch: object) => {
    const { data, exit } = rehearsalEnding({ ...result, ...patch } as never, '/kept') as {
      readonly data: { readonly ok: boolean };
      readonly exit?: string;
    };
    return [data.ok, exit];
  };
  it('went through when the upgrade did and every key is there', () => {
    expect(ended({})).toEqual([true, undefined]);
    expect(ended({ keys_after: 4 })).toEqual([true, undefined]);
    expect(ended({ keys_after: undefined })).toEqual([true, undefined]);
    expect(ended({ keys_after: 2 })).toEqual([false, 'no']);
    expect(ended({ outcome: 'failed' })).toEqual([false, 'no']);
  });
  it('a rehearsal reports the downtime of each member, and omits members without one', () => {
    const members = [{ name: 'n1', down_ms: 120 }, { name: 'n2' }, { name: 'n3', down_ms: 80 }];
    const shown = rehearsalEnding({ ...result, report: { duration_ms: 2500, members } } as never, '/kept');
    expect(JSON.stringify(shown)).toContain(
      'took 2.5 s; members unavailable for: n1 120 ms, n3 80 ms\\nreport /kept/report.html',
    );
  });
  it('a rehearsal uses the available versions', () => {
    const unknown = [away('n1'), seen('n2', { host: {} })];
    expect(rehearsedVersions(observed(unknown), planned())).toEqual({ old: '3.3.25', new: '3.4.0' });
    expect(rehearsedVersions(observed(), planned())).toEqual({ old: '3.3.25', new: '3.4.45' });
    expect(rehearsedVersions(observed([away('n1')]), planned())).toEqual({ old: '3.3.0', new: '3.4.0' });
  });
  it('leaves its report with the runs of the cluster', async () => {
    const names = ['report.json', 'report.md', 'report.html', 'events.ndjson', 'journal.jsonl'];
    const files = Object.fromEntries(names.map((name) => [`/tmp/x/home/state/c/r1/${name}`, name]));
    const host = fakeHost({ files: { ...files, '/tmp/x/home/a/file': '' } });
    expect(await keepReport(host, '/state', 'c', '/tmp/x', 'r')).toBe('/state/c/rehearsals/r');
    expect((await host.files.list('/state/c/rehearsals/r')).sort()).toEqual(names.slice(0, 4).sort());
    const none = fakeHost({ files: { '/tmp/x/home/a/file': '' } });
    expect(await keepReport(none, '/state', 'c', '/tmp/x', 'r')).toBe('/state/c/rehearsals/r');
    expect(await none.files.list('/state').catch(() => [])).toEqual([]);
  });
});

it("a server's configuration file is read by its content; a file that no version can read is reported", async () => {
  const host = fakeHost({ files: { '/a.yml': 'name: n1\n', '/b.yml': 'name: [\n' } });
  expect((await readServerFile(host, '/a.yml', 'a.yml')).file).toEqual({ name: 'n1' });
  await expect(readServerFile(host, '/b.yml', 'b.yml')).rejects.toMatchObject({
    detail: { code: 'CONFIG_BROKEN' },
  });
  await expect(readServerFile(host, '/c.yml', 'c.yml')).rejects.toMatchObject({
    detail: { code: 'NO_FILE' },
  });
});
