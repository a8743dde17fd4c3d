/**
 * A value that is copied for each piece that is added to it takes quadratic time. Whoever sends the pieces decides how
 * many there are, so a list or a buffer collects them and one call joins them.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const source = new URL('../src/', import.meta.url).pathname;

/** Each copies itself only up to a size that the code limits. */
const limited: Readonly<Record<string, string>> = {
  'platform/node/listen.ts: seen = Buffer.concat([seen, chunk])': 'the preface of HTTP/2 has 24 bytes',
  'api/list-rows.ts: head = Buffer.concat([head, next.value])': 'stops at the first bytes of a response',
  'etcd-sim/gateway/client-handler.ts: pending = Buffer.concat([pending, chunk])':
    'the rest of one frame of a simulated cluster',
  'core/text.ts: start = Buffer.concat([start, piece])': 'stops when the format shows, at most at 4096 bytes',
  'core/yaml.ts: keys = [...keys.filter((column) => column < (columns[0] ?? 0)), ...columns]':
    'the depth of a document is limited',
  'kv/client/snapshot.ts: head = Buffer.concat([head, bytes.subarray(0, headBytes - head.length)])':
    'the first bytes of a snapshot',
  'kv/operations/replace-plan.ts: env = { ...env, [variableOf(flag)]: value }':
    'a few flags that the code itself names',
};

/** Returns the assignments of a text that copy a growing value. Pure. */
const copiesIn = (text: string): string[] => [
  // `all = [...all, x]`, `all = Buffer.concat([all, x])`, `all = all.concat(x)`, `all = { ...all, [key]: x }`.
  ...[
    ...text.matchAll(
      /(?<![\w.#])((?:this\.)?[#\w.]+) = (?:Buffer\.concat\(\[\s*\1,|\[\s*\.\.\.\1\b|\1\.concat\(|\{\s*\.\.\.\1,\s*\[)[^;]*/g,
    ),
  ].map(([copy]) => copy.replace(/\s+/g, ' ')),
  // `reduce((all, x) => [...all, x], [])`.
  ...[
    ...text.matchAll(
      /reduce(?:<[^(]*>)?\(\s*\((\w+)[^=]*=>\s*(?:\[\s*\.\.\.\1\b|\(\{\s*\.\.\.\1\b|\1\.concat\()[^;]*/g,
    ),
  ].map(([copy]) => copy.replace(/\s+/g, ' ')),
];

test.each([
  'held = Buffer.concat([held, piece]);',
  'this.#held = Buffer.concat([this.#held, piece]);',
  'rows = [...rows, row];',
  'rows = rows.concat(row);',
  'env = { ...env, [name]: value };',
  'list.reduce((all, one) => [...all, one], []);',
  'list.reduce<Row[]>((all, one) => all.concat(one), []);',
  'list.reduce((all, one) => ({ ...all, [one.id]: one }), {});',
])('the rule finds %j', (code) => {
  expect(copiesIn(code)).toHaveLength(1);
});

test.each([
  'parts.push(piece);',
  'const all = Buffer.concat(parts);',
  'const states = [...state.rows];',
  'post = { ...post, name };',
  'const next = [...rows, row];',
])('the rule allows %j', (code) => {
  expect(copiesIn(code)).toEqual([]);
});

test('no code copies a value for each piece that is added to it', () => {
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => copiesIn(readFileSync(join(source, name), 'utf8')).map((copy) => `${name}: ${copy}`));
  expect(found.filter((one) => !(one in limited))).toEqual([]);
  expect(Object.keys(limited).filter((one) => !found.includes(one))).toEqual([]);
});
