import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/core/limits.ts';
import { isUnknownTo, leastOf, rulesFor, versionTable } from '../../../src/api-specs/etcd/versions.ts';
import { readVersions, versionFileProblems } from '../../../src/kv/upgrade/cluster/yaml-file.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { covers } from '../../support/covers.ts';
import { errorWith, naming } from '../../support/facts.ts';

const minimal = (patch: object = {}) => ({
  data_of: '2026-12-01',
  minors: [{ minor: '3.4', latest: '3.4.46' }],
  rules: [
    {
      from: '3.4.44',
      through: '3.4.46',
      on: 'arrive',
      level: 'fail',
      reason: 'loses the last write of a lease',
      instead: '3.4.43',
      source: 'https://example.com/lost-write',
    },
  ],
  ...patch,
});

describe('the table of versions', () => {
  it('the built-in table passes the rules for a file', () =>
    expect(versionFileProblems(versionTable)).toEqual([]));
  it('every rule names its source and what to take instead', () => {
    for (const { source, instead, reason } of versionTable.rules) {
      expect(source).toMatch(/^https:/);
      expect(`${instead}${reason}`.length).toBeGreaterThan(20);
    }
  });
  it.each([
    ['3.5', 'leave', 'fail', '3.5.26'],
    ['3.5', 'leave', 'warn', '3.5.32'],
    ['3.5', 'arrive', 'warn', '3.5.26'],
    ['3.6', 'arrive', 'fail', '3.6.5'],
    ['3.6', 'arrive', 'warn', '3.6.9'],
    ['3.6', 'leave', 'fail', '3.6.11'],
    ['3.4', 'arrive', 'warn', '3.4.38'],
    ['3.2', 'leave', 'warn', '3.2.0'],
  ] as const)('%s %s %s: %s', (minor, on, level, least) =>
    expect(leastOf(versionTable, minor, on, level)).toBe(least),
  );
  it.each([
    ['3.3.20', 0],
    ['3.3.21', 1],
    ['3.3.22', 0],
    ['3.4.11', 1],
    ['3.4.12', 0],
    ['3.6.14', 0],
  ])('%s is refused by %d rules', (version, count) =>
    expect(
      rulesFor(versionTable, version, 'arrive').filter(
        ({ level, only_with }) => level === 'fail' && only_with === undefined,
      ),
    ).toHaveLength(count),
  );
  it('the table reports what it cannot know', () => {
    expect(isUnknownTo(versionTable, '3.6.15')).toBe(true);
    expect(isUnknownTo(versionTable, '3.6.14')).toBe(false);
    expect(isUnknownTo(versionTable, '3.9.0')).toBe(true);
  });
});

