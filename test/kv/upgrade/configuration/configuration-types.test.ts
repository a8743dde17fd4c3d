import { describe, expect, it } from 'vitest';
import {
  lintEnvironment,
  lintFile,
  lintFlags,
  parseConfig,
} from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { goScalar } from '../../../../src/core/yaml-scalars.ts';
import { migrateConfig } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import { changedDefaults, typeFindings } from '../../../../src/kv/upgrade/configuration/values.ts';
import { errorWith, naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

/** Measured: whether real servers of 3.3, 3.4 and 3.5 start with this line. */
describe('a line of the configuration file', () => {
  const stops = async (line: string): Promise<boolean> => {
    const parsed = await parseConfig(line);
    return 'broken' in parsed || typeFindings(parsed.file, '3.4').length > 0;
  };
  it.each([
    ...[
      'y',
      'Y',
      'n',
      'Yes',
      'ON',
      'off',
      'TRUE',
      '1e3',
      '010',
      '0o10',
      '0x1f',
      '1_000',
      '.5',
      '+5',
      '0b11',
      '08',
    ],
  ])('initial-cluster-token: %s is not text', async (word) =>
    expect(await stops(`initial-cluster-token: ${word}`)).toBe(true),
  );
  it.each(['~', 'null', '12:30', '2026-01-01', '"on"', "'off'", 'oN', '_1', '!!str 10'])(
    'initial-cluster-token: %s is text',
    async (word) => expect(await stops(`initial-cluster-token: ${word}`)).toBe(false),
  );
  it.each(['"yes"', 'oN', 'tRUE', 't', '1'])('pre-vote: %s is not a switch', async (word) =>
    expect(await stops(`pre-vote: ${word}`)).toBe(true),
  );
  it.each(['y', 'No', 'ON', 'off', 'False'])('pre-vote: %s is a switch', async (word) =>
    expect(await stops(`pre-vote: ${word}`)).toBe(false),
  );
  it.each(['12:30', '5000.5', '_1', '"5000"'])('snapshot-count: %s is not a whole number', async (word) =>
    expect(await stops(`snapshot-count: ${word}`)).toBe(true),
  );
  it.each(['0o17', '0b11', '1_0_0', '08', '1e3', '1e+3', '+5000', '0x1F', '1_', '0_1'])(
    'snapshot-count: %s is a whole number',
    async (word) => expect(await stops(`snapshot-count: ${word}`)).toBe(false),
  );
  it.each([
    ...['pre-vote: !!bool yes', 'pre-vote: !!bool "NO"', 'pre-vote: !<tag:yaml.org,2002:bool> on'],
    ...['snapshot-count: !!int 1_000', 'snapshot-count: !!int "0x1F"', 'snapshot-count: !!float 7'],
    ...['initial-cluster-token: !!binary aGk=', 'initial-cluster-token: !!timestamp 2026-01-01'],
  ])('%s has the type of its tag', async (line) => expect(await stops(line)).toBe(false));
  it.each([
    ...['pre-vote: !!bool oN', 'pre-vote: !!bool 1', 'snapshot-count: !!int 08', 'snapshot-count: !!int x'],
    ...[
      'snapshot-count: !!int 12:30',
      'initial-cluster-token: !!bool yes',
      'initial-cluster-token: !!float 1',
    ],
  ])('%s is not of the type of its tag, or of the setting', async (line) =>
    expect(await stops(line)).toBe(true),
  );
  it.each([
    'proxy: off',
    'client-transport-security:\n  Auto-TLS: "true"',
    'snapshot-count: 1000\nSnapshot-Count: abc',
    'a: &a {pre-vote: "yes"}\n<<: *a',
    '%YAML 1.2\n---\nname: n1',
    '? [a, b]\n: x',
    '~: x',
  ])('%j stops the servers', async (line) => expect(await stops(line)).toBe(true));
  it.each(['proxy: "off"', '%YAML 1.1\n---\nname: n1', 'on: x', '1: x'])('%j does not', async (line) =>
    expect(await stops(line)).toBe(false),
  );
  it.each(['._1', '.1_', '._'])('name: %s is text, because no digit stands on one side of _', async (word) =>
    expect(await stops(`name: ${word}`)).toBe(false),
  );
  it.each(['.1_0', '+._1', '1_0.5'])('name: %s is a number', async (word) =>
    expect(await stops(`name: ${word}`)).toBe(true),
  );
  const minors = ['3.4', '3.5'] as const;
  const isRejected = async (line: string): Promise<boolean[]> => {
    const parsed = await parseConfig(line);
    if ('broken' in parsed) throw new Error(parsed.broken);
    return minors.map((minor) => lintFile(parsed.file, minor).some(({ level }) => level === 'fail'));
  };
  it.each([
    ...['quota-backend-bytes: 18446744073709551616', 'quota-backend-bytes: -9223372036854780000'],
    ...['snapshot-count: 18446744073709560000', 'max-wals: 1e20'],
    ...['log-outputs: [1]', 'log-outputs: [true]', 'log-outputs: 1'],
  ])('%s stops the servers', async (line) => expect(await isRejected(line)).toEqual([true, true]));
  it.each([
    'quota-backend-bytes: 9223372036854775807',
    'snapshot-count: 18446744073709551615',
    'log-outputs: [stderr]',
  ])('%s does not', async (line) => expect(await isRejected(line)).toEqual([false, false]));
  it.each([
    ['quota-backend-bytes', ['9223372036854775807', '-9223372036854775808', '0x7fff_ffff_ffff_ffff'], false],
    ['quota-backend-bytes', ['9223372036854775808', '-9223372036854775809', '0x8000_0000_0000_0000'], true],
    ['snapshot-count', ['18446744073709551615', '01777777777777777777777', '0'], false],
    ['snapshot-count', ['18446744073709551616', '02000000000000000000000', '0o', '0x_'], true],
  ])('--%s with %j: rejected by the servers: %s', (flag, values, isOutside) => {
    for (const value of values)
      expect(
        lintFlags([`--${flag}=${value}`], '3.5').some(({ level }) => level === 'fail'),
        value,
      ).toBe(isOutside);
  });
  it('numbers have the value that the servers read', () =>
    expect(
      ['010', '-0x1f', '1_000', '08', '0b11', '-', '_1', 'on', 'oN'].map((word) => goScalar(word, word)),
    ).toEqual([8, -31, 1000, 8, 3, '-', '_1', true, 'oN']));
});

/** Real servers of 3.3, 3.4 and 3.5 did not start with these values. */
describe('values of a kind that no server reads', () => {
  it.each([
    ['max-request-bytes', 'abc'],
    ['max-request-bytes', '1048576'],
    ['max-request-bytes', 1.5],
    ['max-request-bytes', -1],
    ['quota-backend-bytes', 'abc'],
    ['snapshot-count', '1'],
    ['heartbeat-interval', '100'],
    ['debug', 'truly'],
    ['auto-compaction-mode', 5],
    ['name', 5],
  ])('%s: %j', (key, value) => {
    expect(typeFindings({ [key]: value }, '3.4')).toEqual([
      expect.objectContaining({ level: 'fail', key, message: expect.stringContaining('would not start') }),
    ]);
  });
  it.each([
    ['max-request-bytes', 1_572_864],
    ['quota-backend-bytes', -1],
    ['enable-v2', true],
    ['snapshot-count', null],
    ['name', 'n1'],
    ['something-else', { a: 1 }],
  ])('%s: %j is read', (key, value) => {
    expect(typeFindings({ [key]: value }, '3.4')).toEqual([]);
  });
});

describe('interpretation of compaction and log output by version', () => {
  const levels = (file: Record<string, unknown>, to: '3.2' | '3.3' | '3.4' | '3.5'): string =>
    lintFile({ 'enable-grpc-gateway': true, ...file }, to)
      .map(({ level, key }) => `${level} ${key}`)
      .join();
  it.each([
    [{ 'auto-compaction-mode': 'foo' }, '3.3', 'fail auto-compaction-mode'],
    [
      { 'auto-compaction-mode': 'revision', 'auto-compaction-retention': 'abc' },
      '3.3',
      'fail auto-compaction-retention',
    ],
    [{ 'auto-compaction-retention': [1] }, '3.3', 'fail auto-compaction-retention'],
    [{ 'auto-compaction-retention': null }, '3.3', ''],
    [{ 'log-output': ['stderr'] }, '3.3', 'fail log-output'],
    [{ 'log-output': ['stderr'] }, '3.4', 'warn log-output'],
    [{ 'log-outputs': 'stderr' }, '3.3', ''],
    [{ 'log-outputs': 'stderr' }, '3.4', 'fail log-outputs'],
    [{ 'log-outputs': 'stderr' }, '3.5', 'fail log-outputs'],
    [{ debug: 'truly' }, '3.4', 'fail debug'],
    [{ debug: 'truly' }, '3.5', 'warn debug'],
  ] as const)('%j for %s', covers('spec/store#items-5'), (file, to, expected) =>
    expect(levels(file, to)).toBe(expected),
  );
  it('a flag that takes bytes takes digits', () => {
    expect(lintFlags(['--max-request-bytes', '2MB'], '3.3').map(({ key }) => key)).toEqual([
      '--max-request-bytes',
    ]);
    expect(lintFlags(['--max-request-bytes=2097152'], '3.3')).toEqual([]);
  });
  it.each([
    [['--snapshot-count=x', '--snapshot-count=100'], '3.3', '--snapshot-count'],
    [['--snapshot-count=7', '--snapshot-count=100'], '3.3', ''],
    [
      ['--grpc-keepalive-timeout', 'bad', '--grpc-keepalive-timeout', '5s'],
      '3.5',
      '--grpc-keepalive-timeout',
    ],
    [['--initial-cluster-state=old', '--initial-cluster-state=new'], '3.4', '--initial-cluster-state'],
    [['--listen-metrics-urls=a', '--listen-metrics-urls=http://[::]:1'], '3.3', ''],
    [['--listen-metrics-urls=a', '--listen-metrics-urls=http://[::]:1'], '3.4', '--listen-metrics-urls'],
    [['--cors=a', '--cors=*'], '3.3', ''],
    [['--cors=a', '--cors=*'], '3.4', '--cors'],
    // The servers check these values only after the last one has won.
    [['--auth-token=other', '--auth-token=simple'], '3.5', ''],
    [['--tls-min-version=TLS9', '--tls-min-version=TLS1.2'], '3.5', ''],
    [['--max-wals=$WALS', '--max-wals=5'], '3.5', ''],
  ] as const)('an earlier value of a repeated flag is parsed too: %j for %s', (words, to, expected) => {
    const found = lintFlags(words, to);
    expect(found.map(({ key }) => key).join()).toBe(expected);
    if (expected === '') return;
    expect(found[0]).toMatchObject({ level: 'fail', message: naming('once') });
    expect(found[0]?.hint).toBe(`remove ${expected}=${words[0]?.split('=')[1] ?? words[1]}`);
  });
  it.each([
    ['unix:///run/etcd.sock', '3.4', ['fail']],
    ['unix:///run/etcd.sock', '3.5', []],
    ['unix://localhost:1', '3.3', []],
    ['unix://localhost:m1', '3.3', ['fail']],
    ['unix://localhost:m1', '3.5', ['fail']],
    ['unix://localhost:1/run', '3.4', ['fail']],
    ['http://127.0.0.1:', '3.5', ['warn']],
    ['http://u:p@127.0.0.1:1', '3.5', []],
    ['http://[::1]:1?a=1', '3.5', []],
    ['http://::1:1', '3.5', ['fail']],
    ['http://999.0.0.1:1', '3.5', ['fail']],
    ['http://127.0.0.1:65536', '3.5', ['fail']],
    ['http://127.0.0.01:1', '3.3', []],
    ['http://127.0.0.01:1', '3.4', ['fail']],
    ['http://0.0.0.0:1', '3.5', []],
    ['http://[::1%25lo]:1', '3.5', ['fail']],
  ] as const)('a listen URL has a form that the version opens: %s for %s', (url, to, levels) => {
    const words = [`--listen-client-urls=${url}`, '--advertise-client-urls=http://127.0.0.1:1'];
    expect(lintFlags(words, to).map(({ level }) => level)).toEqual([...levels]);
  });
  it.each([
    ['http://:1', '3.3', []],
    ['http://:1', '3.4', ['fail']],
    ['unix:///run/etcd.sock', '3.5', ['fail']],
    ['unix://localhost:1/run', '3.5', []],
    ['http://127.0.0.1:65536', '3.5', []],
    ['http://a.example', '3.3', ['fail']],
    ['http://a|b:1', '3.5', ['fail']],
    ['http://a%20b:1', '3.3', ['fail']],
    ['http://a%41b:1', '3.5', ['fail']],
    ['http://a%25b:1', '3.5', []],
    ['http://a%C3%A4b:1', '3.5', []],
    ['http://[fe80::1%25eth0]:1', '3.5', []],
    ['http://[fe80::1%25e%41]:1', '3.5', []],
    ['http://[fe80::1%20eth0]:1', '3.5', ['fail']],
    ['http://127.0.0.01:1', '3.5', []],
  ] as const)('an advertised URL has a host and a port: %s for %s', (url, to, levels) => {
    const words = ['--listen-client-urls=http://127.0.0.1:1', `--advertise-client-urls=${url}`];
    expect(lintFlags(words, to).map(({ level }) => level)).toEqual([...levels]);
    const peer = [`--initial-advertise-peer-urls=${url}`];
    expect(lintFlags(peer, to).map(({ level }) => level)).toEqual([...levels]);
  });
  it.each([
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', '3.3', ''],
    ['TLS_AES_128_GCM_SHA256', '3.3', 'TLS_AES_128_GCM_SHA256'],
    ['TLS_AES_128_GCM_SHA256', '3.4', ''],
    ['TLS_NOPE', '3.5', 'TLS_NOPE'],
    ['tls_ecdhe_rsa_with_aes_128_gcm_sha256', '3.5', 'tls_ecdhe_rsa_with_aes_128_gcm_sha256'],
    ['TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384', '3.5', '" TLS_AES_256_GCM_SHA384"'],
    ['TLS_AES_128_GCM_SHA256,', '3.5', 'empty'],
    ['$SUITES', '3.5', ''],
  ] as const)('cipher suites have the names of the version: %s for %s', (value, to, wrong) => {
    const inFlags = lintFlags([`--cipher-suites=${value}`], to);
    const inFile = lintFile({ 'cipher-suites': value.split(',') }, to);
    // A flag can contain a variable of the shell, a file cannot.
    for (const all of value.startsWith('$') ? [inFlags] : [inFlags, inFile]) {
      const found = all.filter(({ key }) => key.endsWith('cipher-suites'));
      expect(found.map(({ level }) => level)).toEqual(wrong === '' ? [] : ['fail']);
      expect(found[0]?.message ?? '').toContain(wrong);
    }
    if (wrong.startsWith('tls')) expect(inFlags[0]?.hint).toContain(wrong.toUpperCase());
  });
  it('a broken file is not rewritten', async () => {
    await expect(migrateConfig('a: [', '3.3')).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'CONFIG_BROKEN' },
    });
    await expect(migrateConfig('- a', '3.3')).rejects.toThrow(
      errorWith('CONFIG_BROKEN', 'mapping', 'settings'),
    );
  });
  it.each([
    ['log-output: stderr\nname: a # x\nname: b\n', naming('m.yml', '3.4', 'name', 2, 3)],
    [
      'log-output: stderr\nclient-transport-security:\n  cert-file: /a\n  cert-file: "/b"\n  cert-file: /c\n',
      naming('m.yml', '3.4', 'client-transport-security.cert-file', 3, 4, 5),
    ],
    [`log-output: stderr\n"log-output": ${'x'.repeat(80)}\n`, naming('m.yml', '3.4', 'log-output', 1, 2)],
  ])('a file with a repeated key is not rewritten, and both lines are named: %j', async (text, message) => {
    await expect(migrateConfig(text, '3.4', 'after', 'm.yml')).rejects.toMatchObject({
      message,
      detail: { code: 'CONFIG_BROKEN', tryThis: [naming('lines')] },
    });
    expect((await migrateConfig('name: a\nname: b\nenable-grpc-gateway: true\n', '3.4')).changes).toEqual([]);
  });
});

