import { describe, expect, it } from 'vitest';
import {
  durationText,
  gateText,
  runTitle,
  runWay,
  sizeText,
  versionNames,
  versionChange,
} from '../../../../src/kv/upgrade/present/text.ts';
import { momentText } from '../../../../src/core/format.ts';
import type { GateCheck, MemberReport, Report } from '../../../../src/kv/engine/model.ts';

describe('words of a report', () => {
  it.each([
    [0.4, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [59_900, '59.9 s'],
    [60_000, '1 min 00 s'],
    [61_000, '1 min 01 s'],
    [3_599_000, '59 min 59 s'],
    [3_600_000, '1 h 00 min'],
    [7_260_000, '2 h 01 min'],
    [34_200_000, '9 h 30 min'],
  ])('%d ms are %s', (ms, text) => expect(durationText(ms)).toBe(text));
  it.each([
    [0, '0 B'],
    [9, '9 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9999, '10.0 kB'],
    [10_000, '10 kB'],
    [999_000, '999 kB'],
    [1_000_000, '1.0 MB'],
    [1e12, '1.0 TB'],
    [5e15, '5000 TB'],
  ])('%d bytes are %s', (bytes, text) => expect(sizeText(bytes)).toBe(text));
  it('a moment has its date, its time and its zone', () =>
    expect(momentText('2026-03-31T12:00:05.123Z')).toBe('2026-03-31 12:00:05 UTC'));
  it('checks count once each, and a skipped check is not a pass', () => {
    const gate = (...checks: [GateCheck, boolean | null][]) =>
      gateText(checks.map(([check, ok]) => ({ check, ok, detail: '' })));
    expect(gate()).toBe('0 checks passed');
    expect(gate(['lag', true], ['lag', true], ['version', false], ['version', true])).toBe('2 checks passed');
    expect(gate(['lag', true], ['version', null])).toBe('1 checks passed, 1 skipped');
  });
  it('a run is called what it was', () => {
    const run = { cluster: 'c', from: '3.4', to: '3.5' } as const;
    expect([runTitle(run), runWay(run)]).toEqual(['Upgrade of c', 'from 3.4 to 3.5']);
    const restart = { ...run, kind: 'restart' } as const;
    expect([runTitle(restart), runWay(restart)]).toEqual(['Rolling restart of c', 'on 3.4']);
    expect(runTitle({ ...run, kind: 'downgrade' })).toBe('Downgrade of c');
  });
});

describe('versions of members before and after', () => {
  const of = (kind: Report['kind'], ...versions: [string | undefined, string | undefined][]) => {
    const members = versions.map(
      ([version_before, version_after]) => ({ version_before, version_after }) as MemberReport,
    );
    const report = { kind, from: '3.5' as const, to: '3.5' as const, members };
    return [...Object.values(versionNames(report)), versionChange(report)];
  };
  const plain = ['3.5', '3.5, restarted', '3.5, restarted'];
  it('the version range is that of an upgrade', () =>
    expect(of('upgrade', ['3.5.1', '3.5.2'])).toEqual(['3.5', '3.5', '3.5 → 3.5']));
  it('the version range lists the patch versions of a restart, if all members agree on them', () => {
    expect(of('restart', ['3.5.1', '3.5.2'], ['3.5.1', '3.5.2'])).toEqual([
      ...['3.5.1', '3.5.2', '3.5.1 → 3.5.2'],
    ]);
    expect(of('restart', ['3.5.1', '3.5.2'], ['3.5.0', '3.5.2'])).toEqual(plain);
    expect(of('restart', ['3.5.1', '3.5.2'], ['3.5.1', '3.5.3'])).toEqual(plain);
  });
  it('only the start is shown if versions stay or are unknown', () => {
    expect(of('restart', ['3.5.1', '3.5.1'])).toEqual(plain);
    expect(of('restart', [undefined, '3.5.1'])).toEqual(plain);
    expect(of('restart', ['3.5.1', undefined])).toEqual(plain);
    expect(of('restart')).toEqual(plain);
  });
});
