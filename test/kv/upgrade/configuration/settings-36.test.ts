/**
 * The measured differences in settings between 3.5 and 3.6: settings that stop the server, settings that it
 * ignores, and rewritten settings.
 */
import { describe, expect, it } from 'vitest';
import {
  flagsOf,
  lintEnvironment,
  lintFile,
  lintFlags,
} from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import {
  findSectionKey,
  findSetting,
  nanosecondsOf,
  renamedIn36,
} from '../../../../src/api-specs/etcd/server-settings.ts';
import type { ConfigFinding } from '../../../../src/kv/upgrade/configuration/access.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const levels = (found: readonly ConfigFinding[]): string =>
  found.map(({ level, key }) => `${level} ${key}`).join();

describe('flags of 3.6', () => {
  it.each<[string, string[], string]>([
    ['removed', ['--enable-v2=false'], 'fail --enable-v2'],
    ['removed, experimental', ['--experimental-enable-v2v3', '/p'], 'fail --experimental-enable-v2v3'],
    ['removed proxy', ['--proxy', 'off'], 'fail --proxy'],
    [
      'an old name alone serves both versions',
      ['--experimental-corrupt-check-time=1m'],
      'warn --experimental-corrupt-check-time',
    ],
    [
      'both names of one setting',
      ['--experimental-compaction-batch-limit=10', '--compaction-batch-limit=10'],
      'fail --experimental-compaction-batch-limit',
    ],
    [
      'a switch and its gate',
      ['--experimental-initial-corrupt-check', '--feature-gates=InitialCorruptCheck=true'],
      'fail --experimental-initial-corrupt-check',
    ],
    ['an unknown gate', ['--feature-gates=Foo=true'], 'fail --feature-gates'],
    ['a known gate', ['--feature-gates=LeaseCheckpoint=true,SetMemberLocalAddr=true'], ''],
    ['a guessed name', ['--initial-corrupt-check=true'], 'fail --initial-corrupt-check'],
    ['a value that ends it', ['--v2-deprecation=not-yet'], 'fail --v2-deprecation'],
    ['the skip option', ['--v2-deprecation=write-only-skip-check'], ''],
    ['a fallback that is gone', ['--discovery-fallback=proxy'], 'fail --discovery-fallback'],
    ['what both know', ['--snapshot-count=10000', '--name', 'n1'], ''],
  ])('%s', (_, words, expected) => expect(levels(lintFlags(words, '3.6'))).toBe(expected));
  it.each<[string, string[], string]>([
    ['gates', ['--feature-gates=CompactHashCheck=true'], 'fail --feature-gates'],
    ['a new name', ['--compaction-batch-limit=10'], 'fail --compaction-batch-limit'],
    ['max-learners', ['--max-learners=2'], 'fail --max-learners'],
    ['an old name', ['--experimental-compaction-batch-limit=10'], ''],
  ])('back to 3.5: %s', (_, words, expected) => expect(levels(lintFlags(words, '3.5'))).toBe(expected));
});

describe('the environment of 3.6', () => {
  const lint = (env: Record<string, string>, words: string[] = []) =>
    levels(lintEnvironment(env, flagsOf(words), '3.6'));
  it.each<[string, Record<string, string>, string[], string]>([
    ['a removed setting is silently lost', { ETCD_ENABLE_V2: 'true' }, [], 'warn ETCD_ENABLE_V2'],
    ['a value that ends it', { ETCD_V2_DEPRECATION: 'not-yet' }, [], 'fail ETCD_V2_DEPRECATION'],
    ['the same setting twice', { ETCD_NAME: 'a' }, ['--name', 'b'], 'fail ETCD_NAME'],
    [
      'not read beside a file',
      { ETCD_NAME: 'a', ETCD_ENABLE_V2: 'true' },
      ['--config-file', 'f', '--name', 'b'],
      '',
    ],
    ['what both know', { ETCD_NAME: 'a' }, ['--data-dir', 'd'], ''],
  ])('%s', (_, env, words, expected) => expect(lint(env, words)).toBe(expected));
});

