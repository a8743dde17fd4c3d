/** The limits on the time and memory of the YAML package, and the errors that opsctl reports at these limits. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDocument as plainParse } from 'yaml';
import type { Context } from '../../src/api/context.ts';
import { limits } from '../../src/core/limits.ts';
import { type AppError, problem } from '../../src/core/problem.ts';
import { tooLargeYaml, yamlValue } from '../../src/core/yaml.ts';
import { contentOf } from '../../src/kv/upgrade/cluster/yaml-file.ts';
import { parseConfig } from '../../src/kv/upgrade/configuration/configuration.ts';
import { lockFrom } from '../../src/labels/lock-file.ts';
import { documentsIn } from '../../src/labels/read-files.ts';
import { parseDesiredLabels } from '../../src/labels/desired.ts';
import { parse } from '../../src/platform/yaml.ts';
import { readWorkspace } from '../../src/tracker/workspace/workspace-file.ts';
import { parseDocument } from '../../src/platform/yaml.ts';
import { fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';
import { contextWith } from '../support/context.ts';

const n = limits.yamlBytes;

test('a text: n bytes and n + 1', covers('limit/yamlBytes'), () => {
  expect(tooLargeYaml('é'.repeat(n / 2))).toBeUndefined();
  expect(tooLargeYaml(`${'é'.repeat(n / 2)}x`)).toBe(`has ${n + 1} bytes; at most ${n} are read`);
});

test('lines, keys and items: n and n + 1', covers('limit/yamlParts'), () => {
  const kinds = ['\n', ',', '[', '{', 'a: ', '- ', '? ', ' &a', ' *a', ' !a', ']', '}', 'a:b', 'a-b', 'a&b'];
  const counted = 12;
  const text = kinds.join('').repeat(limits.yamlParts / counted);
  expect(tooLargeYaml(text)).toBeUndefined();
  expect(tooLargeYaml(`${text}\n`)).toEqual(naming(limits.yamlParts, 'lines', 'keys', 'items'));
});

/** A long line, and content that only the YAML package can read. */
const large = `# ${'x'.repeat(n)}\na: {}  # c\n`;
const said = `has ${large.length} bytes; at most ${n} are read`;

test('a definition that is too large causes an error with its size, the limit and a hint', () => {
  expect(() => documentsIn('l.yaml', large)).toThrowError(
    expect.objectContaining({
      category: 'usage',
      message: `l.yaml ${said}; no request was sent`,
      detail: expect.objectContaining({
        code: 'YAML_TOO_LARGE',
        tryThis: [expect.stringContaining('directory'), expect.stringContaining('opsctl labels export')],
      }),
    }),
  );
});

test('the size limit applies to a workspace, a lock file, a cluster file, a configuration and a list of faults', async () => {
  const context = contextWith({ host: fakeHost({ files: { '/place/w.yaml': large } }) });
  await expect(readWorkspace(context, 'w.yaml')).rejects.toMatchObject({
    category: 'usage',
    message: `w.yaml ${said}; no request was sent`,
    detail: { code: 'YAML_TOO_LARGE', tryThis: [expect.stringContaining('--only'), expect.anything()] },
  });
  expect(() => lockFrom('labels.lock.yaml', large)).toThrow(`labels.lock.yaml ${said}; no request was sent`);
  await expect(
    contentOf(large, { what: 'c.yaml', code: 'CLUSTER_FILE', problems: () => [] }),
  ).rejects.toMatchObject({
    category: 'config',
    message: `c.yaml ${said}`,
    detail: { code: 'CLUSTER_FILE' },
  });
  expect(await parseConfig(large)).toEqual({ broken: `it ${said}` });
  expect(() => parse(large)).toThrow(`it ${said}`);
});

test('exported YAML may have any size, in one file and in many documents', async () => {
  const entry = (i: number): string => `  - name: label ${i}\n    description: "${'x'.repeat(n / 2)}"\n`;
  const workspace = `version: 1\nlabels:\n${entry(1)}${entry(2)}${entry(3)}`;
  const context = contextWith({ host: fakeHost({ files: { '/place/w.yaml': workspace } }) });
  // opsctl reads the description and then reports it as too long for the service.
  await expect(readWorkspace(context, 'w.yaml')).rejects.toMatchObject({
    message: 'w.yaml is not a workspace file',
    detail: { problems: [{ path: 'labels[0].description' }, {}, {}] },
  });
  const label = (i: number): string =>
    `# labels/${i}\ntitle: label ${i}\ndescription: "${'x'.repeat(n / 2)}"\n`;
  const documents = documentsIn('l.yaml', [label(1), label(2), label(3)].join('---\n'));
  expect(documents.map(({ value }) => (value as { title: string }).title)).toEqual([
    'label 1',
    'label 2',
    'label 3',
  ]);
  expect(documents[2]?.placeOf('description')).toEqual({ line: 11, column: 1 });
});

/** The package compares each key with all previous keys: with the check of the package, this test does not finish. */
test('a map of very many keys, twice each, has each second one as its error', () => {
  const keys = Array.from({ length: 50_000 }, (_, i) => `k${i}: 1`);
  const { errors } = parseDocument(`${keys.join('\n')}\n${keys.join('\n')}\n`);
  expect(errors.length).toBe(50_000);
  expect(errors[0]).toMatchObject({
    code: 'DUPLICATE_KEY',
    message: naming('50001', '1', 'twice', 'column'),
    linePos: [{ line: 50_001, col: 1 }],
  });
  expect(errors[1]?.message).toEqual(naming('key', 'twice'));
});

