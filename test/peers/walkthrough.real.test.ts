/** A new user follows the sign-in guides with oidc-provider. The test reads each command from the page and types it into a shell. */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandsOf } from '../docs/pages.ts';
import { makeAuthority, type Pair } from '../support/certificates.ts';
import { noChromium } from '../support/chromium.ts';
import { bearerServer, dockerDaemon, gitServer } from '../support/registry-server.ts';
import { type ShellSession, shellSession } from '../support/shell-session.ts';
// @ts-expect-error plain JavaScript, shared with the benches
import { peers } from './install.mjs';
import { type OidcProvider, oidcProvider } from './servers/oidc-provider.ts';
import type { Load } from './servers/peer-server.ts';
import { makeDirectory } from '../support/directory.ts';

const load: Load = async (name) => import(pathToFileURL(peers().resolve(name)).href);
const root = new URL('../../', import.meta.url).pathname;
const trusted = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jobs = { publicKey: trusted.publicKey, issuer: 'https://ci.example.com' };

/** The commands of each block below a heading of a guide. A missing heading fails the test. */
const commandsBelow = (page: string, heading: string): readonly (readonly string[])[] => {
  const text = readFileSync(join(root, 'docs/how-to', page), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const blocks = [...section.matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```/gm)].map(
    ([, indent = '', language = '', block = '']) =>
      commandsOf({ page, language, text: block.replace(new RegExp(`^${indent}`, 'gm'), '') }),
  );
  const commands = blocks.filter((block) => block.length > 0);
  expect(commands, `${page}: ${heading}`).not.toEqual([]);
  return commands;
};

let server: OidcProvider;
let home: string;
const open: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  server = await oidcProvider(load, { jobs });
  open.push(server.close);
  home = makeDirectory();
  mkdirSync(join(home, 'work'));
}, 600_000);
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** The values with which the reader replaces the examples of the guides. */
type Values = Readonly<Record<string, string>>;
type Reader = {
  /** Types the command, waits until it has exited with the code, and returns the screen. */
  follow(command: string, values?: Values, code?: number): Promise<string>;
  /**
   * Waits until the screen shows the text. After a call of `follow`, it uses the screen of that command. A terminal
   * shows a line in parts, so a pattern with an address includes the character after it.
   */
  sees(text: RegExp): Promise<string>;
  /** Types a line for the running program. If the program has ended, the call fails with the screen of the program. */
  answer(line: string): Promise<string>;
};
const filled = (command: string, values: Values): string =>
  Object.entries({ 'https://accounts.example.com': server.issuer, ...values }).reduce(
    // Names of variables may contain the example: OPSCTL_CLIENT_ID=CLIENT_ID.
    (text, [example, value]) =>
      text.replace(new RegExp(`(?<![A-Z_])${example.replace(/[/.]/g, '\\$&')}`, 'g'), () => value),
    command,
  );
const reader = async (env: Readonly<Record<string, string>> = {}): Promise<Reader> => {
  const session: ShellSession = await shellSession('bash', {
    home,
    cwd: join(home, 'work'),
    env: {
      OPSCTL_KEYCHAIN: 'never',
      OPSCTL_PAGER: '',
      NO_COLOR: '1',
      ACCESSIBLE: '1',
      BROWSER: browserCommand(),
      DISPLAY: ':0',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      ...env,
    },
  });
  open.push(session.close);
  // The prompt shows the exit code of each command. A program that reads lines must not receive a second command.
  await session.type("PROMPT_COMMAND='echo ended''-with $?'\r", 'ended-with 0');
  const countEnds = (): number => session.read().match(/ended-with \d+\n/g)?.length ?? 0;
  let endsBefore = 0;
  return {
    follow: async (command, values = {}, code = 0) => {
      endsBefore = countEnds();
      const screen = await session.type(`${filled(command, values)}\r`, /ended-with \d+\n/);
      expect(screen, screen).toContain(`ended-with ${code}\n`);
      return screen;
    },
    sees: (text) => session.type('', text),
    answer: async (line) => {
      const screen = session.read();
      expect(countEnds(), `the program ended before the test typed its answer:\n${screen}`).toBe(endsBefore);
      return session.type(`${line}\r`, /./);
    },
  };
};
/** Replaces the browser: it records each address, and the test opens the address in Chromium. */
const browserCommand = (): string => {
  const path = join(home, 'browser');
  writeFileSync(path, `#!/bin/sh\necho "$1" >> ${join(home, 'opened')}\n`);
  chmodSync(path, 0o755);
  return path;
};
const openedAddress = async (at = 0): Promise<URL> => {
  const path = join(home, 'opened');
  for (;;) {
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    const line = lines[at];
    if (line !== undefined) return new URL(line);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
const addressOn = (screen: string): URL => {
  const found = /https?:\/\/127\.0\.0\.1:\d+\/auth\?\S+/.exec(screen)?.[0];
  expect(found, screen).toBeDefined();
  return new URL(found ?? '');
};
const scopes: Values = {
  '--scope SCOPE --scope SCOPE': '--scope openid --scope offline_access',
  SCOPE: 'email',
};
const guide = 'sign-in-to-your-provider.md';
/** The steps of the first guide up to the stored account. */
const signIn = async (user: Reader): Promise<void> => {
  const [configure = [], , , check = [], login = []] = commandsBelow(guide, 'Steps');
  for (const command of [...configure, ...check]) await user.follow(command, { CLIENT_ID: 'opsctl' });
  const end = user.follow(login[0] ?? '', scopes);
  await server.signIn(await openedAddress());
  expect(await end).toMatch(/signed in|Signed in/);
};

describe.skipIf(noChromium())('a new user follows the guides at oidc-provider', () => {
  test('as a person: configure, check, sign in, verify, add a scope, bind the tokens, sign out', async () => {
    const user = await reader();
    await signIn(user);
    for (const [command = ''] of commandsBelow(guide, 'Verify'))
      expect(await user.follow(command)).toContain('openid');
    const [[add = ''] = []] = commandsBelow(guide, 'Add a scope later');
    const added = user.follow(add, scopes);
    await server.signIn(await openedAddress(1));
    await added;
    expect(await user.follow('opsctl auth status')).toMatch(/openid[\s\S]*email|email[\s\S]*openid/);
    const [[bind = ''] = []] = commandsBelow(guide, 'Bind the tokens to this machine');
    const bound = user.follow(bind, scopes);
    await server.signIn(await openedAddress(2));
    await bound;
    expect(await user.follow('opsctl auth token -o json')).toContain('DPoP');
    for (const [command = ''] of commandsBelow(guide, 'Undo')) await user.follow(command);
    await user.follow('opsctl auth status', {}, 4);
  });

  test('as a person whose server publishes no metadata and whose client has a secret', async () => {
    const user = await reader({ CLIENT_SECRET: 'desktop secret:1' });
    const [, configure = [], secret = [], , login = []] = commandsBelow(guide, 'Steps');
    const values = { CLIENT_ID: 'desktop', '/authorize': '/auth' };
    for (const command of [...configure, ...secret]) await user.follow(command, values);
    const end = user.follow(`OPSCTL_CLIENT_AUTH=basic ${login[0]}`, scopes);
    await server.signIn(await openedAddress());
    expect(await end).toMatch(/signed in|Signed in/);
  });

  test('over SSH: forward the port, paste the address, sign in at two times, enter a code', async () => {
    const page = 'sign-in-over-ssh.md';
    const user = await reader({ SSH_CONNECTION: '192.0.2.1 50000 192.0.2.2 22', USER: 'ada' });
    const [prepare = []] = commandsBelow(page, 'Prepare');
    const values = { CLIENT_ID: 'opsctl', 'SCOPE SCOPE': 'openid offline_access' };
    for (const command of prepare) await user.follow(command, values);
    const [[forward = ''] = []] = commandsBelow(page, 'Option 1: forward the port');
    const forwarded = user.follow(forward);
    const first = await user.sees(/auth\?\S+\s/);
    await server.signIn(addressOn(first));
    expect(await forwarded).toMatch(/ssh -N -L (\d+):127\.0\.0\.1:\1 \S*192\.0\.2\.2/);

    const [[paste = ''] = []] = commandsBelow(page, 'Option 2: paste the result');
    const pasted = user.follow(paste);
    const second = await user.sees(/goes to http:\S+\s/);
    const bar = await server.signInElsewhere(addressOn(second));
    await user.answer(bar);
    expect(await pasted).toContain('signed in as');

    const [[start = ''] = [], [finish = ''] = []] = commandsBelow(page, 'Option 3: sign in at two times');
    const later = await server.signInElsewhere(addressOn(await user.follow(start)));
    await user.follow(finish, { URL: later });

    const [[device = ''] = []] = commandsBelow(page, 'Option 4: enter a code on another device');
    const coded = user.follow(device);
    const code = /[A-Z]{4}-[A-Z]{4}/.exec(await user.sees(/[A-Z]{4}-[A-Z]{4}/))?.[0] ?? '';
    await server.enterCode(new URL(`${server.issuer}/device`), code);
    expect(await coded).toContain('signed in as');
    for (const [command = ''] of commandsBelow(page, 'Verify')) await user.follow(command);
  });
});

const jwt = (claims: Readonly<Record<string, unknown>>): string => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  return `${body}.${sign('RSA-SHA256', Buffer.from(body), trusted.privateKey).toString('base64url')}`;
};
const pem = trusted.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;

describe('a CI job follows the guide at oidc-provider', () => {
  const page = 'sign-in-in-ci.md';
  const api = (): Values => ({ 'https://api.example.com': server.issuer });
  const rows = (screen: string) => expect(screen).toContain('UC1');

  test('option 1: the identity token of the job is exchanged', async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const identity = jwt({
      iss: jobs.issuer,
      sub: 'job-1',
      aud: server.issuer,
      iat: seconds,
      exp: seconds + 300,
    });
    const job = await reader({ CI: 'true', OPSCTL_IDENTITY_TOKEN: identity, OPSCTL_CLIENT_ID: 'job' });
    const commands = commandsBelow(page, 'Option 1: exchange the identity token of the job').flat();
    for (const command of commands.slice(0, -1)) await job.follow(command, api());
    rows(await job.follow(commands.at(-1) ?? '', api()));
    // Every command that sends a token replaces it once after the API rejects it.
    for (const command of ['opsctl media get channels', 'opsctl api api GET /media/v3/channels']) {
      const token = /[\w.~-]{20,}/.exec(await job.follow('opsctl auth token'))?.[0] ?? '';
      server.revoke(token);
      rows(await job.follow(command));
    }
    const [[run = ''] = []] = commandsBelow(page, 'Run a long job');
    const held = await job.follow(run.replace('make report', `sh -c 'wc -c < "$OPSCTL_TOKEN_FILE"'`));
    expect(held).toMatch(/^\d\d+\r?$/m);
  });

  test('option 2: a service account signs with its key', async () => {
    const job = await reader({ CI: 'true', OPSCTL_CLIENT_ID: 'job' });
    const key = {
      type: 'service_account',
      client_email: jobs.issuer,
      private_key_id: '1',
      private_key: pem,
    };
    writeFileSync(join(home, 'work/key.json'), JSON.stringify(key), { mode: 0o600 });
    const commands = commandsBelow(page, 'Option 2: use the key of a service account').flat();
    for (const command of commands.slice(0, -1)) await job.follow(command, api());
    rows(await job.follow(commands.at(-1) ?? '', api()));
  });

  test('option 3: client credentials with a secret, and with a key', async () => {
    const { withSecret, withKey } = server.robots;
    const [bySecret = [], byKey = []] = commandsBelow(page, 'Option 3: use client credentials');
    const job = await reader({ CI: 'true', OPSCTL_CLIENT_SECRET: withSecret.secret });
    for (const command of bySecret.slice(0, -1))
      await job.follow(command, { ...api(), CLIENT_ID: withSecret.id });
    rows(await job.follow(bySecret.at(-1) ?? '', api()));
    writeFileSync(join(home, 'work/key.pem'), pem, { mode: 0o600 });
    const other = await reader({ CI: 'true' });
    for (const command of byKey.slice(0, -1))
      await other.follow(command, { ...api(), CLIENT_ID: withKey.id });
    rows(await other.follow(byKey.at(-1) ?? '', api()));
  });
});

const has = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const authority = makeAuthority();
const pair: Pair = authority.issue({ hosts: ['127.0.0.1'] });

describe.skipIf(noChromium())('a signed-in user follows the guide for other tools', () => {
  const page = 'use-tokens-in-other-tools.md';
  const user = async (): Promise<Reader> => {
    const ca = join(home, 'ca.pem');
    writeFileSync(ca, authority.cert);
    mkdirSync(join(home, '.local/bin'), { recursive: true });
    const path = `${join(home, 'bin')}:${join(home, '.local/bin')}:${process.env.PATH}`;
    const found = await reader({ GIT_SSL_CAINFO: ca, PATH: path });
    await signIn(found);
    return found;
  };
  const undo = async (reading: Reader, tool: string, values: Values): Promise<string> => {
    const [commands = []] = commandsBelow(page, 'Undo');
    return reading.follow(commands.find((command) => command.includes(`setup ${tool}`)) ?? '', values);
  };

  test('scripts, curl and long-running commands get a token that the server accepts', async () => {
    const reading = await user();
    const [[script = ''] = []] = commandsBelow(page, 'Scripts');
    await reading.follow(script);
    const token = /token-(\S{20,})-end/.exec(await reading.follow("echo token''-$TOKEN-end"))?.[1] ?? '';
    expect(await server.isAlive(token)).toBe(true);
    const [[curl = ''] = []] = commandsBelow(page, 'curl');
    expect(await reading.follow(curl, { 'https://api.example.com/': `${server.issuer}/me` })).toContain(
      '"sub":"ada"',
    );
    writeFileSync(join(home, 'work/nightly-export.sh'), '#!/bin/sh\ncat "$OPSCTL_TOKEN_FILE"\n', {
      mode: 0o755,
    });
    const [[long = ''] = []] = commandsBelow(page, 'Long-running commands');
    expect(await reading.follow(long)).toContain(token);
    expect((await reading.follow('opsctl auth token --id-token')).match(/eyJ/)).not.toBeNull();
  });

  test.skipIf(!has('git', '--version'))(
    'git clones with the token, and no longer after the removal',
    async () => {
      const reading = await user();
      const repository = join(home, 'repositories/demo.git');
      const git = (...args: string[]) => spawnSync('git', args, { env: { ...process.env, HOME: home } });
      git('init', '-q', '--bare', '-b', 'main', repository);
      git('init', '-q', '-b', 'main', join(home, 'first'));
      const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
      git('-C', join(home, 'first'), ...author, 'commit', '-q', '--allow-empty', '-m', 'first');
      git('-C', join(home, 'first'), 'push', '-q', repository, 'main');
      const sent = new Set<string>();
      const remote = await gitServer(
        pair,
        join(home, 'repositories'),
        (password) => sent.add(password) && password.length > 20,
      );
      open.push(remote.close);
      const values = { 'git.example.com': remote.host };
      for (const command of commandsBelow(page, 'git').flat()) await reading.follow(command, values);
      await reading.follow(`git clone -q https://${remote.host}/demo.git cloned`);
      expect(await server.isAlive([...sent].at(-1) ?? '')).toBe(true);
      await undo(reading, 'git', values);
      await reading.follow(`git clone -q https://${remote.host}/demo.git again`, {}, 128);
    },
  );

  test.skipIf(!has('docker', '--version'))('docker pulls with the token', async () => {
    const reading = await user();
    const daemon = await dockerDaemon();
    open.push(daemon.close);
    const values = { 'registry.example.com': 'registry.example.com' };
    for (const command of commandsBelow(page, 'docker').flat()) await reading.follow(command, values);
    const variables = `DOCKER_HOST=${daemon.address} DOCKER_API_VERSION=1.41`;
    await reading.follow(`${variables} docker pull -q registry.example.com/demo:1`);
    const { password } = JSON.parse(Buffer.from(daemon.auth(), 'base64url').toString()) as {
      password: string;
    };
    expect(await server.isAlive(password)).toBe(true);
    expect(await undo(reading, 'docker', values)).toContain('removed');
    expect(existsSync(join(home, '.local/bin/docker-credential-opsctl'))).toBe(false);
  });

  test.skipIf(!has('kubectl', 'version', '--client'))('kubectl sends the identity token', async () => {
    const reading = await user();
    const tokens: string[] = [];
    const cluster = await bearerServer(pair, (token) => tokens.push(token) > 0 && token.startsWith('eyJ'), {
      major: '1',
      minor: '32',
    });
    open.push(cluster.close);
    await reading.follow(
      `kubectl config set-cluster c --server=https://${cluster.host} --certificate-authority=${join(home, 'ca.pem')}`,
    );
    await reading.follow('kubectl config set-context x --cluster=c && kubectl config use-context x');
    for (const command of commandsBelow(page, 'kubectl').flat()) await reading.follow(command);
    expect(await reading.follow('kubectl get --raw /version')).toContain('"major":"1"');
    const [, claims = ''] = (tokens.at(-1) ?? '').split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      sub: 'ada',
      iss: server.issuer,
    });
    expect(await undo(reading, 'kubectl', {})).toContain('removed');
  });
});

