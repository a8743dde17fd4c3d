import { describe, expect, it } from 'vitest';
import { openDriver, shellsOf } from '../../../../src/kv/upgrade/supervisors/open.ts';
import type { ClusterFile, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = {
  ...{ name: 'n1', client_url: 'http://h:2379', host: 'h1', pid_file: '/run/n1.pid', log_file: '/log' },
  ...{ unit: 'kv', container: 'c1', manifest: '/m/kv.yaml', old_command: ['old'], new_command: ['new'] },
};
const cluster = (patch: Partial<ClusterFile>, size = 3): ClusterFile => ({
  ...{ name: 'c', members: Array.from({ length: size }, (_, i) => ({ ...member, name: `n${i + 1}` })) },
  ...patch,
});
const open = (patch: Partial<ClusterFile>, size?: number) => openDriver(fakeHost(), cluster(patch, size));
// biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
const over = (then: 'systemd' | 'docker' | 'podman') => ({ driver: 'ssh', ssh: { then } }) as const;

describe('the driver of a cluster file', () => {
  it.each<[string, Partial<ClusterFile>, string, string]>([
    ['none', {}, 'local', 'kill -TERM "$(cat /run/n1.pid)"'],
    ['local', { driver: 'local' }, 'local', 'kill -TERM "$(cat /run/n1.pid)"'],
    ['systemd', { driver: 'systemd' }, 'systemd', 'systemctl stop kv'],
    ['docker', { driver: 'docker' }, 'docker', 'docker kill --signal=[its stop signal] c1'],
    ['podman', { driver: 'podman' }, 'podman', 'podman stop --time 86400 c1'],
    ['static-pod', { driver: 'static-pod' }, 'static-pod', "mv -f '/m/kv.yaml' "],
    ['hooks', { driver: 'hooks', hooks: { stop: 'down {name}' } }, 'hooks', 'down n1'],
    ['ssh', { driver: 'ssh' }, 'ssh', 'ssh h1 \'kill -TERM "$(cat /run/n1.pid)"\''],
    ['ssh, then systemd', over('systemd'), 'ssh', 'ssh h1 systemctl stop kv'],
    ['ssh, then docker', over('docker'), 'ssh', "ssh h1 'docker kill"],
    ['ssh, then podman', over('podman'), 'ssh', 'ssh h1 podman stop'],
  ])('the driver is opened for %s', async (_, patch, kind, stop) => {
    const driver = await open(patch);
    expect(driver.kind).toBe(kind);
    expect(driver.describe('stop', member, 'old')[0]?.startsWith(stop)).toBe(true);
  });
  it(
    'members that are processes wait for their leader, unless there is one member',
    covers('spec/store#choices-1'),
    async () => {
      const start = async (patch: Partial<ClusterFile>, size?: number) =>
        (await open(patch, size))
          .describe('start', member, 'new')
          .join()
          .includes('ELECTION_TICK_ADVANCE=false');
      expect([await start({}), await start({ driver: 'ssh' })]).toEqual([true, true]);
      expect([await start({}, 1), await start({ driver: 'ssh' }, 1)]).toEqual([false, false]);
      expect([await start(over('systemd')), await start({ driver: 'docker' })]).toEqual([false, false]);
    },
  );
  it('makes a connection that drops again over ssh, and nowhere else', async () => {
    const killed = async (patch: Partial<ClusterFile>) => {
      const host = fakeHost({ run: () => ({ code: 255, stderr: 'lost' }) });
      const driver = await openDriver(host, cluster({ timeouts: { stop_seconds: 1 }, ...patch }));
      const error = await driver.kill(member).catch((one: unknown) => one);
      return [(error as Error).message, host.slept.length];
    };
    expect(await killed(over('systemd'))).toEqual(['n1 may be down: h1: ssh: lost', 3]);
    expect(await killed({ driver: 'systemd' })).toEqual([naming('n1', 'failed', '255', 'lost'), 0]);
  });
});

it('a shell is here, or on the host of the member', async () => {
  const where = async (patch: Partial<ClusterFile>) =>
    (await shellsOf(fakeHost(), cluster(patch)))(member).where;
  expect([await where({}), await where({ driver: 'docker' }), await where({ driver: 'ssh' })]).toEqual([
    ...['here', 'here', 'h1'],
  ]);
});
