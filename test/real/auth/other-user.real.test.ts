/** Another user of the machine connects to the listener of a sign-in: the kernel names the owner of the connection. */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Program, program } from '../../support/built-program.ts';

const STRANGER = 54_321;
/** Only root can start a process of another user, and that user must be able to run node. */
const canBeStranger =
  process.platform === 'linux' &&
  spawnSync(process.execPath, ['-e', ''], { uid: STRANGER, gid: STRANGER }).status === 0;
/** A new network namespace with its own loopback interface. */
const inNamespace = ['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];
const hasNamespaces =
  canBeStranger && spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
const hasIpv6 = await new Promise<boolean>((resolve) => {
  const server = createSocket();
  server.once('error', () => resolve(false));
  server.listen(0, '::1', () => server.close(() => resolve(true)));
});

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../../bin/opsctl.js', import.meta.url));
const families = hasIpv6 ? ['IPv4', 'IPv6'] : ['IPv4'];
let opsctl: Program;
const codes: string[] = [];
const tokens = createServer((request, response) => {
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    const code = new URLSearchParams(body).get('code');
    if (code !== null) codes.push(code);
    response.writeHead(code === null ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: 't', token_type: 'Bearer', expires_in: 3600, scope: 'a' }));
  });
});
let url = '';
beforeAll(async () => {
  opsctl = program();
  await new Promise<void>((resolve) => tokens.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(tokens.address() as AddressInfo).port}`;
});
afterAll(() => {
  tokens.close();
});

const textOf = async (words: readonly string[], options: SpawnOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(words[0] ?? '', words.slice(1), { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout?.on('data', (part) => (text += part));
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });
type Visit = { readonly uid: number; readonly isIpv6?: boolean; readonly isNamespace?: boolean };
/** Signs in, and sends a valid response with the real state as another process. Returns what both of them saw. */
const signIn = async ({ uid, isIpv6 = false, isNamespace = false }: Visit) => {
  codes.length = 0;
  const flags = ['--auth-url', `${url}/a`, '--token-url', `${url}/token`, '--client-id', 'c', '--scope', 'a'];
  const family = isIpv6 ? ['--redirect-host', '[::1]'] : [];
  const words = [...(isNamespace ? inNamespace : []), process.execPath, BIN];
  const login = spawn(
    words[0] ?? '',
    [...words.slice(1), 'login', '--browser', '--timeout', '60s', ...flags, ...family],
    {
      env: {
        ...process.env,
        HOME: opsctl.home,
        OPSCTL_HOME: opsctl.home,
        OPSCTL_KEYCHAIN: 'never',
        BROWSER: 'true',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const ended = new Promise<number | null>((resolve) => login.once('close', resolve));
  let stderr = '';
  const callback = await new Promise<URL>((resolve, reject) => {
    login.stderr.on('data', (part) => {
      stderr += part;
      // A blank line follows the complete address.
      const shown = /(http\S+\/a\?\S+)\n\n/.exec(stderr)?.[1];
      if (shown === undefined) return;
      const { searchParams } = new URL(shown);
      const redirect = new URL(searchParams.get('redirect_uri') ?? '');
      redirect.search = String(new URLSearchParams({ code: 'c1', state: searchParams.get('state') ?? '' }));
      resolve(redirect);
    });
    void ended.then(() => reject(new Error(`the login ended early: ${stderr}`)));
  });
  const visit = `fetch(${JSON.stringify(callback.href)}).then((page) => console.log(page.status))`;
  const into = isNamespace
    ? [
        'nsenter',
        '-t',
        String(login.pid),
        '-n',
        'setpriv',
        `--reuid=${uid}`,
        `--regid=${uid}`,
        '--clear-groups',
      ]
    : [];
  const status = await textOf([...into, process.execPath, '-e', visit], isNamespace ? {} : { uid, gid: uid });
  return { status: Number(status), code: await ended, stderr };
};
const refused = (stderr: string): void => {
  expect(stderr).toMatch(/another user of this machine, .*uid 54321.*, used the sign-in address/);
  expect(stderr).toContain('the sign-in was stopped, and no token was requested');
  expect(stderr).toContain('try: opsctl login --method device');
};

test.skipIf(!canBeStranger).each(families)(
  'another user cannot deliver a response over %s',
  async (family) => {
    const { status, code, stderr } = await signIn({ uid: STRANGER, isIpv6: family === 'IPv6' });
    expect([status, code, codes]).toEqual([403, 4, []]);
    refused(stderr);
  },
);

test.skipIf(!hasNamespaces)('another user cannot deliver a response in a network namespace', async () => {
  const { status, code, stderr } = await signIn({ uid: STRANGER, isNamespace: true });
  expect([status, code]).toEqual([403, 4]);
  refused(stderr);
});

test.skipIf(process.platform !== 'linux').each(families)(
  'the user who signs in delivers the response over %s',
  async (family) => {
    const { status, code, stderr } = await signIn({
      uid: process.getuid?.() ?? 0,
      isIpv6: family === 'IPv6',
    });
    expect([status, code, codes], stderr).toEqual([200, 0, ['c1']]);
  },
);
