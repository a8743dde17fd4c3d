import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { type AuthServer, authServer, channels, control } from '../../support/auth-server.ts';
import { makeAuthority, type Pair } from '../../support/certificates.ts';
import { bearerServer, dockerDaemon, gitServer } from '../../support/registry-server.ts';
import { type Program, program } from './program.ts';

/** Real git, docker and kubectl get their credentials from the built program. Their servers are real and on loopback. */
const root = fileURLToPath(new URL('../../../', import.meta.url));
const lacks = (command: string, ...args: string[]): boolean => {
  if (spawnSync(command, args).status === 0) return false;
  process.stderr.write(`left out: ${command} is not on this machine\n`);
  return true;
};

let server: AuthServer;
let opsctl: Program;
let pair: Pair;
let env: Record<string, string>;
const isValid = new Map<string, boolean>();
beforeAll(async () => {
  server = await authServer();
  opsctl = await program({
    OPSCTL_TOKEN_URL: server.origin,
    OPSCTL_SCOPES: 'media.readonly',
    OPSCTL_MOCK: 'never',
  });
  const home = join(opsctl.home, '..');
  const key = await control(server, 'POST', '/service-keys', { user: 'ci@demo.example' });
  writeFileSync(join(home, 'key.json'), key.text, { mode: 0o600 });
  const authority = makeAuthority();
  pair = authority.issue({ hosts: ['127.0.0.1'] });
  writeFileSync(join(home, 'ca.pem'), authority.cert);
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'opsctl'), `#!/bin/sh\nexec ${process.execPath} ${root}bin/opsctl.js "$@"\n`);
  chmodSync(join(bin, 'opsctl'), 0o755);
  env = {
    ...opsctl.env,
    PATH: `${bin}:${process.env['PATH']}`,
    OPSCTL_SERVICE_ACCOUNT_KEY: join(home, 'key.json'),
    GIT_SSL_CAINFO: join(home, 'ca.pem'),
    GIT_TERMINAL_PROMPT: '0',
    GIT_CONFIG_NOSYSTEM: '1',
  };
});

/** The call is asynchronous, because the servers run in this process. */
const run = (command: string, args: readonly string[], more: Record<string, string> = {}) =>
  new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(command, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
/** Returns whether the embedded server's data API accepts this token. The check runs before the response of the other server. */
const learn = async (token: string): Promise<void> => {
  isValid.set(token, (await channels(server, token)).status === 200);
};
const freshToken = async (): Promise<string> => {
  const token = (await run('opsctl', ['auth', 'token'])).stdout.trim();
  await learn(token);
  return token;
};

test('a request that no program sends is refused by its size', async () => {
  const input = `host=${'x'.repeat(64 * 1024)}\n\n`;
  const refused = await opsctl.run(['auth', 'git-credential', '--host', 'a.example', 'get'], { input });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('more than 65536 bytes');
});

describe.skipIf(lacks('git', '--version'))('git', () => {
  test('git clone over https calls the documented helper; another host gets no token', async () => {
    const repositories = join(opsctl.home, '..', 'repositories');
    await run('git', ['init', '-q', '--bare', '-b', 'main', join(repositories, 'demo.git')]);
    const work = join(opsctl.home, '..', 'work');
    await run('git', ['init', '-q', '-b', 'main', work]);
    const commit = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty'];
    await run('git', ['-C', work, ...commit, '-m', 'first']);
    expect(
      await run('git', ['-C', work, 'push', '-q', join(repositories, 'demo.git'), 'main']),
    ).toMatchObject({ code: 0 });
    const git = await gitServer(pair, repositories, (password) => /^ma1\./.test(password));
    const helper = `!opsctl auth git-credential --host ${git.host}`;
    const clone = (config: string, to: string) =>
      run('git', ['-c', config, 'clone', '-q', `https://${git.host}/demo.git`, join(opsctl.home, '..', to)]);
    const done = await clone(`credential.https://${git.host}.helper=${helper}`, 'cloned');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const password =
      Buffer.from((git.seen.at(-1) ?? '').slice(6), 'base64')
        .toString()
        .split(':')[1] ?? '';
    await learn(password);
    expect(isValid.get(password)).toBe(true);
    const log = await run('git', ['-C', join(opsctl.home, '..', 'cloned'), 'log', '--format=%s']);
    expect(log.stdout).toBe('first\n');
    const before = git.seen.length;
    const other = `!opsctl auth git-credential --host git.example.com`;
    expect((await clone(`credential.helper=${other}`, 'refused')).code).toBe(128);
    expect(git.seen).toHaveLength(before);
    await git.close();
  });
});

describe.skipIf(lacks('docker', '--version'))('docker', () => {
  test('a client started by docker calls docker-credential-opsctl from the documentation', async () => {
    const bin = join(opsctl.home, '..', 'bin');
    const host = 'registry.example.com';
    writeFileSync(
      join(bin, 'docker-credential-opsctl'),
      `#!/bin/sh\nexec opsctl auth docker-credential --host ${host} "$1"\n`,
      { mode: 0o755 },
    );
    const config = join(opsctl.home, '..', 'docker');
    mkdirSync(config);
    writeFileSync(join(config, 'config.json'), JSON.stringify({ credHelpers: { [host]: 'opsctl' } }));
    const api = await dockerDaemon();
    const pulled = await run('docker', ['--config', config, 'pull', `${host}/demo:1`], {
      DOCKER_HOST: api.address,
      DOCKER_API_VERSION: '1.41',
    });
    expect(pulled.stderr).not.toContain('credential');
    const auth = JSON.parse(Buffer.from(api.auth(), 'base64url').toString());
    expect(auth).toMatchObject({ username: 'oauth2', serveraddress: host });
    await learn(auth.password);
    expect(isValid.get(auth.password)).toBe(true);
    await api.close();
  });
});

describe.skipIf(lacks('kubectl', 'version', '--client'))('kubectl', () => {
  test.each(['v1', 'v1beta1'])('an exec entry of %s: the cluster gets a valid token', async (version) => {
    const known = await freshToken();
    const cluster = await bearerServer(pair, (token) => /^ma1\./.test(token), {
      major: '1',
      minor: '32',
      gitVersion: 'v1.32.0',
    });
    const config = join(opsctl.home, '..', `kube-${version}`);
    writeFileSync(config, JSON.stringify(kubeConfig(cluster.host, version)));
    const asked = await run('kubectl', ['--kubeconfig', config, 'get', '--raw', '/version']);
    expect({ ...asked, stdout: JSON.parse(asked.stdout || '{}') }).toMatchObject({
      code: 0,
      stdout: { gitVersion: 'v1.32.0' },
    });
    const token = (cluster.seen.at(-1) ?? '').replace('Bearer ', '');
    await learn(token);
    expect(isValid.get(token)).toBe(true);
    expect(isValid.get(known)).toBe(true);
    await cluster.close();
  });
});

const kubeConfig = (host: string, version: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    {
      name: 'c',
      cluster: { server: `https://${host}`, 'certificate-authority': join(opsctl.home, '..', 'ca.pem') },
    },
  ],
  users: [
    {
      name: 'u',
      user: {
        exec: {
          apiVersion: `client.authentication.k8s.io/${version}`,
          command: 'opsctl',
          args: ['auth', 'kubectl-credential'],
          interactiveMode: 'Never',
        },
      },
    },
  ],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});
