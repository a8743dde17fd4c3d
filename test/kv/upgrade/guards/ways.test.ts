import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import type { GuardInput } from '../../../../src/kv/upgrade/guards/guard.ts';
import type { MemberStatus, Observation } from '../../../../src/kv/engine/model.ts';
import { away, observed, seen } from '../../../support/observations.ts';
import { type Given, input, said, second } from './said.ts';
import { naming } from '../../../support/facts.ts';

const row = (id: string, name: string) => ({ id, name, peer_urls: [], client_urls: [], is_learner: false });

describe('a downgrade', () => {
  const at =
    (server_version: string, patch: Partial<MemberStatus> = {}) =>
    (name: string) =>
      seen(name, { server_version, cluster_version: '3.6.0', ...patch });
  const names = ['n1', 'n2', 'n3'];
  const down = (members: readonly MemberStatus[], more: Partial<GuardInput> = {}) =>
    said('version-path', { members }, { kind: 'downgrade', from: '3.6', to: '3.5', ...more });
  const pass = [naming('pass', 'path', 'minor', 'version')];
  it('a downgrade starts from 3.6, with every member available and of one version', () => {
    expect(down(names.map(at('3.6.1')))).toEqual(pass);
    const cannot = (version: string) =>
      naming('fail', 'cluster of ' + version, 'cannot', 'downgrades from 3.6');
    expect(down(names.map(at('3.5.9')), { from: '3.5', to: '3.4' })).toEqual([cannot('3.5')]);
    expect(down(names.map(at('3.6.1')), { to: undefined as never })).toEqual([cannot('3.6')]);
  });
  it('a downgrade of a mixed cluster, or with an unresponsive member, is refused in advance', () => {
    const mixed = [at('3.6.1')('n1'), at('3.5.9')('n2'), away('n3')];
    expect(down(mixed)).toEqual([
      naming('fail n2', '3.5.9', 'store', 'downgrade', 'mixed'),
      naming('fail n3', '3.6', 'respond', 'stays', 'responds'),
    ]);
    // During the upgrade the cluster is mixed, and a member that is being replaced is down.
    expect(down(mixed, { isUnderWay: true })).toEqual([naming('unknown', 'n3', 'path', 'minor', 'version')]);
    expect(down(mixed, { isUnderWay: false })).toHaveLength(2);
  });
  it('a downgrade to another version than the active one is refused', () => {
    const on = (downgrade_to: string) => names.map(at('3.6.1', { downgrade_to }));
    expect(down(on('3.5.0'))).toEqual(pass);
    expect(down(on('3.4.0'))).toEqual(
      names.map((name) => naming(`fail ${name}`, '3.4.0', 'downgrade', 'already', 'enabled')),
    );
  });
});

describe('the version of a cluster', () => {
  const path = (cluster_version: string | undefined, more: Partial<GuardInput> = {}) =>
    said('version-path', { ...(cluster_version === undefined ? {} : { cluster_version }) } as Given, more);
  it('the version of a cluster is that of its oldest member', () => {
    expect(path('3.3.0')).toEqual([naming('pass', 'path', 'minor', 'version')]);
    expect(path('3.2.0')).toEqual([naming('fail', '3.3', 'member', 'cluster')]);
    expect(path('3.4.0')).toEqual([naming('fail', '3.4', 'cluster', 'version')]);
  });
  it('the version of a cluster is that of all members before a restart', () => {
    const restart = { kind: 'restart', from: '3.3', to: '3.3' } as const;
    expect(path('3.3.0', restart)[0]).toMatch(/^pass/);
    expect(path('3.2.0', restart)).toEqual([naming('fail', '3.2.0', 'cluster', 'version')]);
    const none = observed(undefined, {});
    const { cluster_version: _, ...unknown } = none;
    expect(
      findingsOf({ ...input({}, restart), observation: unknown }).find(
        ({ guard }) => guard === 'version-path',
      )?.level,
    ).toBe('pass');
    const members = second({ downgrade_to: '3.2.0' });
    expect(said('version-path', { members }, restart)).toEqual([
      naming('fail n2', '3.2.0', 'downgrade', 'enabled'),
    ]);
  });
});

describe('a leader', () => {
  const led = (leader_id: string | undefined) =>
    ['n1', 'n2', 'n3'].map((name) => seen(name, { leader_id, is_leader: false } as never));
  it('the responding members agree on a leader', () => {
    expect(
      said('leader-agreed', { members: [seen('n1'), seen('n2'), away('n3', { leader_id: '1002' })] }),
    ).toEqual([naming('unknown', 'n3', 'members', 'leader')]);
    const two = [seen('n1'), seen('n2'), seen('n3', { leader_id: '1002' })];
    expect(said('leader-agreed', { members: two })).toEqual([naming('fail', 'members', 'leader')]);
  });
  it('a leader outside the file is still a leader of the cluster', () => {
    const listed = [row('9', 'n9')];
    expect(said('leader-agreed', { members: led('9'), listed })[0]).toMatch(/^pass/);
    expect(said('leader-agreed', { members: led('8'), listed })[0]).toEqual(
      naming('fail', 'no leader', 'writes'),
    );
    const [n1, n2] = led('9') as [MemberStatus, MemberStatus];
    const split = [n1, n2, seen('n3', { leader_id: '8', is_leader: false })];
    expect(said('leader-agreed', { members: split, listed, leader: undefined } as Given)[0]).toEqual(
      naming('fail', 'no leader', 'writes'),
    );
    // The guard does not look up members that agree in the list.
    expect(
      said('leader-agreed', { members: second({ leader_id: '1002' }), listed: [row('1001', 'n1')] })[0],
    ).toEqual(naming('fail', 'members', 'not agree', 'leader'));
  });
  it('a missing leader is not blamed on a disabled or working login', () => {
    const blamed = (auth: Observation['auth']) => said('leader-agreed', { members: led(undefined), auth })[0];
    expect(blamed({ is_on: true, problem: 'p', is_rejected: true })).toEqual(
      naming('fail', 'cannot', 'leader', 'p'),
    );
    expect([blamed({ is_on: true }), blamed({ is_on: true, problem: 'p' })]).toEqual(
      Array(2).fill(naming('fail', 'no leader', 'writes')),
    );
    expect(said('leader-agreed', { auth: { is_on: true, problem: 'p' } })[0]).toMatch(/^pass/);
  });
});
