import { beforeEach, describe, expect, it } from 'vitest';
import { shortPath } from '../../src/config/settings.ts';
import type { Logger } from '../../src/api/context.ts';
import { mockDirectory } from '../../src/commands/mock/embedded.ts';
import { targetMark } from '../../src/api/audit.ts';
import { makeReach } from '../../src/commands/target.ts';
import { loadSettings } from '../../src/config/load.ts';
import { claimDirectory } from '../../src/mock-server/instance-lock.ts';
import { AppError } from '../../src/core/problem.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';

let machine: RealHost;
let said: string[];
const begin = async (env: Record<string, string> = {}) => {
  machine = await realHost(env);
  return makeReach({ host: machine.host, settings: loadSettings(machine.host, {}), log: listening() });
};
const listening = (): Logger => ({
  info: (text) => said.push(text),
  warn: (text) => said.push(`warning: ${text}`),
  warnOnce: (_key, text) => said.push(text),
  debug: () => {},
  status: async () => ({ update: () => {}, stop: () => {} }),
  hide: (secret) => said.push(`hidden ${secret}`),
});
beforeEach(() => {
  said = [];
});

const get = async (baseUrl: string, path: string, headers: Readonly<Record<string, string>>) =>
  (await machine.host.network.request({ method: 'GET', url: baseUrl + path, headers })).status;

/** Publishes a mock server of the state directory, as recorded in its file. */
const published = async (tracker: object): Promise<void> => {
  const directory = mockDirectory(loadSettings(machine.host, {}));
  const mine = await claimDirectory(machine.host, directory, { what: 'the test', waitMs: 1000 });
  if (mine.kind !== 'owned') throw new Error('somebody else has the directory');
  const url = 'http://127.0.0.1:4711';
  await mine.publish({
    url,
    ready: { ready: true, url, tracker: { base_url: url, token: 't', ...tracker } },
  });
};
const paceAt = async (url: string, env: Record<string, string>, tracker: object) => {
  const { reach } = await begin({ OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 't', ...env });
  await published(tracker);
  return (await reach('tracker')).rateKey;
};

describe('a URL of version 2', () => {
  it.each(['http://127.0.0.1:4711/api/v2', 'https://tracker.example/api/v2/'])(
    'a URL of version 2 is rejected with the current one: %s',
    async (url) => {
      const { reach } = await begin({ OPSCTL_TRACKER_URL: url, OPSCTL_TRACKER_TOKEN: 't' });
      const error = await reach('tracker').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ category: 'config', detail: { code: 'PREVIOUS_API_VERSION' } });
      expect((error as AppError).detail.tryThis?.[0]).toContain('/api/v3');
    },
  );
});
describe('the pace of a tracker that is named by its URL', () => {
  const off = { rate_limit: 'off' };
  it('the mock server of the state directory without a limit has no rate limit', async () => {
    expect(await paceAt('http://127.0.0.1:4711', {}, off)).toBeUndefined();
  });
  it.each([
    ['the mock has a limit', 'http://127.0.0.1:4711', {}, {}],
    ['another server of this machine', 'http://127.0.0.1:4712', {}, off],
    ['the user set a rate', 'http://127.0.0.1:4711', { OPSCTL_RATE_PER_MINUTE: '50' }, off],
  ])(
    'the rate limit of a tracker with a URL is kept: %s',
    covers('setting/rate_per_minute'),
    async (_, url, env, tracker) => {
      expect(await paceAt(url, env, tracker)).toMatch(/^mock-127\.0\.0\.1-471\d$/);
    },
  );
});

