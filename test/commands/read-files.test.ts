/** One policy for every command that reads a file: the rejected content, its reported position, and no request after a rejection. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { labelsInMemory, type Ran, trackerInMemory } from '../support/in-memory.ts';
import { textFile } from '../../src/api/input.ts';
import { readCluster } from '../../src/kv/upgrade/cluster/cluster-file.ts';
import type { AppError, Problem } from '../../src/core/problem.ts';
import type { Host } from '../../src/platform/host.ts';
import { decodeUtf8 } from '../../src/core/text.ts';
import { fakeHost } from '../support/fake-host.ts';
import { contextWith } from '../support/context.ts';
import { naming } from '../support/facts.ts';

type Reader = {
  readonly file: string;
  readonly service: 'labels' | 'tracker';
  readonly words: readonly string[];
  /** A valid file, in which X is a placeholder for a text. */
  readonly text: string;
  readonly isYaml?: true;
  /** A list that a key without a value must not clear. */
  readonly list?: string;
  /** An empty file is an empty value. */
  readonly mayBeEmpty?: true;
  /** Other files of the command. */
  readonly others?: Readonly<Record<string, string>>;
  /** Titles of labels that exist. */
  readonly titles?: readonly string[];
};
const readers: readonly Reader[] = [
  {
    file: 'a.yaml',
    service: 'labels',
    words: ['validate', '-f'],
    text: 'title: X\n',
    isYaml: true,
    list: 'fields',
  },
  {
    file: 'b.yaml',
    service: 'labels',
    words: ['apply', '-f'],
    text: 'title: X\n',
    isYaml: true,
    list: 'permissions',
  },
  {
    ...{ file: 'c.yaml', service: 'labels', words: ['apply', '-f'], isYaml: true },
    text: 'title: T\nfields:\n  - name: F\n    type: selection\n    choices: [a, X]\n',
  },
  {
    ...{ file: 'd.yaml', service: 'labels', words: ['plan', '-f'], isYaml: true, list: 'fields' },
    text: 'title: T\nfields:\n  - name: X\n    type: text\n',
  },
  {
    ...{ file: 'e.yaml', service: 'labels', words: ['lint', '-f'], isYaml: true, list: 'fields' },
    text: 'title: T\nfields: [{name: F, type: selection, choices: [{name: X}]}]\n',
  },
  {
    ...{ file: 'w.yaml', service: 'tracker', words: ['diff', '-f'], isYaml: true, list: 'labels' },
    text: 'labels:\n  - name: X\n',
  },
  {
    ...{ file: 'v.yaml', service: 'tracker', words: ['apply', '--yes', '-f'], isYaml: true, list: 'epics' },
    text: 'epics:\n  - name: X\n',
  },
  {
    ...{ file: 'r.csv', service: 'tracker', words: ['bulk', '--resource', 'labels', '--op', 'create', '-f'] },
    text: 'name\nX\n',
  },
  {
    ...{ file: 'r.ndjson', service: 'tracker', words: ['bulk', '-f'] },
    text: '{"op":"create","resource":"labels","name":"X"}\n',
  },
  {
    file: 't.txt',
    service: 'tracker',
    words: ['labels', 'create', '--name', 'n', '--description-file'],
    text: 'X\n',
    mayBeEmpty: true,
  },
  { file: 'p.json', service: 'tracker', words: ['labels', 'create', '--body'], text: '{"name":"X"}\n' },
  {
    ...{ file: 'staging.yaml', service: 'labels', isYaml: true, list: 'editors' },
    words: ['apply', '-f', 'definition.yaml', '--values'],
    text: 'suffix: X\n',
    others: { 'definition.yaml': 'title: T ${suffix}\n' },
  },
  {
    ...{ file: 'permissions.csv', service: 'labels', words: ['permissions', 'import', '--keep', '-f'] },
    text: 'title,role,email\nX,READER,a@example.com\n',
    titles: ['X', 'é'],
  },
  {
    ...{ file: 's.ndjson', service: 'tracker', words: ['sync', '-f'] },
    text: '{"resource":"epics","external_id":"E-1","name":"X"}\n',
  },
  {
    ...{ file: 's.tsv', service: 'tracker', words: ['sync', '--resource', 'epics', '-f'] },
    text: 'external_id\tname\nE-1\tX\n',
  },
  {
    ...{ file: 'map.yaml', service: 'tracker', isYaml: true, list: 'columns' },
    words: ['bulk', '-f', 'rows.csv', '--resource', 'labels', '--op', 'create', '--map-file'],
    text: 'columns:\n  Title:\n    field: name\n    values:\n      old: X\n',
    others: { 'rows.csv': 'Title\nold\n' },
  },
  {
    ...{ file: 'list.yaml', service: 'labels' },
    words: ['permissions', 'sync', 'T', '--keep', '-f'],
    text: '- role: READER\n  email: X@example.com\n',
    titles: ['T'],
  },
  {
    ...{ file: 'list.csv', service: 'labels' },
    words: ['permissions', 'sync', 'T', '--keep', '-f'],
    text: 'role,email\nREADER,X@example.com\n',
    titles: ['T'],
  },
];
const withBytes =
  (path: string, bytes: Uint8Array) =>
  (host: Host): Host => ({
    ...host,
    files: {
      ...host.files,
      readBytes: async (asked) => (asked === path ? bytes : host.files.readBytes(asked)),
      read: async (asked) => (asked === path ? decodeUtf8(bytes, path) : host.files.read(asked)),
      readNow: (asked) => (asked === path ? decodeUtf8(bytes, path) : host.files.readNow(asked)),
      stream: (asked) =>
        asked === path
          ? (async function* () {
              yield bytes;
            })()
          : host.files.stream(asked),
    },
  });