test('every section with commands of these guides is followed here, or by the test of the embedded server', () => {
  const sections = (page: string): string[] =>
    readFileSync(join(root, 'docs/how-to', page), 'utf8')
      .split(/^## /m)
      .filter((part) => /^ *```sh$/m.test(part))
      .map((part) => part.split('\n')[0] ?? '');
  expect(sections(guide)).toEqual([
    'Steps',
    'Verify',
    'Add a scope later',
    'Bind the tokens to this machine',
    'Undo',
  ]);
  expect(sections('sign-in-over-ssh.md')).toEqual([
    'Prepare',
    'Option 1: forward the port',
    'Option 2: paste the result',
    'Option 3: sign in at two times',
    'Option 4: enter a code on another device',
    'Verify',
  ]);
  // test/real/auth/guides.real.test.ts follows the last guide.
  expect(sections('sign-in-in-ci.md')).toEqual([
    'Option 1: exchange the identity token of the job',
    'Option 2: use the key of a service account',
    'Option 3: use client credentials',
    'Run a long job',
    'Verify',
  ]);
  expect(sections('use-tokens-in-other-tools.md')).toEqual([
    'Scripts',
    'curl',
    'Long-running commands',
    'git',
    'docker',
    'kubectl',
    'Undo',
  ]);
});
