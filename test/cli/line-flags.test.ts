import { expect, test } from 'vitest';
import { findGroup } from '../../src/cli/command.ts';
import { showAdviceFor, writeWithFlags } from '../../src/cli/run.ts';
import { groups } from '../../src/commands/program.ts';
import { adviceText, after, next, nextFromLine, plainAdvice } from '../../src/core/next.ts';

const commands = (await findGroup(groups, 'kv').load()).map(({ path, flags = {} }) => ({ path, flags }));
const write = (cluster = 'prod.yaml') => writeWithFlags([['cluster', cluster]], commands);

test.each([
  [next(['kv', 'resume']), 'opsctl kv resume --cluster prod.yaml'],
  [
    next(['kv', 'resume'], after('goes on,', ['kv', 'rollback'], 'goes back')),
    'opsctl kv resume --cluster prod.yaml goes on, opsctl kv rollback --cluster prod.yaml goes back',
  ],
  [
    next(['kv', 'resume', '--yes', '--past-hold'], ', to go on'),
    'opsctl kv resume --cluster prod.yaml --yes --past-hold, to go on',
  ],
  [
    after('fix it (', ['kv', 'replace-member', 'm1'], after('), then', ['kv', 'resume'])),
    'fix it (opsctl kv replace-member --cluster prod.yaml m1), then opsctl kv resume --cluster prod.yaml',
  ],
  [next(['kv', 'member', 'remove', 'm2']), 'opsctl kv member remove --cluster prod.yaml m2'],
  [next(['kv', 'check', '--cluster', 'other.yaml']), 'opsctl kv check --cluster other.yaml'],
  [nextFromLine('opsctl kv compact 7'), 'opsctl kv compact --cluster prod.yaml 7'],
  [next(['kv', 'resume']).with('; then look'), 'opsctl kv resume --cluster prod.yaml; then look'],
])('a step names the cluster: $command', (step, expected) => {
  expect(adviceText(step, write())).toBe(expected);
});

test('a command that accepts no cluster file, and a text, stay as they are', () => {
  for (const step of [
    next(['kv', 'versions']),
    next(['labels', 'apply']),
    next(['kv', 'init', '--endpoints', 'URL']),
  ])
    expect(adviceText(step, write())).toBe(step.toString());
  expect(adviceText('opsctl kv resume', write())).toBe('opsctl kv resume');
});

test('a name that a shell would split is quoted', () => {
  expect(adviceText(next(['kv', 'status']), write("my cluster's.yaml"))).toBe(
    "opsctl kv status --cluster 'my cluster'\\''s.yaml'",
  );
});

test('a suggested command repeats only the flags that select the target', async () => {
  const status = (await findGroup(groups, 'kv').load()).find(({ path }) => path.join(' ') === 'kv status');
  if (status === undefined) throw new Error('kv status exists');
  const show = await showAdviceFor(status, { endpoints: 'a:1,b:2', timeout: '3s' }, groups);
  expect(show(next(['kv', 'check'], 'first'))).toBe('opsctl kv check first');
  expect(show(next(['kv', 'status']))).toBe('opsctl kv status --endpoints a:1,b:2');
  const plain = await showAdviceFor(status, {}, groups);
  expect(plain(next(['kv', 'status']))).toBe('opsctl kv status');
});

test('files and JSON keep the plain text of a step', () => {
  expect(JSON.stringify({ hint: after('first,', ['kv', 'resume'], 'then') })).toBe(
    '{"hint":"first, opsctl kv resume then"}',
  );
});

test('data for tables and CSV keeps its identity unless it contains a step', () => {
  const data = { ok: true, members: [{ name: 'a' }, null] };
  expect(plainAdvice(data)).toBe(data);
  expect(plainAdvice({ ...data, findings: [{ hint: next(['kv', 'resume'], 'x') }] })).toStrictEqual({
    ...data,
    findings: [{ hint: 'opsctl kv resume x' }],
  });
});