describe('the file of 3.6', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['a removed key is ignored', { 'enable-v2': true }, 'warn enable-v2'],
    [
      'a duration as a text',
      { 'experimental-corrupt-check-time': '1m' },
      'fail experimental-corrupt-check-time,warn experimental-corrupt-check-time',
    ],
    ['a duration as a number', { 'corrupt-check-time': 60_000_000_000 }, ''],
    ['log outputs as a text', { 'log-outputs': 'stderr' }, 'fail log-outputs'],
    ['retention as a number', { 'auto-compaction-retention': 24 }, 'fail auto-compaction-retention'],
    [
      'retention without a mode starts',
      { 'auto-compaction-retention': '24h' },
      'warn auto-compaction-retention',
    ],
    ['gates as a mapping', { 'feature-gates': { InitialCorruptCheck: true } }, 'fail feature-gates'],
    ['gates as a text', { 'feature-gates': 'InitialCorruptCheck=true' }, ''],
    ['a value that is ignored', { 'v2-deprecation': 'not-yet' }, 'warn v2-deprecation'],
  ])('%s', (_, file, expected) => expect(levels(lintFile(file, '3.6'))).toBe(expected));
  it('back to 3.5 new names are ignored', () => {
    expect(levels(lintFile({ 'feature-gates': 'LeaseCheckpoint=true', 'max-learners': 2 }, '3.5'))).toBe(
      'warn feature-gates,warn max-learners',
    );
  });
  it.each([
    ['1m', 60_000_000_000],
    ['1m30s', 90_000_000_000],
    ['0.5s', 500_000_000],
    ['12ms', 12_000_000],
    ['3ns', 3],
    ['4us', 4000],
    ['5µs', 5000],
    ['2h', 7_200_000_000_000],
    ['1h2ns', 3_600_000_000_002],
    ['soon', undefined],
    ['12', undefined],
  ])('%s is %s nanoseconds', (text, nanoseconds) => expect(nanosecondsOf(text)).toBe(nanoseconds));
});

describe('the file rewritten for 3.6', () => {
  const before = [
    '# mine',
    'name: n1',
    'experimental-corrupt-check-time: 1m # slow disk',
    'experimental-initial-corrupt-check: true',
    'experimental-enable-lease-checkpoint: false # not yet',
    'experimental-compaction-batch-limit: 100',
    '',
  ].join('\n');
  it('during the roll it keeps the names that 3.5 knows', covers('spec/store#choices-4'), async () => {
    const { text, changes } = await migrateConfig(before, '3.6');
    expect(text).toBe(before.replace('1m #', '60000000000 #'));
    expect(changes).toEqual(['experimental-corrupt-check-time: "1m" → 60000000000']);
  });
  it('afterwards it has the new names, with every comment', covers('spec/store#choices-4'), async () => {
    const { text } = await migrateConfig(before, '3.6', 'after');
    expect(text).toContain('# mine\nname: n1\n');
    expect(text).toContain('corrupt-check-time: 60000000000 # slow disk');
    expect(text).toContain('feature-gates: "InitialCorruptCheck=true,LeaseCheckpoint=false"');
    expect(text).toContain('\ncompaction-batch-limit: 100');
    expect(text).not.toContain('experimental');
    expect((await migrateConfig(text, '3.6', 'after')).changes).toEqual([]);
  });
  it('a mapping of gates becomes the text that 3.6 wants', async () => {
    const { text } = await migrateConfig(
      'feature-gates:\n  LeaseCheckpoint: true\n  CompactHashCheck: false\n',
      '3.6',
    );
    expect(text.trim()).toBe('feature-gates: "LeaseCheckpoint=true,CompactHashCheck=false"');
  });
});

