import { expect, test } from 'vitest';
import { withNewConfiguration } from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile, observed, seen } from '../../../support/observations.ts';
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

test('without a new file the observed configuration is used', async () => {
  expect(await hostAfter(undefined)).toEqual({ free_bytes: 5, config_error: 'the old one is broken' });
});

test('a missing or malformed new file is reported by its path', async () => {
  expect((await hostAfter('/none.yaml'))?.config_error).toEqual(naming('new_config_file', '/none.yaml'));
  expect((await hostAfter('/broken.yaml'))?.config_error).toEqual(
    naming('/broken.yaml', 'sequence', 'block', 'column'),
  );
});
