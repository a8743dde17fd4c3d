import { expect, it } from 'vitest';
import { advanceText } from '../../../../src/kv/upgrade/cluster/yaml-file.ts';

it('the new version of a cluster file becomes the old one, with comments and order kept', async () => {
  const text = `# production
name: c
to: "3.4"
hooks:
  start_old: [run, old]
  start_new: [run, new]
members:
  - name: n1 # first
    old_binary: /bin/3.3
    new_binary: /bin/3.4
    old_command: [a]
    new_command: [b, c]
  - name: n2
    old_image: x:1
    new_image: x:2
`;
  const { text: after, changes } = await advanceText(text);
  expect(changes).toHaveLength(5);
  expect(after).toContain('# production');
  expect(after).toContain('name: n1 # first');
  expect(after).not.toContain('to:');
  expect(after).toMatch(/old_binary: \/bin\/3\.4\n/);
  expect(after).toMatch(/old_command: \[ ?b, c ?\]/);
  expect(after).toMatch(/old_image: x:2/);
  expect(after).toMatch(/start_old: \[ ?run, new ?\]/);
  expect(await advanceText(after)).toEqual({ text: after, changes: [] });
});
