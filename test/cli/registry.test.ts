import { expect, test } from 'vitest';
import { describe as describeCommand } from '../../src/cli/list-commands.ts';
import { runProgram } from '../../src/cli/run.ts';
import { groups, program } from '../../src/commands/program.ts';
import { fakeHost } from '../support/fake-host.ts';

type FlagRow = { name: string; type: string; default: unknown; negated: boolean };
const types = /^(array of )?(string|integer|number|boolean|object|map|any|file)$/;

test('the registry has a type for every flag and argument, and defaults as values', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const rows = commands.map((command) => describeCommand(command));
  const flags = rows.flatMap(({ flags: own }) => own as FlagRow[]);
  for (const { type } of [...flags, ...rows.flatMap(({ args }) => args)]) expect(type).toMatch(types);
  for (const flag of flags.filter(({ type }) => type === 'boolean')) expect(flag.default).toBe(flag.negated);
  for (const flag of flags.filter(({ type }) => type === 'integer'))
    expect(flag.default === null || typeof flag.default === 'number').toBe(true);
  expect(
    flags.filter(({ type, default: value }) => type === 'integer' && value !== null).length,
  ).toBeGreaterThan(5);
});
test('commands --global lists the global flags with their types and defaults', async () => {
  const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
  expect(await runProgram(host, ['commands', '--global', '-o', 'json'], program)).toBe(0);
  expect(JSON.parse(host.out())).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'output', type: 'string', default: null }),
      expect.objectContaining({ name: 'timeout', type: 'string', default: '30s' }),
      expect.objectContaining({ name: 'pager', type: 'boolean', default: true }),
      expect.objectContaining({ name: 'dry-run', type: 'boolean', default: false }),
    ]),
  );
});
