/**
 * Settings that control access. A version that drops, ignores or reinterprets them is a failure (measured on
 * real servers).
 */
import { describe, expect, it } from 'vitest';
import { versionRows, type Minor } from '../../../../src/api-specs/etcd/versions.ts';
import {
  flagsOf,
  lintEnvironment,
  lintFile,
  lintFlags,
  parseConfig,
} from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import { naming } from '../../../support/facts.ts';

const about = (file: object, to: Minor, from?: Minor): string[] =>
  lintFile({ 'enable-grpc-gateway': true, ...file }, to, from).map(
    ({ level, key, isFixed }) => `${level} ${key}${isFixed === true ? ', rewritten' : ''}`,
  );
const client = (values: object) => ({ 'client-transport-security': values });
const peer = (values: object) => ({ 'peer-transport-security': values });
const required = { 'trusted-ca-file': 'ca.pem', 'client-cert-auth': true };

describe('access settings in a configuration file', () => {
  it.each<[string, object, Minor, string[]]>([
    ['ca-file', client({ 'ca-file': 'x' }), '3.4', ['fail client-transport-security.ca-file, rewritten']],
    ['ca-file in 3.3', client({ 'ca-file': 'x' }), '3.3', []],
    [
      'ca-file of the peers',
      peer({ 'ca-file': 'x' }),
      '3.5',
      ['fail peer-transport-security.ca-file, rewritten'],
    ],
    ['ca-file at the top', { 'ca-file': 'x' }, '3.4', ['fail ca-file, rewritten']],
    ['no version reads it at the top', { 'client-cert-auth': true }, '3.3', ['fail client-cert-auth']],
    ['off restricts nobody', { 'client-cert-auth': false, 'ca-file': '' }, '3.4', []],
    [
      'a flag name in a section',
      peer({ 'peer-client-cert-auth': true }),
      '3.5',
      ['fail peer-transport-security.peer-client-cert-auth'],
    ],
    [
      'a flag name in a section, with a CA that requires certificates alone',
      peer({ 'peer-client-cert-auth': true, 'trusted-ca-file': 'x' }),
      '3.5',
      ['warn peer-transport-security.peer-client-cert-auth'],
    ],
    [
      'a flag name in a section, with a CA that requires nothing before 3.4',
      peer({ 'peer-client-cert-auth': true, 'trusted-ca-file': 'x' }),
      '3.3',
      ['fail peer-transport-security.peer-client-cert-auth'],
    ],
    [
      'a list of revoked certificates',
      client({ ...required, 'client-crl-file': 'x' }),
      '3.5',
      ['fail client-transport-security.client-crl-file'],
    ],
    [
      'names that 3.4 ignores',
      client({ ...required, 'allowed-cn': ['a'] }),
      '3.4',
      ['fail client-transport-security.allowed-cn'],
    ],
    ['names that 3.5 reads', client({ ...required, 'allowed-cn': ['a'] }), '3.5', []],
    ['both explicit', { ...client(required), ...peer(required) }, '3.4', []],
    [
      'a CA alone: 3.3 accepts, 3.4 rejects',
      client({ 'trusted-ca-file': 'x' }),
      '3.4',
      ['fail client-transport-security.trusted-ca-file'],
    ],
    ['a CA alone, as before', peer({ 'trusted-ca-file': 'x' }), '3.5', []],
    ['host-whitelist before 3.4', { 'host-whitelist': 'a' }, '3.3', ['fail host-whitelist']],
    [
      'another CA beside it',
      client({ 'ca-file': 'x', 'trusted-ca-file': 'y' }),
      '3.4',
      ['fail client-transport-security.ca-file'],
    ],
  ])('%s', (_, file, to, expected) => expect(about(file, to)).toEqual(expected));

  it('a setting that only the new version applies is a failure of the upgrade, and not of a new server', () => {
    expect(about({ 'host-whitelist': 'a' }, '3.4')).toEqual([]);
    expect(about({ 'host-whitelist': 'a' }, '3.4', '3.3')).toEqual(['fail host-whitelist']);
    expect(about(client({ ...required, 'allowed-cn': ['a'] }), '3.5', '3.4')).toEqual([
      'fail client-transport-security.allowed-cn',
    ]);
  });
  it.each(['*', 'a,*'])(
    'a host-whitelist of %s accepts every host, so no version changes access',
    (value) => {
      expect(about({ 'host-whitelist': value }, '3.3')).toEqual([]);
      expect(about({ 'host-whitelist': value }, '3.4', '3.3')).toEqual([]);
      const levels = (to: Minor, from?: Minor): string[] =>
        lintEnvironment({ ETCD_HOST_WHITELIST: value }, new Map(), to, from).map(({ level }) => level);
      expect([...levels('3.3'), ...levels('3.4', '3.3')]).not.toContain('fail');
    },
  );
  it('a restart on the same version changes no access setting', () => {
    for (const { minor } of versionRows)
      expect(about(client({ 'trusted-ca-file': 'x' }), minor, minor)).toEqual([]);
  });
  it('the message names what would become possible', () => {
    const [found] = lintFile(client({ 'ca-file': 'x' }), '3.4');
    expect(found?.message).toEqual(naming('3.4', 'ignored', 'certificate'));
    expect(lintFile(peer({ 'ca-file': 'x' }), '3.4')[0]?.message).toContain('peer port');
  });
  it('no setting of who may connect is dropped by a version with less than a failure', () => {
    for (const [at, { minor, access }] of versionRows.entries())
      for (const old of versionRows.slice(0, at)) {
        for (const key of old.access.section.filter((one) => !access.section.includes(one)))
          expect(about(client({ [key]: 'x' }), minor).join()).toContain(
            `fail client-transport-security.${key}`,
          );
        for (const key of old.access.flags.filter((one) => !access.flags.includes(one))) {
          expect(lintFlags([`--${key}=x`], minor).map(({ level }) => level)).toContain('fail');
          const env = { [`ETCD_${key.toUpperCase().replaceAll('-', '_')}`]: 'x' };
          expect(lintEnvironment(env, new Map(), minor).map(({ level }) => level)).toContain('fail');
        }
      }
  });
});

