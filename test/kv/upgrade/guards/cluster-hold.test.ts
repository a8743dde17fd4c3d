import { expect, test } from 'vitest';
import { clusterHold } from '../../../../src/kv/upgrade/guards/membership.ts';
import type { Observation, PlanKind } from '../../../../src/kv/engine/model.ts';
import { covers } from '../../../support/covers.ts';
import { clusterFile, observed, planOptions } from '../../../support/observations.ts';

const hold = { reason: 'soak test', by: 'ann@h', since: '2026-01-01T00:00:00.000Z' };
const found = (patch: Partial<Observation>, kind?: PlanKind) =>
  clusterHold.findings({
    observation: observed(undefined, patch),
    cluster: clusterFile(3),
    options: planOptions(),
    kind,
  });

test.each([
  [{}, undefined, 'pass'],
  [{ hold: null }, undefined, 'pass'],
  [{ hold }, undefined, 'warn'],
  [{ hold }, 'restart', 'warn'],
  [{ hold }, 'downgrade', 'fail'],
  [{ hold_unread: 'permission denied' }, undefined, 'unknown'],
] as const)('cluster-hold reports a hold: %j, %s: %s', covers('guard/cluster-hold'), (patch, kind, level) => {
  const findings = found(patch, kind);
  expect(findings.map((one) => one.level)).toEqual([level]);
  if ('hold' in patch && patch.hold !== null) expect(findings[0]?.message).toContain('ann@h');
  if ('hold_unread' in patch) expect(findings[0]?.message).toContain('permission denied');
});
