/** The CronJob of `kv snapshot schedule` finds each file of the cluster file where its container reads it. */
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { snapshotSchedule } from '../../../src/commands/kv/schedule.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { contextWith } from '../../support/context.ts';
import { fakeHost } from '../../support/fake-host.ts';

type Mount = { readonly name: string; readonly mountPath: string; readonly subPath?: string };
const cluster = (tls: object, user?: object) =>
  JSON.stringify({
    ...{ name: 'prod', members: [{ name: 'n1', client_url: 'https://n1:2379' }], tls },
    ...(user === undefined ? {} : { user }),
  });
const authority = makeAuthority();
const client = authority.issue();
/** Emits the CronJob for a cluster file in /srv/prod and returns the mounts of its Secret. */
const emitted = async (text: string, flags: object = {}) => {
  const files = {
    '/srv/prod/pki/ca.pem': authority.cert,
    '/srv/pki/ca.pem': authority.cert,
    '/srv/prod/pki/n1.pem': `${client.cert}\n${client.key}`,
    '/srv/prod/password': 'secret',
  };
  const host = fakeHost({ now: Date.now(), files: { ...files, '/srv/prod/cluster.yaml': text } });
  const result = await snapshotSchedule.run(contextWith({ host, log: { hide: () => {} } }), {
    ...{
      destination: 's3://backups/etcd',
      emit: 'kubernetes',
      image: 'opsctl',
      cluster: '/srv/prod/cluster.yaml',
    },
    ...flags,
  } as never);
  if (result.kind !== 'raw') throw new Error('no text');
  const output = [...(result.chunks as Iterable<string>)].join('');
  const job = parseAllDocuments(output).at(-1)?.toJS();
  const { containers, volumes } = job.spec.jobTemplate.spec.template.spec;
  const mounts = containers[0].volumeMounts as readonly Mount[];
  return { output, volumes, mounts: mounts.filter(({ name }) => name === 'files') };
};

describe('the mounts of the CronJob', () => {
  it.each([
    ['a relative path', 'pki/ca.pem', '/srv/prod/pki/ca.pem'],
    ['an absolute path next to the cluster file', '/srv/prod/pki/ca.pem', '/srv/prod/pki/ca.pem'],
    ['a relative path outside of its directory', '../pki/ca.pem', '/srv/pki/ca.pem'],
  ])('contain %s where the container reads it', async (_, ca_file, path) => {
    const { mounts, output } = await emitted(cluster({ ca_file }));
    // The container reads the path of its cluster file, /etc/opsctl/cluster.yaml.
    const mountPath = posix.resolve('/etc/opsctl', ca_file);
    expect(mounts).toEqual([{ name: 'files', mountPath, subPath: 'ca_file', readOnly: true }]);
    expect(output).toContain(`--from-file=ca_file=${path}`);
    expect(output).toContain('--from-file=cluster.yaml=/srv/prod/cluster.yaml');
  });
  it('contain the password file, and a file with two purposes once', async () => {
    const tls = { ca_file: 'pki/ca.pem', cert_file: 'pki/n1.pem', key_file: 'pki/n1.pem' };
    const { mounts } = await emitted(cluster(tls, { name: 'backup', password_file: 'password' }));
    expect(mounts.map(({ mountPath }) => mountPath)).toEqual([
      ...['/etc/opsctl/pki/ca.pem', '/etc/opsctl/pki/n1.pem', '/etc/opsctl/password'],
    ]);
    expect(new Set(mounts.map(({ subPath }) => subPath)).size).toBe(3);
  });
  it('do not contain a file that a flag replaces', async () => {
    const written = cluster({ ca_file: 'pki/ca.pem' }, { name: 'backup', password_file: 'password' });
    const flags = { cacert: '/srv/pki/ca.pem', 'password-file': '/srv/prod/password' };
    const { mounts, volumes } = await emitted(written, flags);
    expect(mounts).toEqual([{ name: 'files', mountPath: '/etc/opsctl-files', readOnly: true }]);
    expect(volumes).toContainEqual(expect.objectContaining({ name: 'files' }));
  });
});
