/** Defects that a new user found, each with the command line that showed it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Host, HttpRequest } from '../../src/platform/host.ts';
import type { Settings } from '../../src/config/settings.ts';
import { compareReleases, latestVersion } from '../../src/support/installation.ts';
import { covers } from '../support/covers.ts';
import { partlyMade } from '../support/context.ts';
import { fakeHost } from '../support/fake-host.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

let home: string;
const run = (line: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  opsctl(line.split(' '), { home, env });
beforeAll(async () => {
  home = makeDirectory();
  expect((await run('tracker labels create --name bug')).code).toBe(0);
});

/** The machine of a person at a terminal, with a page that has the newest version. */
const pageHost = (page: (request: HttpRequest) => string | Promise<string>, at?: () => number) => {
  const asked: HttpRequest[] = [];
  const request: Host['network']['request'] = async (given) => {
    asked.push(given);
    const text = await page(given);
    return {
      status: 200,
      headers: {},
      stream: () => (async function* () {})(),
      bytes: async () => Buffer.from(text),
      text: async () => text,
    };
  };
  const host = (real: Host): Host => ({
    ...real,
    ...(at === undefined ? {} : { now: at }),
    network: { ...real.network, request },
    terminal: {
      ...real.terminal,
      stdout: { ...real.terminal.stdout, isTty: true },
      stderr: { ...real.terminal.stderr, isTty: true },
    },
  });
  return { host, asked };
};

