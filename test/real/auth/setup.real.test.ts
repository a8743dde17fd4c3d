import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Program, program } from './program.ts';

/** `auth setup` with real git and kubectl, and the files of docker. Each test has its own home directory. */
const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const kubectl: string = 'kubectl';
let opsctl: Program;
let home: string;
beforeEach(async () => {
  opsctl = await program({ GIT_CONFIG_NOSYSTEM: '1' });
  home = opsctl.env.HOME ?? '';
});
const setUp = async (...args: string[]) => {
  const ended = await opsctl.run(['auth', 'setup', ...args, '-o', 'json']);
  expect(ended.code, ended.stderr).toBe(0);
  return JSON.parse(ended.stdout) as { change: string; file: string; entry: string }[];
};
const changesOf = (rows: readonly { change: string }[]) => rows.map(({ change }) => change);
const read = (...path: string[]): string => readFileSync(join(home, ...path), 'utf8');

describe.skipIf(!has('git', '--version'))('git', () => {
  const values = (key: string): string[] =>
    spawnSync('git', ['config', '--global', '--get-all', key], { env: opsctl.env, encoding: 'utf8' })
      .stdout.split('\n')
      .slice(0, -1);
  const key = 'credential.https://git.example.com.helper';

  test('writes the helper once, names its file, and removes exactly that', async () => {
    writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n[credential]\n\thelper = store\n');
    const before = read('.gitconfig');
    expect(changesOf(await setUp('git', '--host', 'git.example.com', '--dry-run'))).toEqual(['added']);
    expect(read('.gitconfig')).toBe(before);
    const [row] = await setUp('git', '--host', 'git.example.com');
    expect(row).toMatchObject({ change: 'added', file: join(home, '.gitconfig') });
    expect(values(key)).toEqual([
      '',
      expect.stringMatching(/^!.*auth git-credential --host git\.example\.com$/),
    ]);
    const after = read('.gitconfig');
    expect(changesOf(await setUp('git', '--host', 'git.example.com'))).toEqual(['unchanged']);
    expect(read('.gitconfig')).toBe(after);
    await setUp('git', '--host', 'git.example.com', '--account', "a'b", '--authtype', 'bearer');
    expect(values(key)).toEqual(['', expect.stringContaining(`--authtype bearer --account 'a'\\''b'`)]);
    expect(changesOf(await setUp('git', '--host', 'git.example.com', '--remove'))).toEqual(['removed']);
    expect(read('.gitconfig').trim()).toBe(before.trim());
    expect(changesOf(await setUp('git', '--host', 'git.example.com', '--remove'))).toEqual(['unchanged']);
  });

  test('keeps helpers of other programs for the same host', async () => {
    writeFileSync(join(home, '.gitconfig'), '[credential "https://git.example.com"]\n\thelper = other\n');
    await setUp('git', '--host', 'git.example.com');
    expect(values(key)).toEqual(['other', expect.stringContaining('git-credential')]);
    await setUp('git', '--host', 'git.example.com', '--remove');
    expect(values(key)).toEqual(['other']);
  });

  test('git runs the configured helper', async () => {
    await setUp('git', '--host', 'git.example.com');
    const env = { ...opsctl.env, OPSCTL_ACCESS_TOKEN: 'token-1', GIT_TERMINAL_PROMPT: '0' };
    const input = 'protocol=https\nhost=git.example.com\n\n';
    const filled = spawnSync('git', ['credential', 'fill'], { env, input, encoding: 'utf8' });
    expect(filled.stdout).toContain('password=token-1');
  });
});

