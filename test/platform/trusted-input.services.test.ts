/** Each kind of trusted input that another user can change: opsctl uses none of it. `docs/explanation/what-opsctl-trusts.md` lists the kinds. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

const STRANGER = 54_321;
/** Only root can give a file to another user; root in a separate user namespace cannot. */
const canGive = process.getuid?.() === 0 && spawnSync('true', { uid: STRANGER }).status === 0;
const page = readFileSync(new URL('../../docs/explanation/what-opsctl-trusts.md', import.meta.url), 'utf8');

let home: string;
beforeEach(() => {
  home = makeDirectory();
});

const write = (name: string, text: string, mode = 0o644): string => {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
const ran = (): string => join(home, 'ran');
const program = (name: string): string => write(name, `#!/bin/sh\ntouch ${ran()}\n`, 0o755);
const cluster = (more: { hooks?: string; binary?: string } = {}): string =>
  write(
    'cluster.yaml',
    `name: orders
${more.hooks ?? ''}
members:
  - name: n1
    client_url: http://127.0.0.1:1
    peer_url: http://127.0.0.1:2
    data_dir: /nowhere
    pid_file: /nowhere/pid
    log_file: /nowhere/log
    old_binary: /bin/true
    new_binary: ${more.binary ?? '/bin/true'}
    old_command: [--x]
    new_command: [--x]
`,
  );
type Kind = {
  /** The first column of the table. */
  readonly object: string;
  /** Creates the input and returns its path and a command that uses it. */
  readonly make: () => { readonly path: string; readonly command: readonly string[] };
  readonly code: number;
};
const kinds: readonly Kind[] = [
  {
    object: 'Cluster file',
    make: () => {
      const path = cluster();
      return { path, command: ['kv', 'check', '--cluster', path] };
    },
    code: 10,
  },
  {
    object: 'Hook',
    make: () => {
      const path = program('hook.sh');
      const file = cluster({ hooks: `hooks: { before_member: [sh, ${path}] }` });
      return { path, command: ['kv', 'check', '--cluster', file] };
    },
    code: 10,
  },
  {
    object: 'Program of a member',
    make: () => {
      const path = program('server');
      return { path, command: ['kv', 'check', '--cluster', cluster({ binary: path })] };
    },
    code: 20,
  },
  {
    object: 'Profiles',
    make: () => {
      const path = write(
        'config/config.json',
        '{"profiles":{"x":{"tracker.url":"http://127.0.0.1:9"}}}',
        0o600,
      );
      return { path, command: ['tracker', 'labels', 'list'] };
    },
    code: 3,
  },
  {
    object: 'Aliases',
    make: () => {
      const path = write('config/aliases.json', '{"aliases":[{"name":"mine","line":"help"}]}', 0o600);
      return { path, command: ['mine'] };
    },
    code: 10,
  },
];

test('the page lists exactly these kinds', () => {
  const [, table = ''] = page.split('## Trusted input');
  const rows = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| ([A-Z][^|]*?) \|/gm)].map(
    ([, name]) => name,
  );
  expect(rows).toEqual(kinds.map(({ object }) => object));
});

test.skipIf(!canGive).each([
  ['belongs to another user', (path: string) => chownSync(path, STRANGER, STRANGER)],
  ['is writable for other users', (path: string) => chmodSync(path, 0o777)],
])('opsctl uses no trusted input that %s', async (_, change) => {
  for (const { object, make, code } of kinds) {
    const { path, command } = make();
    change(path);
    const ended = await opsctl(command, { home });
    expect([object, ended.code]).toEqual([object, code]);
    // A refusal names the path and a command that fixes it.
    expect(ended.stderr + ended.stdout, object).toContain(path);
    expect(ended.stderr + ended.stdout, object).toMatch(/chown|chmod/);
    expect(existsSync(ran()), object).toBe(false);
    rmSync(home, { recursive: true });
    mkdirSync(home, { mode: 0o700 });
  }
});

test.each([
  ['data_dir', 'before_member: "env -C {data_dir} ./hook.sh"'],
  ['name', 'after_member: [sudo, -n, "HOME/hooks/{name}.sh"]'],
  ['to', 'after_member: "HOME/hooks/{to}.sh"'],
  ['binary', 'stop: "nice {binary} --stop"'],
])('a hook with the placeholder %s is checked before the first step', async (_, line) => {
  const hooks = `hooks: { ${line.replace('HOME', home)} }`;
  for (const name of ['hooks/n1.sh', 'hooks/3.4.sh', 'data/hook.sh', 'server']) write(name, '', 0o755);
  const file = cluster({ hooks, binary: join(home, 'server') });
  writeFileSync(file, readFileSync(file, 'utf8').replace('/nowhere\n', `${home}/data\n`));
  const check = () => opsctl(['kv', 'check', '--cluster', file], { home });
  expect((await check()).code).toBe(20);
  for (const name of ['hooks/n1.sh', 'hooks/3.4.sh', 'data/hook.sh', 'server'])
    chmodSync(join(home, name), 0o777);
  const ended = await check();
  expect([ended.code, ended.stderr]).toEqual([10, expect.stringContaining(home)]);
});
test('a value of a flag of a wrapper is not refused as a program', async () => {
  write('lock', '', 0o666);
  write('data/etcd', '', 0o777);
  const good = program('good.sh');
  const line = `flock ${home}/lock env -C {data_dir} -u etcd ${good}`;
  const file = cluster({ hooks: `hooks: { after_member: "${line}" }` });
  expect((await opsctl(['kv', 'check', '--cluster', file], { home })).code).toBe(20);
});
