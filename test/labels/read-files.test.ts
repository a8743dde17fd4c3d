import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/problem.ts';
import {
  documentsIn,
  readSingleDocument,
  placeProblems,
  readDocuments,
} from '../../src/labels/read-files.ts';
import { loadDesiredLabels } from '../../src/labels/desired.ts';
import { fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';
import { contextWith } from '../support/context.ts';

const contextOf = (files: Readonly<Record<string, string>>, stdin = '') =>
  contextWith({ host: fakeHost({ files, stdin }) });
const errorOf = async (work: () => unknown): Promise<AppError> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) return error;
  }
  throw new Error('it was not refused');
};

describe('the documents of files', () => {
  const files = {
    ...{
      '/place/l/b.yml': 'title: B\n',
      '/place/l/a.yaml': 'title: A\n',
      '/place/l/c.JSON': '{"title": "C"}',
    },
    ...{ '/place/l/labels.lock.yaml': 'version: 1\n', '/place/l/labels.lint.yaml': 'description: true\n' },
    ...{ '/place/l/labels.schema.json': '{}', '/place/l/notes.txt': 'x', '/place/other.txt': 'title: O\n' },
    '/place/empty/readme.md': 'x',
  };
  const read = async (...names: string[]) =>
    (await readDocuments(contextOf(files, 'title: S\n'), names)).map(({ source, file, value }) => [
      source,
      file,
      (value as { title: string }).title,
    ]);
  test('a directory contains its YAML and JSON files by name, without other files', async () => {
    expect(await read('l')).toEqual([
      ['l/a.yaml', 'l/a.yaml', 'A'],
      ['l/b.yml', 'l/b.yml', 'B'],
      ['l/c.JSON', 'l/c.JSON', 'C'],
    ]);
  });
  test('come in the order of the names; a file that is named may be called anything', async () => {
    expect(await read('other.txt', '/place/l/b.yml', '-')).toEqual([
      ['other.txt', 'other.txt', 'O'],
      ['/place/l/b.yml', '/place/l/b.yml', 'B'],
      ['standard input', undefined, 'S'],
    ]);
  });
  test.each([
    [['none.yaml'], naming('file', 'none.yaml'), naming('file', 'directory')],
    [
      ['l/labels.lock.yaml'],
      naming('l/labels.lock.yaml', 'not a label definition'),
      naming('directory', 'lock', 'yaml'),
    ],
    [['empty'], naming('empty', 'file', 'yaml'), naming('no', 'label', 'files', 'directory', 'empty')],
  ])('%j are refused', async (names, message, said) => {
    const error = await errorOf(() => read(...names));
    expect([error.category, error.message]).toEqual(['usage', message]);
    expect(error.detail.problems?.[0]?.message).toEqual(said);
  });
  test('files without a document are rejected by name', async () => {
    const context = contextOf({ '/place/a.yaml': '# nothing\n', '/place/b.yaml': '' });
    const error = await errorOf(() => readDocuments(context, ['a.yaml', 'b.yaml', '-']));
    expect(error.message).toBe(
      'a.yaml, b.yaml, standard input: the file has no content, or only comments; no request was sent',
    );
  });
});

