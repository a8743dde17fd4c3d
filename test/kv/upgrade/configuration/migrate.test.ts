import { describe, expect, it, test } from 'vitest';
import {
  durationsInFile,
  gatedIn36,
  renamedSettings,
} from '../../../../src/api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import { parseConfig } from '../../../../src/kv/upgrade/configuration/configuration.ts';
import { migrateConfig } from '../../../../src/kv/upgrade/configuration/migrate.ts';

const migrated = async (text: string, to: Minor) => (await migrateConfig(text, to, 'after')).text;
const read = async (text: string) => {
  const parsed = await parseConfig(text);
  if ('broken' in parsed) throw new Error(parsed.broken);
  return parsed.file;
};

/** Every setting that the migration renames, moves, removes, adds or writes in another form, and a version that wants it. */
const rows: readonly (readonly [key: string, value: string, to: Minor])[] = [
  ...renamedSettings
    .filter(({ includes }) => includes === undefined)
    .flatMap(({ old, since, gate }) =>
      (since === '3.6' ? (['3.6', '3.7'] as const) : [since]).map(
        (to) => [old, gate === undefined && !durationsInFile.includes(old) ? 'x' : 'true', to] as const,
      ),
    ),
  ...durationsInFile.map((key) => [key, '"5s"', '3.6'] as const),
  ['auto-compaction-retention', '24', '3.3'],
  ['auto-compaction-retention', "'24h'", '3.4'],
  ['ca-file', '/pki/ca.crt', '3.4'],
  ['peer-ca-file', '/pki/ca.crt', '3.4'],
  ['logger', 'capnslog', '3.5'],
  ['name', 'n1', '3.4'],
  ['feature-gates', '{InitialCorruptCheck: true}', '3.6'],
];
const around = (key: string, value: string): string[] => [
  '# the first line',
  '',
  "data-dir:   '/var/lib/etcd'   # spaces and quotes",
  'peer-transport-security: # of the peers',
  'client-transport-security:',
  '    # indented',
  '    cert-file: "/pki/a"    # theirs',
  "cipher-suites: [  A,'B' ] # a list",
  '# above',
  `${key}: ${value}   # ${key}, behind`,
  '# below',
  'x-unknown:   {a: 1,b: "2"}   # not known',
  'listen-peer-urls: >-',
  '  http://127.0.0.1:2380',
  '',
  '# the last line',
];
const isInOrder = (lines: readonly string[], all: readonly string[]): boolean => {
  let at = 0;
  for (const line of all) if (line === lines[at]) at += 1;
  return at === lines.length;
};