describe('a finding names the fix, and whether the plan applies it', () => {
  const about = (found: readonly ConfigFinding[]) => found.map(({ hint, isFixed }) => [hint, isFixed]);
  const file = (content: Record<string, unknown>, to: '3.5' | '3.6') => about(lintFile(content, to));
  it('gates of another shape: a mapping is rewritten, anything else is for the operator', () => {
    expect(file({ 'feature-gates': { LeaseCheckpoint: true, CompactHashCheck: false } }, '3.6')).toEqual([
      ['feature-gates: "LeaseCheckpoint=true,CompactHashCheck=false"', true],
    ]);
    for (const odd of [['LeaseCheckpoint'], true, 7])
      expect(file({ 'feature-gates': odd }, '3.6')).toContainEqual(['feature-gates: "Gate=true"', undefined]);
    expect(file({ 'feature-gates': null }, '3.6')).toEqual([]);
  });
  it('a duration as a text: one that can be read is rewritten', () => {
    expect(file({ 'corrupt-check-time': '1m' }, '3.6')).toEqual([['corrupt-check-time: 60000000000', true]]);
    expect(file({ 'corrupt-check-time': 'soon' }, '3.6')).toEqual([
      [naming('nanoseconds: 5000000000', '5 s'), undefined],
    ]);
  });
  it('before 3.6, a new name is replaced by its old one if it exists', () => {
    expect(file({ 'compaction-batch-limit': 10 }, '3.5')).toEqual([
      ['experimental-compaction-batch-limit', undefined],
    ]);
    expect(file({ 'feature-gates': 'A=true' }, '3.5')).toEqual([
      [naming('experimental-', 'gates'), undefined],
    ]);
    expect(file({ 'max-learners': 2 }, '3.5')).toEqual([[naming('out'), undefined]]);
    const flags = (...words: string[]) => lintFlags(words, '3.5').map(({ hint }) => hint);
    expect(flags('--compaction-batch-limit=10')).toEqual(['--experimental-compaction-batch-limit']);
    expect(flags('--max-learners=2')).toEqual([naming('out')]);
  });
  it('values that 3.6 ignores matter from 3.6 on', () => {
    expect(file({ 'discovery-fallback': 'proxy' }, '3.6')).toEqual([['discovery-fallback: exit', undefined]]);
    expect(file({ 'discovery-fallback': 'exit' }, '3.6')).toEqual([]);
    expect(file({ 'v2-deprecation': 'not-yet' }, '3.5')).toEqual([]);
    expect(lintFile({ 'max-learners': 2, 'feature-gates': 7, 'enable-grpc-gateway': true }, '3.4')).toEqual(
      [],
    );
    expect(lintFlags(['--v2-deprecation=not-yet', '--max-learners=2'], '3.4').map(({ key }) => key)).toEqual([
      '--v2-deprecation',
      '--max-learners',
    ]);
  });
  it('a gate is known by its name, with spaces around it or without a value', () => {
    const levelsOf = (text: string) => levels(lintFlags(['--feature-gates', text], '3.6'));
    expect(levelsOf(' LeaseCheckpoint = true ,, CompactHashCheck')).toBe('');
    expect(levelsOf('Foo')).toBe('fail --feature-gates');
  });
});

/** Transcribed from the flag definitions and the file readers of 3.2.32 to 3.6.14. */
describe('places from which a version reads a setting', () => {
  it.each([
    ['max-txn-ops', '3.2', []],
    ['max-txn-ops', '3.3', ['flag', 'file']],
    ['auth-token-ttl', '3.2', []],
    ['log-output', '3.2', ['flag']],
    ['log-output', '3.3', ['flag', 'file']],
    ['client-crl-file', '3.2', []],
    ['peer-crl-file', '3.3', ['flag']],
    ['peer-cert-allowed-cn', '3.2', []],
    ['discovery', '3.6', ['flag', 'file']],
    ['discovery-fallback', '3.5', ['flag', 'file']],
    ['discovery-fallback', '3.6', ['flag']],
    ['discovery-token', '3.6', ['flag']],
    ['discovery-dial-timeout', '3.6', ['flag']],
    ['experimental-peer-skip-client-san-verification', '3.5', ['flag']],
    ['experimental-peer-skip-client-san-verification', '3.6', ['flag', 'file']],
    ['peer-skip-client-san-verification', '3.6', ['flag']],
  ] as const)('%s of %s: %j', (name, minor, places) =>
    expect((['flag', 'file'] as const).filter((place) => findSetting(name, minor, place))).toEqual(places),
  );
  it('the sections of 3.6 have two more keys than those of 3.5', () => {
    const name = 'skip-client-san-verification';
    const keyOf = (minor: '3.5' | '3.6') => findSectionKey('peer-transport-security', name, minor)?.kind;
    expect([keyOf('3.5'), keyOf('3.6')]).toEqual([undefined, 'switch']);
    expect(levels(lintFile({ 'discovery-config': { client: 'x' } }, '3.6'))).toBe(
      'fail discovery-config.client',
    );
    expect(levels(lintFile({ 'discovery-config': { token: 't', client: { endpoints: [] } } }, '3.6'))).toBe(
      '',
    );
  });
  it('a name that moves into a section is written there', async () => {
    const before = 'experimental-peer-skip-client-san-verification: true\nname: n1\n';
    const { text } = await migrateConfig(before, '3.6', 'after');
    expect(text).toBe('name: n1\npeer-transport-security:\n  skip-client-san-verification: true\n');
  });
});

