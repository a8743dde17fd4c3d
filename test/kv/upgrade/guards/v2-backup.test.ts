import { expect, it } from 'vitest';
import { guards } from '../../../../src/kv/upgrade/guards/all.ts';
import { planFrom } from '../../../../src/kv/upgrade/plan.ts';
import type { PlanKind } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { hints, said } from './said.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const MB = 1_000_000;
const onDisk = (v2_bytes: number) => ({
  members: [seen('n1'), seen('n2', { host: { ...seen('n2').host, v2_bytes } }), seen('n3')],
});

// The v2-backup guard.
it.each([
  ['one key', { v2: { bytes: 90 } }],
  ['less than the limit of the waits', { v2: { bytes: 40 * MB } }],
  ['more than it', { v2: { bytes: 60 * MB } }],
  ['a snapshot file larger than records of members', onDisk(65_537)],
])('v2-backup refuses v2 data that no copy covers: %s', covers('guard/v2-backup'), (_, given) => {
  expect(said('v2-backup', given)).toEqual([
    expect.stringMatching(
      /^fail: \d.* of v2 data is not part of any backup: snapshots contain only v3 data$/,
    ),
  ]);
  expect(hints('v2-backup', given)[0]).toMatch(/--copy-data .*--accept v2-backup/);
  expect(said('v2-backup', given, { options: planOptions({ copy_data: true }) })).toEqual([
    expect.stringMatching(/^pass: .* of v2 data: each data directory is copied/),
  ]);
  expect(said('v2-backup', given, { options: planOptions({ accept: ['v2-backup'] }) })).toEqual([
    expect.stringMatching(/^warn: .*\(accepted\)$/),
  ]);
});
it('v2-backup warns in a run that has started: its plan holds the decision', () => {
  expect(said('v2-backup', { v2: { bytes: 90 } }, { isUnderWay: true })[0]).toMatch(/^warn/);
});
it('v2-backup passes without v2 data and reports unknown if it could not be seen', () => {
  const none = [naming('pass', 'v2', 'snapshots', 'all')];
  expect(said('v2-backup', { v2: { bytes: 0 } })).toEqual(none);
  expect(said('v2-backup', onDisk(65_536))).toEqual(none);
  expect(said('v2-backup', { v2: { unknown: 'its interface returned 401' } })).toEqual([
    naming('unknown', '401', 'interface', 'returned', 'snapshots'),
  ]);
});
it.each(['upgrade', 'restart', 'downgrade'] as const)(
  'v2-backup is part of every plan that stops members: %s',
  covers('spec/store#procedure-2'),
  (kind: PlanKind) => {
    const plan = (accept: readonly string[]) =>
      planFrom({
        observation: observed(undefined, { v2: { bytes: 90 } }),
        ...{ cluster: clusterFile(), options: planOptions({ accept }), describe: () => [], id: 'run', kind },
      });
    expect(plan([]).findings.find(({ guard }) => guard === 'v2-backup')?.level).toBe('fail');
    expect(plan(['v2-backup']).findings).toContainEqual(
      expect.objectContaining({
        guard: 'v2-backup',
        level: 'warn',
        message: expect.stringMatching(/accepted/),
      }),
    );
  },
);

it('v2-settle states what it found', () => {
  expect(said('v2-settle', { v2: { bytes: 0 } })).toEqual([naming('pass', 'v2', 'between', 'members')]);
  expect(said('v2-settle', { v2: { bytes: 40 * MB } })).toEqual([
    naming('pass', '38', 'MiB', 'v2', '50', 'MB', 'between', 'members'),
  ]);
});
it('a guard that does not apply states why, and makes no claim about unobserved members', () => {
  expect(said('no-v2-data', {})).toEqual([naming('pass', '3.5', '3.6', 'v2', 'upgrade')]);
  expect(said('auth-and-leases', { auth: { is_on: false } })).toEqual([
    naming('pass', 'not apply', 'authentication', 'off'),
  ]);
  // Without hooks, a check of hooks would be a line about nothing.
  for (const { id } of guards.filter((one) => one.id !== 'hook-programs'))
    expect(said(id, {}), id).not.toEqual([]);
});
it.each([
  ['3.2', '3.3', true],
  ['3.3', '3.4', false],
] as const)('auth-and-leases warns about lease revokes from %s to %s: %s', (from, to, isWarned) => {
  const given = { auth: { is_on: true }, cluster: { ...clusterFile(), user: { name: 'root' } } };
  const lines = said('auth-and-leases', given, { from, to });
  expect(lines.some((line) => /^warn: .*\blease revoke\b.*\bpermission\b/.test(line))).toEqual(isWarned);
});
