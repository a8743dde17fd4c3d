import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';

test('two examples of a command have two captions', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const repeated = commands.flatMap(({ path, examples = [] }) => {
    const captions = examples.map(({ says }) => says);
    return new Set(captions).size === captions.length ? [] : [path.join(' ')];
  });
  expect(repeated).toEqual([]);
});
