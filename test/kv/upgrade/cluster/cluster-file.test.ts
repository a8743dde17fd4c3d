import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  clusterProblems,
  clusterSchema,
  readCluster,
} from '../../../../src/kv/upgrade/cluster/cluster-file.ts';
import { realHost, type RealHost } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const member = (n: number, more: Record<string, unknown> = {}) => ({
  name: `n${n}`,
  client_url: `http://127.0.0.1:${n}`,
  pid_file: `n${n}.pid`,
  log_file: `n${n}.log`,
  old_command: 'old --x',
  new_command: ['new', '--x'],
  ...more,
});
const file = (more: Record<string, unknown> = {}) => ({
  name: 'a',
  members: [member(1), member(2)],
  ...more,
});
/** Texts of a member that reach a program or a script; a name and a URL have rules of their own. */
const memberTexts = (): string[] => {
  const { properties } = clusterSchema() as { properties: { members: { items: { properties: object } } } };
  const texts = Object.entries(properties.members.items.properties).filter(
    ([key, { type }]) => type === 'string' && !['name', 'client_url', 'peer_url'].includes(key),
  );
  return texts.map(([key]) => key);
};
const rules = (content: unknown): string[] =>
  clusterProblems(content).map(({ path, rule }) => `${path} ${rule}`);
const found = (content: unknown): string =>
  clusterProblems(content)
    .map(({ path, message }) => `${path} ${message}`)
    .join('; ');