const run = (
  { file, service, words, others, titles = [] }: Reader,
  text: string,
  change?: (host: Host) => Host,
): Promise<Ran> => {
  const files = { ...others, [file]: text };
  const at = service === 'labels' ? labelsInMemory(files) : trackerInMemory(files);
  for (const title of titles) at.send('POST', '/labels', { labelType: 'SHARED', properties: { title } });
  const given = words.at(-1) === '--body' ? `@${file}` : file;
  return at.run([...words, given, '-o', 'json'], change === undefined ? {} : { change });
};
const ods = 'PK\x03\x04\x14\0\0\x08\0\0\xd5\xff\xa2mimetypeapplication/vnd.oasis.opendocument.spreadsheet';
const named = (reader: Reader) =>
  [`${reader.service} ${reader.words.join(' ')} ${reader.file}`, reader] as const;

describe.each(readers.map(named))('%s', (_, reader) => {
  const { file, text } = reader;
  test('accepts a good file, with a byte order mark too', async () => {
    for (const good of [text.replace('X', 'é'), `\uFEFF${text}`])
      expect([good, (await run(reader, good)).code]).toEqual([
        good,
        expect.toSatisfy((code) => [0, 20].includes(code)),
      ]);
  });
  test.each([
    ['nothing', ''],
    ['a byte order mark', '\uFEFF'],
    ['blank lines', '\n \n'],
    ['only a comment', '# x\n'],
    ['a marker of a document', '---\n'],
    ['null', 'null\n'],
  ])('rejects a file with %s, by its name and with the fix', async (__, empty) => {
    if (reader.mayBeEmpty || (!reader.isYaml && /\w|#|-/.test(empty))) return;
    const ran = await run(reader, empty);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.err).toContain(file);
    const { problems, hints } = ran.error();
    expect([...problems.map(({ message }: Problem) => message), ...hints].join()).toMatch(
      /must|write|accepts|expected a/,
    );
  });
  test('rejects an escaped NUL character, with the line', async () => {
    const isJson = text.startsWith('{');
    for (const escaped of reader.isYaml || isJson ? ['\\u0000', ...(isJson ? [] : ['\\0', '\\x00'])] : []) {
      const given = isJson ? `a${escaped}b` : `"a${escaped}b"`;
      const ran = await run(reader, text.replace('X', given));
      expect([escaped, ran.code, ran.writes]).toEqual([escaped, 2, []]);
      expect(`${ran.out}${ran.err}`).toContain('NUL');
      const shown = `${ran.out}${ran.err}`.replaceAll('\\', '');
      const line = text.slice(0, text.indexOf('X')).split('\n').length;
      expect(shown).toMatch(new RegExp(`"line": ?${line}\\b`));
    }
  });
  test('accepts a text that only looks like an escaped NUL character', async () => {
    if (!reader.isYaml) return;
    for (const given of ["'a\\0b'", '"a\\\\0b"', 'a\\u0000b']) {
      const ran = await run(reader, text.replace('X', given));
      expect([given, ran.err, ran.code]).toEqual([
        given,
        expect.anything(),
        expect.toSatisfy((code) => [0, 20].includes(code)),
      ]);
    }
  });
  test('rejects a second byte order mark, with its place', async () => {
    const ran = await run(reader, text, withBytes(`/place/${file}`, Buffer.from(`\uFEFF\uFEFF${text}`)));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error()).toMatchObject({
      problems: [{ file, line: 1 }],
      hints: expect.arrayContaining([expect.stringContaining('mark')]),
    });
  });
  test('rejects a byte order mark inside the text, with its line, and accepts its escape', async () => {
    const line = text.slice(0, text.indexOf('X')).split('\n').length;
    for (const given of ['a\uFEFFb', '\uFEFFb', 'b\uFEFF']) {
      // The start of a file may have the mark.
      if (text.startsWith('X') && given.startsWith('\uFEFF')) continue;
      const ran = await run(reader, text.replace('X', given));
      expect([given, ran.code, ran.writes]).toEqual([given, 2, []]);
      expect(ran.error()).toMatchObject({
        problems: [{ file, line }],
        hints: [expect.stringContaining('mark')],
      });
    }
    const isJson = text.startsWith('{');
    if (!reader.isYaml && !isJson) return;
    const escaped = text.replace('X', isJson ? 'a\\uFEFFb' : '"a\\uFEFFb"');
    expect([0, 20]).toContain((await run(reader, escaped)).code);
  });
  test('rejects a repeated merge key and an alias without an anchor, with the line', async () => {
    if (!reader.isYaml) return;
    const before = text.slice(0, text.indexOf('X'));
    const line = before.split('\n').length;
    const alias = await run(reader, text.replace('X', '*nowhere'));
    expect([alias.code, alias.writes, alias.error().problems[0]]).toMatchObject([2, [], { line }]);
    const merged = `x-a: &a {q: 1}\n<<: *a\n<<: *a\n${text}`;
    const twice = await run(reader, merged);
    expect([twice.code, twice.writes]).toEqual([2, []]);
    expect(twice.error().problems).toContainEqual(expect.objectContaining({ line: 3 }));
  });
  test('rejects the escape of half a character', async () => {
    const isJson = text.startsWith('{');
    if (!reader.isYaml && !isJson) return;
    for (const half of ['\\ud83d', '\\uDE00', '\\ude00\\ud83d']) {
      const ran = await run(reader, text.replace('X', isJson ? `a${half}` : `"a${half}"`));
      expect([half, ran.code, ran.writes]).toEqual([half, 2, []]);
      expect(`${ran.out}${ran.err}`).toContain('surrogate pair');
    }
    const whole = text.replace('X', isJson ? '\\ud83d\\ude00' : '"\\U0001F600"');
    expect([0, 20]).toContain((await run(reader, whole)).code);
  });
  test('rejects a NUL character', async () => {
    const ran = await run(reader, text.replace('X', 'a\0b'));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(`${ran.out}${ran.err}`).toContain('NUL');
  });
  test.each([
    [
      'an Excel workbook',
      Buffer.from('PK\x03\x04\x14\x00\x06\x00\x08\x00\xbe\xefxl/workbook.xml', 'latin1'),
      'CSV',
    ],
    ['an OpenDocument spreadsheet', Buffer.from(ods, 'latin1'), 'CSV'],
    ['an old Excel workbook', Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0', 'latin1'), 'CSV'],
    ['a ZIP archive', Buffer.from('PK\x03\x04\x14\0\0\0\xff', 'latin1'), 'unpack'],
    ['gzip', gzipSync('name\nx\n'), 'gunzip'],
    ['a PDF document', Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1'), 'export'],
    ['an image', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'contains the data'],
  ])('names the format of %s and the way to get text from it', async (kind, bytes, fix) => {
    const ran = await run(reader, text, withBytes(`/place/${file}`, bytes));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    const { problems, hints } = ran.error();
    expect(problems[0]).toMatchObject({ file, line: 1 });
    expect(ran.err).toContain(kind.replace(/^an? (old )?/, ''));
    expect(hints.join()).toContain(fix);
  });
  test.each([
    ['<!DOCTYPE html>\n<html><body>Sign in</body></html>\n', 'an HTML page'],
    ['\uFEFF\n<table><tr><td>name</td></tr></table>\n', 'an HTML page'],
    ['<?xml version="1.0"?>\n<Workbook/>\n', 'an XML document'],
    ['%PDF-1.7\n', 'a PDF document'],
    ['{\\rtf1\\ansi name}\n', 'a rich-text document'],
    ['version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n', 'a pointer of Git LFS'],
  ])('names the format of the text %j', async (content, kind) => {
    // A description may be HTML, and the error of a JSON body names the column.
    if (reader.mayBeEmpty || reader.file === 'p.json') return;
    const ran = await run(reader, content);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error()).toMatchObject({ problems: [{ file, line: 1 }], hints: [expect.anything()] });
    expect(ran.err).toEqual(naming(file, ...kind.split(' ')));
  });
  test.each([
    ['Latin-1', (x: string) => Buffer.from(x.replace('X', 'caf\xe9'), 'latin1'), 'not UTF-8'],
    ['UTF-16', (x: string) => Buffer.from(`\uFEFF${x}`, 'utf16le'), 'UTF-16'],
    ['UTF-16LE without a mark', (x: string) => Buffer.from(x, 'utf16le'), 'UTF-16LE'],
    ['UTF-16BE without a mark', (x: string) => Buffer.from(x, 'utf16le').swap16(), 'UTF-16BE'],
  ])(
    'the reader rejects %s with the position and the fix, and sends no request',
    async (__, bytesOf, what) => {
      const ran = await run(reader, text, withBytes(`/place/${file}`, bytesOf(text)));
      expect([ran.code, ran.writes]).toEqual([2, []]);
      expect(ran.err).toContain(what);
      expect(ran.err).toContain('iconv -f');
      expect(ran.error().problems[0]).toMatchObject({ file, line: expect.any(Number) });
    },
  );
});

describe.each(readers.filter(({ isYaml }) => isYaml).map(named))('%s', (_, reader) => {
  const { text, list } = reader;
  test.each(['1.10', '0x10', '1e3', '012', '+1', '.5', '.inf', '007'])(
    'rejects %s where text is expected',
    async (source) => {
      const ran = await run(reader, text.replace('X', source));
      expect([ran.code, ran.writes]).toEqual([2, []]);
      expect(ran.error().problems[0]).toMatchObject({
        message: expect.stringContaining(source),
        hint: expect.stringContaining(`"${source}"`),
        line: text.slice(0, text.indexOf('X')).split('\n').length,
      });
      expect([0, 20]).toContain((await run(reader, text.replace('X', `"${source}"`))).code);
    },
  );
  test.each(['42', 'yes', '2026-12-01', '1_000'])('accepts %s, which reads like the file', async (source) => {
    expect([0, 20]).toContain((await run(reader, text.replace('X', source))).code);
  });
  test.each(['yes', 'No', 'ON', 'off', 'y'])('calls %s true or false in YAML 1.1', async (source) => {
    const ran = await run(reader, `%YAML 1.1\n---\n${text.replace('X', source)}`);
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.err).toEqual(naming(source, 'true', 'false', 'YAML'));
  });
  test.each([
    ['|', '|-'],
    ['>', '>-'],
    ['|+', '|-'],
  ])('rejects a name in a block with %s, and accepts it with a dash', async (mark, dashed) => {
    const [, indent = '', key = ''] = /^( *)(?:- )?(title|name): X$/m.exec(text) ?? [];
    if (key === '') return;
    const block = (sign: string): string => text.replace(`${key}: X`, `${key}: ${sign}\n${indent}      X`);
    const ran = await run(reader, block(mark));
    expect([ran.code, ran.writes]).toEqual([2, []]);
    const line = text.slice(0, text.indexOf('X')).split('\n').length;
    const hint = naming(dashed);
    expect(ran.error().problems[0]).toMatchObject({ path: key, rule: 'format', line, hint });
    expect(ran.err).not.toMatch(/YAML/);
    expect([0, 20]).toContain((await run(reader, block(dashed))).code);
  });
  test('rejects a key that repeats', async () => {
    const [key = ''] = text.split(':');
    expect((await run(reader, `${text}${key}: []\n`)).code).toBe(2);
  });
  test('the reader never clears a list whose rows are comments', async () => {
    if (list === undefined) return;
    const ran = await run(
      reader,
      `${text.split(`\n${list}:`)[0]?.replace(new RegExp(`^${list}:[^]*`), '')}\n${list}:\n  # - name: x\n`,
    );
    expect([ran.code, ran.writes]).toEqual([2, []]);
    expect(ran.error().problems).toContainEqual(expect.objectContaining({ path: list, rule: 'null' }));
  });
});

