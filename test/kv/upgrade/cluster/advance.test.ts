import { expect, it } from 'vitest';
import { parse } from 'yaml';
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

it('uses the row of the running version, if the file has a table of versions', async () => {
  const text = `name: c
to: "3.3"
versions:
  "3.6": { binary: /opt/3.6/etcd }
members:
  - name: n1
    old_command: [/opt/3.2/etcd, --name, n1]
    new_command: [/opt/3.3/etcd, --name, n1]
  - name: n2
    new_command: --name n2
    versions: { "3.6": { binary: /other/etcd, image: e:3.6 } }
`;
  const { text: after } = await advanceText(text, '3.6');
  const file = parse(after);
  expect(file.to).toBeUndefined();
  expect(file.members).toMatchObject([
    {
      old_binary: '/opt/3.6/etcd',
      new_binary: '/opt/3.6/etcd',
      old_command: ['/opt/3.6/etcd', '--name', 'n1'],
      new_command: ['/opt/3.6/etcd', '--name', 'n1'],
    },
    { old_binary: '/other/etcd', new_binary: '/other/etcd', new_image: 'e:3.6', new_command: '--name n2' },
  ]);
  expect(await advanceText(after, '3.6')).toEqual({ text: after, changes: [] });
  // A version without a row: the new programs become the old ones.
  expect(parse((await advanceText(text, '3.3')).text).members[0].old_command[0]).toBe('/opt/3.3/etcd');
});

it('the ctl program of the running version replaces the old one', async () => {
  const text = `name: c
ctl_binary: /opt/3.4/etcdctl # for restores
members:
  - { name: n1, old_binary: /opt/3.4/etcd, new_binary: /opt/3.5/etcd }
`;
  const { text: after, changes } = await advanceText(text, '3.5', '/opt/3.5/etcdctl');
  expect(parse(after)).toMatchObject({
    ctl_binary: '/opt/3.5/etcdctl',
    members: [{ old_binary: '/opt/3.5/etcd' }],
  });
  expect(changes).toHaveLength(2);
  expect(await advanceText(after, '3.5', '/opt/3.5/etcdctl')).toEqual({ text: after, changes: [] });
});
