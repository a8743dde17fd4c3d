import { expect, test } from 'vitest';
import { isReadOnlyCommand, showsFirst } from '../../src/cli/read-only.ts';
import { groups, program } from '../../src/commands/program.ts';
import { runProgram } from '../../src/cli/run.ts';
import { realHost } from '../support/real-host.ts';

test('every command looks only, shows what it would do, or refuses --dry-run', async () => {
  const all = (await Promise.all(groups.map((group) => group.load()))).flat();
  const silent = all
    .filter(({ operation, noDryRun }) => operation === undefined && noDryRun === undefined)
    .map(({ path }) => path.join(' '))
    // These commands come from the table of the console, and one function shows the request for all of them.
    .filter((name) => !name.startsWith('mock oauth ') && !isReadOnlyCommand(name) && !showsFirst(name));
  expect(silent).toEqual([]);
  const both = all.filter(
    ({ path, noDryRun }) =>
      noDryRun !== undefined && (isReadOnlyCommand(path.join(' ')) || showsFirst(path.join(' '))),
  );
  expect(both).toEqual([]);
  const names = all.map(({ path }) => path.join(' '));
  expect(names.filter((name) => isReadOnlyCommand(name) && showsFirst(name))).toEqual([]);
});

test.each([
  [['config', 'set', 'timeout', '5s'], 'config set'],
  [['login'], 'login'],
  [['mock', 'reset', '--yes'], 'mock reset'],
])('%j with --dry-run is a usage error without an effect', async (argv, command) => {
  const said: string[] = [];
  const real = await realHost();
  const stderr = {
    isTty: false,
    columns: 80,
    write: async (part: string | Uint8Array) => void said.push(String(part)),
  };
  const host = { ...real.host, hostname: real.host.hostname, terminal: { ...real.host.terminal, stderr } };
  expect(await runProgram(host, [...argv, '--dry-run'], program)).toBe(2);
  expect(said.join('')).toMatch(new RegExp(`^error: ${command} .*dry run`));
  await real.close();
});