/** Transcribed from the flag definitions and the file readers of 3.7.1. */
describe('settings of 3.7', () => {
  const flags = (...words: string[]) => lintFlags(words, '3.7').map(({ level, hint }) => [level, hint]);
  it('an old name stops it as a flag, with the new name as the fix', () => {
    expect(flags('--experimental-corrupt-check-time=1m')).toEqual([['fail', '--corrupt-check-time']]);
    expect(flags('--experimental-initial-corrupt-check')).toEqual([
      ['fail', '--feature-gates InitialCorruptCheck=…'],
    ]);
    expect(flags('--discovery=http://d:1/x')).toEqual([['fail', naming('leave it out')]]);
    expect(flags('--corrupt-check-time=1m', '--feature-gates=FastLeaseKeepAlive=false')).toEqual([]);
    expect(levels(lintFlags(['--feature-gates=FastLeaseKeepAlive=false'], '3.6'))).toBe(
      'fail --feature-gates',
    );
  });
  it('an old name is ignored as a variable and as a key', () => {
    const env = { ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME: '1m' };
    expect(levels(lintEnvironment(env, new Map(), '3.7'))).toBe('warn ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME');
    expect(levels(lintEnvironment(env, new Map(), '3.6'))).toBe('');
    const skip = { 'experimental-peer-skip-client-san-verification': true };
    expect(levels(lintFile({ ...skip, 'experimental-memory-mlock': true }, '3.7'))).toBe(
      'warn experimental-memory-mlock,fail experimental-peer-skip-client-san-verification',
    );
  });
  it('the names are changed before the upgrade, because 3.6 knows both', async () => {
    const before = 'experimental-corrupt-check-time: 60000000000\nexperimental-initial-corrupt-check: true\n';
    const { text } = await migrateConfig(before, '3.7');
    expect(text).toBe('corrupt-check-time: 60000000000\nfeature-gates: "InitialCorruptCheck=true"\n');
    expect(
      levels(lintFile({ 'corrupt-check-time': 6e10, 'feature-gates': 'InitialCorruptCheck=true' }, '3.6')),
    ).toBe('');
  });
});

describe('a setting with its old and its new name (config.go of v3.6.0 and v3.7.1)', () => {
  const file = (content: Record<string, unknown>, to: '3.6' | '3.7') => levels(lintFile(content, to));
  const old = 'experimental-peer-skip-client-san-verification';
  it.each(renamedIn36.map((row) => [row.old, row] as const))('stops 3.6 in a file: %s', (_, row) => {
    expect(file({ [row.old]: null, [row.now]: null }, '3.6')).toContain(`fail ${row.old}`);
  });
  it('also in its section', () => {
    const both = { [old]: true, 'peer-transport-security': { 'skip-client-san-verification': true } };
    expect(file(both, '3.6')).toBe(`fail ${old}`);
    expect(file({ [old]: true, 'peer-transport-security': { 'auto-tls': true } }, '3.6')).toBe(`warn ${old}`);
  });
  it.each(renamedIn36.map((row) => [row.old, row] as const))(
    'stops 3.6 as a flag and a variable: %s',
    (_, row) => {
      const found = (env: Record<string, string>, flags: string[], to: '3.6' | '3.7') =>
        lintEnvironment(env, flagsOf(flags), to).filter(({ level }) => level === 'fail');
      const [oldVariable, newVariable] = [row.old, row.now].map(
        (name) => `ETCD_${name.toUpperCase().replaceAll('-', '_')}`,
      ) as [string, string];
      const keys = (env: Record<string, string>, flags: string[]) =>
        found(env, flags, '3.6').map(({ key }) => key);
      expect(keys({ [oldVariable]: '1', [newVariable]: '1' }, [])).toContain(oldVariable);
      expect(keys({ [newVariable]: '1' }, [`--${row.old}=1`])).toContain(`--${row.old}`);
      // The command line reports two flags.
      expect(keys({}, [`--${row.old}=1`, `--${row.now}=1`])).toEqual([]);
    },
  );
  it.each(['peer-transport-security', 'experimental-initial-corrupt-check'])(
    'a key without a value stops 3.6: %s',
    (key) => {
      expect(file({ [key]: null }, '3.6')).toBe(`fail ${key}`);
      expect(levels(lintFile({ [key]: null }, '3.5'))).toBe('');
    },
  );
});
