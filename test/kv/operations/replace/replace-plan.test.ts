/** The plan of a replacement: whether the new member joins as a learner. */
import { expect, it } from 'vitest';
import { replacePlan } from '../../../../src/kv/operations/replace-plan.ts';
import type { HostFacts, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { seen } from '../../../support/observations.ts';
import { clusterOf, observationOf } from '../observed.ts';

const plannedWith = (versions: readonly string[], n2: Partial<MemberStatus> = {}) => {
  const host = { ...seen('n1').host, old_binary_version: versions[1] as string } as HostFacts;
  const observation = observationOf(3, (one) => ({
    ...one,
    server_version: versions[Number(one.name.slice(1)) - 1] as string,
    ...(one.name === 'n1' ? { host } : {}),
    ...(one.name === 'n2' ? n2 : {}),
  }));
  const cluster = clusterOf(observation);
  const [member] = cluster.members.map((one) => ({
    ...one,
    data_dir: '/data/n1',
    config_file: '/etc/n1.yaml',
  }));
  return replacePlan({ id: 'r', observation, cluster, member: member as NonNullable<typeof member> });
};
const kinds = (made: ReturnType<typeof plannedWith>): string[] =>
  'steps' in made ? made.steps.map(({ kind }) => kind) : [];

it.each([
  ['every other member knows learners', ['3.3.27', '3.4.45', '3.5.16'], true],
  ['one of the other members does not know learners', ['3.5.16', '3.3.27', '3.4.45'], false],
  ['no other member knows learners', ['3.4.45', '3.3.27', '3.3.27'], false],
] as const)('a replaced member joins as a learner only if %s', (_, versions, isLearner) => {
  const made = plannedWith(versions);
  const found = kinds(made);
  expect([
    JSON.stringify('refused' in made ? made.refused : []),
    found.includes('add'),
    found.includes('promote'),
  ]).toEqual(['[]', true, isLearner]);
});

it('an unhealthy other member is named with its error, else with the reason that it gives', () => {
  const messageFor = (n2: Partial<MemberStatus>): string => {
    const made = plannedWith(['3.5.16', '3.5.16', '3.5.16'], { is_healthy: false, ...n2 });
    const found = 'refused' in made ? made.refused : [];
    const [finding] = found.filter(({ guard }) => guard === 'others-are-healthy');
    expect(finding).toMatchObject({ level: 'fail', member: 'n2' });
    return finding?.message ?? '';
  };
  expect(messageFor({ error: 'ECONNRESET', health_reason: 'RAFT NO LEADER' })).toContain('(ECONNRESET)');
  expect(messageFor({ health_reason: 'RAFT NO LEADER' })).toContain('(RAFT NO LEADER)');
});