describe('a cluster file', () => {
  it('the documented cluster file of the local driver is valid', () => {
    expect(clusterProblems(file())).toEqual([]);
  });
  it('the cluster file of the reference page is valid', async () => {
    const page = readFileSync(new URL('../../../../docs/reference/cluster-file.md', import.meta.url), 'utf8');
    const [, text = ''] = /```yaml\n(name: orders\n[\s\S]*?)```/.exec(page) ?? [];
    const real = await realHost();
    writeFileSync(join(real.directory, 'orders.yaml'), text);
    const cluster = await readCluster(real.host, join(real.directory, 'orders.yaml'), 'upgrade');
    expect(cluster).toMatchObject({
      to: '3.3',
      driver: 'local',
      members: [{ name: 'n1', config_file: '/etc/kv/n1.yaml' }],
    });
    await real.close();
  });
  it('an unquoted version is shown as typed', async () => {
    const real = await realHost();
    const read = async (to: string): Promise<unknown> => {
      writeFileSync(
        join(real.directory, 'c.yaml'),
        `name: a\nto: ${to}\nmembers: [{ name: n1, client_url: "http://127.0.0.1:1" }]\n`,
      );
      return readCluster(real.host, join(real.directory, 'c.yaml')).then(
        (cluster) => cluster.to,
        (error: Error) => error.message,
      );
    };
    expect(await read('3.4')).toBe('3.4');
    expect(await read('3.10')).toContain('got 3.10');
    await real.close();
  });
  it.each<[string, unknown, string]>([
    ['no mapping', [], ' type'],
    ['no members', { name: 'a' }, 'members required'],
    ['an unknown key', file({ memebers: [] }), 'memebers unknown'],
    [
      'an unknown key of a member',
      file({ members: [member(1, { data_dri: '/x' })] }),
      'members[0].data_dri unknown',
    ],
    ['no URL', file({ members: [{ name: 'n1' }] }), 'members[0].client_url required'],
    [
      'a bad URL',
      file({ members: [member(1, { client_url: 'localhost:2379' })] }),
      'members[0].client_url format',
    ],
    [
      'two members of one name',
      file({ members: [member(1), member(2, { name: 'n1' })] }),
      'members[1].name rule',
    ],
    [
      'two members of one URL',
      file({ members: [member(1), member(2, { client_url: 'http://127.0.0.1:1' })] }),
      'members[1].client_url rule',
    ],
    [
      'two members of one pid file',
      file({ members: [member(1), member(2, { pid_file: 'n1.pid' })] }),
      'members[1].pid_file rule',
    ],
    [
      'local without a pid file',
      file({ members: [member(1, { pid_file: undefined })] }),
      'members[0].pid_file required',
    ],
    [
      'local without a command',
      file({ members: [member(1, { new_command: undefined })] }),
      'members[0].new_command required',
    ],
    ['an open quote', file({ members: [member(1, { old_command: "a 'b" })] }), 'members[0].old_command type'],
    ['systemd without a unit', file({ driver: 'systemd' }), 'members[0].unit required'],
    [
      'ssh, then systemd, without a unit',
      // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
      file({ driver: 'ssh', ssh: { then: 'systemd' }, members: [member(1, { host: 'h1' })] }),
      'members[0].unit required',
    ],
    ['ssh without a host', file({ driver: 'ssh' }), 'members[0].host required'],
    ['hooks without hooks', file({ driver: 'hooks' }), 'hooks required'],
    ['an unknown driver', file({ driver: 'magic' }), 'driver enum'],
    ['a version that is no target', file({ to: '3.9' }), 'to enum'],
    ['a stop time of nothing', file({ timeouts: { stop_seconds: 0 } }), 'timeouts.stop_seconds min'],
    ['a password in the file', file({ user: { name: 'root', password: 'x' } }), 'user.password unknown'],
  ])('%s', covers('defect/U-27'), (_, content, expected) => {
    expect(rules(content)).toContain(expected);
  });
  it('all problems of the file are reported together', () => {
    const text = found({
      nmae: 'a',
      driver: 'magic',
      members: [member(1), member(2, { name: 'n1', peer_url: 5 }), 'n3', null],
      hooks: 'none',
      to: '3.9',
    });
    const paths = text.split('; ').map((line) => line.split(' ')[0]);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['nmae', 'name', 'driver', 'members[1].name', 'members[1].peer_url', 'members[2]', 'members[3]'],
        ...['hooks', 'to'],
      ]),
    );
    expect(text).not.toContain('hooks.');
  });
  it('every repetition is named, and what it repeats', () => {
    const text = found(file({ members: [member(1), member(2), member(1), member(2, { name: 'n4' })] }));
    expect(text).toEqual(naming('members[2].name', 'members[0]'));
    expect(text).toEqual(naming('members[3].client_url', 'members[1]'));
  });
  it.each(memberTexts())('rejects a %s that a program would read as a flag', (key) => {
    for (const text of ['-oProxyCommand=touch ran', '--privileged', '/a\nb', '\u001b[2J']) {
      const member = { name: 'n1', client_url: 'http://127.0.0.1:1', [key]: text };
      expect(clusterProblems({ name: 'c', members: [member] }, 'read').map(({ path }) => path)).toEqual([
        `members[0].${key}`,
      ]);
    }
  });
  it('rejects a jump host, a program and a directory that start with a dash', () => {
    const members = [{ name: 'n1', client_url: 'http://127.0.0.1:1' }];
    const ssh = { proxy_jump: '-oProxyCommand=x' };
    const content = { name: 'c', members, ssh, ctl_binary: '-x', utl_binary: '-x', snapshot_dir: '-x' };
    expect(clusterProblems(content, 'read').map(({ path }) => path)).toEqual([
      ...['ctl_binary', 'utl_binary', 'snapshot_dir', 'ssh.proxy_jump'],
    ]);
  });
  it.each(['..', '.hidden', '-o', '--help'])('rejects the name %j of a cluster and of a member', (name) => {
    const content = { name, members: [{ name, client_url: 'http://127.0.0.1:1' }] };
    expect(clusterProblems(content, 'read').map(({ path, message }) => `${path} ${message}`)).toEqual([
      naming('name', JSON.stringify(name), 'letter', 'digit'),
      naming('members[0].name', JSON.stringify(name), 'letter', 'digit'),
    ]);
  });
  it('names and URLs are enough to inspect a cluster', () => {
    expect(
      clusterProblems({ name: 'a', members: [{ name: 'n1', client_url: 'http://x:1' }] }, 'read'),
    ).toEqual([]);
  });
  it('the JSON Schema lists every key and forbids others', () => {
    const schema = clusterSchema() as {
      properties: Record<string, unknown>;
      additionalProperties: boolean;
      required: string[];
    };
    expect(Object.keys(schema.properties)).toEqual(
      expect.arrayContaining(['name', 'members', 'driver', 'hooks', 'ssh', 'tls', 'user', 'timeouts']),
    );
    expect(schema).toMatchObject({ additionalProperties: false, required: ['name', 'members'] });
  });
});