describe('a migrated configuration file', () => {
  test.each(rows.flatMap((row) => ['\n', '\r\n'].map((eol) => [...row, eol] as const)))(
    'keeps all other lines when it changes %s: %s for %s (end of line %j)',
    async (key, value, to, eol) => {
      const lines = around(key, value);
      const text = lines.join(eol);
      const result = await migrated(text, to);
      const others = lines.filter((line) => !line.startsWith(`${key}:`));
      expect(isInOrder(others, result.split(eol))).toBe(true);
      expect(result).toContain(`# ${key}, behind`);
      expect(result.replaceAll('\r\n', '').includes('\r') || (eol === '\r\n' && /[^\r]\n/.test(result))).toBe(
        false,
      );
      // A second run finds nothing.
      expect((await migrateConfig(result, to, 'after')).text).toBe(result);
    },
  );
  test.each(gatedIn36.map(({ old, gate }) => [old, gate] as const))(
    'keeps the comments of two gates: %s',
    async (old, gate) => {
      const text = `feature-gates: 'SetMemberLocalAddr=true'  # first\n${old}: false  # second\nname: n1  # third\n`;
      expect(await migrated(text, '3.6')).toBe(
        `feature-gates: "SetMemberLocalAddr=true,${gate}=false"  # first\n# second\nname: n1  # third\n`,
      );
    },
  );
  it.each([
    ['nothing', '', ''],
    ['an empty section', 'peer-transport-security:  # peers\n', 'peer-transport-security:  # peers\n'],
    ['a null section', 'peer-transport-security: ~ # peers\n', 'peer-transport-security:  # peers\n'],
  ])('moves a setting to its section with its comment: %s', async (_, before, expected) => {
    const old = 'experimental-peer-skip-client-san-verification: yes  # skip\n';
    const moved = '  skip-client-san-verification: yes # skip\n';
    const section = expected === '' ? 'peer-transport-security:\n' : expected;
    expect(await migrated(`${old}# top\n${before}name: n1\n`, '3.7')).toBe(
      before === '' ? `# top\nname: n1\n${section}${moved}` : `# top\n${section}${moved}name: n1\n`,
    );
  });
  it('keeps the form of a file in JSON', async () => {
    const text = '{\n\t"name": "n1",\n\t"logger": "capnslog",\n\t"auto-compaction-retention": 24\n}\n';
    const result = await migrated(text, '3.5');
    expect(JSON.parse(result)).toEqual({
      name: 'n1',
      logger: 'zap',
      'auto-compaction-retention': '24',
      'auto-compaction-mode': 'periodic',
    });
    expect(result.startsWith('{\n\t"name": "n1",\n\t"logger"')).toBe(true);
  });
  it('removes, adds and moves settings in JSON on one line', async () => {
    const text =
      '{"experimental-peer-skip-client-san-verification":true,"name":"n1","log-output":["stderr"],"experimental-initial-corrupt-check":true,"feature-gates":"SetMemberLocalAddr=true"}';
    expect(JSON.parse(await migrated(text, '3.6'))).toEqual({
      name: 'n1',
      'log-outputs': ['stderr'],
      'feature-gates': 'SetMemberLocalAddr=true,InitialCorruptCheck=true',
      'peer-transport-security': { 'skip-client-san-verification': true },
    });
  });
  it('keeps a list of several lines', async () => {
    const text = 'enable-grpc-gateway: true\nlog-output:\n  - stderr # one\n  # two\n  - /var/log/etcd\n';
    expect(await migrated(text, '3.4')).toBe(text.replace('log-output:', 'log-outputs:'));
  });
  it('keeps the further documents, and the value that the new name already has', async () => {
    const text =
      '---\nexperimental-peer-skip-client-san-verification: true # old\npeer-transport-security:\n  skip-client-san-verification: false\n...\n# of another program\na:   b\n';
    expect(await migrated(text, '3.7')).toBe(text.replace(/experimental.*true # old/, '# old'));
  });
  it('renames and converts a duration in one run for 3.7', async () => {
    const result = await migrated('experimental-corrupt-check-time: "1m" # check\n', '3.7');
    expect(result).toBe('corrupt-check-time: 60000000000 # check\n');
  });
  it('finds a key in another case', async () => {
    expect(await migrated('Auto-Compaction-Retention:   24\n', '3.3')).toBe(
      'Auto-Compaction-Retention: "24"\nauto-compaction-mode: periodic\n',
    );
  });
  it.each([
    'base: &b {auto-compaction-retention: 24}\n<<: *b\n',
    'a: &s {cert-file: x}\nclient-transport-security: *s\nca-file: y\nenable-grpc-gateway: true\n',
    'a: &s\n  x: 1\nauto-compaction-retention: &r 24\nb: *r\n',
  ])('refuses a change that would change another setting: %j', async (text) => {
    await expect(migrated(text, '3.4')).rejects.toMatchObject({ detail: { code: 'CONFIG_BROKEN' } });
  });
  it('is read as before, except for the changed settings', async () => {
    const text = around('log-output', 'stderr').join('\n');
    const { 'log-output': _, ...before } = await read(text);
    expect(await read(await migrated(text, '3.4'))).toMatchObject(before);
  });
});
