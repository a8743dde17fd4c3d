import { describe, expect, test } from 'vitest';
import type { AppError } from '../../src/core/problem.ts';
import { type DeploymentRecord, type LockFile, lockFrom, lockText } from '../../src/labels/lock-file.ts';
import { naming } from '../support/facts.ts';

const record = (revision: string, more: Partial<DeploymentRecord> = {}): DeploymentRecord => ({
  ...{ id: 'L', title: 'T', revision, state: 'PUBLISHED', copyMode: 'DO_NOT_COPY', enabledApps: ['MAIL'] },
  ...{ digest: '0123456789ab', fields: {} },
  ...more,
});
const refusal = (text: string): AppError => {
  try {
    lockFrom('l.yaml', text);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('it was read');
};

describe('the text of a lock file', () => {
  test('the lock file has one key per line, and separate additions of two users merge', () => {
    const choices = { b: { name: 'B', id: '2' }, a: { name: 'A', id: '1' } };
    const fields = {
      z: { name: 'Z', id: '9', digest: 'd' },
      '1': { name: 'One', id: '8', digest: 'e', choices },
    };
    const lock: LockFile = {
      labels: {
        second: { deployments: {} },
        first: {
          file: 'a.yaml',
          deployments: {
            'https://x': record('3', { fields, permissions: { 'b@x': 'READER', 'a@x': 'EDITOR' } }),
          },
        },
      },
    };
    const lines = lockText(lock).split('\n');
    expect(lines.slice(2)).toEqual([
      'version: 1',
      'labels:',
      '  first:',
      '    file: "a.yaml"',
      '    deployments:',
      '      "https://x":',
      '        id: "L"',
      '        title: "T"',
      '        revision: "3"',
      '        state: "PUBLISHED"',
      '        copyMode: "DO_NOT_COPY"',
      '        enabledApps: ["MAIL"]',
      '        digest: "0123456789ab"',
      '        fields:',
      '          "1":',
      '            name: "One"',
      '            id: "8"',
      '            digest: "e"',
      '            choices:',
      '              a:',
      '                name: "A"',
      '                id: "1"',
      '              b:',
      '                name: "B"',
      '                id: "2"',
      '          z:',
      '            name: "Z"',
      '            id: "9"',
      '            digest: "d"',
      '        permissions:',
      '          "a@x": "EDITOR"',
      '          "b@x": "READER"',
      '  second:',
      '    deployments: {}',
      '',
    ]);
    expect(lines[0]).toContain('Commit this file; do not edit it.');
    expect(lockFrom('l', lockText(lock))).toEqual(lock);
  });
  test('keeps the order of the members of a label that is called like one of its lists', () => {
    const lock: LockFile = { labels: { labels: { file: 'z', deployments: { fields: record('1') } } } };
    expect(lockFrom('l', lockText(lock))).toEqual(lock);
    expect(lockText(lock).split('\n').slice(4, 9)).toEqual([
      ...['  labels:', '    file: "z"', '    deployments:', '      fields:'],
      '        id: "L"',
    ]);
  });
  test('leaves out what is undefined', () => {
    expect(lockText({ labels: { a: { file: undefined as never, deployments: {} } } })).not.toContain('file:');
    expect(lockText({ labels: {} })).toMatch(/\nversion: 1\nlabels: \{\}\n$/);
  });
});

describe('lock files that were edited', () => {
  test('a lock file in any YAML style is read', () => {
    expect(lockFrom('l', '{version: 1, labels: {a: {deployments: {}}}}')).toEqual({
      labels: { a: { deployments: {} } },
    });
  });
  test.each([
    ['', naming('l.yaml', 'version 1', 'lock')],
    ['version: "1"\n', naming('l.yaml', 'version 1', 'lock')],
    ['version: 1\nlabels: []\n', naming('l.yaml', 'labels')],
    ['version: 1\nlabels:\n', naming('l.yaml', 'labels', 'broken')],
    ['version: 1\n', naming('l.yaml', 'labels', 'missing')],
    ['version: 1\nlabels: {}\nextra: 1\n', naming('l.yaml', 'extra', 'broken')],
    ['version: 1\nlabels:\n  a: []\n', naming('l.yaml', 'a', 'broken')],
    ['version: 1\nlabels:\n  a: {deployments: []}\n', naming('l.yaml', 'a', 'broken')],
    ['version: 1\n  x: [\n', naming('l.yaml', 'YAML', 'line 1', 'indentation')],
    ['a: *b\n', naming('l.yaml', 'YAML', 'alias', 'anchor')],
  ])('an invalid lock file is rejected: %j', (text, why) => {
    const error = refusal(text);
    expect(error.message).toEqual(why);
    expect([error.category, error.detail.code, error.detail.problems?.length]).toEqual([
      'usage',
      'BAD_LOCK_FILE',
      1,
    ]);
  });
});

describe('a record that was edited or cut', () => {
  const choices = { one: { name: 'one', id: 'c' } };
  const field = { name: 'F', id: 'f', digest: 'd', choices, protect: true };
  const whole = lockText({
    labels: {
      a: {
        file: 'a.yaml',
        deployments: { x: record('2', { fields: { f: field }, permissions: { 'people/ada': 'READER' } }) },
      },
    },
  });
  const lineWith = (part: string): number => whole.split('\n').findIndex((line) => line.includes(part)) + 1;
  test('is read if nothing is missing', () => {
    expect(lockFrom('l', whole).labels['a']?.deployments['x']?.fields['f']).toEqual(field);
  });
  test.each(['id', 'title', 'revision', 'state', 'copyMode', 'enabledApps', 'digest'])(
    'is rejected without the member %s',
    (name) => {
      const cut = whole.replace(new RegExp(`^ {8}${name}: .*\\n`, 'm'), '');
      expect(cut).not.toBe(whole);
      expect(refusal(cut).message).toEqual(naming('a.deployments.x', name, 'missing'));
    },
  );
  test.each([
    ['revision: "2"', 'revision: 2', 'revision'],
    ['enabledApps: ["MAIL"]', 'enabledApps: all', 'enabledApps'],
    ['protect: true', 'protect: "yes"', 'protect'],
    ['protect: true', 'protect:', 'protect'],
    ['protect: true', 'protected: true', 'protected'],
    ['file: "a.yaml"', 'file: 5', 'file'],
    ['id: "c"', 'id: 7', 'id'],
    ['"people/ada": "READER"', '"people/ada": 1', 'role'],
    ['        fields:', '        fieldz:', 'fields'],
  ])('is rejected if %s is %s', (before, after, name) => {
    expect(whole).toContain(before);
    const error = refusal(whole.replace(before, after));
    expect(error.message).toContain(name);
    expect(error.detail.problems?.[0]?.line).toBeGreaterThan(4);
  });
  test('is rejected with the line of a key that it does not have', () => {
    const edited = whole.replace('        state:', '        colour: red\n        state:');
    expect(refusal(edited).detail.problems).toMatchObject([{ file: 'l.yaml', line: lineWith('state:') }]);
  });
  test('is rejected if the file was cut above its fields', () => {
    const lines = whole.split('\n');
    const last = lines.indexOf('        fields:');
    for (let end = lines.indexOf('labels:'); end <= last; end += 1) {
      const text = `${lines.slice(0, end + 1).join('\n')}\n`;
      expect([text, refusal(text).detail.code]).toEqual([text, 'BAD_LOCK_FILE']);
    }
  });
});
describe('lock files with both sides of a merge', () => {
  const text = (labels: LockFile['labels']): string => lockText({ labels });
  const both = (ours: string, theirs: string, base = ''): LockFile['labels'] =>
    lockFrom('l', `<<<<<<< HEAD\n${ours}${base}=======\n${theirs}>>>>>>> other\n`).labels;
  const of = (revision: string, more: object = {}) =>
    text({ a: { ...more, deployments: { x: record(revision) } } });
  const revision = (labels: LockFile['labels']) => labels['a']?.deployments['x']?.revision;

  test('of two revisions the newer one is kept, and equal records of one revision are one record', () => {
    expect(revision(both(of('9'), of('10')))).toBe('10');
    expect(revision(both(of('10'), of('9')))).toBe('10');
    expect(revision(both(of('9007199254740993'), of('9007199254740992')))).toBe('9007199254740993');
    expect(both(of('3'), of('3'))).toEqual({ a: { deployments: { x: record('3') } } });
  });
  const field = (digest: string) => ({ fields: { f: { name: 'F', id: 'f', digest } } });
  test.each([
    ['title', { title: 'ours' }, { title: 'theirs' }, ['"ours"', '"theirs"']],
    ['enabledApps', { enabledApps: ['MAIL'] }, { enabledApps: [] }, ['["MAIL"]', '[]']],
    ['digest', field('d1'), field('d2'), ['fields.f', '"d1"', '"d2"']],
    ['fields', field('d1'), {}, ['"name":"F"', 'nothing']],
    ['protect', { protect: true }, {}, ['true', 'nothing']],
    ['permissions', {}, { permissions: { 'people/ada': 'READER' } }, ['nothing', 'READER']],
    ['revision', { revision: '3a' }, { revision: '3b' }, ['"3a"', '"3b"']],
  ])('two records of one revision with another %s are rejected with both values', (name, a, b, values) => {
    for (const [ours, theirs] of [
      [a, b],
      [b, a],
    ]) {
      const [mine, other] = [ours, theirs].map((more) =>
        text({ a: { deployments: { x: record('3', more) } } }),
      );
      const conflict = `<<<<<<< HEAD\n${mine}=======\n${other}>>>>>>> other\n`;
      const error = refusal(conflict);
      expect([error.category, error.detail.code]).toEqual(['usage', 'BAD_LOCK_FILE']);
      expect(error.message).toEqual(naming('l.yaml', 'a.deployments.x', name, ...values));
      expect(error.detail.problems?.[0]?.line).toBeGreaterThan(5);
    }
  });
  test('two files of one label are rejected with both names', () => {
    const [ours, theirs] = ['a.yaml', 'b.yaml'].map((file) => of('1', { file }));
    const error = refusal(`<<<<<<< HEAD\n${ours}=======\n${theirs}>>>>>>> other\n`);
    expect(error.message).toEqual(naming('"a.yaml"', '"b.yaml"'));
  });
  test('every deployment of both stays, and the file that one of them names', () => {
    const ours = text({ a: { file: 'a.yaml', deployments: { x: record('1') } }, b: { deployments: {} } });
    const theirs = text({ a: { deployments: { y: record('2') } }, c: { deployments: {} } });
    expect(both(ours, theirs)).toEqual({
      a: { file: 'a.yaml', deployments: { x: record('1'), y: record('2') } },
      b: { deployments: {} },
      c: { deployments: {} },
    });
    expect(both(theirs, ours)['a']?.file).toBe('a.yaml');
  });
  test('the common ancestor is ignored, and markers within a line are not markers', () => {
    expect(revision(both(of('1'), of('2'), `||||||| base\n${of('7')}`))).toBe('2');
    const odd = { a: { file: '<<<<<<< x', deployments: {} } };
    expect(lockFrom('l', text(odd))).toEqual({ labels: odd });
  });
  test('line ends of Windows do not change the sides', () => {
    const conflict = `<<<<<<< HEAD\n${of('1')}=======\n${of('2')}>>>>>>> other\n`;
    expect(revision(lockFrom('l', conflict.replaceAll('\n', '\r\n')).labels)).toBe('2');
  });
  test('a part of the file may be in conflict', () => {
    const lines = of('1').split('\n');
    const at = lines.findIndex((line) => line.includes('revision:'));
    const conflict = ['<<<<<<< HEAD', lines[at], '=======', lines[at]?.replace('1', '5'), '>>>>>>> other'];
    const merged = [...lines.slice(0, at), ...conflict, ...lines.slice(at + 1)].join('\n');
    expect(revision(lockFrom('l', merged).labels)).toBe('5');
  });
});
