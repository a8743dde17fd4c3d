import { describe, expect, it } from 'vitest';
import { removePlan } from '../../../src/kv/operations/membership-plan.ts';
import { isRefused } from '../../../src/kv/operations/plan.ts';
import type { ListedMember } from '../../../src/kv/client/etcd-client.ts';
import type { MemberStatus } from '../../../src/kv/engine/model.ts';
import { clusterOf, observationOf } from './observed.ts';
import { naming } from '../../support/facts.ts';

const removed = (size: number, name: string, away: readonly string[] = []) => {
  const observation = observationOf(
    size,
    (member): MemberStatus =>
      away.includes(member.name) ? { ...member, is_reachable: false, is_healthy: false } : member,
  );
  const member = observation.listed.find((one) => one.name === name) as ListedMember;
  return removePlan({ id: 'r', observation, cluster: clusterOf(observation) }, member);
};
const refusals = (...args: Parameters<typeof removed>): string[] => {
  const made = removed(...args);
  return isRefused(made) ? made.refused.map(({ message, hint }) => `${message} → ${hint}`) : [];
};

describe('a member is removed', () => {
  it('removing one of two healthy members moves the leadership first, and the plan states the remaining tolerance', () => {
    const made = removed(2, 'n1');
    if (isRefused(made)) throw new Error(JSON.stringify(made.refused));
    expect(made.steps.map(({ kind }) => kind)).toEqual(['move-leader', 'remove']);
    expect(made.findings.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      '1 member remains: when it fails, the cluster accepts no writes',
    ]);
  });
  it('removing one of two members with the other one down names the quorum first, with a hint', () => {
    expect(refusals(2, 'n1', ['n2']).slice(0, 2)).toEqual([
      naming('1', '2', 'n2', 'opsctl kv restore', 'quorum', 'responds', 'removal'),
      naming(
        'n1',
        '0',
        '1',
        'n2',
        'opsctl kv status',
        'remove',
        'opsctl kv member',
        'quorum',
        'needed',
        'first',
      ),
    ]);
  });
  it('removing the unresponsive one of two members is impossible without a majority', () => {
    expect(refusals(2, 'n2', ['n2'])[0]).toEqual(naming('1', '2', 'quorum', 'responds', 'removal'));
  });
  it('a healthy one of three while another is away: that one goes instead', () => {
    expect(refusals(3, 'n2', ['n3'])).toEqual([
      naming(
        'n2',
        '1',
        '2',
        'n3',
        'opsctl kv status',
        'remove',
        'opsctl kv member',
        'quorum',
        'needed',
        'first',
      ),
    ]);
    expect(refusals(3, 'n3', ['n3'])).toEqual([]);
  });
  it('the last member cannot be removed; one of four leaves three that tolerate a failure', () => {
    expect(refusals(1, 'n1')).toEqual([naming('n1', 'opsctl kv snapshot', 'last', 'voting', 'exist')]);
    const made = removed(4, 'n4');
    expect(made.findings.filter(({ level }) => level !== 'pass')).toEqual([]);
  });
});