describe('rows for bulk and sync', () => {
  test.each([
    [['bulk', '-f', 'rows.ndjson']],
    [['sync', '-f', 'rows.csv']],
    [['sync', '-f', 'rows.ndjson', '--dry-run']],
    [['sync', '-f', 'sep.csv']],
  ])('%j refuses an empty file and names the way to run without rows', async (words) => {
    const ran = await trackerInMemory({ 'rows.ndjson': '', 'rows.csv': '', 'sep.csv': 'sep=;\n' }).run([
      ...words,
      '-o',
      'json',
    ]);
    expect([ran.code, ran.requests]).toEqual([2, []]);
    expect(ran.error()).toMatchObject({
      message: `${words[2]} is empty; no changes were made`,
      problems: [{ path: '--file' }],
      hints: ['-f - accepts an input without rows'],
    });
  });
  test.each([
    ['a table with only a header', ['sync', '-f', 'rows.csv']],
    ['empty standard input', ['bulk', '-f', '-']],
  ])('%s has no rows', async (_, words) => {
    const ran = await trackerInMemory({ 'rows.csv': 'resource,name,external_id\n' }).run([
      ...words,
      '-o',
      'json',
    ]);
    expect([ran.code, ran.writes, ran.out.trim()]).toEqual([0, [], '[]']);
  });
});

