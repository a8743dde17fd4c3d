import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { globalFlags } from '../../src/cli/options.ts';

test('every command that deletes confirms first, and one flag confirms all of them', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  // The mock server holds no user data: a test deletes it without a prompt.
  const deleting = commands.filter(
    ({ path, operation }) => operation?.operation.method === 'DELETE' && path[0] !== 'mock',
  );
  expect(deleting.length).toBeGreaterThan(20);
  const asks = deleting.filter(({ operation }) => /[.?]$/.test(operation?.operation.cli?.confirm ?? ''));
  expect(deleting.filter((one) => !asks.includes(one)).map(({ path }) => path.join(' '))).toEqual([]);
  expect(Object.keys(globalFlags)).toContain('yes');
  const own = deleting.filter(({ flags = {} }) => ['yes', 'confirm', 'force'].some((name) => name in flags));
  expect(own.map(({ path }) => path.join(' '))).toEqual([]);
});
