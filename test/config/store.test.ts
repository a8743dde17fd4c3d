import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  changeProfiles,
  knownKey,
  profileToChange,
  storedValue,
  withCurrent,
  withoutSetting,
  withSetting,
} from '../../src/config/store.ts';
import { configFile } from '../../src/config/settings.ts';
import { loadSettings, type Profiles, readProfiles } from '../../src/config/load.ts';
import { type Holder, thisProcess } from '../../src/platform/file-lock.ts';
import type { Host } from '../../src/platform/host.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';
import { type Bed, expectEachEffectMayFail } from '../support/failing-effects.ts';
import { type Fault, traceHost } from '../support/trace.ts';

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
});
const timeout = knownKey('timeout');
const url = knownKey('tracker.url');

describe('the file', () => {
  test('the file is created with its directory, for the owner only, and read back', async () => {
    await changeProfiles(real.host, (stored) => withSetting(stored, 'work', url, 'https://t'));
    expect(readProfiles(real.host)).toEqual({ profiles: { work: { 'tracker.url': 'https://t' } } });
    expect(statSync(configFile(real.host)).mode & 0o777).toBe(0o600);
    expect(await real.host.files.list(`${real.directory}/opsctl/config`)).toEqual(['config.json']);
  });

  test('concurrent changes are all kept', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `p${i}`);
    await Promise.all(
      names.map((name) => changeProfiles(real.host, (stored) => withSetting(stored, name, timeout, '1s'))),
    );
    expect(Object.keys(readProfiles(real.host).profiles).sort()).toEqual(names);
  });

  test('an empty file is one without settings', async () => {
    await changeProfiles(real.host, (stored) => stored);
    await real.host.files.replace(configFile(real.host), '\n');
    await changeProfiles(real.host, (stored) => withSetting(stored, 'work', timeout, '1s'));
    expect(readProfiles(real.host)).toEqual({ profiles: { work: { timeout: '1s' } } });
  });

  test('a broken file is not overwritten', async () => {
    await changeProfiles(real.host, (stored) => stored);
    await real.host.files.replace(configFile(real.host), '{ broken');
    await expect(
      changeProfiles(real.host, (stored) => withSetting(stored, 'work', timeout, '1s')),
    ).rejects.toMatchObject({ category: 'config' });
    expect(await real.host.files.read(configFile(real.host))).toBe('{ broken');
    expect(await real.host.files.list(`${real.directory}/opsctl/config`)).toEqual(['config.json']);
  });

  test('a file with a repeated profile stays as it is', async () => {
    await changeProfiles(real.host, (stored) => stored);
    const text = '{"profiles":{"work":{"timeout":"1s"},"work":{}}}';
    await real.host.files.replace(configFile(real.host), text);
    const change = changeProfiles(real.host, (stored) => withSetting(stored, 'other', timeout, '1s'));
    await expect(change).rejects.toMatchObject({
      detail: {
        code: 'CONFIG_FILE',
        problems: [{ line: 1, message: naming('key', '"work"', 'twice'), hint: naming('one of the two') }],
      },
    });
    expect(await real.host.files.read(configFile(real.host))).toBe(text);
  });

  test('a directory that another user planted receives no settings', async () => {
    const { host, directory } = real;
    const info = async (path: string) => {
      const found = (await host.files.info(path)) ?? (await host.files.info('/'));
      if (found === undefined) return undefined;
      if (path === `${directory}/opsctl`) return { ...found, uid: host.uid + 1 };
      return path === directory ? { ...found, mode: 0o777 } : found;
    };
    const planted = { ...host, files: { ...host.files, info } };
    await expect(
      changeProfiles(planted, (stored) => withSetting(stored, 'work', timeout, '1s')),
    ).rejects.toMatchObject({ detail: { code: 'CONFIG_UNTRUSTED' } });
    expect(readProfiles(host)).toEqual({ profiles: {} });
  });

  test('a lock of a killed command is replaced', async () => {
    await changeProfiles(real.host, (stored) => stored);
    const lock = `${configFile(real.host)}.lock`;
    await real.host.files.create(
      lock,
      JSON.stringify({ ...thisProcess(real.host), mark: 'of an earlier process' }),
    );
    await changeProfiles(real.host, (stored) => withSetting(stored, 'work', timeout, '1s'));
    expect(readProfiles(real.host).profiles).toHaveProperty('work');
  });

  test('a lock that is held is named', async () => {
    await changeProfiles(real.host, (stored) => stored);
    await real.host.files.create(`${configFile(real.host)}.lock`, JSON.stringify(thisProcess(real.host)));
    let elapsed = 0;
    const hurried = { ...real.host, elapsed: () => (elapsed += 1000), sleep: async () => {} };
    await expect(changeProfiles(hurried, (stored) => stored)).rejects.toMatchObject({
      message: naming(real.host.pid, `${configFile(real.host)}.lock`),
      // The lock owner is still running: without the lock file, two processes would write at the same time.
      detail: {
        code: 'CONFIG_LOCKED',
        tryThis: [naming('command', 'again'), naming(`kill ${real.host.pid}`)],
      },
    });
  });

  test.each([
    ['another machine', { machine: 'other-host' }],
    ['another process namespace', { pidNamespace: 'pid:[7]' }],
    ['version 0.1.0 that may be in a container', { pidNamespace: undefined, machineId: undefined }],
  ])('the lock of %s is never replaced, and no message suggests ending its process', async (_, more) => {
    await changeProfiles(real.host, (stored) => stored);
    const lock = `${configFile(real.host)}.lock`;
    const owner = { ...thisProcess(real.host), pid: 4_194_303, sinceMs: 0, ...more };
    await real.host.files.create(lock, JSON.stringify(owner));
    let elapsed = 0;
    const hurried = { ...real.host, elapsed: () => (elapsed += 1000), sleep: async () => {} };
    const error = await changeProfiles(hurried, (stored) => stored).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ detail: { code: 'CONFIG_LOCKED' } });
    expect(JSON.stringify(error)).toContain(`rm ${lock}`);
    expect(JSON.stringify(error)).not.toContain('kill');
  });

  test(
    'a lock that passes from command to command is awaited, for any number of commands',
    covers('defect/S4-9'),
    async () => {
      await changeProfiles(real.host, (stored) => stored);
      const lock = `${configFile(real.host)}.lock`;
      const heldBy = (holder: Holder) => real.host.files.replace(lock, JSON.stringify(holder));
      let [elapsed, left] = [0, 8];
      await heldBy(thisProcess(real.host));
      const queued: Host = {
        ...real.host,
        elapsed: () => elapsed,
        sleep: async () => {
          elapsed += 10_000;
          left -= 1;
          await (left > 0 ? heldBy(thisProcess(real.host)) : real.host.files.remove(lock));
        },
      };
      await changeProfiles(queued, (stored) => withSetting(stored, 'work', timeout, '1s'));
      expect([left, readProfiles(real.host).profiles]).toEqual([0, { work: { timeout: '1s' } }]);
    },
  );
});