test('a cluster file follows the same rules', async () => {
  const refusal = async (text: string) => {
    const host = fakeHost({ files: { '/c.yaml': text } });
    return readCluster({ ...host, cwd: '/' }, 'c.yaml').then(
      () => undefined,
      (error: AppError) => error.detail.problems?.[0],
    );
  };
  const cluster = (name: string) =>
    `name: ${name}\nmembers:\n  - {name: a, client_url: "http://127.0.0.1:1"}\n`;
  expect(await refusal(cluster('c'))).toBeUndefined();
  expect(await refusal(cluster('1e3'))).toMatchObject({
    line: 1,
    message: expect.stringContaining('1e3'),
  });
});

test('a file of a flag follows the same rules', async () => {
  const host = fakeHost({ files: { '/a.txt': '' } });
  const files = { ...host.files, readBytes: async () => Buffer.from('a\n\xff', 'latin1') };
  await expect(
    textFile(contextWith({ host: { ...host, cwd: '/', files } }), 'a.txt', '--text-file'),
  ).rejects.toMatchObject({ detail: { problems: [{ line: 2, hint: 'not UTF-8: byte 2 is 0xFF' }] } });
});

/** Files in JSON. The text is a valid JSON object or list that contains the number 1. */
type JsonReader = {
  readonly file: string;
  readonly words: readonly string[];
  readonly text: string;
  readonly others?: Readonly<Record<string, string>>;
  readonly code?: number;
  /** The file is YAML, of which JSON is a part. */
  readonly isYaml?: true;
};
const trace = '{"format":"opsctl-trace-1","version":"1","command":[],"services":{},"exchanges":[],"n":1}';
const cassetteHead = '{"opsctl_cassette":1,"upstream":"http://127.0.0.1:1"}';
const jsonReaders: readonly JsonReader[] = [
  { file: 'plan.json', words: ['labels', 'apply', '--plan', 'plan.json'], text: '{"kind":"x","version":1}' },
  { file: 'saved.json', words: ['tracker', 'apply', '--plan', 'saved.json'], text: '{"version":1,"n":1}' },
  { file: 'trace.json', words: ['tracker', 'labels', 'list', '--replay', 'trace.json'], text: trace },
  { file: 'state.json', words: ['mock', 'seed', 'state.json'], text: '{"opsctl_state":1,"collections":{}}' },
  {
    ...{ file: 'start.json', text: '{"opsctl_state":1,"collections":{}}' },
    words: ['mock', 'serve', '--ephemeral', '--seed', 'start.json'],
  },
  {
    file: 'body.json',
    words: ['tracker', 'labels', 'create', '--body', '@body.json'],
    text: '{"name":"x","archived":1}',
  },
  {
    ...{ file: '/home/user/opsctl/config/aliases.json', words: ['alias', 'list'], code: 3 },
    text: '{"aliases":[],"n":1}',
  },
  {
    ...{ file: '/home/user/opsctl/config/config.json', words: ['config', 'list'], code: 3 },
    text: '{"profiles":{},"n":1}',
  },
  {
    ...{ file: '/home/user/opsctl/config/config.json', code: 3 },
    words: ['config', 'set', 'timeout', '5s', '--profile', 'work'],
    text: '{"profiles":{},"n":1}',
  },
  {
    ...{ file: '/home/user/.docker/config.json', code: 3 },
    words: ['auth', 'setup', 'docker', '--host', 'r.example'],
    text: '{"auths":{},"n":1}',
  },
  {
    file: 'faults.yaml',
    words: ['mock', 'faults', 'load', 'faults.yaml'],
    text: '[{"count":1}]',
    isYaml: true,
  },
  {
    ...{ file: 'labels.lock.yaml', isYaml: true, text: '{"version":1,"labels":{}}' },
    words: ['labels', 'apply', '-f', '/place'],
    others: { 'a.yaml': 'title: T\n' },
  },
];
const runJson = ({ file, words, others }: JsonReader, text: string, bytes?: Uint8Array): Promise<Ran> =>
  trackerInMemory({ ...others, [file]: text }).run([...words, '-o', 'json'], {
    isTopLevel: true,
    ...(bytes === undefined
      ? {}
      : { change: withBytes(file.startsWith('/') ? file : `/place/${file}`, bytes) }),
  });
