import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  defaultOf,
  findSetting,
  isDefaultValue,
  isServerVariable,
  renamedSettings,
  serverSettings,
  settingNames,
  settingNamesOf,
  settingOf,
  variableOf,
} from '../../../src/api-specs/etcd/server-settings.ts';
import { type Minor, previousMinor, versionRows } from '../../../src/api-specs/etcd/versions.ts';
import { settingsFrom } from '../../../src/etcd-sim/server-flags.ts';
import { lintFile, lintFlags } from '../../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../../src/kv/upgrade/configuration/migrate.ts';
import { unknownKeys } from '../../../src/kv/upgrade/configuration/values.ts';

const isRead = (name: string, minor: Minor): boolean =>
  findSetting(name, minor, 'flag') !== undefined || findSetting(name, minor, 'file') !== undefined;

describe('the table of server settings', () => {
  it('contains both names of each rename, and the version before reads only the old one', () => {
    for (const { old, now, since, gate } of renamedSettings) {
      expect(isRead(now, since), now).toBe(true);
      expect(
        serverSettings.some(({ name }) => name === old),
        old,
      ).toBe(true);
      const before = previousMinor(since) as Minor;
      const isTaken = ['ca-file', 'peer-ca-file'].includes(old);
      if (gate === undefined && !isTaken) expect(isRead(now, before), `${now} ${before}`).toBe(false);
    }
  });

  it('follows a setting whose old name differs between the flag and the file', () => {
    const [inFile, asFlag] = [
      'experimental-snapshot-catch-up-entries',
      'experimental-snapshot-catchup-entries',
    ];
    expect(settingNamesOf(inFile)).toEqual([inFile, 'snapshot-catchup-entries', asFlag]);
    // Measured on 3.5.16 and 3.5.30: the flag `catch-up` is not defined, and the key `catchup` is ignored.
    for (const minor of ['3.5', '3.6'] as const) {
      expect(findSetting(inFile, minor, 'file')).toBeDefined();
      expect(findSetting(inFile, minor, 'flag')).toBeUndefined();
      expect(findSetting(asFlag, minor, 'flag')).toBeDefined();
      expect(findSetting(asFlag, minor, 'file')).toBeUndefined();
    }
    // The file that both versions read keeps its name, and the hint for 3.5 names the key that its file reads.
    expect(lintFile({ [inFile]: 1000 }, '3.6').map(({ level }) => level)).not.toContain('fail');
    expect(lintFile({ 'snapshot-catchup-entries': 1000 }, '3.5')).toMatchObject([{ hint: inFile }]);
  });

  it('names the patch of 3.4 that a setting needs, and tells nobody to remove it', () => {
    const line = [
      'etcd',
      '--next-cluster-version-compatible',
      '--tls-min-version',
      'TLS1.2',
      '--data-dir=/x',
    ];
    const found = lintFlags(line, '3.4');
    expect(found.map(({ level, key, hint }) => [level, key, hint])).toEqual([
      ['warn', '--next-cluster-version-compatible', 'use 3.4.31 or later'],
      ['warn', '--tls-min-version', 'use 3.4.25 or later'],
    ]);
    const inFile = unknownKeys({ 'tls-max-version': 'TLS1.3' }, '3.4');
    expect(inFile).toMatchObject([{ level: 'warn', hint: 'use 3.4.25 or later' }]);
    expect(lintFlags(['etcd', '--next-cluster-version-compatible'], '3.3')).toMatchObject([
      { level: 'fail' },
    ]);
  });

  it.each([
    ['3.4.24', ['fail --tls-min-version', 'fail --next-cluster-version-compatible']],
    ['3.4.25', ['fail --next-cluster-version-compatible']],
    ['3.4.30', ['fail --next-cluster-version-compatible']],
    ['3.4.31', []],
    ['3.4.33-gke.1', []],
    // The program is of another version than the check.
    ['3.5.9', ['warn --tls-min-version', 'warn --next-cluster-version-compatible']],
    [undefined, ['warn --tls-min-version', 'warn --next-cluster-version-compatible']],
  ])('a flag stops an earlier patch than the first one that defines it: %s', (program, expected) => {
    const line = ['etcd', '--tls-min-version=TLS1.2', '--next-cluster-version-compatible'];
    const found = lintFlags(line, '3.4', '3.3', {}, program);
    expect(found.map(({ level, key }) => `${level} ${key}`)).toEqual(expected);
  });

  it('does not join two switches that become gates of one list', () => {
    expect(settingNamesOf('experimental-initial-corrupt-check')).toEqual([
      'experimental-initial-corrupt-check',
      'feature-gates',
    ]);
    expect(settingNamesOf('feature-gates')).toContain('experimental-compact-hash-check-enabled');
  });

  it.each<[string, Minor, string]>([
    ['cors', '3.3', ''],
    ['cors', '3.4', '*'],
    ['pre-vote', '3.4', 'false'],
    ['pre-vote', '3.6', 'true'],
    ['snapshot-count', '3.5', '100000'],
    ['snapshot-count', '3.6', '10000'],
    ['enable-v2', '3.3', 'true'],
    ['enable-pprof', '3.5', 'false'],
    ['data-dir', '3.5', ''],
    ['compaction-batch-limit', '3.6', '1000'],
  ])('gives %s of %s the default "%s"', (name, minor, expected) => {
    expect(defaultOf(name, minor)).toBe(expected);
  });

  it.each<[string, unknown, Minor, boolean]>([
    ['quota-backend-bytes', 2_147_483_648, '3.5', true],
    ['quota-backend-bytes', 2_147_483_647, '3.5', false],
    ['grpc-keepalive-interval', 7_200_000_000_000, '3.5', true],
    ['grpc-keepalive-interval', '120m', '3.5', true],
    ['grpc-keepalive-interval', '121m', '3.5', false],
    ['experimental-txn-mode-write-with-shared-buffer', false, '3.5', false],
    ['snapshot-count', 100_000, '3.5', true],
    ['snapshot-count', 100_000, '3.6', false],
    ['log-outputs', ['default'], '3.4', true],
    ['heartbeat-interval', '', '3.4', true],
    ['heartbeat-interval', null, '3.4', true],
  ])('determines whether %s: %j has the effect of no value in %s', (name, value, minor, expected) => {
    expect(isDefaultValue(name, value, minor)).toBe(expected);
  });

  it('has the same defaults as the simulated member, which was written independently', () => {
    const simulated = settingsFrom(new Map());
    for (const { minor } of versionRows) {
      expect(simulated.clientUrls.join(','), minor).toBe(defaultOf('listen-client-urls', minor));
      expect(simulated.peerUrls.join(','), minor).toBe(defaultOf('listen-peer-urls', minor));
      expect(String(simulated.heartbeatMs), minor).toBe(defaultOf('heartbeat-interval', minor));
      expect(String(simulated.electionMs), minor).toBe(defaultOf('election-timeout', minor));
      expect(String(simulated.maxRequestBytes), minor).toBe(defaultOf('max-request-bytes', minor));
      expect(isDefaultValue('quota-backend-bytes', simulated.quotaBytes, minor), minor).toBe(true);
      expect(String(simulated.isStrict), minor).toBe(defaultOf('strict-reconfig-check', minor));
      expect(simulated.token, minor).toBe(defaultOf('initial-cluster-token', minor));
      expect(simulated.name, minor).toBe(defaultOf('name', minor));
    }
  });

  it('decides which variables a server reads, without the credentials of the discovery', () => {
    for (const name of settingNames('flag')) {
      expect(settingOf(variableOf(name))).toBe(name);
      const isCredential = ['discovery-user', 'discovery-password'].includes(name);
      expect(isServerVariable(variableOf(name)), name).toBe(!isCredential);
    }
    expect(isServerVariable('ETCD_ROOT_PASSWORD')).toBe(false);
  });

  it('contains the only conversion between a setting and its variable', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.ts'),
    );
    const converting = files.filter((path) =>
      /`ETCD_\$\{|slice\(5\)\.toLowerCase/.test(readFileSync(join('src', path), 'utf8')),
    );
    expect(converting).toEqual([join('api-specs', 'etcd', 'server-settings.ts')]);
  });
});

describe('a key of the configuration file with a new name', () => {
  const old = 'experimental-backend-bbolt-freelist-type';

  it('is renamed for the first version that ignores the old name', async () => {
    const { text, changes } = await migrateConfig(`name: n1\n${old}: array # smaller\n`, '3.5');
    expect(text).toBe('name: n1\nbackend-bbolt-freelist-type: array # smaller\n');
    expect(changes).toHaveLength(1);
  });

  it('stays if the version reads the old name, or if the file contains both', async () => {
    const both = `${old}: array\nbackend-bbolt-freelist-type: map\n`;
    expect((await migrateConfig(both, '3.5')).text).toBe(both);
    expect(lintFile({ [old]: 'array', 'enable-grpc-gateway': true }, '3.4')).toEqual([]);
  });
});
