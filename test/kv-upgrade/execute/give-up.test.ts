import { describe, expect, it } from 'vitest';
import { downgradeLeft, refuseWhileDown } from '../../../src/kv-upgrade/execute/give-up.ts';
import { away, seen } from '../../support/observations.ts';

const plan = { kind: 'downgrade', from: '3.6', to: '3.5' } as const;
const at = (server_version: string, cluster_version: string, downgrade_to?: string) =>
  seen('n1', { server_version, cluster_version, ...(downgrade_to === undefined ? {} : { downgrade_to }) });

describe('what becomes of a downgrade whose run is given up', () => {
  it.each([
    ['nothing was enabled', undefined, [at('3.6.14', '3.6.0'), at('3.6.14', '3.6.0')]],
    ['enabled a moment ago', 'cancelled', [at('3.6.14', '3.6.0', '3.5.0'), at('3.6.14', '3.6.0')]],
    ['enabled, and every member is ready', 'cancelled', [at('3.6.14', '3.5.0', '3.5.0')]],
    ['cancelled a moment ago by somebody', 'cancelled', [at('3.6.14', '3.5.0')]],
    ['one member has followed', 'enabled', [at('3.5.33', '3.5.0'), at('3.6.14', '3.5.0', '3.5.0')]],
    ['every member has followed', undefined, [at('3.5.33', '3.5.0'), at('3.5.33', '3.5.0')]],
  ] as const)('%s: %s', (_, left, members) => {
    expect(downgradeLeft(plan, members)).toBe(left);
  });
  it('is no matter of an upgrade', () => {
    const upgrade = { from: '3.5', to: '3.6' } as const;
    expect(downgradeLeft(upgrade, [at('3.6.14', '3.5.0', '3.5.0')])).toBeUndefined();
  });
});

it('a run is not given up while a member is down', () => {
  const members = [seen('n1'), away('n2')];
  expect(() => refuseWhileDown(members)).toThrow('n2 is down');
  expect(refuseWhileDown(members.slice(0, 1))).toBeUndefined();
});