describe('a file with newer data', () => {
  it.each([
    ['is no mapping', [], naming('data_of', 'minors', 'rules', 'mapping', 'versions')],
    [
      'is older than what is built in',
      minimal({ data_of: '2020-01-01' }),
      naming('data_of', '2026-08-31', '2020-01-01', 'newer'),
    ],
    [
      'has a latest patch of another minor',
      minimal({ minors: [{ minor: '3.4', latest: '3.5.1' }] }),
      naming('minors[0].latest', '3.4', 'patch'),
    ],
    [
      'has a minor twice',
      minimal({
        minors: [
          { minor: '3.4', latest: '3.4.1' },
          { minor: '3.4', latest: '3.4.2' },
        ],
      }),
      naming('minors[1].minor', '3.4', 'twice'),
    ],
    ['has an unknown key', minimal({ rule: [] }), naming('rule', 'rules', 'field')],
    [
      'has a version that is none',
      minimal({ minors: [{ minor: '3.4', latest: 'new' }] }),
      naming('minors[0].latest', '3.5.32', 'version'),
    ],
    [
      'has a range that goes backwards',
      minimal({ rules: [{ ...minimal().rules[0], through: '3.4.1' }] }),
      naming('rules[0].through', '3.4.44', '3.4.1'),
    ],
    [
      'has a range over two minors',
      minimal({ rules: [{ ...minimal().rules[0], through: '3.5.1' }] }),
      naming('rules[0].through', '3.4.44', '3.5.1', 'minor'),
    ],
  ])('a file that %s is rejected', (_, content, message) =>
    expect(
      versionFileProblems(content)
        .map((one) => `${one.path} ${one.message} ${one.hint ?? ''}`)
        .join('\n'),
    ).toEqual(message),
  );
  it('a file is named with its line and the flag', async () => {
    const text =
      'data_of: 2026-12-01\nminors:\n  - minor: "3.4"\n    latest: 3.4.46\nrules:\n  - from: 3.4.1\n';
    const host = fakeHost({ files: { '/home/user/v.yaml': text } });
    await expect(readVersions(host, '/home/user/v.yaml', '--versions-file')).rejects.toMatchObject({
      message: expect.stringContaining('--versions-file: /home/user/v.yaml'),
      detail: {
        code: 'VERSIONS_FILE',
        problems: [expect.objectContaining({ line: 6 }), ...Array(5).fill(expect.anything())],
      },
    });
  });
  it.each<[string, object, string[]]>([
    ['that is as old as what is built in', minimal({ data_of: versionTable.data_of }), []],
    ['without rules', minimal({ rules: [] }), []],
    ['with a rule for one patch', minimal({ rules: [{ ...minimal().rules[0], through: '3.4.44' }] }), []],
    [
      'with everything that may stand there',
      minimal({
        minors: [{ minor: '3.4', latest: '3.4.46', is_ended: true, ended_on: '2026-01-01' }],
        rules: [{ ...minimal().rules[0], is_final: true }],
      }),
      [],
    ],
    ['without minors', minimal({ minors: [] }), ['minors']],
    ['without its parts', {}, ['data_of', 'minors', 'rules']],
    [
      'with empty parts',
      minimal({ minors: [{}], rules: [{}] }),
      [
        ...['minors[0].minor', 'minors[0].latest'],
        ...['from', 'through', 'on', 'level', 'reason', 'instead', 'source'].map(
          (name) => `rules[0].${name}`,
        ),
      ],
    ],
    [
      'with no words',
      minimal({ rules: [{ ...minimal().rules[0], reason: '', instead: 'x'.repeat(501) }] }),
      [...['rules[0].reason', 'rules[0].instead']],
    ],
    [
      'with the problems of two rows',
      minimal({
        minors: [
          { minor: '3.4', latest: '3.4.1' },
          { minor: '3.4', latest: '3.5.1' },
        ],
        rules: [minimal().rules[0], { ...minimal().rules[0], through: '3.4.1' }],
      }),
      ['minors[1].latest', 'minors[1].minor', 'rules[1].through'],
    ],
  ])('a file with %s: the problem', (_, content, paths) => {
    expect(
      versionFileProblems(content)
        .map(({ path }) => path)
        .sort(),
    ).toEqual(paths.toSorted());
  });
  it.each([null, 'text', 7])('a file that is %j is not a mapping', (content) => {
    expect(versionFileProblems(content)).toMatchObject([{ path: '', rule: 'type' }]);
  });
  it('a file may contain a hundred minors and a thousand rules, and no more', () => {
    const minors = (count: number) =>
      minimal({ minors: Array.from({ length: count }, (_, i) => ({ minor: `9.${i}`, latest: `9.${i}.0` })) });
    expect(versionFileProblems(minors(100))).toEqual([]);
    expect(versionFileProblems(minors(101))).toMatchObject([{ path: 'minors' }]);
    const rules = (count: number) => minimal({ rules: Array(count).fill(minimal().rules[0]) });
    expect(versionFileProblems(rules(1000))).toEqual([]);
    expect(versionFileProblems(rules(1001))).toMatchObject([{ path: 'rules' }]);
  });
  it(
    'a file is read relative to the current directory, up to a MiB',
    covers('limit/versionFileBytes', 'setting/kv.versions_file'),
    async () => {
      const text = JSON.stringify(minimal());
      const padded = (size: number) => text + ' '.repeat(size - text.length);
      const host = fakeHost({
        files: {
          '/place/v.json': text,
          '/place/full.json': padded(limits.versionFileBytes),
          '/place/long.json': padded(limits.versionFileBytes + 1),
        },
      });
      const read = (path: string) => readVersions(host, path, 'kv.versions_file');
      expect(await read('v.json')).toEqual(minimal());
      expect(await read('full.json')).toEqual(minimal());
      await expect(read('long.json')).rejects.toMatchObject({
        ...{ category: 'config', detail: { code: 'VERSIONS_FILE' } },
        message: naming('kv.versions_file', 'long.json', '1048577', '1048576', 'bytes'),
      });
      await expect(read('none.json')).rejects.toThrow(
        errorWith('VERSIONS_FILE', 'kv.versions_file', 'none.json'),
      );
      await expect(read('/place')).rejects.toThrow(
        errorWith('VERSIONS_FILE', 'kv.versions_file', '/place', 'directory'),
      );
      host.files.read = async () => undefined;
      await expect(read('v.json')).rejects.toThrow(errorWith('VERSIONS_FILE', 'v.json'));
    },
  );
});
