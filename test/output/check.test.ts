import { expect, test } from 'vitest';
import { checkOutput } from '../../src/output/expressions.ts';
import type { OutputOptions } from '../../src/output/types.ts';
import { fakeHost } from '../support/fake-host.ts';

const check = (options: Partial<OutputOptions>): Promise<void> =>
  checkOutput({ header: true, quiet: false, verbose: false, ...options }, fakeHost());

test.each<[string, Partial<OutputOptions>]>([
  ['--jq with a table', { jq: '.', format: 'table' }],
  ['--jq with YAML', { jq: '.', format: 'yaml' }],
  ['--jq with columns', { jq: '.', columns: ['id'] }],
  ['--columns with -o name', { columns: ['id'], format: 'name' }],
  ['a jq program that does not compile', { jq: '.[' }],
  ['a jq function that does not exist', { jq: 'nosuch' }],
  ['an open bracket that only the wrapping would close', { jq: '1) , (2' }],
])('%s is a usage error', async (_, options) => {
  await expect(check(options)).rejects.toMatchObject({ category: 'usage' });
});

test.each<Partial<OutputOptions>>([
  {},
  { columns: ['id'], format: 'csv' },
  { jq: '.[].id' },
  { jq: '.a.b.c | error("only when run")', format: 'json' },
  { jq: 'map(.id) # a comment', format: 'ndjson' },
  { jq: 'def f: .id; map(f)' },
])('%j is accepted without running jq', async (options) => {
  await expect(check(options)).resolves.toBeUndefined();
});