describe('texts with one or several documents', () => {
  const shape = (text: string, file = 'a.yaml') =>
    documentsIn(file, text).map(({ source, index, isOnly, value }) => [source, index, isOnly, value]);
  test('holds one document or several, of which the empty ones do not count', () => {
    expect(shape('title: A\n')).toEqual([['a.yaml', 0, true, { title: 'A' }]]);
    expect(shape('{title: A}')).toEqual([['a.yaml', 0, true, { title: 'A' }]]);
    expect(shape('title: A\n---\ntitle: B\n')).toEqual([
      ['a.yaml', 0, false, { title: 'A' }],
      ['a.yaml', 1, false, { title: 'B' }],
    ]);
    expect(shape('---\n# none\n---\n{title: B}\n')).toEqual([['a.yaml', 0, true, { title: 'B' }]]);
    expect(shape('# none\n')).toEqual([]);
    expect(shape('')).toEqual([]);
    expect(documentsIn('-', 'title: A\n')[0]).not.toHaveProperty('file');
    expect(documentsIn('-', '{title: A}')[0]).not.toHaveProperty('file');
  });
  test('positions are available, including those in a later document', () => {
    const places = (text: string, path: string) =>
      documentsIn('a.yaml', text).map((one) => one.placeOf(path));
    const text = 'title: A\nfields:\n  - name: x\n    type: text\n  - {name: y, choices: [p, {name: q}]}\n';
    expect(places(text, 'title')).toEqual([{ line: 1, column: 1 }]);
    expect(places(text, 'fields[0].type')).toEqual([{ line: 4, column: 5 }]);
    expect(places(text, 'fields[1].name')).toEqual([{ line: 5, column: 6 }]);
    expect(places(text, 'fields[1].choices[0]')).toEqual([{ line: 5, column: 25 }]);
    expect(places(text, 'fields[1].choices[1].name')).toEqual([{ line: 5, column: 29 }]);
    // A missing part has the position of its parent.
    expect(places(text, 'fields[0].required')).toEqual([{ line: 3, column: 5 }]);
    expect(places(text, 'fields[7].name')).toEqual([{ line: 2, column: 1 }]);
    expect(places(text, 'nothing')).toEqual([{ line: 1, column: 1 }]);
    expect(places(text, '')).toEqual([{ line: 1, column: 1 }]);
    expect(places('  \n\n  title: A\n', '')).toEqual([{ line: 3, column: 3 }]);
    expect(places('title: A\n---\n# second\ntitle: B\n', 'title')).toEqual([
      { line: 1, column: 1 },
      { line: 4, column: 1 },
    ]);
    expect(places('"title": A\n', 'title')).toEqual([{ line: 1, column: 1 }]);
    expect(places('1: A\n', '1')).toEqual([{ line: 1, column: 1 }]);
    expect(places('a: 0\nb: 1\n2: {c: 3}\n', '2.c')).toEqual([{ line: 3, column: 5 }]);
  });
  test('problems have their positions', () => {
    const [document] = documentsIn('a.yaml', '# x\ntitle: A\ntype: B\n');
    const wrong = { path: 'type', rule: 'enum', message: 'no' } as never;
    expect(document === undefined ? [] : placeProblems(document, [wrong])).toEqual([
      { path: 'type', rule: 'enum', message: 'no', file: 'a.yaml', line: 3, column: 1 },
    ]);
  });
  test('a text with merge markers is rejected at their line', async () => {
    const text = 'title: A\n<<<<<<< ours\ntype: B\n=======\n>>>>>>> theirs\n';
    const error = await errorOf(() => documentsIn('a.yaml', text));
    expect(error.message).toContain('a.yaml:2 ');
    expect(error.detail).toMatchObject({
      code: 'MERGE_CONFLICT',
      problems: [{ file: 'a.yaml', line: 2, column: 1, hint: naming('side', 'again') }],
    });
    expect((await errorOf(() => documentsIn('-', '<<<<<<<\n'))).message).toEqual(
      naming('input:1', 'conflict', 'merge'),
    );
    // Text inside a line, or after a comment sign, is not a merge marker.
    expect(documentsIn('a.yaml', 'title: "x <<<<<<< y"\n')).toHaveLength(1);
    expect(documentsIn('a.yaml', "title: 'x'\n# <<<<<<<\n")).toHaveLength(1);
  });
  test('invalid YAML is rejected at its line', async () => {
    const error = await errorOf(() => documentsIn('a.yaml', 'title: A\nb: [1\n'));
    expect(error.message).toMatch(/^a\.yaml is not YAML: /);
    expect(error.detail).toMatchObject({
      code: 'NOT_YAML',
      problems: [{ file: 'a.yaml', line: 3, column: 1 }],
    });
    const second = await errorOf(() => documentsIn('a.yaml', 'title: A\n---\nb: [1\n'));
    expect(second.message).toMatch(/^a\.yaml \(\w+ 2\) is not YAML: /);
    expect((await errorOf(() => documentsIn('a.yaml', 'a: *b\n'))).detail.code).toBe('NOT_YAML');
  });
  test('a text with several documents is rejected if only one is allowed', async () => {
    expect(readSingleDocument('a.yaml', 'x: 1\n').value).toEqual({ x: 1 });
    expect((await errorOf(() => readSingleDocument('a.yaml', '# x\n'))).message).toBe(
      'a.yaml: the file has no content, or only comments; no request was sent',
    );
    expect((await errorOf(() => readSingleDocument('-', 'x: 1\n---\nx: 2\n'))).message).toBe(
      'standard input has several documents; one is needed',
    );
  });
});

test('definitions of one list have their own positions in a shared file', async () => {
  const context = contextOf({
    '/place/all.json': '[{"title": "A"},\n {"title": "B", "x": 1}]',
    '/place/b.yaml': 'title: C\n',
  });
  const error = await errorOf(() => loadDesiredLabels(context, ['all.json']));
  expect(error.detail.problems).toMatchObject([{ file: 'all.json: [1]', path: 'x', line: 2, column: 17 }]);
  const good = contextOf({
    '/place/all.json': '[{"title": "A"}, {"title": "B"}]',
    '/place/b.yaml': 'title: C\n',
  });
  const wishes = await loadDesiredLabels(good, ['all.json', 'b.yaml']);
  expect(wishes.map(({ source, path }) => [source, path])).toEqual([
    ['all.json: [0]', undefined],
    ['all.json: [1]', undefined],
    ['b.yaml', '/place/b.yaml'],
  ]);
});

test('a third duplicate definition is reported at the first one', async () => {
  const context = contextOf({
    ...{ '/place/a.yaml': 'title: A\n', '/place/b.yaml': 'title: B\n', '/place/c.yaml': 'title: B\n' },
    ...{
      '/place/d.yaml': 'id: x\ntitle: D\n',
      '/place/e.yaml': 'id: y\ntitle: D\n',
      '/place/f.yaml': 'title: D\n',
    },
  });
  const files = [...'abcdef'].map((name) => `${name}.yaml`);
  const error = await errorOf(() => loadDesiredLabels(context, files));
  expect(error.detail.problems?.map(({ file, message }) => `${file} ${message}`)).toEqual([
    'c.yaml repeats "B", which is already in b.yaml:1:1',
    'f.yaml repeats "D", which is already in d.yaml:2:1',
  ]);
});