const jwt = (claims: object): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
const person = { iss: 'https://login.example', sub: 'ada', aud: 'api' };
describe('the account of a target', () => {
  const urls = { OPSCTL_TRACKER_URL: 'https://t.example', OPSCTL_LABELS_URL: 'https://l.example' };
  const markOf = async (service: 'tracker' | 'labels', env: Record<string, string>): Promise<string> => {
    const { reach } = await begin({ ...urls, ...env });
    return targetMark(await reach(service));
  };
  it.each([
    ['labels', 'OPSCTL_LABELS_TOKEN', 'ya29.one', 'ya29.two', false],
    ['labels', 'OPSCTL_LABELS_TOKEN', jwt({ ...person, exp: 1 }), jwt({ ...person, exp: 2 }), true],
    ['labels', 'OPSCTL_LABELS_TOKEN', jwt(person), jwt({ ...person, sub: 'bob' }), false],
    ['labels', 'OPSCTL_ACCESS_TOKEN', 'ya29.one', 'ya29.two', false],
    ['labels', 'OPSCTL_ACCESS_TOKEN', jwt({ ...person, org: 1 }), jwt({ ...person, org: 2 }), false],
    ['labels', 'OPSCTL_ACCESS_TOKEN', jwt(person), jwt({ ...person, iss: 'https://other.example' }), false],
    ['tracker', 'OPSCTL_TRACKER_TOKEN', jwt({ ...person, exp: 1 }), jwt({ ...person, exp: 2 }), false],
    ['tracker', 'OPSCTL_TRACKER_TOKEN', 'workspace-1', 'workspace-2', false],
  ] as const)('%s with another %s: %s and %s are one account: %s', async (service, key, one, two, isOne) => {
    const more = { OPSCTL_API_URL: 'https://a.example', OPSCTL_TRACKER_TOKEN_HEADER: 'Authorization' };
    const first = await markOf(service, { ...more, [key]: one });
    expect((await markOf(service, { ...more, [key]: two })) === first).toBe(isOne);
  });
});
describe('resolution of the services', () => {
  it(
    'one embedded server provides all services without a configuration',
    covers('spec/program#settings-3', 'spec/program#mock-server-1'),
    async () => {
      const { reach, close } = await begin();
      const [tracker, labels, api] = await Promise.all([reach('tracker'), reach('labels'), reach('api')]);
      expect(new Set([tracker.baseUrl, labels.baseUrl, api.baseUrl]).size).toBe(1);
      expect([
        tracker.isMock,
        await get(tracker.baseUrl, '/api/v3/labels', tracker.headers),
        await get(labels.baseUrl, '/v2beta/labels', labels.headers),
      ]).toEqual([true, 200, 200]);
      expect(said).toEqual([expect.stringContaining('using the embedded mock server (state: ')]);
      await close();
      expect(
        await machine.host.network.canConnect('127.0.0.1', Number(new URL(tracker.baseUrl).port), 500),
      ).toBe(false);
    },
  );

  it('lets the next command have the state when it is done', async () => {
    const first = await begin();
    await first.reach('tracker');
    await first.close();
    const second = makeReach({
      host: machine.host,
      settings: loadSettings(machine.host, {}),
      log: listening(),
    });
    expect((await second.reach('tracker')).isMock).toBe(true);
    await second.close();
  });

  it(
    'the environment sets the URL, with the token in its header and hidden',
    covers(
      'setting/tracker.url',
      'setting/tracker.token',
      'setting/tracker.token_header',
      'setting/labels.url',
      'setting/labels.token',
    ),
    async () => {
      const { reach, close } = await begin({
        OPSCTL_TRACKER_URL: 'https://tracker.example',
        OPSCTL_TRACKER_TOKEN: 'my-token',
        OPSCTL_TRACKER_TOKEN_HEADER: 'X-Own-Token',
        OPSCTL_LABELS_URL: 'https://labels.example',
        OPSCTL_LABELS_TOKEN: 'their-token',
      });
      expect(await reach('tracker')).toMatchObject({
        baseUrl: 'https://tracker.example',
        headers: { 'x-own-token': 'my-token' },
        isMock: false,
      });
      expect(await reach('labels')).toMatchObject({
        baseUrl: 'https://labels.example',
        headers: { authorization: 'Bearer their-token' },
        isMock: false,
      });
      expect(said).toEqual(['hidden my-token', 'hidden their-token']);
      await close();
    },
  );

  it.each([
    ['a token without a URL', { OPSCTL_TRACKER_TOKEN: 'x' }],
    ['another profile without a URL', { OPSCTL_PROFILE: 'work' }],
    ['the mock turned off', { OPSCTL_MOCK: 'never' }],
    [
      'plain HTTP to another machine',
      { OPSCTL_TRACKER_URL: 'http://tracker.example', OPSCTL_TRACKER_TOKEN: 'x' },
    ],
  ])('no service is resolved with %s, and no server is started', async (_name, env) => {
    const { reach, close } = await begin(env);
    const error = await reach('tracker').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).category).toBe('config');
    expect(said).toEqual([]);
    await close();
  });
});

it.each([
  ['/home/ada', '/home/ada/.local/state', '~/.local/state'],
  ['/home/ada', '/home/adam/state', '/home/adam/state'],
  ['/home/ada', '/home/ada', '/home/ada'],
  ['/', '/var/state', '/var/state'],
  [undefined, '/var/state', '/var/state'],
])('shortPath with HOME %s writes %s as %s', (HOME, path, short) => {
  expect(shortPath({ env: { HOME } }, path)).toBe(short);
});