/** Measured: whether real servers of 3.4.23, 3.5.16 and 3.5.30 start with these settings. */
describe('a default that changes on the way', () => {
  const unset = (to: '3.3' | '3.4' | '3.5' | '3.6', from?: '3.3' | '3.4') =>
    changedDefaults(() => false, to, from).map(({ key, message }) => `${key} ${message}`);
  it.each(['3.4', '3.5', '3.6'] as const)(
    'from 3.3 to %s, the finding names 3.4, which changed the default of cors',
    (to) => {
      const found = unset(to, '3.3');
      expect(found).toEqual([naming('cors', '3.4', '*')]);
      if (to !== '3.4') expect(found.join()).not.toContain(to);
    },
  );
  it('a version after the change and an explicit value give no finding', () => {
    expect([unset('3.5', '3.4'), unset('3.5'), unset('3.3')]).toEqual([[], [], []]);
    expect(changedDefaults((key) => key === 'cors', '3.5', '3.3')).toEqual([]);
  });
});

describe('settings that stop a server without another setting', () => {
  const keysOf = (found: readonly { level: string; key: string; message: string }[]): string[] =>
    found
      .filter(({ level, message }) => level === 'fail' && message.includes('would not start'))
      .map(({ key }) => key);
  const [time, rotation] = ['experimental-compact-hash-check-time', 'enable-log-rotation'];
  const checkpoint = 'experimental-enable-lease-checkpoint';
  const persist = `${checkpoint}-persist`;

  it.each(['0', '0s', '0.0h', '-1s', '-1ns'])('3.5 rejects a check time of %s', (value) => {
    expect(keysOf(lintFlags(['etcd', `--${time}=${value}`], '3.5'))).toEqual([`--${time}`]);
    const env = { ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_TIME: value };
    expect(keysOf(lintEnvironment(env, new Map(), '3.5'))).toEqual(Object.keys(env));
  });
  it.each(['1ns', '1s', '1m30s', '.5s', '$TIME'])('3.5 accepts a check time of %s', (value) =>
    expect(keysOf(lintFlags(['etcd', `--${time}=${value}`], '3.5'))).toEqual([]),
  );
  it('a file contains the check time in nanoseconds', () => {
    const rejected = [0, -1, 1].map((value) => keysOf(lintFile({ [time]: value }, '3.5')).length > 0);
    expect(rejected).toEqual([true, true, false]);
  });
  it.each([
    [undefined, true],
    ['stderr', true],
    ['default', true],
    ['/a.log', false],
    ['/a.log,stderr', false],
    ['stderr,stdout', false],
    ['/a.log,/b.log', true],
    ['$OUTPUTS', false],
  ])('3.5 with log rotation and the outputs %s: rejected is %s', (outputs, isRejected) => {
    const isUnknown = outputs?.startsWith('$') === true;
    const words = ['etcd', `--${rotation}`, ...(outputs === undefined ? [] : [`--log-outputs=${outputs}`])];
    expect(keysOf(lintFlags(words, '3.5'))).toEqual(isRejected ? [`--${rotation}`] : []);
    const file = {
      [rotation]: true,
      ...(outputs === undefined ? {} : { 'log-outputs': outputs.split(',') }),
    };
    if (!isUnknown) expect(keysOf(lintFile(file, '3.5'))).toEqual(isRejected ? [rotation] : []);
    expect(keysOf(lintFile({ ...file, [rotation]: false }, '3.5'))).toEqual([]);
  });
  it.each([
    ['3.4', { [checkpoint]: true }, [checkpoint]],
    ['3.4', { [checkpoint]: true, logger: 'capnslog' }, [checkpoint]],
    ['3.4', { [checkpoint]: true, logger: 'zap' }, []],
    ['3.4', { [checkpoint]: true, [persist]: false }, [checkpoint]],
    ['3.4', { [checkpoint]: true, [persist]: true }, []],
    ['3.4', { [persist]: true }, [persist]],
    ['3.4', { [persist]: true, logger: 'zap' }, [persist]],
    ['3.4', { [checkpoint]: false }, []],
    ['3.5', { [checkpoint]: true }, []],
    ['3.5', { [persist]: true }, [persist]],
    ['3.5', { [persist]: true, [checkpoint]: true }, []],
  ] as const)('%s with %j: rejected are %j', (to, settings, rejected) => {
    expect(keysOf(lintFile(settings, to))).toEqual(rejected);
    const entries = Object.entries(settings);
    const words = ['etcd', ...entries.map(([key, value]) => `--${key}=${value}`)];
    expect(keysOf(lintFlags(words, to))).toEqual(rejected.map((key) => `--${key}`));
    const variable = (key: string): string => `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
    const env = Object.fromEntries(entries.map(([key, value]) => [variable(key), String(value)]));
    expect(keysOf(lintEnvironment(env, new Map(), to))).toEqual(rejected.map(variable));
  });
  it('a variable supplies what a flag requires, and an unknown value is not rejected', () => {
    const env = { ETCD_EXPERIMENTAL_ENABLE_LEASE_CHECKPOINT: 'true' };
    const flags = new Map([[persist, 'true']]);
    expect(keysOf(lintFlags(['etcd', `--${persist}`], '3.5', undefined, env))).toEqual([]);
    expect(keysOf(lintEnvironment(env, flags, '3.5'))).toEqual([]);
    expect(keysOf(lintFlags(['etcd', `--${persist}`, `--${checkpoint}=$ON`], '3.5'))).toEqual([]);
  });
});