describe('selection of the profile to change', () => {
  const settings = (flags: Record<string, string> = {}) => loadSettings(real.host, flags);
  test('the one in use, the one named, and never the mock for a real service', () => {
    expect(profileToChange(settings({ profile: 'work' }), url)).toBe('work');
    expect(profileToChange(settings(), url)).toBe('default');
    expect(profileToChange(settings(), timeout)).toBe('mock');
    expect(profileToChange(settings({ profile: 'mock' }), timeout)).toBe('mock');
    expect(() => profileToChange(settings({ profile: 'mock' }), url)).toThrow(
      expect.objectContaining({ category: 'config' }),
    );
  });

  test('the first real profile becomes the one in use, a named one does not', () => {
    const empty: Profiles = { profiles: {} };
    expect(withSetting(empty, 'default', url, 'https://t').current).toBe('default');
    expect(withSetting(empty, 'work', url, 'https://t').current).toBeUndefined();
    expect(withSetting({ current: 'work', profiles: {} }, 'default', url, 'https://t').current).toBe('work');
  });
});

describe('values', () => {
  test.each([
    ['ca_file', 'ca.pem', '/home/ana/ca.pem'],
    ['ca_file', '../ca.pem', '/home/ca.pem'],
    ['auth.identity_token_file', '/run/token', '/run/token'],
    ['tracker.url', 'https://t.example', 'https://t.example'],
    ['ca_file', '', ''],
  ])('%s %s is stored as %s', (name, value, stored) => {
    expect(storedValue(knownKey(name), value, '/home/ana')).toBe(stored);
  });

  test.each<[string, string, string]>([
    ['tracker.url', 'http://t.example', 'usage'],
    ['tracker.url', 'nonsense', 'usage'],
    ['tracker.token_header', 'two words', 'usage'],
    ['tracker.token_header', 'Host', 'usage'],
    ['tracker.token_header', 'content-type', 'usage'],
    ['mock', 'always', 'usage'],
    ['timeout', '', 'usage'],
    ['timeout', '0', 'usage'],
    ['max_time', '25d', 'usage'],
    ['rate_per_minute', 'many', 'usage'],
    ['rate_share', '0', 'usage'],
    ['auth.method', 'browsr', 'usage'],
    ['auth.client_auth', 'post', 'usage'],
  ])('%s = %j is refused (%s)', (name, value, category) => {
    expect(() => withSetting({ profiles: {} }, 'work', knownKey(name), value)).toThrow(
      expect.objectContaining({ category }),
    );
  });

  test('unset keeps the profile, so that its name stays known', () => {
    const stored = { profiles: { work: { timeout: '1s', mock: 'never' }, other: { timeout: '2s' } } };
    expect(withoutSetting(stored, 'work', timeout).profiles).toEqual({
      work: { mock: 'never' },
      other: { timeout: '2s' },
    });
    expect(withoutSetting({ profiles: {} }, 'work', timeout).profiles).toEqual({ work: {} });
  });

  test('use takes a known profile', () => {
    expect(withCurrent({ profiles: { work: {} } }, 'work').current).toBe('work');
    expect(withCurrent({ profiles: {} }, 'mock').current).toBe('mock');
    expect(() => withCurrent({ profiles: { work: {} } }, 'wrk')).toThrow(
      expect.objectContaining({
        category: 'config',
        message: expect.stringContaining('mock, work'),
        detail: expect.objectContaining({ tryThis: ['opsctl config use work'] }),
      }),
    );
  });

  test('an unknown key names the nearest', () => {
    expect(() => knownKey('tracker.ulr')).toThrow(/did you mean tracker\.url/);
    expect(() => knownKey('zzzzzzzzzzzz')).toThrow(expect.objectContaining({ category: 'usage' }));
  });
});