describe('update notice', () => {
  const line = 'opsctl 9.9.9 is available (installed: ';
  const newest = async (): Promise<string> => '{"version":"9.9.9"}';
  const on = { OPSCTL_UPDATE_NOTICE: 'on', OPSCTL_UPDATE_URL: 'https://releases.example.com/latest.json' };
  const words = ['explain', 'NO_TOKEN', '--no-pager'];
  const runAt = (own: ReturnType<typeof pageHost>, extra: Partial<Parameters<typeof opsctl>[1]> = {}) =>
    opsctl(words, { home, env: on, host: own.host, ...extra });

  it(
    'an update notice is printed once a day, on standard error, and only on request',
    covers('setting/update_notice'),
    async () => {
      const home = makeDirectory();
      let now = Date.now();
      const own = pageHost(newest, () => now);
      const without = await runAt(own, { home, env: {} });
      expect([without.code, without.stderr, own.asked]).toEqual([0, '', []]);
      const first = await runAt(own, { home });
      expect([first.code, first.stderr]).toEqual([
        0,
        expect.stringMatching(/^opsctl 9\.9\.9 is available .+\n$/),
      ]);
      expect(first.stdout).toBe(without.stdout);
      for (const hours of [0, 1, 22]) {
        now += hours * 3_600_000;
        expect((await runAt(own, { home })).stderr).toBe('');
      }
      expect(own.asked).toHaveLength(1);
      now += 3_600_000;
      expect((await runAt(own, { home })).stderr).toContain(line);
      expect(own.asked.map(({ method, url, headers, body }) => [method, url, headers, body])).toEqual(
        Array.from({ length: 2 }, () => [
          'GET',
          on.OPSCTL_UPDATE_URL,
          { accept: 'application/json', 'user-agent': 'opsctl' },
          undefined,
        ]),
      );
    },
  );
  const plainStream = (name: 'stdout' | 'stderr') => (host: Host) => ({
    ...host,
    terminal: { ...host.terminal, [name]: { ...host.terminal[name], isTty: false } },
  });
  it.each<[string, Partial<Parameters<typeof opsctl>[1]>, string[]]>([
    ['in CI', { env: { ...on, CI: 'true' } }, words],
    ['if it is off', { env: { ...on, OPSCTL_UPDATE_NOTICE: 'off' } }, words],
    ['with --quiet', {}, [...words, '--quiet']],
    ['in a dry run', {}, ['tracker', 'labels', 'create', '--name', 'x', '--dry-run']],
    ['in config, which shows settings', {}, ['config', 'list']],
    ['in version', {}, ['version']],
    ['if a program reads the result', { host: plainStream('stdout') }, words],
    ['if a program reads the messages', { host: plainStream('stderr') }, words],
  ])('no check for updates is made %s', async (_, { host = (same) => same, ...extra }, argv) => {
    const own = pageHost(newest);
    const ran = await opsctl(argv, {
      home: makeDirectory(),
      env: on,
      ...extra,
      host: (real) => host(own.host(real)),
    });
    expect([ran.code, own.asked]).toEqual([0, []]);
    expect(ran.stderr).not.toContain(line);
  });
  it.each<[string, (request: HttpRequest) => string | Promise<string>]>([
    ['cannot be reached', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['does not respond', ({ signal }) => new Promise((_, fail) => signal?.addEventListener('abort', fail))],
    ['is not JSON', () => '<html>'],
    ['has the same version', () => JSON.stringify({ version: OPSCTL_VERSION })],
    ['has an older version', () => '{"version":"0.0.0-alpha"}'],
    ['has a version with control characters', () => '{"version":"\\u001b]0;9.9.9"}'],
  ])('a command is unchanged if the page of update_url %s', async (_, page) => {
    const home = makeDirectory();
    const own = pageHost(page);
    for (const _again of [1, 2]) {
      const { code, stderr } = await runAt(own, { home });
      expect([code, stderr]).toEqual([0, '']);
    }
    expect(own.asked).toHaveLength(1);
  });
  it('an invalid update_url never fails another command', async () => {
    const own = pageHost(newest);
    const env = { ...on, OPSCTL_UPDATE_URL: 'notaurl' };
    const home = makeDirectory();
    for (const _again of [1, 2])
      expect(await runAt(own, { home, env })).toMatchObject({ code: 0, stderr: '' });
    expect(own.asked).toEqual([]);
    const check = await opsctl(['version', '--check'], { home, env });
    expect([check.code, check.stderr]).toEqual([3, expect.stringContaining('OPSCTL_UPDATE_URL')]);
  });
  it('an update notice does not follow an error, and its check ends with the command', async () => {
    const own = pageHost(({ signal }) => new Promise((_, fail) => signal?.addEventListener('abort', fail)));
    const { code, stderr } = await opsctl(['explain', 'NOTHING'], {
      home: makeDirectory(),
      env: on,
      host: own.host,
    });
    expect([code, own.asked.length, own.asked[0]?.signal?.aborted]).toEqual([2, 1, true]);
    expect(own.asked[0]?.signal?.reason).not.toMatchObject({ name: 'TimeoutError' });
    expect(stderr).not.toContain('available');
  });
  it('no check is made if its time cannot be stored', async () => {
    const own = pageHost(newest);
    const { code, stderr } = await runAt(own, {
      home: makeDirectory(),
      host: (real) => ({
        ...own.host(real),
        files: { ...real.files, replace: () => Promise.reject(new Error('no space left on device')) },
      }),
    });
    expect([code, stderr, own.asked]).toEqual([0, '', []]);
  });
});

describe('version', () => {
  it('version is a command that prints its runtime and sends no request', async () => {
    const { code, json } = await opsctl(['version', '-o', 'json'], { home });
    expect(code).toBe(0);
    expect(json()).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runtime: `Node ${process.version}`,
    });
  });
  it.each([
    ['9.9.9\n', 20, '9.9.9'],
    ['rubbish', 11, undefined],
  ])('version --check queries npm only: %j', async (stdout, code, latest) => {
    const asked: string[][] = [];
    const ran = await opsctl(['version', '--check', '-o', 'json'], {
      home,
      host: (host) => ({
        ...host,
        processes: {
          ...host.processes,
          run: async (command, args) => {
            asked.push([command, ...args]);
            return { code: 0, signal: null, stdout, stderr: '', timedOut: false };
          },
        },
      }),
    });
    expect([ran.code, asked]).toEqual([code, [['npm', 'view', 'opsctl', 'version', '--global']]]);
    if (latest !== undefined) expect(ran.json()).toMatchObject({ latest, is_current: false });
  });
  it.each([
    ['{"version":"9.9.9","dist":{}}', 20, '9.9.9'],
    ['{"tag_name":"v9.9.9"}', 20, '9.9.9'],
    ['{"version":"0.0.0"}', 20, '0.0.0'],
    ['{"version":"0.0.0-alpha.1"}', 0, '0.0.0-alpha.1'],
    ['{"version":"\\u001b[31m9.9.9"}', 11, undefined],
    ['{"version":9}', 11, undefined],
    ['<html>', 11, undefined],
  ])(
    'version --check reads the page of update_url instead of npm: %s',
    covers('setting/update_url'),
    async (text, code, latest) => {
      const { host, asked } = pageHost(() => text);
      const env = { OPSCTL_UPDATE_URL: 'https://releases.example.com/latest.json?token=secret-of-the-test' };
      const ran = await opsctl(['version', '--check', '-o', 'json'], { home, env, host });
      expect([ran.code, asked.length]).toEqual([code, 1]);
      expect(ran.stdout + ran.stderr).not.toContain('\u001b[31m');
      if (latest !== undefined) expect(ran.json()).toMatchObject({ latest, is_current: code === 0 });
    },
  );
  it('a query that Ctrl-C ends is interrupted, and not a failure of npm', async () => {
    const stop = new AbortController();
    const host = fakeHost({});
    const run = async () => {
      stop.abort(new Error('interrupted'));
      return { code: null, signal: 'SIGTERM' as const, stdout: '', stderr: '', timedOut: false };
    };
    const settings = partlyMade<Settings>({ get: () => undefined });
    const query = { host: { ...host, processes: { ...host.processes, run } }, settings, signal: stop.signal };
    await expect(latestVersion(query, 1_000)).rejects.toThrow('interrupted');
  });
  it.each([
    ['0.1.0', '0.1.0', 0],
    ['0.9.0', '0.10.0', -1],
    ['1.0.0-rc.1', '1.0.0', -1],
    ['1.0.0-rc.2', '1.0.0-rc.10', -1],
    ['1.0.1-rc.1', '1.0.0', 1],
    ['1.0.0+build', '1.0.0', 0],
    ['1.0.0+build-2', '1.0.0', 0],
  ])('compareReleases orders %s and %s', (left, right, order) => {
    expect(Math.sign(compareReleases(left, right))).toBe(order);
    expect(Math.sign(compareReleases(right, left))).toBe(0 - order);
  });
  const sbomOf = (words: readonly string[], text: string | undefined, program: string | undefined) => {
    const directory = makeDirectory();
    mkdirSync(join(directory, 'dist'));
    if (text !== undefined) writeFileSync(join(directory, 'dist/sbom.cdx.json'), text);
    const self: Host['self'] =
      program === undefined ? ['/usr/bin/opsctl'] : ['/usr/bin/node', join(directory, program)];
    return opsctl(['version', '--sbom', ...words], {
      home,
      host: (host) => ({ ...host, self }),
    });
  };
  const bill = {
    bomFormat: 'CycloneDX',
    components: [
      { group: '@a', name: 'b', version: '1.0.0', licenses: [{ license: { id: 'MIT' } }] },
      { name: 'long-name', version: '10.0.0', licenses: [{ expression: 'MIT OR Apache-2.0' }] },
    ],
  };
  it('version --sbom prints the whole document, and a line for each package on a terminal', async () => {
    const text = JSON.stringify(bill);
    expect((await sbomOf(['-o', 'json'], text, 'bin/opsctl.js')).json()).toEqual(bill);
    expect((await sbomOf(['-o', 'table'], text, 'bin/opsctl.js')).stdout).toBe(
      '@a/b       1.0.0   MIT\nlong-name  10.0.0  MIT OR Apache-2.0\n2 packages\n',
    );
  });
  it.each([
    ['is missing', undefined, 'bin/opsctl.js', 'sbom.cdx.json not found'],
    ['is damaged', '{"components":', 'bin/opsctl.js', 'is damaged'],
    ['has no list', '{"components":{}}', 'bin/opsctl.js', 'is damaged'],
    ['is not part of the program', undefined, undefined, 'a single executable does not contain'],
  ])('version --sbom is an error if the document %s', async (_, text, program, message) => {
    const { code, stderr } = await sbomOf([], text, program);
    expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
  });
  it.each([
    ['--check --verify', '--check cannot be combined with --verify'],
    ['--verify --sbom', '--verify cannot be combined with --sbom'],
    ['--sbom --checksums x', '--checksums requires --verify'],
  ])('version %s is rejected', async (flags, message) => {
    const { code, stderr } = await run(`version ${flags}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('whoami', () => {
  it('whoami names the server and the origin of the token, even if the server cannot be reached', async () => {
    const env = { OPSCTL_TRACKER_URL: 'http://127.0.0.1:9', OPSCTL_TRACKER_TOKEN: 'secret-of-the-test' };
    const { code, json, stdout } = await opsctl(['whoami', '-o', 'json'], {
      home,
      env,
      host: (host) => ({ ...host, sleep: async () => {} }),
    });
    expect([code, json()]).toEqual([
      0,
      [
        expect.objectContaining({
          service: 'tracker',
          account: null,
          server: 'http://127.0.0.1:9',
          token: 'environment OPSCTL_TRACKER_TOKEN',
        }),
        expect.objectContaining({
          ...{ service: 'sign-in', account: null, server: null, token: null },
          detail: 'not signed in',
        }),
      ],
    ]);
    expect(stdout).not.toContain('secret-of-the-test');
  });
  it('whoami names the next step on a terminal if no account is signed in', async () => {
    const { stderr } = await opsctl(['whoami', '-o', 'table'], {
      home,
      host: (host) => ({
        ...host,
        terminal: { ...host.terminal, stderr: { ...host.terminal.stderr, isTty: true } },
      }),
    });
    expect(stderr).toContain('to sign in, run opsctl login\n');
  });
  it('whoami on the embedded server has no address that stops with the command', async () => {
    const rows = (await run('whoami -o json')).json() as { server: string | null; token: string | null }[];
    expect(rows[0]).toMatchObject({
      account: 'Ana Ortiz (@ana)',
      server: 'embedded mock server',
      token: 'mock',
    });
  });
});

it('every doctor reports pass, warn, fail or unknown, and general lists the versions', async () => {
  const general = (await run('doctor -o json')).json() as { check: string; state: string }[];
  const auth = (await run('doctor auth -o json')).json() as { state: string }[];
  expect(general.map(({ check }) => check)).toEqual(expect.arrayContaining(['opsctl', 'runtime']));
  for (const { state } of [...general, ...auth]) expect(['pass', 'unknown', 'warn', 'fail']).toContain(state);
});

it('a doctor prints each fix whole, on its own line, and keeps rows for data formats', async () => {
  const text = (await run('doctor -o table')).stdout;
  expect(text).toMatch(/^! warn {5}tracker service {7}not configured/m);
  expect(text).toMatch(/^ +→ opsctl config set tracker.url https:\/\/…$/m);
  expect((await run('doctor auth -o table')).stdout).toMatch(/^✓ pass /m);
  expect((await run('doctor -o table --columns check,state')).stdout).toMatch(/^CHECK +STATE$/m);
  expect((await run('doctor -o csv')).stdout).toMatch(/^check,state,found,remedy$/m);
  expect((await run('doctor -o ndjson')).stdout.split('\n')[0]).toContain('"check":"opsctl"');
});

it('an update without a change is rejected before any request', async () => {
  const { code, stderr } = await run('tracker labels update bug');
  expect([code, stderr]).toEqual([2, expect.stringContaining('tracker labels update')]);
  expect(stderr).toContain('try: opsctl tracker labels update bug --name …');
});

it('a missing label is created only on request', async () => {
  const before = (await run('tracker epics list -o name')).stdout;
  const refused = await run('tracker epics create --name x --label bgu');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/label not found: "bgu".*did you mean bug\?[\s\S]*--create-labels/),
  ]);
  expect((await run('tracker epics list -o name')).stdout).toBe(before);
  const inputs = await run(`tracker epics create --name x --labels [{"name":"bgu"}]`);
  expect(inputs.code).toBe(2);
  expect((await run('tracker epics create --name x --label bgu --create-labels')).code).toBe(0);
  expect((await run('tracker epics create --name y --label bug')).code).toBe(0);
});

it('a bulk row with a label that does not exist fails, unless a row before makes it', async () => {
  const rows = (labels: string) => `{"op":"create","resource":"epics","name":"e","labels":["${labels}"]}\n`;
  const file = (text: string): string => {
    const path = join(home, 'rows.ndjson');
    writeFileSync(path, text);
    return path;
  };
  const refused = await run(`tracker bulk -o ndjson -f ${file(rows('no-such-lable'))}`);
  expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining('--create-labels makes it')]);
  const own = `{"op":"create","resource":"labels","name":"of-this-file"}\n${rows('of-this-file')}`;
  expect((await run(`tracker bulk --concurrency 1 -f ${file(own)}`)).code).toBe(0);
  expect((await run(`tracker bulk --create-labels -f ${file(rows('made-by-row'))}`)).code).toBe(0);
});

it('-v reports the duration of a response', async () => {
  expect((await run('-v tracker labels list')).stderr).toMatch(/200 GET \S+\/labels in \d+ ms/);
});

describe('api', () => {
  it('api accepts fields as gh does', async () => {
    const { code, json } = await run('api tracker POST /labels -f name=7 -F archived=true --dry-run -o json');
    expect([code, json()]).toEqual([0, expect.objectContaining({ body: { name: '7', archived: true } })]);
  });
  it('fields of a GET are its query', async () => {
    const { json } = await run('api tracker GET /labels -F slim=true --dry-run -o json');
    expect(json().url).toMatch(/\/labels\?slim=true$/);
  });
  it('refuses a body in two places', async () => {
    expect((await run('api tracker POST /labels -f name=x --body {}')).code).toBe(2);
  });
  it('sends a body of another type as it is, if a header names the type', async () => {
    const file = join(makeDirectory(), 'b.txt');
    writeFileSync(file, 'not JSON');
    const send = `api tracker POST /labels --body @${file}`;
    expect((await run(`${send} --header content-type:text/plain --dry-run -o json`)).code).toBe(0);
    for (const header of ['content-type:application/json', 'content-type:application/merge-patch+json'])
      expect((await run(`${send} --header ${header} --dry-run`)).code).toBe(2);
  });
  it('reads every page with --paginate', async () => {
    for (const name of ['one', 'two', 'three'])
      expect((await run(`tracker epics create --name ${name}`)).code).toBe(0);
    const { code, json } = await run('api tracker GET /epics/paginated?page_size=2 --paginate -o json');
    const all = (await run('tracker epics list -o json')).json();
    expect([code, json().length]).toEqual([0, all.length]);
    expect((await run('api tracker DELETE /labels/1 --paginate')).code).toBe(2);
    expect((await run('api tracker GET /member --paginate')).code).toBe(2);
  });
});

it('an invalid value of a setting is reported once, with a valid example', async () => {
  const { code, stderr } = await run('config set tracker.url notaurl --profile work');
  expect(code).toBe(2);
  expect(stderr).toBe(
    'error: tracker.url is not a URL: "notaurl"\n  try: write it like https://api.example.com\n',
  );
  const method = await run('config set auth.method browsr --profile work');
  expect([method.code, method.stderr]).toEqual([2, expect.stringContaining('did you mean browser?')]);
});

it.each([
  ['ca_file', '/no/such/ca.pem', 'CA_FILE'],
  ['rate_per_minute', 'many', 'RATE'],
  ['timeout', 'soon', 'USAGE'],
  ['max_time', 'soon', 'USAGE'],
])('a stored %s that stops every command is shown and removed by `config`', async (key, value, errorCode) => {
  // An editor or an earlier version may have written this file.
  mkdirSync(join(home, 'config'), { recursive: true });
  writeFileSync(join(home, 'config/config.json'), JSON.stringify({ profiles: { broken: { [key]: value } } }));
  const stopped = await run('tracker labels list --profile broken -o json');
  const { code, hint } = errorOf(stopped);
  expect([stopped.code === 0, code]).toEqual([false, errorCode]);
  expect((await run('config list --profile broken')).code).toBe(0);
  if (errorCode !== 'USAGE') expect(hint).toBe(`opsctl config unset ${key} --profile broken`);
  expect((await run(`config unset ${key} --profile broken`)).code).toBe(0);
  expect((await run('config get timeout --profile broken')).stdout).toBe('30s\n');
});
