import { describe, expect, it } from 'vitest';
import { actionName, runWay } from '../../../../src/kv/upgrade/plan-kind.ts';
import { gateText, runTitle, versionNames, versionChange } from '../../../../src/kv/upgrade/present/text.ts';
import { momentText } from '../../../../src/core/format.ts';
import type { GateCheck, MemberReport, Report } from '../../../../src/kv/engine/model.ts';

describe('words of a report', () => {
  it('a moment has its date, its time and its zone', () =>
    expect(momentText('2026-03-31T12:00:05.123Z')).toBe('2026-03-31 12:00:05 UTC'));
  it('checks count once each, and a skipped check is not a pass', () => {
    const gate = (...checks: [GateCheck, boolean | null][]) =>
      gateText(checks.map(([check, ok]) => ({ check, ok, detail: '' })));
    expect(gate()).toBe('0 checks passed');
    expect(gate(['lag', true], ['lag', true], ['version', false], ['version', true])).toBe('2 checks passed');
    expect(gate(['lag', true], ['version', null])).toBe('1 check passed, 1 skipped');
  });
  it('a run is called what it was', () => {
    const run = { cluster: 'c', from: '3.4', to: '3.5' } as const;
    expect([runTitle(run), runWay(run)]).toEqual(['Upgrade of c', 'from 3.4 to 3.5']);
    const restart = { ...run, kind: 'restart' } as const;
    expect([runTitle(restart), runWay(restart)]).toEqual(['Rolling restart of c', 'on 3.4']);
    const title = (kind?: 'downgrade' | 'restart', action = 'upgrade') =>
      actionName({ action, plan: kind === undefined ? {} : { kind } });
    expect([title(), title('downgrade'), title('restart'), title('downgrade', 'resume')]).toEqual([
      'upgrade',
      'downgrade',
      'restart',
      'resume',
    ]);
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
