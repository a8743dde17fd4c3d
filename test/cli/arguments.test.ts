import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { naming } from '../support/facts.ts';
import { makeDirectory } from '../support/directory.ts';
import { opsctl } from '../support/program.ts';

test('no argument has the name of a flag of its command: one of the two values would be lost', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const lost = commands.flatMap(({ path, args = [], flags = {} }) =>
    args.filter(({ name }) => name in flags).map(({ name }) => `${path.join(' ')} <${name}>`),
  );
  expect(lost).toEqual([]);
});

test.each(['access_token', 'auth.client_secret', 'timeout'])(
  'the hint about quotes does not repeat the value of %s, which may be a secret',
  async (key) => {
    const argv = ['config', 'set', key, 'ghp_realSecretToken0123456789', 'extra'];
    for (const more of [[], ['-o', 'json']]) {
      const { code, stdout, stderr } = await opsctl([...argv, ...more], { home: makeDirectory() });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toEqual(naming('in quotes'));
      expect(stderr).not.toContain('ghp_realSecretToken');
    }
  },
);

test.each([
  ['stories search owner:ben', 'tracker search QUERY --type story'],
  ['epics find owner:ben', 'tracker search QUERY --type epic'],
  ['milestones list owner:ben', 'tracker search QUERY --type objective'],
])(
  'a query after tracker %s leads to the command that searches, without the query',
  async (line, command) => {
    const { code, stderr } = await opsctl(['tracker', ...line.split(' ')], { home: makeDirectory() });
    expect([code, stderr]).toEqual([2, naming('argument 1', command)]);
    expect(stderr).not.toContain('owner:ben');
  },
);