const rejects = async (reader: JsonReader, text: string, line: number, what: RegExp, bytes?: Uint8Array) => {
  const ran = await runJson(reader, text, bytes);
  expect([ran.code, ran.requests]).toEqual([reader.code ?? 2, []]);
  const [problem] = ran.error().problems;
  expect(problem).toMatchObject({ file: expect.stringMatching(reader.file), line });
  expect(ran.err).toMatch(what);
};
describe.each(jsonReaders.map((one) => [one.words.join(' '), one] as const))('%s', (_, reader) => {
  const { text } = reader;
  const withMore = (more: string): string => text.replace(/[}\]]$/, (end) => `${more}\n${end}`);
  test('rejects a text that is not JSON, with the line', async () => {
    const broken = `\n${withMore(',, 2')}`;
    await rejects(reader, broken, 2, /expected a|YAML/);
    const ran = await runJson(reader, broken);
    expect(ran.err).not.toMatch(/Unexpected token|in JSON at position/);
  });
  test('rejects a repeated key, with the line', async () => {
    const key = text.startsWith('[') ? ',\n{"path":"/a","path":"/b"}' : ',"again":0,\n"again":1';
    await rejects(reader, withMore(key), 2, /twice|unique/);
  });
  test('rejects a number that would be rounded', async () => {
    if (reader.isYaml) return;
    await rejects(reader, `\n${text.replace(/:1/, ':12345678901234567890')}`, 2, /12345678901234567890/);
  });
  test('rejects values that are nested too deeply', async () => {
    const deep = `${'['.repeat(250)}1${']'.repeat(250)}`;
    const ran = await runJson(reader, text.replace(/:1/, `:${deep}`));
    expect([ran.code, ran.requests]).toEqual([reader.code ?? 2, []]);
    expect(ran.err).toMatch(/levels deep|nested/);
  });
  test.each([
    ['Latin-1', Buffer.from('{\n"a":"caf\xe9"}', 'latin1'), 2, /not UTF-8/],
    ['UTF-16', Buffer.from('\uFEFF{}', 'utf16le'), 1, /UTF-16/],
  ])('rejects %s with the line and the fix', async (__, bytes, line, what) => {
    await rejects(reader, text, line, what, bytes);
    expect((await runJson(reader, text, bytes)).err).toContain('iconv -f');
  });
});
describe.each([
  ['replay', ['mock', 'replay', 'c.jsonl']],
  ['compare', ['mock', 'compare', 'c.jsonl', '--url', 'http://127.0.0.1:1']],
])('a cassette of mock %s', (_, words) => {
  test.each([
    [`${cassetteHead}\n{"request":}\n`, 2, /column 12: expected a value, found/],
    [`${cassetteHead}\n{"request":{},"request":{}}\n`, 2, /"request\\?" appears twice/],
    [`{"opsctl_cassette":1,"opsctl_cassette":1}\n`, 1, /appears twice/],
  ])('rejects %j with its line', async (text, line, what) => {
    await rejects({ file: 'c.jsonl', words, text }, text, line, what);
  });
  test('rejects bytes that are not UTF-8', async () => {
    const reader = { file: 'c.jsonl', words, text: cassetteHead };
    await rejects(reader, cassetteHead, 2, /iconv -f/, Buffer.from(`${cassetteHead}\ncaf\xe9\n`, 'latin1'));
  });
});

