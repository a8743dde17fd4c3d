import { expect, test } from 'vitest';
import { withNewConfiguration } from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { configurationFits } from '../../../../src/kv/upgrade/guards/configuration.ts';
import type { HostFacts } from '../../../../src/kv/engine/model.ts';
import { clusterFile, observed, planOptions, seen } from '../../../support/observations.ts';
import { naming } from '../../../support/facts.ts';

const files = { '/new.yaml': 'name: n1\nmax-txn-ops: 7\n', '/broken.yaml': 'a: [' };
const hostAfter = async (new_config_file: string | undefined) => {
  const spec = clusterFile();
  const members = spec.members.map((one) =>
    one.name === 'n1' && new_config_file !== undefined ? { ...one, new_config_file } : one,
  );
  const before = observed([
    seen('n1', { host: { free_bytes: 5, config_error: 'the old one is broken' } }),
    seen('n2'),
    seen('n3'),
  ]);
  const after = await withNewConfiguration(fakeHost({ files }), { ...spec, members }, before);
  expect(after.members.slice(1)).toEqual(before.members.slice(1));
  return after.members[0]?.host;
};

test('guards check the new configuration file, together with the other facts of the host', async () => {
  const host = await hostAfter('/new.yaml');
  expect(host).toMatchObject({ free_bytes: 5, config: expect.anything() });
  expect(JSON.stringify(host?.config)).toContain('max-txn-ops');
  expect(host).not.toHaveProperty('config_error');
});

test('a restart compares who may connect with the file that the new file replaces', async () => {
  const urls = 'listen-client-urls: https://h:1\n';
  const secured = `client-transport-security: { client-cert-auth: true }\n${urls}`;
  const made = clusterFile();
  const restart = async (
    running: Record<string, unknown> | undefined,
    text: string,
    patch: HostFacts = {},
  ) => {
    const command = ['etcd', '--config-file=/etc/n1.yaml'];
    const spec = { config_file: '/etc/n1.yaml', new_config_file: '/n.yaml', new_command: command };
    const members = made.members.map((one) => (one.name === 'n1' ? { ...one, ...spec } : one));
    const cluster = { ...made, members };
    const config = running === undefined ? { config_error: 'broken' } : { config: running };
    const host = { is_running: true, command, environment: {}, ...config, ...patch };
    const before = observed([seen('n1', { host }), seen('n2'), seen('n3')]);
    const observation = await withNewConfiguration(fakeHost({ files: { '/n.yaml': text } }), cluster, before);
    const input = {
      observation,
      cluster,
      options: planOptions(),
      from: '3.3',
      to: '3.3',
      kind: 'restart',
    } as const;
    return configurationFits
      .findings(input)
      .filter(({ member, message }) => member === 'n1' && message.includes('next start'))
      .map(({ level, message }) => `${level} ${message}`);
  };
  const file = {
    'client-transport-security': { 'client-cert-auth': true },
    'listen-client-urls': 'https://h:1',
  };
  expect(await restart(file, urls)).toEqual([naming('fail n1: client-cert-auth')]);
  expect(await restart(file, secured)).toEqual([]);
  expect(await restart({ 'listen-client-urls': 'https://h:1' }, urls)).toEqual([]);
  expect(await restart(undefined, secured)).toEqual([naming('unknown n1', '/etc/n1.yaml')]);
  // The process reads another file than the cluster file names.
  expect(await restart({}, urls, { running_config: file })).toEqual([naming('fail n1: client-cert-auth')]);
});

test('without a new file the observed configuration is used', async () => {
  expect(await hostAfter(undefined)).toEqual({ free_bytes: 5, config_error: 'the old one is broken' });
});

test('a missing or malformed new file is reported by its path', async () => {
  expect((await hostAfter('/none.yaml'))?.config_error).toEqual(naming('new_config_file', '/none.yaml'));
  expect((await hostAfter('/broken.yaml'))?.config_error).toEqual(
    naming('/broken.yaml', 'sequence', 'block', 'column'),
  );
});
