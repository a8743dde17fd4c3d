import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  findRuns,
  idAfter,
  isFinal,
  isRolledBack,
  openJournal,
  openRun,
  parseJournal,
  runDirectory,
  nextRunId,
} from '../../../src/kv/engine/journal.ts';
import type { JournalEntry } from '../../../src/kv/engine/model.ts';
import { planned } from '../../support/observations.ts';
import { realHost, type RealHost } from '../../support/real-host.ts';
import { errorWith, naming } from '../../support/facts.ts';

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
});
const owner = { host: 'h', pid: 1 };

describe('a journal', () => {
  it('keeps its lines, and a torn last line is cut off before the next', async () => {
    const directory = join(real.directory, 'run');
    const first = await openJournal(real.host, directory);
    first.write({ kind: 'begin', step: 'n1.stop' });
    first.close();
    appendFileSync(first.path, '{"kind":"end","st');
    const second = await openJournal(real.host, directory);
    expect(second.entries.map(({ kind }) => kind)).toEqual(['begin']);
    second.write({ kind: 'end', step: 'n1.stop' });
    second.close();
    expect(
      readFileSync(first.path, 'utf8')
        .split('\n')
        .map((line) => line.slice(0, 1))
        .join(''),
    ).toBe('{{');
    expect(parseJournal(readFileSync(first.path, 'utf8')).entries).toHaveLength(2);
  });
  it('a journal entry is on the disk before its write returns', async () => {
    const order: string[] = [];
    const file = {
      write: () => void order.push('write'),
      sync: () => void order.push('sync'),
      sizeBytes: () => 0,
      close: () => {},
    };
    const host = { ...real.host, files: { ...real.host.files, append: () => file } };
    const journal = await openJournal(host, join(real.directory, 'run'));
    journal.write({ kind: 'begin', step: 'n1.stop' });
    expect(order).toEqual(['write', 'sync']);
    journal.tell({ kind: 'end', step: 'n1.stop' }, 'with-next');
    journal.tell({ kind: 'begin', step: 'n1.start' });
    expect(order).toEqual(['write', 'sync', 'write', 'write', 'sync']);
  });
  it('an unwritable journal throws for announcements, remembers completed facts, and keeps the first reason', async () => {
    let code = 'ENOSPC';
    const file = {
      write: () => {
        throw Object.assign(new Error(`${code}: write`), { code });
      },
      sync: () => {},
      sizeBytes: () => 0,
      close: () => {},
    };
    const host = { ...real.host, files: { ...real.host.files, append: () => file } };
    const journal = await openJournal(host, join(real.directory, 'run'));
    expect(() => journal.write({ kind: 'begin', step: 'n1.stop' })).toThrow(
      errorWith('JOURNAL_UNWRITABLE', journal.path, 'disk', 'full'),
    );
    expect([journal.entries.length, journal.failure()]).toEqual([0, undefined]);
    journal.tell({ kind: 'end', step: 'n1.stop' });
    code = 'EIO';
    journal.tell({ kind: 'begin', step: 'n1.start' });
    expect(journal.entries.map(({ kind }) => kind)).toEqual(['end', 'begin']);
    expect(journal.failure()).toMatchObject({
      category: 'stopped',
      detail: { code: 'JOURNAL_UNWRITABLE' },
      message: naming(journal.path, 'disk', 'full'),
    });
  });
  it('a damaged line in the middle is an error with a fix', () => {
    expect(() => parseJournal('{"kind":"begin"}\nxx\n{"kind":"end"}\n')).toThrow(/line 2 of the journal/);
  });
  it('runs are found newest first; only the newest can be open', async () => {
    const made: string[] = [];
    for (const run of ['20260101T000000Z-aaaa', '20260102T000000Z-bbbb']) {
      const journal = await openJournal(real.host, runDirectory(real.directory, 'c', run));
      journal.write({ kind: 'opened', run, action: 'upgrade', plan: planned(), owner, cluster_file: 'f' });
      journal.close();
      made.unshift(run);
    }
    const runs = await findRuns(real.host, real.directory, 'c');
    expect(runs.map(({ run }) => run)).toEqual(made);
    expect(openRun(runs)?.run).toBe(made[0]);
    const ended = { ...runs[0], entries: [{ kind: 'closed', outcome: 'done', at: '' }] } as never;
    expect([openRun([]), openRun([ended, ...runs])]).toEqual([undefined, undefined]);
    expect(await findRuns(real.host, real.directory, 'other')).toEqual([]);
  });
  it.each([
    ['done', true],
    ['aborted', true],
    ['held', false],
    ['stopped', false],
    ['failed', false],
    ['rolled-back', false],
  ] as const)('%s is final: %s', (outcome, expected) => {
    expect(isFinal([{ kind: 'closed', at: '', outcome, message: '' } as JournalEntry])).toBe(expected);
  });
  it('a completed rollback is final; a reverted member is not', () => {
    const closed = { kind: 'closed', at: '', outcome: 'rolled-back', message: '' } as JournalEntry;
    const begun = (action: 'upgrade' | 'rollback') =>
      ({ kind: 'resumed', at: '', owner, action }) as JournalEntry;
    expect(isFinal([begun('rollback'), closed])).toBe(true);
    expect(isFinal([begun('rollback'), closed, begun('upgrade'), closed])).toBe(false);
  });
  it('run names sort by time, even if the clock was set back', async () => {
    const at = (ms: number) => nextRunId({ ...real.host, now: () => ms }, real.directory, 'c');
    const first = await at(Date.UTC(2026, 0, 2, 3, 4, 59));
    expect(first).toMatch(/^20260102T030459Z-[0-9a-f]{4}$/);
    await real.host.files.makeDirectory(join(real.directory, 'c', first));
    expect(await at(Date.UTC(2026, 0, 2, 3, 5, 1))).toMatch(/^20260102T030501Z-/);
    for (const now of [Date.UTC(2026, 0, 2, 3, 4, 59), Date.UTC(2025, 0, 1)])
      expect(await at(now)).toMatch(/^20260102T030500Z-/);
  });
  it('finds the newest run that has started', async () => {
    const found = async () => (await findRuns(real.host, real.directory, 'c'))[0];
    expect(await found()).toBeUndefined();
    const run = '20260101T000000Z-aaaa';
    const journal = await openJournal(real.host, runDirectory(real.directory, 'c', run));
    // A directory without a journal, a run that has not started, and a name that is not a run.
    await real.host.files.makeDirectory(join(real.directory, 'c', '20260109T000000Z-none'));
    await real.host.files.makeDirectory(join(real.directory, 'c', 'x20260108T000000Z-other'));
    expect(await found()).toBeUndefined();
    journal.write({ kind: 'opened', run, action: 'upgrade', plan: planned(), owner, cluster_file: 'f' });
    expect((await found())?.run).toBe(run);
    journal.close();
  });
  it.each(['null', '7', '{"step":"x"}', '{"kind":"end"}', '{"kind":"end","step":7}'])(
    'an invalid journal line is damage: %s',
    (line) => {
      expect(() => parseJournal(`${line}\n`)).toThrow('line 1 of the journal cannot be read');
    },
  );
  it('an entry other than the end of a step needs no step', () => {
    expect(parseJournal('{"kind":"closed"}\n').entries).toEqual([{ kind: 'closed' }]);
  });
  it('an unclosed journal is not final, whatever its entries are', () => {
    const closed = { kind: 'closed', at: '', outcome: 'done', message: '' } as JournalEntry;
    expect(isFinal([])).toBe(false);
    expect(isFinal([closed, { kind: 'begin', at: '', step: 'n1.stop' }])).toBe(false);
    expect(isRolledBack([{ ...closed, outcome: 'rolled-back' } as JournalEntry])).toBe(false);
    const opened = { kind: 'opened', at: '', action: 'rollback' } as JournalEntry;
    expect(isRolledBack([opened, closed])).toBe(false);
    expect(isRolledBack([opened, { ...closed, outcome: 'rolled-back' } as JournalEntry])).toBe(true);
  });
  it('the name of the next run has four random digits, and counts on in seconds', () => {
    const host = {
      ...real.host,
      now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 999),
      random: () => Buffer.from([1, 0xab]),
    };
    expect(idAfter(host, undefined)).toBe('20260102T030405Z-01ab');
    expect(idAfter(host, '20260102T030404Z-ffff')).toBe('20260102T030405Z-01ab');
    expect(idAfter(host, '20260102T030405Z-0000')).toBe('20260102T030406Z-01ab');
    expect(idAfter(host, '20261231T235959Z-0000')).toBe('20270101T000000Z-01ab');
  });
});