const privateName = /^\.config\.json\.\d+\.[0-9a-f]{16}\.conf$/;
test('conf stores in a new private directory, and the change removes it', async () => {
  const seen: (readonly [number, number, string])[] = [];
  const names: string[] = [];
  const files: Host['files'] = {
    ...real.host.files,
    remove: async (path) => {
      if (privateName.test(basename(path))) {
        const stored = `${path}/config.json`;
        names.push(basename(path));
        seen.push([statSync(path).mode & 0o777, statSync(stored).mode & 0o777, readFileSync(stored, 'utf8')]);
      }
      await real.host.files.remove(path);
    },
  };
  const host = { ...real.host, files };
  await changeProfiles(host, (now) => withSetting(now, 'work', timeout, '1s'));
  await changeProfiles(host, (now) => withSetting(now, 'work', timeout, '2s'));
  const textWith = (value: string) =>
    `{\n\t"profiles": {\n\t\t"work": {\n\t\t\t"timeout": "${value}"\n\t\t}\n\t}\n}\n`;
  expect(seen).toEqual([
    [0o700, 0o600, textWith('1s')],
    [0o700, 0o600, textWith('2s')],
  ]);
  expect(new Set(names).size).toBe(2);
  expect(await real.host.files.read(configFile(real.host))).toBe(textWith('2s'));
  expect(await real.host.files.list(`${real.directory}/opsctl/config`)).toEqual(['config.json']);
});

test('a change removes the private directory of a killed command, and no other entry', async () => {
  await changeProfiles(real.host, (stored) => stored);
  const { files } = real.host;
  const directory = `${real.directory}/opsctl/config`;
  const left = (pid: number) => `.config.json.${pid}.0123456789abcdef.conf`;
  await files.makeDirectory(`${directory}/${left(1)}`, 0o700);
  await files.replace(`${directory}/${left(1)}/config.json`, '{"profiles":{"left":{}}}', 0o600);
  // The user may have files and directories with all of these names.
  await files.makeDirectory(`${directory}/config.json.new`, 0o700);
  await files.replace(`${directory}/config.json.new/notes`, 'mine');
  await files.makeDirectory(`${directory}/${left(2)}`, 0o700);
  await files.setMode(`${directory}/${left(2)}`, 0o755);
  await files.replace(`${directory}/${left(3)}`, 'mine', 0o700);
  await files.makeDirectory(`${directory}/.config.json.old.conf`, 0o700);
  await changeProfiles(real.host, (stored) => withSetting(stored, 'work', timeout, '1s'));
  expect((await files.list(directory)).toSorted()).toEqual(
    ['.config.json.old.conf', left(2), left(3), 'config.json', 'config.json.new'].toSorted(),
  );
  expect(await files.read(`${directory}/config.json.new/notes`)).toBe('mine');
  expect(await files.read(`${directory}/${left(3)}`)).toBe('mine');
});