describe('docker', () => {
  const config = () => JSON.parse(read('.docker', 'config.json')) as Record<string, unknown>;
  const helper = () => join(home, '.local', 'bin', 'docker-credential-opsctl');

  test('writes the entry and the program, keeps all else, and removes both', async () => {
    mkdirSync(join(home, '.docker'));
    const others = { auths: { 'x.example': {} }, credHelpers: { 'gcr.io': 'gcloud' } };
    writeFileSync(join(home, '.docker', 'config.json'), JSON.stringify(others, null, 4), { mode: 0o600 });
    const rows = await setUp('docker', '--host', 'r.example:5000', '--host', 's.example');
    expect(changesOf(rows)).toEqual(['added', 'added', 'added']);
    expect(rows.map(({ file }) => file)).toContain(helper());
    expect(config()).toEqual({
      ...others,
      credHelpers: { 'gcr.io': 'gcloud', 'r.example:5000': 'opsctl', 's.example': 'opsctl' },
    });
    expect(read('.docker', 'config.json')).toContain('\n    "auths"');
    expect(statSync(helper()).mode & 0o777).toBe(0o755);
    expect(changesOf(await setUp('docker', '--host', 'r.example:5000'))).toEqual(['unchanged', 'unchanged']);
    const env = { ...opsctl.env, OPSCTL_ACCESS_TOKEN: 'token-1' };
    const got = spawnSync(helper(), ['get'], { env, input: 'r.example:5000\n', encoding: 'utf8' });
    expect(JSON.parse(got.stdout)).toMatchObject({ Secret: 'token-1' });
    await setUp('docker', '--host', 'r.example:5000', '--remove');
    expect(readFileSync(helper(), 'utf8')).toContain('--host s.example');
    await setUp('docker', '--host', 's.example', '--remove');
    expect(existsSync(helper())).toBe(false);
    expect(config()).toEqual(others);
  });

  test('refuses to replace what another program wrote, and a file that it cannot read', async () => {
    mkdirSync(join(home, '.docker'));
    const path = join(home, '.docker', 'config.json');
    for (const [text, code] of [
      ['{"credHelpers":{"r.example":"other"}}', 'FOREIGN_ENTRY'],
      ['{"credHelpers":', 'BAD_DOCKER_CONFIG'],
      ['[]', 'BAD_DOCKER_CONFIG'],
      ['{"auths":{"a":{}},\n"auths":{}}', `${path}:2 cannot be used: the key`],
      ['{"detachKeys":12345678901234567890}', `${path}:1 cannot be used: 12345678901234567890`],
    ]) {
      writeFileSync(path, text ?? '');
      const ended = await opsctl.run(['auth', 'setup', 'docker', '--host', 'r.example', '-o', 'json']);
      expect([ended.code, ended.stderr]).toEqual([3, expect.stringContaining(code ?? '')]);
      expect(readFileSync(path, 'utf8')).toBe(text);
      expect(existsSync(helper())).toBe(false);
    }
  });
});

describe.skipIf(!has(kubectl, 'version', '--client'))('kubectl', () => {
  const user = (name: string) => {
    const { stdout } = spawnSync(kubectl, ['config', 'view', '--raw', '-o', 'json'], {
      env: opsctl.env,
      encoding: 'utf8',
    });
    return ((JSON.parse(stdout).users ?? []) as { name: string; user: any }[]).find(
      (each) => each.name === name,
    )?.user;
  };
  test('writes an exec entry that kubectl accepts, once, and removes it', async () => {
    spawnSync(kubectl, ['config', 'set-credentials', 'other', '--token=t'], { env: opsctl.env });
    const [row] = await setUp('kubectl', '--id-token');
    expect(row).toMatchObject({ change: 'added', file: join(home, '.kube', 'config') });
    expect(user('opsctl').exec).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1',
      interactiveMode: 'IfAvailable',
      args: expect.arrayContaining(['auth', 'kubectl-credential', '--id-token']),
    });
    expect(changesOf(await setUp('kubectl', '--id-token'))).toEqual(['unchanged']);
    expect(changesOf(await setUp('kubectl'))).toEqual(['added']);
    expect(user('opsctl').exec.args).not.toContain('--id-token');
    // kubectl runs the entry and fails only because the server does not exist.
    const asked = spawnSync(kubectl, ['--user=opsctl', '--server=https://127.0.0.1:1', 'get', 'pods'], {
      env: { ...opsctl.env, OPSCTL_ACCESS_TOKEN: 'token-1' },
      encoding: 'utf8',
    });
    expect(asked.stderr).toMatch(/connection.*refused/);
    expect(asked.stderr).not.toMatch(/interactiveMode|exec plugin/);
    expect(changesOf(await setUp('kubectl', '--remove'))).toEqual(['removed']);
    expect([user('opsctl'), user('other')]).toEqual([undefined, { token: 't' }]);
    expect(changesOf(await setUp('kubectl', '--remove'))).toEqual(['unchanged']);
  });
  test('refuses to replace a user that it did not write', async () => {
    spawnSync(kubectl, ['config', 'set-credentials', 'opsctl', '--token=t'], { env: opsctl.env });
    const ended = await opsctl.run(['auth', 'setup', 'kubectl', '-o', 'json']);
    expect([ended.code, ended.stderr]).toEqual([3, expect.stringContaining('FOREIGN_ENTRY')]);
    expect(user('opsctl')).toEqual({ token: 't' });
  });
});

test('output of kubectl that is not JSON is an expected failure and changes nothing', async () => {
  const directory = join(home, 'programs');
  mkdirSync(directory);
  writeFileSync(join(directory, 'kubectl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const ended = await opsctl.run(['auth', 'setup', 'kubectl'], {
    env: { PATH: `${directory}:${opsctl.env.PATH}` },
  });
  expect([ended.code, ended.stderr]).toEqual([5, expect.stringContaining('printed no JSON')]);
});
test('flags of another program are refused, and git and docker need a host', async () => {
  for (const args of [['git'], ['docker'], ['kubectl', '--host', 'x'], ['git', '--host', 'x', '--id-token']])
    expect((await opsctl.run(['auth', 'setup', ...args])).code).toBe(2);
});
