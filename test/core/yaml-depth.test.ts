/** Texts that the YAML parser would need minutes to read: fuzzer input, in a short form. */
import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { tooDeepAt } from '../../src/core/yaml.ts';
import { documentsIn } from '../../src/labels/read-files.ts';
import { contentOf } from '../../src/kv/upgrade/cluster/yaml-file.ts';
import { parseConfig } from '../../src/kv/upgrade/configuration/configuration.ts';
import { parse } from '../../src/platform/yaml.ts';
import { parseDocument } from '../../src/platform/yaml.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';

const n = limits.yamlDepth;
test.each([
  ['brackets', (depth: number) => '['.repeat(depth)],
  ['braces', (depth: number) => 'a: {a: '.repeat(depth)],
  ['items on one line', (depth: number) => `${'- '.repeat(depth)}a`],
  ['marked keys on one line', (depth: number) => `${'? '.repeat(depth)}a`],
  [
    'marked keys on many lines',
    (depth: number) => Array.from({ length: depth }, (_, i) => `${' '.repeat(i)}?\n`).join(''),
  ],
])('%s: n deep and n + 1', covers('limit/yamlDepth'), (_, text) => {
  expect(tooDeepAt(text(n))).toBeUndefined();
  expect(tooDeepAt(text(n + 1))).toBeTypeOf('number');
});

test('millions of signs on one line are deep', () => {
  expect(tooDeepAt('- '.repeat(7_000_000))).toBe(0);
});

test('a set of any length is not deep, nor one in each entry of a list', () => {
  expect(tooDeepAt('? a\n? b\n'.repeat(10_000))).toBeUndefined();
  expect(tooDeepAt('- ? a\n  ? b\n'.repeat(10_000))).toBeUndefined();
});

test('lists and texts of any length are not deep', () => {
  expect(tooDeepAt('- [a, {b: c}]\n- what? - yes [x]\n'.repeat(10_000))).toBeUndefined();
});

test.each(['? '.repeat(5000), '- '.repeat(5000), `a:\n  - ${'['.repeat(100_000)}`])(
  'every reader reports deep nesting with its position: %#',
  async (text) => {
    const words = [n, 'nested', 'deep'] as const;
    const cluster = contentOf(text, { what: 'c.yaml', code: 'X', problems: () => [] });
    await expect(cluster).rejects.toMatchObject({
      category: 'config',
      message: naming('c.yaml', 'YAML', ...words),
    });
    expect(() => documentsIn('/l.yaml', text)).toThrow(
      expect.objectContaining({ message: naming(...words) }),
    );
    expect(() => parse(text)).toThrow(expect.objectContaining({ message: naming(...words) }));
    expect(JSON.stringify(await parseConfig(text))).toEqual(naming(...words));
    const line = text.includes('\n') ? 2 : 1;
    expect(parseDocument(text).errors).toMatchObject([{ linePos: [{ line }], message: naming(...words) }]);
  },
);
