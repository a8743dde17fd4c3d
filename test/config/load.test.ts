import { describe, expect, test } from 'vitest';
import {
  environmentRows,
  loadSettings,
  refuseForeignConfiguration,
  secretsOf,
} from '../../src/config/load.ts';
import { configFile, directoriesOf, type Settings, keys } from '../../src/config/settings.ts';
import { type FakeHostOptions, fakeHost } from '../support/fake-host.ts';
import { errorWith, naming } from '../support/facts.ts';
import { covers } from '../support/covers.ts';

const FILE = '/h/config/config.json';
const stored = {
  current: 'work',
  profiles: {
    work: { 'tracker.url': 'https://profile', 'tracker.token': 'profile-token', timeout: '5s' },
    other: {},
  },
};
const load = (
  flags: Record<string, string | undefined> = {},
  env: Record<string, string> = {},
  file: unknown = stored,
): Settings =>
  loadSettings(
    fakeHost({
      env: { OPSCTL_HOME: '/h', ...env },
      files: { [FILE]: typeof file === 'string' ? file : JSON.stringify(file) },
    }),
    flags,
  );

describe('the home of a user', () => {
  const at = (env: Readonly<Record<string, string | undefined>>, home: string | undefined) => {
    const host = fakeHost({ env });
    return configFile({ ...host, files: { ...host.files, homeDirectory: () => home } });
  };
  test.each([{}, { HOME: '' }, { HOME: 'relative' }])('%j: the one that the system has', (env) => {
    expect(at(env, '/home/ann')).toBe('/home/ann/.config/opsctl/config.json');
  });
  test('a user without a home learns what to set, and needs no home if all directories are set', () => {
    expect(() => at({}, undefined)).toThrow(errorWith('NO_HOME', 'HOME', 'directory'));
    expect(() => at({ HOME: 'x' }, undefined)).toThrow(errorWith('NO_HOME', 'HOME', 'x', 'directory'));
    expect(at({ XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/k' }, undefined)).toBe(
      '/c/opsctl/config.json',
    );
    expect(at({ OPSCTL_HOME: '/o' }, undefined)).toBe('/o/config/config.json');
  });
});

describe('precedence, and the origin of each value', () => {
  test.each<[string, Record<string, string>, Record<string, string>, string | undefined, string | undefined]>(
    [
      [
        'flag over all',
        { 'tracker.url': 'https://flag' },
        { OPSCTL_TRACKER_URL: 'https://env' },
        'https://flag',
        'flag --tracker-url',
      ],
      [
        'environment over profile',
        {},
        { OPSCTL_TRACKER_URL: 'https://env' },
        'https://env',
        'environment OPSCTL_TRACKER_URL',
      ],
      ['profile', {}, {}, 'https://profile', 'profile work'],
      ['an empty variable is not set', {}, { OPSCTL_TRACKER_URL: '' }, 'https://profile', 'profile work'],
      ['another profile', { profile: 'other' }, {}, undefined, undefined],
    ],
  )('%s', covers('spec/program#settings-1'), (_, flags, env, value, origin) => {
    const found = load(flags, env).get('tracker.url');
    expect(found?.value).toBe(value);
    expect(found?.origin).toBe(origin);
  });

  test('a default comes last', covers('spec/program#settings-1'), () => {
    expect(load().get('timeout')).toEqual({ key: 'timeout', value: '5s', origin: 'profile work' });
    expect(load({ profile: 'other' }).get('timeout')).toEqual({
      key: 'timeout',
      value: '30s',
      origin: 'default',
    });
    expect(load().get('tracker.token_header')?.value).toBe('Tracker-Token');
    expect(load().get('no.such.key')).toBeUndefined();
  });

  test.each<[Record<string, string>, Record<string, string>, string, string]>([
    [{ profile: 'a' }, { OPSCTL_PROFILE: 'b' }, 'a', 'flag --profile'],
    [{}, { OPSCTL_PROFILE: 'b' }, 'b', 'environment OPSCTL_PROFILE'],
    [{}, {}, 'work', 'opsctl config use'],
  ])('profile: flags %j, environment %j: %s', (flags, env, name, origin) => {
    expect(load(flags, env).profile).toMatchObject({ name, origin });
  });

  test('the profile is mock without any configuration', () => {
    const settings = loadSettings(fakeHost({ env: { OPSCTL_HOME: '/h' } }), {});
    expect(settings.profile).toEqual({ name: 'mock', origin: 'default', isNew: false });
    expect(settings.profiles).toEqual(['mock']);
    expect(load({ profile: 'nowhere' }).profile.isNew).toBe(true);
  });

  test('every environment name of the table is read', () => {
    for (const { key, env } of keys) {
      if (env !== undefined)
        expect(load({}, { [env]: 'value' }).get(key), env).toEqual({
          key,
          value: 'value',
          origin: `environment ${env}`,
        });
    }
  });
});

test('all secrets in force are known to the redactor', () => {
  expect(
    secretsOf(
      load({}, { OPSCTL_LABELS_TOKEN: 'l', OPSCTL_CLIENT_SECRET: 'c', OPSCTL_ACCESS_TOKEN: 'a' }),
      {},
    ).sort(),
  ).toEqual(['a', 'c', 'l', 'profile-token']);
});

test('the secrets inside addresses, fields and variables are known to the redactor', () => {
  const settings = load(
    {},
    {
      OPSCTL_TRACKER_URL: 'https://ada:p%40ss-word@tracker.example',
      OPSCTL_TOKEN_PARAMS: 'client_secret=form-secret&audience=a',
    },
  );
  const env = {
    HTTPS_PROXY: 'proxy-user:proxy-password@proxy.example:3128',
    OPSCTL_KV_PASSWORD: 'kv-password',
    OTHER_TOKEN: 'of-another-program',
  };
  const secrets = secretsOf(settings, env);
  expect(secrets).toEqual(
    expect.arrayContaining(['p%40ss-word', 'p@ss-word', 'form-secret', 'proxy-password', 'kv-password']),
  );
  expect(secrets).not.toContain('of-another-program');
});

test('the path of a key file and the user name of a proxy are not secrets, and an empty field has none', () => {
  const given = {
    OPSCTL_SERVICE_ACCOUNT_KEY: '/etc/opsctl/key.json',
    OPSCTL_TOKEN_PARAMS: 'token=&audience=a',
    HTTPS_PROXY: 'http://planning@proxy.example:3128',
  };
  expect(secretsOf(load({}, given), given)).toEqual(secretsOf(load({}, {}), {}));
});

describe('an error names a malformed file and its problem; the file never counts as empty', () => {
  test.each<[string, unknown, RegExp | string]>([
    ['half of it', '{"profiles": {', /config\.json.*not JSON/],
    [
      'a repeated profile',
      '{"profiles":{\n"a":{},\n"a":{}}}',
      naming('config.json', 'line 3, column 1', 'key', '"a"', 'twice'),
    ],
    [
      'a repeated setting',
      '{"profiles":{"a":{"timeout":"1s","timeout":"2s"}}}',
      naming('config.json', 'line 1, column', 'key', '"timeout"', 'twice'),
    ],
    ['a number with too many digits', '{"n":12345678901234567890}', /line 1, column 6: 12345678901234567890/],
    ['a list', [], /one JSON object/],
    ['profiles is text', { profiles: 'x' }, /`profiles` must be an object/],
    ['a profile is a list', { profiles: { work: [] } }, /profile `work`/],
    ['a value is a number', { profiles: { work: { timeout: 5 } } }, /profile `work`/],
    ['current is a number', { current: 1 }, /`current`/],
  ])('%s', (_, file, message) => {
    expect(() => load({}, {}, file)).toThrow(
      expect.objectContaining({
        category: 'config',
        message: message instanceof RegExp ? expect.stringMatching(message) : message,
      }),
    );
  });

  test('an empty file has no settings', () => {
    expect(load({}, {}, '').profiles).toEqual(['mock']);
  });
});

test.each(['../up', '', '.hidden', 'a/b', 'a b', 'x'.repeat(65), '-x'])(
  'a profile name that leads to another directory is rejected: %j',
  (name) => {
    expect(() => load({ profile: name })).toThrow(expect.objectContaining({ category: 'config' }));
  },
);

describe('directories', () => {
  test.each<[string, FakeHostOptions, string, string]>([
    [
      'OPSCTL_HOME',
      { env: { OPSCTL_HOME: '/h', XDG_CONFIG_HOME: '/x' } },
      '/h/config/config.json',
      '/h/state/p',
    ],
    [
      'a relative OPSCTL_HOME',
      { env: { OPSCTL_HOME: 'h' } },
      '/place/h/config/config.json',
      '/place/h/state/p',
    ],
    ['XDG', { env: { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' } }, '/c/opsctl/config.json', '/s/opsctl/p'],
    [
      'a relative XDG directory is ignored',
      { env: { HOME: '/me', XDG_CONFIG_HOME: 'c' } },
      '/me/.config/opsctl/config.json',
      '/me/.local/state/opsctl/p',
    ],
    ['HOME', { env: { HOME: '/me' } }, '/me/.config/opsctl/config.json', '/me/.local/state/opsctl/p'],
    ['no HOME', {}, '/home/user/.config/opsctl/config.json', '/home/user/.local/state/opsctl/p'],
  ])('%s', covers('spec/program#settings-2'), (_, options, file, state) => {
    const host = fakeHost(options);
    expect(configFile(host)).toBe(file);
    expect(directoriesOf(host, 'p').state).toBe(state);
  });

  test('two profiles share no directory', () => {
    const host = fakeHost();
    const [a, b] = [directoriesOf(host, 'a'), directoriesOf(host, 'b')];
    for (const kind of ['config', 'state', 'cache'] as const) expect(a[kind]).not.toBe(b[kind]);
  });
});

test('the help text names every variable', () => {
  for (const { env } of keys)
    if (env !== undefined) expect(environmentRows().map(([name]) => name)).toContain(env);
});

describe('the owner of the configuration file', () => {
  type Facts = {
    readonly uid: number;
    readonly mode?: number;
    readonly kind?: 'link';
    readonly target?: string;
  };
  const check = (user: { uid: number; SUDO_UID?: string }, file: Facts, directory: Facts = { uid: 0 }) => {
    const { uid, ...env } = user;
    const host = fakeHost({ env: { OPSCTL_HOME: '/h', ...env }, files: { [FILE]: '{}' } });
    const info = async (path: string) => {
      const facts = path === FILE ? file : directory;
      const found = await host.files.info(path);
      return found === undefined ? undefined : { ...found, mode: 0o600, ...facts };
    };
    return refuseForeignConfiguration({ ...host, uid, files: { ...host.files, info } });
  };
  const refused = { category: 'config', detail: { code: 'CONFIG_UNTRUSTED' } };

  test.each([
    ['this user', { uid: 7 }, { uid: 7 }],
    ['root', { uid: 7 }, { uid: 0 }],
    ['the user who ran sudo', { uid: 0, SUDO_UID: '7' }, { uid: 7 }],
  ])('may be %s', async (_, user, file) => {
    await expect(check(user, file)).resolves.toBeUndefined();
  });

  test('may be the owner of its directory, as in a container with the directory of a user', async () => {
    await expect(check({ uid: 0 }, { uid: 7 }, { uid: 7 })).resolves.toBeUndefined();
  });

  test.each([
    ['another user', { uid: 7 }, { uid: 8 }],
    ['another user than root', { uid: 0 }, { uid: 65534 }],
    ['another user than the one who ran sudo', { uid: 0, SUDO_UID: '7' }, { uid: 8 }],
    [
      'another user, although SUDO_UID names that user and opsctl does not run as root',
      { uid: 7, SUDO_UID: '8' },
      { uid: 8 },
    ],
  ])('is never %s', async (_, user, file) => {
    await expect(check(user, file)).rejects.toMatchObject(refused);
  });

  test.each([
    ['another user', { uid: 8, mode: 0o644 }, naming('8', '0644'), 'chown 7'],
    ['every user', { uid: 7, mode: 0o100666 }, naming('7', '0666'), 'chmod o-w'],
  ])('%s: the refusal has the path, the owner, the mode and a command', async (_, file, reason, fix) => {
    await expect(check({ uid: 7 }, file)).rejects.toMatchObject({
      advice: naming(FILE, reason),
      detail: { tryThis: expect.arrayContaining([`${fix} ${FILE}`]) },
    });
  });

  /** Facts of the directories; root owns the others, and only root can write to them. */
  const checkAt = (
    home: Readonly<Record<string, string>>,
    facts: Readonly<Record<string, Facts | undefined>>,
  ) => {
    const host = fakeHost({ env: home });
    const files = {
      ...host.files,
      realPath: async (path: string) => (path in facts && facts[path] === undefined ? undefined : path),
      info: async (path: string) => {
        const one = { kind: 'directory', sizeBytes: 0, modifiedMs: 0, uid: 0, gid: 0, mode: 0o755 } as const;
        return path in facts && facts[path] === undefined ? undefined : { ...one, ...facts[path] };
      },
    };
    return refuseForeignConfiguration({ ...host, uid: 7, files });
  };
  const open = { uid: 0, mode: 0o1777 };
  const theirs = { uid: 8, mode: 0o755 };
  const own = { uid: 7, mode: 0o755 };
  test.each<[string, string, string, Readonly<Record<string, Facts | undefined>>]>([
    ['XDG_CONFIG_HOME', '/tmp', '/tmp/opsctl', { '/tmp/opsctl': theirs }],
    ['XDG_STATE_HOME', '/tmp', '/tmp/opsctl', { '/tmp/opsctl': theirs }],
    ['XDG_STATE_HOME', '/tmp/shared', '/tmp/shared', { '/tmp/shared': theirs, '/tmp/shared/opsctl': theirs }],
    ['OPSCTL_HOME', '/tmp/x', '/tmp/x', { '/tmp/x': theirs, '/tmp/x/config': theirs }],
    ['OPSCTL_HOME', '/tmp/x', '/tmp/x', { '/tmp/x': theirs, '/tmp/x/config': undefined }],
    ['OPSCTL_HOME', '/tmp/x', '/tmp/x', { '/tmp/x': theirs, '/tmp/x/config': own, '/tmp/x/state': own }],
    ['OPSCTL_HOME', '/tmp/x', '/tmp/x', { '/tmp/x': { ...theirs, kind: 'link', target: '/home/eve' } }],
    ['OPSCTL_HOME', '/tmp/a/b', '/tmp/a/b', { '/tmp/a': { uid: 7, mode: 0o777 }, '/tmp/a/b': theirs }],
  ])('another user cannot choose the content of %s=%s: %s in %j', async (name, value, planted, facts) => {
    const within = { '/tmp': open, '/home/eve': theirs, ...facts };
    await expect(checkAt({ [name]: value }, within)).rejects.toMatchObject({
      ...refused,
      advice: naming(planted, '8'),
      detail: { tryThis: expect.arrayContaining([expect.stringContaining(planted)]) },
    });
    await expect(
      checkAt({ [name]: value, OPSCTL_TRUSTED_DIRECTORIES: `/other:${planted}/` }, within),
    ).resolves.toBeUndefined();
    await expect(
      checkAt({ [name]: value, OPSCTL_TRUSTED_DIRECTORIES: '/tmp' }, within),
    ).rejects.toMatchObject(refused);
  });
  test('a mounted directory of another user may have the files of that user', async () => {
    const mounted = { '/home/a': theirs, '/home/a/config': theirs, '/home/a/config/config.json': theirs };
    await expect(checkAt({ OPSCTL_HOME: '/home/a' }, mounted)).resolves.toBeUndefined();
    const empty = { '/home/a': theirs, '/home/a/config': undefined, '/home/a/state': undefined };
    await expect(checkAt({ OPSCTL_HOME: '/home/a' }, empty)).resolves.toBeUndefined();
    const shared = { '/tmp': open, '/tmp/x': own, '/tmp/x/config': undefined };
    await expect(checkAt({ OPSCTL_HOME: '/tmp/x' }, shared)).resolves.toBeUndefined();
    await expect(
      checkAt({ OPSCTL_HOME: '/tmp/x' }, { '/tmp': open, '/tmp/x': undefined }),
    ).resolves.toBeUndefined();
  });

  test.each([
    ['0602', true],
    ['0666', true],
    ['0664', false],
    ['0644', false],
  ])('mode %s, writable for every user: %s', async (mode, isRefused) => {
    const checked = check({ uid: 7 }, { uid: 7, mode: Number.parseInt(mode, 8) });
    await (isRefused
      ? expect(checked).rejects.toMatchObject(refused)
      : expect(checked).resolves.toBeUndefined());
  });

  test('a missing file needs no owner', async () => {
    await expect(
      refuseForeignConfiguration(fakeHost({ env: { OPSCTL_HOME: '/h' } })),
    ).resolves.toBeUndefined();
  });
});