test('very many errors in one line have their places', () => {
  const { errors } = parseDocument('&a '.repeat(50_000));
  expect(errors.length).toBe(49_999);
  expect(errors.at(-1)?.linePos?.[0]).toEqual({ line: 1, col: 149_998 });
});

/** A separate search for each key, or a new parse for each key, would take until the end of the day. */
test('very many unknown keys have their places, in each kind of file', async () => {
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}: {}`);
  const text = `${keys.join('\n')}\n`;
  const context = contextWith({ host: fakeHost({ files: { '/place/w.yaml': text } }) });
  const workspace = await readWorkspace(context, 'w.yaml').catch((error: AppError) => error);
  expect((workspace as AppError).detail.problems?.at(-1)).toMatchObject({ path: 'k19999', line: 20_000 });
  const problems = (content: unknown) =>
    Object.keys(content as object).map((key) => problem(key, 'unknown', 'is not known'));
  const cluster = await contentOf(text, { what: 'c.yaml', code: 'X', problems }).catch(
    (error: AppError) => error,
  );
  expect((cluster as AppError).detail.problems?.at(-1)).toMatchObject({ path: 'k19999', line: 20_000 });
  const [label] = documentsIn('l.yaml', text);
  expect(keys.map((_, i) => label?.placeOf(`k${i}`).line)).toEqual(keys.map((_, i) => i + 1));
});

test('the reader reports more mistakes than a call accepts arguments', () => {
  const value = Object.fromEntries(Array.from({ length: 130_000 }, (_, i) => [`k${i}`, 1]));
  const document = {
    source: 'l.yaml',
    value,
    index: 0,
    isOnly: true,
    placeOf: () => ({ line: 1, column: 1 }),
  };
  expect(() => parseDesiredLabels({} as Context, [document])).toThrowError(
    expect.objectContaining({ category: 'usage' }),
  );
});

test('repeated keys are those that the package finds', () => {
  const key = fc.constantFrom('a', 'b', '1', 'null', '"a"', 'true', '? a', '[a]', '*x', '1.0', '~');
  const value = fc.letrec((tie) => ({
    node: fc.oneof({ maxDepth: 4 }, fc.constant('v'), tie('flow'), tie('list')),
    list: fc.array(tie('node'), { maxLength: 3 }).map((all) => `[${all.join(', ')}]`),
    flow: fc
      .array(fc.tuple(key, tie('node')), { maxLength: 5 })
      .map((all) => `{${all.map(([k, v]) => `${k} : ${v as string}`).join(', ')}}`),
  })).flow;
  fc.assert(
    fc.property(value, (text) => {
      const whole = `- &x y\n- ${text}\n`;
      const places = (errors: readonly { code: string; pos: readonly number[] }[]) =>
        errors
          .filter(({ code }) => code !== 'NON_STRING_KEY')
          .map(({ code, pos }) => `${code} ${pos[0]}`)
          .sort();
      expect(places(parseDocument(whole).errors)).toEqual(places(plainParse(whole).errors));
    }),
  );
});
test.each([
  ['a: &x [1, *x]', 'alias'],
  ['a: &x {b: {c: *x}}', 'alias'],
  ['a: &x\n  - &y [*x]', 'alias'],
  ['? [a]\n: b', 'key'],
  ['a: {{ name }}', 'key'],
])('%j has no value that JSON can show, and is an error', (text, word) => {
  expect(parseDocument(text).errors[0]?.message).toEqual(naming(word));
});
test('an anchor that is set again inside its old value stands for the inner value', () => {
  expect(parse('a: &x {b: &x 1, c: *x}')).toEqual({ a: { b: 1, c: 1 } });
});
test.each([
  ['a: !vault x', 4],
  ['a: !!float 1', 4],
  ['a: b\nc: !x {b: 1}', 4],
])('the unknown tag in %j is an error with its place', (text, column) => {
  const [error] = parseDocument(text).errors;
  expect(error?.message).toEqual(naming('tag', `column ${column}`));
  expect(error?.linePos?.[0]).toEqual({ line: text.split('\n').length, col: column });
  expect(() => documentsIn('/l.yaml', text)).toThrow('tag');
});
test('a known tag states the type of a value', () => {
  expect(parse('a: !!str 42')).toEqual({ a: '42' });
});
test.each([
  'password: "a\\qSECRET"',
  'password: "SECRET',
  'password: *SECRET',
  'password: !SECRET x',
  'password: !!SECRET x',
  'password: !!int SECRET',
  'SECRET: 1\nSECRET: 2',
  'password: SECRET: y',
  'password: @SECRET',
  'password: %SECRET',
  'password: &SECRET &SECRET x',
  'password: |SECRET\n  x',
  "password: 'x' SECRET",
  'name: [SECRET',
  '- SECRET: }SECRET',
  'a: "\\xSECRET"',
])('the message about %j contains no text of the file', (text) => {
  const document = parseDocument(text);
  const value = yamlValue(document);
  const messages = [
    ...document.errors.map(({ message }) => message),
    'problem' in value ? value.problem : '',
  ];
  expect(messages.join('')).not.toBe('');
  expect(messages.join('\n')).not.toContain('SECRET');
});