describe('access settings as flags and variables', () => {
  const flags = (to: Minor, ...words: string[]) =>
    lintFlags(words, to).map(({ level, key }) => `${level} ${key}`);
  const variables = (to: Minor, env: Record<string, string>, ...words: string[]) =>
    lintEnvironment(env, flagsOf(words), to).map(({ level, key }) => `${level} ${key}`);
  it('flags', () => {
    expect(flags('3.4', '--ca-file', 'x', '--peer-ca-file=y')).toEqual([
      'fail --ca-file',
      'fail --peer-ca-file',
    ]);
    expect(flags('3.3', '--ca-file', 'x')).toEqual([]);
    expect(flags('3.4', '--trusted-ca-file=x')).toEqual(['fail --trusted-ca-file']);
    expect(flags('3.4', '--trusted-ca-file=x', '--client-cert-auth')).toEqual([]);
    expect(flags('3.4', '--config-file=f', '--trusted-ca-file=x')).toEqual([]);
    expect(flags('3.4', '--config-file=f', '--ca-file=x')).toEqual(['fail --ca-file']);
  });
  it('variables', () => {
    expect(variables('3.4', { ETCD_CA_FILE: 'x', ETCD_PEER_CA_FILE: 'y' })).toEqual([
      'fail ETCD_CA_FILE',
      'fail ETCD_PEER_CA_FILE',
    ]);
    expect(variables('3.4', { ETCD_TRUSTED_CA_FILE: 'x' })).toEqual(['fail ETCD_TRUSTED_CA_FILE']);
    expect(variables('3.4', { ETCD_TRUSTED_CA_FILE: 'x' }, '--client-cert-auth')).toEqual([]);
    expect(variables('3.4', { ETCD_CLIENT_CERT_AUTH: 'false', ETCD_CA_FILE: '' })).toEqual([]);
    expect(variables('3.4', { ETCD_CA_FILE: 'x' }, '--config-file=f')).toEqual([]);
  });
  // Measured on 3.3 and 3.4: each of these words requires a certificate, and a listener without TLS asks for none.
  it.each(['1', 't', 'T', 'true', 'TRUE', 'True'])('a switch with the value %s is on', (value) => {
    expect(variables('3.4', { ETCD_TRUSTED_CA_FILE: 'x', ETCD_CLIENT_CERT_AUTH: value })).toEqual([]);
    expect(flags('3.4', '--peer-trusted-ca-file=x', `--peer-client-cert-auth=${value}`)).toEqual([]);
    expect(about(client({ 'trusted-ca-file': 'x', 'client-cert-auth': value }), '3.4')).not.toContain(
      'fail client-transport-security.trusted-ca-file',
    );
  });
  it.each(['0', 'f', 'F', 'false', 'FALSE', 'False'])('a switch with the value %s is off', (value) => {
    const env = { ETCD_PEER_TRUSTED_CA_FILE: 'x', ETCD_PEER_CLIENT_CERT_AUTH: value };
    expect(variables('3.4', env)).toEqual(['fail ETCD_PEER_TRUSTED_CA_FILE']);
  });
  // Measured on 3.3, 3.4 and 3.5: such a server accepts clients and peers without a certificate.
  it.each([
    ['', 'client-transport-security'],
    ['peer-', 'peer-transport-security'],
  ])('a CA does not matter to a server that generates its %scertificate', (prefix, section) => {
    const [ca, auto, own] = [`${prefix}trusted-ca-file`, `${prefix}auto-tls`, `${prefix}cert-file`];
    const name = (key: string) => `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
    const inSection = { 'trusted-ca-file': 'x', 'auto-tls': true };
    expect(flags('3.4', `--${ca}=x`, `--${auto}`)).toEqual([]);
    expect(variables('3.4', { [name(ca)]: 'x', [name(auto)]: 'true' })).toEqual([]);
    expect(about({ [section]: inSection }, '3.4')).toEqual([]);
    expect(flags('3.4', `--${ca}=x`, `--${auto}`, `--${own}=y`)).toEqual([`fail --${ca}`]);
    expect(variables('3.4', { [name(ca)]: 'x', [name(auto)]: 'false' })).toEqual([`fail ${name(ca)}`]);
    expect(about({ [section]: { ...inSection, 'cert-file': 'y' } }, '3.4')).toEqual([
      `fail ${section}.trusted-ca-file`,
    ]);
  });
  it('a CA matters only for a listener with TLS', () => {
    const plain = 'http://127.0.0.1:2379,http://127.0.0.1:2381';
    const both = ['--trusted-ca-file=x', '--peer-trusted-ca-file=y'];
    const cas = (found: readonly string[]) => found.filter((one) => one.endsWith('ca-file'));
    expect(cas(flags('3.4', ...both, `--listen-client-urls=${plain}`))).toEqual([
      'fail --peer-trusted-ca-file',
    ]);
    expect(cas(flags('3.4', ...both, `--listen-peer-urls=${plain}`))).toEqual(['fail --trusted-ca-file']);
    const mixed = `--listen-client-urls=${plain},https://127.0.0.1:1`;
    expect(cas(flags('3.4', ...both, mixed))).toHaveLength(2);
    const env = { ETCD_LISTEN_CLIENT_URLS: plain };
    expect(lintFlags(['--trusted-ca-file=x'], '3.4', '3.3', env)).toEqual([]);
    expect(variables('3.4', { ETCD_PEER_TRUSTED_CA_FILE: 'x', ETCD_LISTEN_PEER_URLS: plain })).toEqual([]);
    const file = { ...client({ 'trusted-ca-file': 'x' }), ...peer({ 'trusted-ca-file': 'x' }) };
    expect(cas(about({ ...file, 'listen-client-urls': plain }, '3.4'))).toEqual([
      'fail peer-transport-security.trusted-ca-file',
    ]);
    expect(cas(about({ ...file, 'listen-peer-urls': plain }, '3.4'))).toEqual([
      'fail client-transport-security.trusted-ca-file',
    ]);
  });
  it.each(['listen-metrics-urls', 'listen-client-http-urls'])('a CA matters for %s with TLS', (key) => {
    const rows = [
      ['https://127.0.0.1:1', true],
      ['http://127.0.0.1:1, https://127.0.0.1:2', true],
      ['http://127.0.0.1:1', false],
      ['', false],
    ] as const;
    for (const [urls, isFound] of rows) {
      const plain = 'http://127.0.0.1:2379';
      const inFile = { ...client({ 'trusted-ca-file': 'x' }), 'listen-client-urls': plain, [key]: urls };
      expect(about(inFile, '3.4').includes('fail client-transport-security.trusted-ca-file')).toBe(isFound);
      const words = ['--trusted-ca-file=x', `--listen-client-urls=${plain}`, `--${key}=${urls}`];
      expect(flags('3.4', ...words).includes('fail --trusted-ca-file')).toBe(isFound);
      const variable = `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
      const env = { ETCD_TRUSTED_CA_FILE: 'x', ETCD_LISTEN_CLIENT_URLS: plain, [variable]: urls };
      expect(variables('3.4', env).includes('fail ETCD_TRUSTED_CA_FILE')).toBe(isFound);
      const peers = { ...peer({ 'trusted-ca-file': 'x' }), 'listen-peer-urls': plain, [key]: urls };
      expect(about(peers, '3.4')).not.toContain('fail peer-transport-security.trusted-ca-file');
    }
  });
  it('a flag and a variable together require a certificate', () =>
    expect(lintFlags(['--trusted-ca-file=x'], '3.4', '3.3', { ETCD_CLIENT_CERT_AUTH: 'true' })).toEqual([]));
});

describe('the migrated file', () => {
  const migrated = async (text: string, when: 'roll' | 'after' = 'after') =>
    (await migrateConfig(text, '3.4', when)).text;
  it('requires certificates in both versions, and keeps comments', async () => {
    const text =
      'client-transport-security:\n  cert-file: a\n  # who may connect\n  ca-file: ca.pem # ours\nenable-grpc-gateway: true\n';
    const now = await migrated(text, 'roll');
    expect(now).toBe(
      'client-transport-security:\n  cert-file: a\n  # who may connect\n  trusted-ca-file: ca.pem # ours\n  client-cert-auth: true\nenable-grpc-gateway: true\n',
    );
    const read = (await parseConfig(now)) as { file: Record<string, unknown> };
    for (const { minor } of versionRows) expect(about(read.file, minor)).toEqual([]);
  });
  it('the same CA twice becomes one', async () =>
    expect(
      await migrated(
        'peer-transport-security: { ca-file: x, trusted-ca-file: x, client-cert-auth: false }\nenable-grpc-gateway: true\n',
      ),
    ).toBe(
      'peer-transport-security: { trusted-ca-file: x, client-cert-auth: true }\nenable-grpc-gateway: true\n',
    ));
  it('a key at the top moves to its section only when an operator asks for it', async () => {
    const text = 'peer-ca-file: y\nenable-grpc-gateway: true\n';
    expect(await migrated(text, 'roll')).toBe(text);
    expect(await migrated(text)).toBe(
      'enable-grpc-gateway: true\npeer-transport-security:\n  trusted-ca-file: y\n  client-cert-auth: true\n',
    );
  });
  it('two CAs stay for a person', async () => {
    const text =
      'client-transport-security:\n  ca-file: x\n  trusted-ca-file: y\nenable-grpc-gateway: true\n';
    expect(await migrated(text)).toBe(text);
  });
});
