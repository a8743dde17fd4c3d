import { expect, it } from 'vitest';
import { clusterFile, seen } from '../../../support/observations.ts';
import { said, second } from './said.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const host = (restore_check?: { readonly problem?: string }) =>
  second({ host: { ...seen('n2').host, restore_check } as never });

// The restore-possible guard.
it(
  'restore-possible warns if the cluster file has no ctl_binary',
  covers('guard/restore-possible', 'spec/store#versions-6'),
  () => {
    const { ctl_binary: _, ...cluster } = clusterFile();
    expect(said('restore-possible', { cluster })).toEqual([expect.stringMatching(/^warn: .*ctl_binary$/)]);
  },
);
it(
  'restore-possible warns with the member and the reason if its host is not ready for a restore',
  covers('spec/store#versions-6'),
  () => {
    expect(said('restore-possible', { members: host({ problem: '/data is a mount point' }) })).toEqual([
      expect.stringMatching(/^warn n2: .*\/data is a mount point$/),
    ]);
  },
);
it('restore-possible reports unknown for a host that was not checked', () => {
  expect(said('restore-possible', { members: host() })).toEqual([
    naming('n2', 'unknown', 'restore', 'member'),
  ]);
});
it('restore-possible passes with the program that restores', () => {
  expect(said('restore-possible', {})).toEqual([expect.stringMatching(/^pass: .*\/bin\/ctl-3\.3$/)]);
});
it.each(['downgrade', 'restart'] as const)('restore-possible does not apply to a %s', (kind) => {
  const { ctl_binary: _, ...cluster } = clusterFile();
  expect(said('restore-possible', { cluster }, { kind })).toEqual([
    naming('pass', 'not apply', kind, 'point of no return'),
  ]);
});