describe('reading a cluster file', () => {
  let real: RealHost;
  beforeEach(async () => {
    real = await realHost();
  });
  it('paths are relative to the file, program names are not', async () => {
    mkdirSync(join(real.directory, 'sub'));
    writeFileSync(
      join(real.directory, 'sub', 'c.yaml'),
      'name: a\nmembers:\n  - {name: n1, client_url: "http://x:1", data_dir: d, pid_file: ../p, old_binary: bin/kv, new_binary: kv}\n',
    );
    const { members } = await readCluster(real.host, 'sub/c.yaml');
    expect(members[0]).toMatchObject({
      data_dir: join(real.directory, 'sub/d'),
      pid_file: join(real.directory, 'p'),
      old_binary: join(real.directory, 'sub/bin/kv'),
      new_binary: 'kv',
    });
  });
  it('certificates, the password file and the ctl program become absolute; with ssh, paths of members stay unchanged', async () => {
    const parts =
      'tls: {ca_file: ca.pem, cert_file: /etc/c.pem, key_file: ../k.pem, server_name: kv}\nuser: {name: root, password_file: pw}\nctl_binary: ./ctl\nsnapshot_dir: snaps\n';
    const member =
      'members:\n  - {name: n1, client_url: "https://x:1", data_dir: d, new_binary: bin/kv, host: h}\n';
    mkdirSync(join(real.directory, 'sub'));
    const read = async (text: string) => {
      writeFileSync(join(real.directory, 'sub', 'c.yaml'), `name: a\n${text}`);
      return readCluster(real.host, 'sub/c.yaml');
    };
    const at = (path: string): string => join(real.directory, path);
    const here = await read(parts + member);
    expect(here).toMatchObject({
      tls: { ca_file: at('sub/ca.pem'), cert_file: '/etc/c.pem', key_file: at('k.pem'), server_name: 'kv' },
      user: { name: 'root', password_file: at('sub/pw') },
      ctl_binary: at('sub/ctl'),
      snapshot_dir: at('sub/snaps'),
    });
    const away = await read(`driver: ssh\n${parts.replace('./ctl', 'ctl')}${member}`);
    expect(away).toMatchObject({
      ctl_binary: 'ctl',
      tls: here.tls,
      user: here.user,
      members: [{ data_dir: 'd', new_binary: 'bin/kv' }],
    });
  });
  it('the schema documents the base directory of each path', () => {
    type Described = { properties: Record<string, { description?: string }> };
    const { properties } = clusterSchema() as unknown as {
      properties: Record<string, Described & { items: Described; description?: string }>;
    };
    const files = [
      properties['tls']?.properties['ca_file'],
      properties['user']?.properties['password_file'],
      properties['snapshot_dir'],
    ];
    for (const file of files) expect(file?.description).toContain('relative to this file');
    expect(properties['members']?.items.properties['data_dir']?.description).toContain(
      'with driver ssh a path of its host',
    );
  });
  it('every problem has its line', async () => {
    const text =
      'name: my cluster\ndrivr: local\nmembers:\n  - name: n1\n    client_url: x:1\n  - client_url: http://x:2\n    data_dir: 5\ntimeouts: { gate_seconds: 0 }\n';
    writeFileSync(join(real.directory, 'c.yaml'), text);
    const error = await readCluster(real.host, 'c.yaml').catch((thrown) => thrown);
    expect(
      error.detail.problems.map(({ line, path }: { line: number; path: string }) => `${line} ${path}`),
    ).toEqual([
      '1 name',
      '2 drivr',
      '5 members[0].client_url',
      '6 members[1].name',
      '7 members[1].data_dir',
      '8 timeouts.gate_seconds',
    ]);
    expect(error.message).toEqual(
      naming('c.yaml', '1', '.', '_', '-', 'my cluster', 'hold', 'letters', 'digits'),
    );
  });
  it('a directory is not a cluster file', async () => {
    await expect(readCluster(real.host, '.')).rejects.toMatchObject({
      category: 'config',
      detail: { tryThis: ['--cluster cluster.yaml'] },
    });
  });
  it.each([
    ['missing.yaml', undefined, naming('missing.yaml', 'cluster')],
    ['broken.yaml', 'name: [', naming('broken.yaml', 'YAML', 'sequence', 'block', 'column')],
    ['wrong.yaml', 'name: a\n', naming('wrong.yaml', '1', 'members', 'required')],
  ])('%s', async (name, text, message) => {
    if (text !== undefined) writeFileSync(join(real.directory, name), text);
    await expect(readCluster(real.host, name)).rejects.toThrow(message);
    await expect(readCluster(real.host, name)).rejects.toMatchObject({ category: 'config' });
  });
});
