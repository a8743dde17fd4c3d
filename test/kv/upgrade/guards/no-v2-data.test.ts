import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../../../src/kv/upgrade/guards/all.ts';
import { checksV2 } from '../../../../src/kv/upgrade/guards/store.ts';
import type { ClusterFile, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { covers } from '../../../support/covers.ts';

const at35 = (patch: Partial<MemberStatus> = {}): MemberStatus =>
  seen('n1', {
    server_version: '3.5.33',
    cluster_version: '3.5.0',
    ...patch,
    host: { ...seen('n1').host, old_binary_version: '3.5.33', new_binary_version: '3.6.14', ...patch.host },
  });
const levels = (cluster: Partial<ClusterFile>, member = at35(), from = '3.5', to = '3.6'): string[] =>
  findingsOf({
    observation: observed([member]),
    cluster: clusterFile(1, cluster),
    options: planOptions(),
    from: from as never,
    to: to as never,
  })
    .filter(({ guard }) => guard === 'no-v2-data')
    .map(({ level }) => level);

describe('v2 data on the way to 3.6', () => {
  it('the process decides about the interface, and an unread start is unknown', () => {
    const started = (command: string[] | undefined, environment: Record<string, string> | undefined) =>
      levels(
        { utl_binary: 'etcdutl' },
        at35({ host: { ...(command && { command }), ...(environment && { environment }) } }),
      );
    expect(started(['etcd', '--enable-v2'], {})).toEqual(['fail']);
    expect(started(['etcd'], { ETCD_ENABLE_V2: 'true' })).toEqual(['fail']);
    expect(started(['etcd'], {})).toEqual(['pass']);
    expect(started(['etcd', '--config-file', '/e.yml'], {})).toEqual(['unknown']);
    expect(started(['etcd', '--name', 'n1'], undefined)).toEqual(['unknown']);
  });
  it('v2 data cannot be detected without its program', () => expect(levels({})).toEqual(['unknown']));
  it('v2 data cannot be detected on other hosts', () =>
    expect(levels({ utl_binary: 'etcdutl', driver: 'ssh' } as never)).toEqual(['unknown']));
  it('v2 data is searched in each stopped member', covers('guard/no-v2-data'), () =>
    expect(levels({ utl_binary: 'etcdutl' })).toEqual(['pass']),
  );
  it('v2 data does not concern the other steps', () =>
    expect(levels({}, at35({ server_version: '3.4.45' }), '3.4', '3.5')).toEqual(['pass']));
  it('an interface that is on is refused: by flag, environment and file', () => {
    const [member] = clusterFile(1).members;
    const withMember = (patch: object) => ({ utl_binary: 'etcdutl', members: [{ ...member!, ...patch }] });
    expect(levels(withMember({ old_command: ['etcd', '--enable-v2'] }))).toEqual(['fail']);
    expect(levels(withMember({ old_command: ['etcd', '--enable-v2=false'] }))).toEqual(['pass']);
    expect(levels(withMember({ env: { ETCD_ENABLE_V2: 'true' } }))).toEqual(['fail']);
    expect(levels({ utl_binary: 'etcdutl' }, at35({ host: { config: { 'enable-v2': true } } }))).toEqual([
      'fail',
    ]);
  });
});

it('the store’s program looks on the way from 3.5 to 3.6 only, and on this machine only', () => {
  const looks = (
    from: string,
    to: string,
    cluster: Partial<ClusterFile> = { utl_binary: 'etcdutl' },
  ): boolean => checksV2(clusterFile(1, cluster), { from, to } as never);
  expect(looks('3.5', '3.6')).toBe(true);
  expect([looks('3.4', '3.6'), looks('3.5', '3.5'), looks('3.6', '3.5')]).toEqual([false, false, false]);
  expect(looks('3.5', '3.6', {})).toBe(false);
  expect(looks('3.5', '3.6', { utl_binary: 'etcdutl', driver: 'ssh' } as never)).toBe(false);
});
