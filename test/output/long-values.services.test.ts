/** Files and arguments of others contain names and values of any length. A message shows only their beginning and end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { next } from '../../src/core/next.ts';
import { AppError, problem, problemText, shortenMiddle, usageError } from '../../src/core/problem.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

const home = makeDirectory();

const long = 'k'.repeat(100_000);
const compose = (command: readonly string[], environment: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify({ services: { [`${long}`]: { image: 'etcd:v3.5.0', command, environment } } });
const files: Readonly<Record<string, string>> = {
  'key.json': JSON.stringify({ [long]: 1 }),
  'key.yaml': `? ${long}\n: 1\n`,
  'value.json': JSON.stringify({ version: long, name: long, type: long, op: long, resource: long }),
  'list.json': JSON.stringify([{ [long]: long }]),
  'deep.json': JSON.stringify({ labels: [{ [long]: { [long]: 1 } }], members: [{ name: long }] }),
  'anchor.yaml': `a: *${long}\n`,
  'tag.yaml': `a: !${long} 1\n`,
  'twice.yaml': `? ${long}\n: 1\n? ${long}\n: 2\n`,
  'rows.ndjson': `${JSON.stringify({ op: 'create', resource: long })}\n`,
  'fields.ndjson': `${JSON.stringify({ op: 'create', resource: 'labels', name: 'a', [long]: 1 })}\n`,
  'header.csv': `op,resource,${long}\ncreate,labels,1\n`,
  'quote.csv': `op,resource,name\ncreate,labels,"${long}"x\n`,
  'members.yaml': `name: a\nmembers:\n  - name: ${long}\n    client_url: ${long}\n    driver: ${long}\n`,
  'flags.json': compose(['etcd', `--${long}`, `--enable-v2=${long}`]),
  'variables.json': compose(['etcd'], { [`ETCD_${long.toUpperCase()}`]: '1', ETCD_ENABLE_V2: long }),
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);

const readers: readonly (readonly [command: string, names: RegExp])[] = [
  ['labels validate -f', /json$|yaml$/],
  ['labels lint -f value.json --rules', /json$|yaml$/],
  ['tracker apply -f', /json$|yaml$/],
  ['tracker bulk --check -f', /./],
  ['kv check --cluster', /json$|yaml$/],
  ['kv config lint', /json$|yaml$/],
  ['kv config migrate --write', /flags|variables/],
  ['mock run --seed', /json$|yaml$/],
  ['mock replay', /json$|yaml$/],
];
const lines = [
  ...readers.flatMap(([command, names]) =>
    Object.keys(files)
      .filter((name) => names.test(name))
      .map((name) => [...command.split(' '), name]),
  ),
  ...[['tracker', long], [`--${long}`], ['explain', long], ['config', 'get', long]],
  ...['--jq', '--columns', '--template', '-o', '--timeout', '--profile'].map((flag) => [
    ...['tracker', 'labels', 'list', flag, long],
  ]),
];

test.each(lines.map((line) => [line.map((word) => shortenMiddle(word, 20)).join(' '), line] as const))(
  'opsctl %s prints no message of any length',
  async (_, line) => {
    const { code, stdout, stderr } = await opsctl(line, {
      home,
      env: { OPSCTL_TRACKER_URL: 'http://127.0.0.1:1', OPSCTL_TRACKER_TOKEN: 'x' },
    });
    expect(code).not.toBe(1);
    // The findings of a linter are its result, as the output of a command that succeeds.
    const isResult = code === 0 || code === 20;
    expect(stderr.length + (isResult ? 0 : stdout.length)).toBeLessThan(20_000);
  },
);

test('an error shortens its lines, its hints and its problems, and keeps both ends', () => {
  const error = usageError(
    `"${long}" is not a resource`,
    [problem(long, 'unknown', `${long} is unknown`)],
    [long],
  );
  const [one] = error.detail.problems ?? [];
  expect(error.message).toMatch(/^"k+… \(\d+ characters left out\) …k+" is not a resource$/);
  expect(error.message.length).toBeLessThanOrEqual(4_000);
  expect(one?.message).toMatch(/^kkk.* is unknown$/);
  expect(one?.path.length).toBeLessThanOrEqual(4_000);
  expect(String(error.detail.tryThis?.[0]).length).toBeLessThanOrEqual(4_000);
  expect(problemText(problem(long, 'unknown', 'x')).length).toBeLessThan(300);
  expect(new AppError('usage', 'short').message).toBe('short');
});

test('a list in a message keeps all its lines', () => {
  const lines = Array.from({ length: 500 }, (_, at) => `label ${at}: changed`).join('\n');
  expect(new AppError('stopped', lines).message).toBe(lines);
});

test('a command that a message suggests is never cut', () => {
  const step = next(['extension', 'install', long]);
  expect(new AppError('usage', step).advice).toEqual(step);
});

test('a shortened text keeps the limit, counts the missing characters, and is not shortened again', () => {
  for (const most of [10, 60, 200, 1_000]) {
    const once = shortenMiddle(long, most);
    expect(once.length).toBeLessThanOrEqual(most);
    expect(once.length).toBeGreaterThan(most - 4);
    expect(shortenMiddle(once, most)).toBe(once);
    const left = Number(/\((\d+) characters left out\)/.exec(once)?.[1] ?? Number.NaN);
    if (most > 40) expect(once.replace(/… .* …/, '').length + left).toBe(long.length);
  }
});

test('a shortened text contains no half of a character', () => {
  for (let most = 4; most < 80; most += 1)
    expect(shortenMiddle('🙂'.repeat(50), most)).not.toMatch(/\p{Surrogate}/u);
});