test('the private directory of another user stays', async () => {
  await changeProfiles(real.host, (stored) => stored);
  const name = '.config.json.1.0123456789abcdef.conf';
  await real.host.files.makeDirectory(`${real.directory}/opsctl/config/${name}`, 0o700);
  const files: Host['files'] = {
    ...real.host.files,
    info: async (path) => {
      const info = await real.host.files.info(path);
      return info !== undefined && basename(path) === name ? { ...info, uid: info.uid + 1 } : info;
    },
  };
  await changeProfiles({ ...real.host, files }, (stored) => stored);
  expect(await real.host.files.list(`${real.directory}/opsctl/config`)).toContain(name);
});

test('a disk that fills up while the file is written leaves the old one', covers('defect/R-24'), async () => {
  await changeProfiles(real.host, (stored) => withSetting(stored, 'work', timeout, '1s'));
  const full: Host['files'] = {
    ...real.host.files,
    replace: async () => {
      throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
    },
  };
  await expect(
    changeProfiles({ ...real.host, files: full }, (stored) => withSetting(stored, 'work', timeout, '2s')),
  ).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(await real.host.files.list(`${real.directory}/opsctl/config`)).toEqual(['config.json']);
  expect(readProfiles(real.host).profiles['work']).toEqual({ timeout: '1s' });
});

describe('each effect of a change of the settings', () => {
  /** A process of the machine whose clock advances with each wait. All other processes have ended. */
  const processOf = (pid: number): Host => {
    let waitedMs = 0;
    const { host } = real;
    const sleep: Host['sleep'] = async (ms, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      waitedMs += ms;
    };
    const isAlive = (one: number): boolean => one === pid;
    const elapsed = (): number => waitedMs;
    return { ...host, pid, sleep, elapsed, processes: { ...host.processes, isAlive } };
  };
  const bedWith =
    (change: (stored: Profiles) => Profiles, wanted: Profiles['profiles']) =>
    async (fault: Fault | undefined): Promise<Bed> => {
      real = await realHost();
      const before = { other: { 'tracker.url': 'https://other' }, work: { timeout: '1s' } };
      await changeProfiles(real.host, () => ({ profiles: before }));
      const traced = traceHost(processOf(5001), { fault });
      const stored = (): string => JSON.stringify(readProfiles(real.host).profiles);
      return {
        start: () => ({ traced, result: changeProfiles(traced.host, change) }),
        check: async (ended) => {
          const allowed = [...(ended.kind === 'ended' ? [] : [before]), wanted].map((one) =>
            JSON.stringify(one),
          );
          const first = stored();
          await changeProfiles(processOf(5002), change);
          const left = await real.host.files.list(`${real.directory}/opsctl/config`);
          return [
            ...(allowed.includes(first) ? [] : [`the settings are ${first} after the first run`]),
            ...(stored() === JSON.stringify(wanted) ? [] : [`the settings are ${stored()} at the end`]),
            ...left.filter((name) => name !== 'config.json').map((name) => `${name} is left`),
          ];
        },
      };
    };
  test.each<[string, (stored: Profiles) => Profiles, Profiles['profiles']]>([
    [
      'a new value',
      (stored) => withSetting(stored, 'work', url, 'https://t'),
      { other: { 'tracker.url': 'https://other' }, work: { timeout: '1s', 'tracker.url': 'https://t' } },
    ],
    [
      'a removed value',
      (stored) => withoutSetting(stored, 'work', timeout),
      { other: { 'tracker.url': 'https://other' }, work: {} },
    ],
  ])('%s is stored completely or not at all, and the next change succeeds', async (_, change, wanted) => {
    await expectEachEffectMayFail(bedWith(change, wanted), 12);
  });
});
