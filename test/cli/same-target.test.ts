import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { withFlags, withSameTarget } from '../../src/cli/same-target.ts';
import { findGroup } from '../../src/cli/find.ts';
import type { Command } from '../../src/cli/command.ts';
import type { Context } from '../../src/api/context.ts';
import type { Values } from '../../src/core/flag.ts';
import { AppError } from '../../src/core/problem.ts';
import { nothing, rawResult, recordResult, rowsResult } from '../../src/core/result.ts';

const commands = (await findGroup(groups, 'kv').load()).map(({ path, flags = {} }) => ({
  path: path.join(' '),
  flags,
}));
const said = (text: string, cluster = 'prod.yaml') => withFlags(text, { cluster }, commands);

test.each([
  ['opsctl kv resume', 'opsctl kv resume --cluster prod.yaml'],
  ['go on with opsctl kv resume', 'go on with opsctl kv resume --cluster prod.yaml'],
  [
    'opsctl kv resume goes on, opsctl kv rollback goes back',
    'opsctl kv resume --cluster prod.yaml goes on, opsctl kv rollback --cluster prod.yaml goes back',
  ],
  [
    'opsctl kv resume --yes --past-hold, to go on',
    'opsctl kv resume --cluster prod.yaml --yes --past-hold, to go on',
  ],
  [
    'opsctl kv replace-member m1, then opsctl kv resume',
    'opsctl kv replace-member --cluster prod.yaml m1, then opsctl kv resume --cluster prod.yaml',
  ],
  ['opsctl kv member remove m2', 'opsctl kv member remove --cluster prod.yaml m2'],
  ['opsctl kv check --cluster other.yaml', 'opsctl kv check --cluster other.yaml'],
])('%s', (text, expected) => {
  expect(said(text)).toBe(expected);
});

test('a command that takes no cluster file, and other text, stay as they are', () => {
  for (const text of [
    'opsctl kv versions',
    'opsctl labels apply',
    'opsctl kv init --endpoints URL',
    'opsctl kv nothing-like-it',
    'myopsctl kv resume',
  ])
    expect(said(text)).toBe(text);
});

test('a name that a shell would split is quoted', () => {
  expect(said('opsctl kv status', "my cluster's.yaml")).toBe(
    "opsctl kv status --cluster 'my cluster'\\''s.yaml'",
  );
});

const log: string[] = [];
const context = {
  log: { info: (text: string) => log.push(text), warn: (text: string) => log.push(text) },
} as unknown as Context;
const running = (run: Command['run'], values: Values = { cluster: 'a.yaml' }) =>
  withSameTarget({ path: ['kv', 'status'], summary: 'for the test', run }, Object.keys(values), groups).run(
    context,
    values,
  );

test('endpoints are repeated where a command takes them', async () => {
  const result = await running(
    async () => nothing('opsctl kv status shows it before opsctl kv upgrade; opsctl mock kv start'),
    { endpoints: 'a:1,b:2' },
  );
  expect(result.view?.message).toBe(
    'opsctl kv status --endpoints a:1,b:2 shows it before opsctl kv upgrade; opsctl mock kv start',
  );
});

test('what is said meanwhile names the cluster too', async () => {
  await running(async (inner) => {
    inner.log.info('go on: opsctl kv resume');
    inner.log.warn('opsctl kv check');
    return nothing();
  });
  expect(log).toEqual(['go on: opsctl kv resume --cluster a.yaml', 'opsctl kv check --cluster a.yaml']);
});

test('an error that comes after some rows is completed; other failures stay what they are', async () => {
  const failingWith = async (error: Error) => {
    const result = await running(async () =>
      rowsResult(
        (function* () {
          yield 1;
          throw error;
        })(),
      ),
    );
    const seen: unknown[] = [];
    if (result.kind === 'rows') for await (const row of result.rows) seen.push(row);
    return seen;
  };
  const refused = new AppError('unsafe', 'refused', { code: 'X', tryThis: ['opsctl kv resume'] });
  await expect(failingWith(refused)).rejects.toMatchObject({
    category: 'unsafe',
    detail: { code: 'X', tryThis: ['opsctl kv resume --cluster a.yaml'] },
  });
  const bug = new TypeError('bug');
  await expect(failingWith(bug)).rejects.toBe(bug);
  await expect(running(() => Promise.reject(bug))).rejects.toBe(bug);
});

test('an error keeps its kind and code; its hints, problems and next steps name the cluster', async () => {
  const error = await running(async () => {
    throw new AppError('stopped', 'held; opsctl kv resume goes on', {
      code: 'HELD',
      tryThis: ['opsctl kv rollback'],
      problems: [{ path: '', rule: 'rule', message: 'see opsctl kv check', hint: 'opsctl kv status' }],
      data: { members: ['opsctl kv get'], next: ['opsctl kv resume'] },
    });
  }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({
    category: 'stopped',
    message: 'held; opsctl kv resume --cluster a.yaml goes on',
    detail: {
      code: 'HELD',
      tryThis: ['opsctl kv rollback --cluster a.yaml'],
      problems: [
        { message: 'see opsctl kv check --cluster a.yaml', hint: 'opsctl kv status --cluster a.yaml' },
      ],
      data: { members: ['opsctl kv get'], next: ['opsctl kv resume --cluster a.yaml'] },
    },
  });
});

test('a result that names commands gets the cluster; values of the store never change', async () => {
  const view = { text: 'next: opsctl kv resume', namesCommands: true } as const;
  expect(await running(async () => recordResult({ next: ['opsctl kv resume'] }, view))).toMatchObject({
    data: { next: ['opsctl kv resume --cluster a.yaml'] },
    view: { text: 'next: opsctl kv resume --cluster a.yaml' },
  });
  expect(
    await running(async () => ({ ...rawResult('opsctl kv status\n'), view: { namesCommands: true } })),
  ).toMatchObject({
    chunks: ['opsctl kv status --cluster a.yaml\n'],
  });
  const stored = recordResult(
    { value: 'opsctl kv resume' },
    { text: 'opsctl kv resume', message: 'see opsctl kv get' },
  );
  expect(await running(async () => stored)).toEqual({
    ...stored,
    view: { text: 'opsctl kv resume', message: 'see opsctl kv get --cluster a.yaml' },
  });
});