/** Files that only this program writes. A damaged file is recreated or reported; a person does not edit it. */
const ownFormats: Readonly<Record<string, string>> = {
  'api/sent-requests.ts': 'the requests of one command that create records, which a kill can cut off',
  'auth/programs/setup.ts': 'the settings that kubectl prints; the file of docker goes through the reader',
  'auth/credential-store/store.ts': 'the credential store',
  'auth/machine/identity-token.ts': 'the response of a token endpoint',
  'auth/read-secret.ts': 'a key file of a cloud provider, which is parsed to find out what it is',
  'auth/renew.ts': 'the time of the last renewal',
  'cli/approved-files.ts': 'the manifest of approved files',
  'complete.ts': 'the settings of completion, which must not fail',
  'labels/record-writes.ts': 'the record of the label changes of one command',
  'mock-server/instance-lock.ts': 'the owner of a state directory',
  'mock-server/journal.ts': 'the journal of the mock server, with a checksum of each line',
  'platform/file-lock.ts': 'a lock',
  'commands/audit.ts': 'the audit log, whose lines are read one by one',
  'mock-server/local-authority.ts': 'the certificate of the local authority',
  'support/raw-requests.ts': 'a body of the user, which is sent unchanged',
  'tracker/names/resolve.ts': 'the cache of names',
  'tracker/webhooks.ts': 'a delivery of the service, next to the secret of a file',
  'commands/mock/kv.ts': 'the state of a simulated member',
  'tracker/bulk/journal.ts': 'the journal of a bulk run',
};
test('a file that a person may write goes through the reader', () => {
  const root = new URL('../../src/', import.meta.url);
  const found = (readdirSync(root, { recursive: true }) as string[])
    .filter((path) => path.endsWith('.ts') && !/^(kv|etcd-sim|platform\/node)\//.test(path))
    .filter((path) => {
      const text = readFileSync(new URL(path, root), 'utf8');
      return (
        /\b(?:files|host\.files)\.(?:read|readBytes|readNow)\(|\b(?:readFileSync|textFile|readNow)\(/.test(
          text,
        ) && /JSON\.parse\(|\bfittingJson\b/.test(text)
      );
    });
  expect(
    found.sort(),
    'Read the file with jsonFile or readJsonText, or name its format in ownFormats.',
  ).toEqual(Object.keys(ownFormats).sort());
});
