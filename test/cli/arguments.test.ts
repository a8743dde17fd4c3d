import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';

test('no argument has the name of a flag of its command: one of the two values would be lost', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const lost = commands.flatMap(({ path, args = [], flags = {} }) =>
    args.filter(({ name }) => name in flags).map(({ name }) => `${path.join(' ')} <${name}>`),
  );
  expect(lost).toEqual([]);
});
