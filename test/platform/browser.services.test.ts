import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type ExternalUrl, externalUrl } from '../../src/core/external-url.ts';
import { browserCommands, hasDisplay, openBrowser } from '../../src/platform/node/programs.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

const address = (text: string): ExternalUrl => externalUrl(text) as ExternalUrl;
const open: RealHost[] = [];
afterEach(async () => {
  for (const real of open.splice(0)) await real.close();
});

test.each<[string, Record<string, string>, string, boolean]>([
  ['a plain server', {}, 'linux', false],
  ['X', { DISPLAY: ':0' }, 'linux', true],
  ['Wayland', { WAYLAND_DISPLAY: 'wayland-0' }, 'linux', true],
  ['WSL', { WSL_DISTRO_NAME: 'Debian' }, 'linux', true],
  ['a Mac', {}, 'darwin', true],
  ['a Mac over ssh', { SSH_CONNECTION: '1 2 3 4' }, 'darwin', false],
  ['Windows', {}, 'win32', true],
  ['BROWSER anywhere', { BROWSER: 'w3m' }, 'linux', true],
  ['BROWSER=none', { BROWSER: 'none', DISPLAY: ':0' }, 'linux', false],
])('%s can show a window: %j on %s %s', (_, env, platform, expected) => {
  expect(hasDisplay(env, platform)).toBe(expected);
});

test.each<[string, string[][]]>([
  ['firefox', [['firefox', 'URL']]],
  [
    'firefox:lynx',
    [
      ['firefox', 'URL'],
      ['lynx', 'URL'],
    ],
  ],
  ['chrome --new-window', [['chrome', '--new-window', 'URL']]],
  ['open %s --now', [['open', 'URL', '--now']]],
  [' : ', []],
])('BROWSER=%j starts %j', (setting, expected) => {
  expect(browserCommands(setting, 'URL', 'linux')).toEqual(expected);
});

test.each([
  ['"/mnt/c/Program Files/b.exe" %s', 'linux', [['/mnt/c/Program Files/b.exe', 'URL']]],
  ["'/opt/a b' --profile='Profile 1'", 'linux', [['/opt/a b', '--profile=Profile 1', 'URL']]],
  [
    '/opt/a\\ b:"c:d" x',
    'linux',
    [
      ['/opt/a b', 'URL'],
      ['c:d', 'x', 'URL'],
    ],
  ],
  [
    '"C:\\Program Files\\b.exe" -n;edge',
    'win32',
    [
      ['C:\\Program Files\\b.exe', '-n', 'URL'],
      ['edge', 'URL'],
    ],
  ],
])('BROWSER=%s on %s is split as a shell does', (setting, platform, expected) => {
  expect(browserCommands(setting, 'URL', platform)).toEqual(expected);
});

const withLauncher = async (script: string): Promise<RealHost> => {
  const real = await realHost();
  open.push(real);
  const launcher = join(real.directory, 'launcher');
  writeFileSync(launcher, `#!/bin/sh\n${script}\n`);
  chmodSync(launcher, 0o755);
  const again = await realHost({ BROWSER: `/no/such/browser:${launcher}` });
  open.push(again);
  return again;
};

test('the first launcher that starts gets the URL whole', async () => {
  const { host, directory } = await withLauncher('echo "$1" > "$HOME/opened"');
  expect(await host.openBrowser(address('http://127.0.0.1:1/a?b=c&d=$(e)'))).toBe(true);
  expect(readFileSync(join(directory, 'opened'), 'utf8')).toBe('http://127.0.0.1:1/a?b=c&d=$(e)\n');
});

test('a failing launcher counts as no browser', async () => {
  expect(await (await withLauncher('exit 3')).host.openBrowser(address('http://127.0.0.1:1/'))).toBe(false);
});

test('openBrowser starts no launcher without a display', async () => {
  const real = await realHost();
  open.push(real);
  expect(await real.host.openBrowser(address('http://127.0.0.1:1/'))).toBe(false);
});

test.each(['--renderer-cmd-prefix=touch ran', 'file:///etc/hostname', 'javascript:1', ''])(
  'openBrowser passes no launcher the value %j, whatever its type is',
  async (text) => {
    const { host, directory } = await withLauncher('echo "$1" > "$HOME/opened"');
    expect(await host.openBrowser(text as ExternalUrl)).toBe(false);
    expect(existsSync(join(directory, 'opened'))).toBe(false);
  },
);

test('a browser gets no variables of opsctl except its home and its profile', async () => {
  const { host, directory } = await withLauncher('env > "$HOME/opened"');
  const env = { ...host.env, OPSCTL_ACCESS_TOKEN: 'secret', OPSCTL_PROFILE: 'p', OTHER: 'kept' };
  expect(await openBrowser(address('http://127.0.0.1:1/'), env, 'linux')).toBe(true);
  const seen = readFileSync(join(directory, 'opened'), 'utf8');
  expect(seen).toContain('OTHER=kept');
  expect(seen).toContain('OPSCTL_PROFILE=p');
  expect(seen).not.toContain('OPSCTL_ACCESS_TOKEN');
});
test.each(['linux', 'freebsd', 'openbsd'])(
  'on %s without BROWSER, xdg-open is found through absolute entries of PATH, and gets no token',
  async (platform) => {
    const real = await realHost();
    open.push(real);
    const [planted, seen] = [join(real.directory, 'planted'), join(real.directory, 'seen')];
    // Without an absolute entry, the default PATH of the system counts, which may contain the real program.
    const empty = join(real.directory, 'empty');
    for (const directory of [planted, empty]) mkdirSync(directory);
    writeFileSync(join(planted, 'xdg-open'), `#!/bin/sh\nenv > '${seen}'\n`, { mode: 0o755 });
    const env = { DISPLAY: ':0', OPSCTL_ACCESS_TOKEN: 'secret' };
    const openWith = (path: string) =>
      openBrowser(address('http://127.0.0.1:1/'), { ...env, PATH: path }, platform);
    expect(await openWith(`${relative(process.cwd(), planted)}:${empty}`)).toBe(false);
    expect(existsSync(seen)).toBe(false);
    expect(await openWith(`${planted}:/usr/bin:/bin`)).toBe(true);
    expect(readFileSync(seen, 'utf8')).not.toContain('secret');
  },
);
