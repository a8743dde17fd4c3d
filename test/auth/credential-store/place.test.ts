import { describe, expect, test } from 'vitest';
import type { AuthContext } from '../../../src/auth/auth-context.ts';
import {
  listLocations,
  indexPath,
  makeKey,
  placeIndex,
  credentialLocation,
  placeOf,
  placesOfAllProfiles,
  profileOfServer,
  readKey,
} from '../../../src/auth/credential-store/store.ts';
import type { Keychain } from '../../../src/platform/host.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { naming, errorWith } from '../../support/facts.ts';
import { partlyMade } from '../../support/context.ts';

const run = (index?: unknown, origin = 'default') => {
  const text = typeof index === 'string' ? index : JSON.stringify(index);
  const host = fakeHost({ files: index === undefined ? {} : { '/home/o/sign-ins.json': text } });
  const settings = {
    profile: { name: 'default', origin },
    directories: { state: '/home/o/default' },
  };
  return partlyMade<AuthContext>({ host, settings });
};
const names = (places: readonly { readonly profile: string }[]) => places.map(({ profile }) => profile);

describe('locations of credentials', () => {
  test('without a list of sign-ins all credentials are in the own profile', () => {
    expect(indexPath(run())).toBe('/home/o/sign-ins.json');
    expect(placeIndex(run())).toBeUndefined();
    expect(placeOf(run(), 'https://x.example')).toEqual({ profile: 'default', directory: '/home/o/default' });
    expect(names(listLocations(run()))).toEqual(['default']);
  });

  test('with a list each server has a location; a named profile contains all of them', () => {
    const index = { current: 'x.example', profiles: ['x.example', 'y.example'] };
    expect(placeIndex(run(index))).toEqual(index);
    expect(placeIndex(run(index, 'flag'))).toBeUndefined();
    expect(placeOf(run(index), 'https://y.example')).toEqual({
      ...{ profile: 'y.example', directory: '/home/o/y.example' },
    });
    expect(names(listLocations(run(index)))).toEqual(['x.example', 'y.example', 'default']);
    expect(names(placesOfAllProfiles(run(index), ['a', 'x.example']))).toEqual([
      'a',
      'x.example',
      'y.example',
    ]);
    expect(names(placesOfAllProfiles(run(), ['a']))).toEqual(['a']);
    expect(credentialLocation(run(), 'default').directory).toBe('/home/o/default');
    expect(credentialLocation(run(), 'other').directory).toBe('/home/o/other');
  });

  test.each([
    'null',
    '{',
    { current: 'a' },
    { profiles: [] },
    { current: '../x', profiles: [] },
    { current: 'a', profiles: ['.hidden'] },
    { current: 'a', profiles: [7] },
  ])('a list that cannot be one is refused: %j', (index) => {
    expect(() => placeIndex(run(index))).toThrow('cannot be read');
  });

  test.each([
    ['mock', 'own'],
    ['no url', 'server'],
    ['http://127.0.0.1:8080/realm', 'localhost'],
    ['https://id.example', 'id.example'],
    ['https://id.example:8443/realms/a b/', 'id.example-8443-realms-a-20b'],
    [`https://id.example/${'a'.repeat(53)}`, `id.example-${'a'.repeat(53)}`],
  ])('the profile of %s is %s', (server, name) => {
    expect(profileOfServer(server, 'own')).toBe(name);
  });

  test('a name that is too long gets a unique suffix', () => {
    const [a, b] = ['a', 'b'].map((end) =>
      profileOfServer(`https://id.example/${'x'.repeat(60)}${end}`, 'own'),
    );
    expect([a?.length, b?.length]).toEqual([64, 64]);
    expect(a).toMatch(/^id\.example-x+-[0-9a-f]{12}$/);
    expect(a).not.toBe(b);
  });
});

describe('the key of a credential store', () => {
  const store = (keychain?: Partial<Keychain>, files: Record<string, string> = {}, allowsKeychain = true) => {
    const said: string[] = [];
    const host = fakeHost({ files });
    const guarded = {
      ...host.files,
      info: async (path: string) => {
        const info = await host.files.info(path);
        return info === undefined ? undefined : { ...info, mode: 0o600 };
      },
    };
    const made = keychain === undefined ? {} : { keychain: keychain as Keychain };
    return {
      ...{ host: { ...host, files: guarded, ...made }, directory: '/d', profile: 'p', allowsKeychain, said },
      log: (text: string) => said.push(text),
    };
  };
  const memory = (): Partial<Keychain> & { kept: Map<string, string> } => {
    const kept = new Map<string, string>();
    return {
      kept,
      get: async (service, name) => kept.get(`${service} ${name}`),
      set: async (service, name, text) => void kept.set(`${service} ${name}`, text),
    };
  };
  const reject = () => Promise.reject(new Error('closed'));

  test('the key is in the keychain if it responds, otherwise in a separate file with a warning', async () => {
    const keychain = memory();
    const made = await makeKey(store(keychain));
    expect(made.place).toBe('keychain');
    expect([...keychain.kept.keys()]).toEqual(['opsctl p /d']);
    expect(await readKey(store(keychain), 'keychain', '/c')).toEqual(made.bytes);
    expect((await makeKey(store(memory(), {}, false))).place).toBe('file');
    const closed = store({ get: reject, set: reject });
    expect((await makeKey(closed)).place).toBe('file');
    expect(closed.said).toEqual([expect.stringContaining('keychain')]);
    const forgetful = store({ get: async () => undefined, set: async () => {} });
    expect((await makeKey(forgetful)).place).toBe('file');
    expect(forgetful.said).toEqual([]);
  });

  test('a key file is reused, unless a killed command wrote only a part of it', async () => {
    const first = store();
    const made = await makeKey(first);
    expect(made.bytes).toHaveLength(32);
    expect(await makeKey(first)).toEqual(made);
    expect(await readKey(first, 'file', '/c')).toEqual(made.bytes);
    const half = store(undefined, { '/d/credentials.key': 'aGFsZg==' });
    expect((await makeKey(half)).bytes).toHaveLength(32);
    expect(half.host.files.readNow('/d/credentials.key')).not.toBe('aGFsZg==');
  });

  test('an unavailable key is an error, not an empty store', async () => {
    await expect(readKey(store(), 'file', '/c')).rejects.toThrow(
      errorWith('CREDENTIALS_UNREADABLE', '/d/credentials.key', 'missing'),
    );
    const short = store(undefined, { '/d/credentials.key': 'aGFsZg==' });
    await expect(readKey(short, 'file', '/c')).rejects.toThrow(
      errorWith('CREDENTIALS_UNREADABLE', 'credentials', 'wrong'),
    );
    await expect(readKey(store(), 'keychain', '/c')).rejects.toMatchObject({
      message: expect.stringContaining('which is not available here'),
      detail: { tryThis: expect.arrayContaining([naming('keychain', 'unlock', 'session')]) },
    });
    await expect(readKey(store({ get: reject }), 'keychain', '/c')).rejects.toThrow('(closed)');
    const odd = { get: () => Promise.reject('odd') };
    await expect(readKey(store(odd), 'keychain', '/c')).rejects.toThrow('(unknown cause)');
    await expect(readKey(store(memory()), 'keychain', '/c')).rejects.toThrow(
      errorWith('CREDENTIALS_UNREADABLE', 'keychain', 'credentials'),
    );
  });
});
