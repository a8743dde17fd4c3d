import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { type Resolved, checkedUrl, resolveTarget } from '../../src/config/resolve-target.ts';
import { withCaFile } from '../../src/config/settings.ts';
import { fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';
import { naming } from '../support/facts.ts';

type Service = 'tracker' | 'labels' | 'auth' | 'api';
const stored = { profiles: { work: { 'tracker.url': 'https://t.example' }, empty: {} } };
const settings = (env: Record<string, string>, flags: Record<string, string> = {}) =>
  loadSettings(
    fakeHost({
      env: { OPSCTL_HOME: '/h', ...env },
      files: { '/h/config/config.json': JSON.stringify(stored) },
    }),
    flags,
  );
const resolve = (
  service: Service,
  env: Record<string, string> = {},
  flags: Record<string, string> = {},
): Resolved => resolveTarget(settings(env, flags), service);

test.each<Service>(['tracker', 'labels', 'auth', 'api'])(
  '%s is the mock server without any configuration',
  covers('spec/program#settings-3'),
  (service) => {
    expect(resolve(service)).toEqual({ kind: 'mock' });
  },
);

describe('a configured service', () => {
  test.each<[Service, Record<string, string>, object]>([
    [
      'tracker',
      { OPSCTL_TRACKER_URL: 'https://t/', OPSCTL_TRACKER_TOKEN: 'k' },
      { baseUrl: 'https://t', token: 'k', header: 'Tracker-Token', prefix: '' },
    ],
    [
      'tracker',
      {
        OPSCTL_TRACKER_URL: 'https://t',
        OPSCTL_TRACKER_TOKEN: 'k',
        OPSCTL_TRACKER_TOKEN_HEADER: 'X-Real-Token',
      },
      { header: 'X-Real-Token', token: 'k', origin: 'environment OPSCTL_TRACKER_URL' },
    ],
    [
      'labels',
      { OPSCTL_LABELS_URL: 'https://l/base/', OPSCTL_LABELS_TOKEN: 'k' },
      { baseUrl: 'https://l/base', header: 'Authorization', prefix: 'Bearer ', token: 'k' },
    ],
    ['labels', { OPSCTL_LABELS_URL: 'https://l', OPSCTL_ACCESS_TOKEN: 'a' }, { token: 'a' }],
    [
      'labels',
      { OPSCTL_LABELS_URL: 'https://l', OPSCTL_ACCESS_TOKEN: 'a', OPSCTL_LABELS_TOKEN: 'k' },
      { token: 'k' },
    ],
    ['labels', { OPSCTL_LABELS_URL: 'https://l' }, { token: undefined }],
    [
      'api',
      { OPSCTL_API_URL: 'http://127.0.0.1:8080', OPSCTL_ACCESS_TOKEN: 'a' },
      { baseUrl: 'http://127.0.0.1:8080', token: 'a' },
    ],
    [
      'auth',
      { OPSCTL_TOKEN_URL: 'https://a/token', OPSCTL_CLIENT_SECRET: 's' },
      { baseUrl: 'https://a/token', token: undefined },
    ],
  ])('%s with %j', covers('setting/api.url'), (service, env, expected) => {
    expect(resolve(service, env)).toMatchObject({ kind: 'configured', ...expected });
  });

  test('a profile that is not stored is a typing mistake, for any source of the URL', () => {
    const env = { OPSCTL_PROFILE: 'wrk', OPSCTL_TRACKER_URL: 'https://t', OPSCTL_TRACKER_TOKEN: 'k' };
    expect(() => resolve('tracker', env)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('"wrk" (environment OPSCTL_PROFILE)'),
        detail: expect.objectContaining({ code: 'PROFILE_UNKNOWN', tryThis: ['OPSCTL_PROFILE=work'] }),
      }),
    );
  });

  test.each(['tracker', 'labels', 'api'] as const)(
    'an unknown profile names the URL setting of %s',
    (service) => {
      expect(() => resolve(service, { OPSCTL_PROFILE: 'production' })).toThrow(
        expect.objectContaining({
          detail: expect.objectContaining({
            tryThis: [`opsctl config set ${service}.url https://… --profile production`],
          }),
        }),
      );
    },
  );

  test('a tracker without a token needs a sign-in', () => {
    expect(() => resolve('tracker', { OPSCTL_PROFILE: 'work' })).toThrow(
      expect.objectContaining({ category: 'auth', detail: expect.objectContaining({ code: 'NO_TOKEN' }) }),
    );
  });
});

// spec/program#settings: a script must never believe that it changed a real service when it changed the mock.
describe('guards against a mistaken mock', () => {
  test.each<[string, Service, Record<string, string>, Record<string, string>, string, RegExp]>([
    [
      'a token without a URL',
      'tracker',
      { OPSCTL_TRACKER_TOKEN: 'k' },
      {},
      'TOKEN_WITHOUT_URL',
      /tracker\.token.*OPSCTL_TRACKER_TOKEN.*tracker\.url/,
    ],
    ['the same for labels', 'labels', { OPSCTL_LABELS_TOKEN: 'k' }, {}, 'TOKEN_WITHOUT_URL', /labels\.url/],
    [
      'an access token with no URL at all',
      'labels',
      { OPSCTL_ACCESS_TOKEN: 'k' },
      {},
      'TOKEN_WITHOUT_URL',
      /access_token/,
    ],
    ['the same for the data API', 'api', { OPSCTL_ACCESS_TOKEN: 'k' }, {}, 'TOKEN_WITHOUT_URL', /api\.url/],
    [
      'a client secret without a URL',
      'auth',
      { OPSCTL_CLIENT_SECRET: 'k' },
      {},
      'TOKEN_WITHOUT_URL',
      /auth\.issuer/,
    ],
    [
      'a profile without a URL',
      'tracker',
      { OPSCTL_PROFILE: 'empty' },
      {},
      'PROFILE_WITHOUT_URL',
      /`empty` \(environment OPSCTL_PROFILE\)/,
    ],
    [
      'the same by flag',
      'labels',
      {},
      { profile: 'work' },
      'PROFILE_WITHOUT_URL',
      /`work` \(flag --profile\).*labels\.url/,
    ],
    [
      'an unknown profile',
      'tracker',
      { OPSCTL_PROFILE: 'wrok' },
      {},
      'PROFILE_UNKNOWN',
      /profiles: empty, mock, work/,
    ],
    [
      'OPSCTL_MOCK=never',
      'tracker',
      { OPSCTL_MOCK: 'never' },
      {},
      'NO_URL',
      /turned off \(environment OPSCTL_MOCK\)/,
    ],
    [
      'another word in OPSCTL_MOCK',
      'tracker',
      { OPSCTL_MOCK: 'false' },
      {},
      'MOCK_SETTING',
      /can only be `never`/,
    ],
  ])('%s', covers('spec/program#settings-4'), (_, service, env, flags, code, message) => {
    expect(() => resolve(service, env, flags)).toThrow(
      expect.objectContaining({
        category: 'config',
        message: expect.stringMatching(message),
        detail: expect.objectContaining({ code }),
      }),
    );
  });

  test('configurations that do not trigger the guards', () => {
    expect(resolve('labels', { OPSCTL_ACCESS_TOKEN: 'a', OPSCTL_API_URL: 'https://a' })).toEqual({
      kind: 'mock',
    });
    expect(resolve('labels', { OPSCTL_TRACKER_TOKEN: 'k', OPSCTL_TRACKER_URL: 'https://t' })).toEqual({
      kind: 'mock',
    });
    expect(resolve('tracker', { OPSCTL_PROFILE: 'mock' })).toEqual({ kind: 'mock' });
    expect(
      resolve('tracker', {
        OPSCTL_MOCK: 'never',
        OPSCTL_TRACKER_URL: 'https://t',
        OPSCTL_TRACKER_TOKEN: 'k',
      }),
    ).toMatchObject({
      kind: 'configured',
    });
  });

  test('no message repeats a secret', () => {
    expect(() => resolve('tracker', { OPSCTL_TRACKER_TOKEN: 'top-secret-1' })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('top-secret-1') }),
    );
  });
});

describe('URLs', () => {
  test.each<[string, string]>([
    ['http://tracker.example.com', 'PLAIN_HTTP'],
    ['http://10.0.0.5:8080', 'PLAIN_HTTP'],
    ['http://127.0.0.1.evil.com', 'PLAIN_HTTP'],
    ['http://localhost.evil.com', 'PLAIN_HTTP'],
    ['HTTP://tracker.example.com', 'PLAIN_HTTP'],
    ['tracker.example.com', 'URL_MALFORMED'],
    ['localhost:8080', 'URL_MALFORMED'],
    ['https:/one-slash', 'URL_MALFORMED'],
    ['https://', 'URL_MALFORMED'],
    ['ftp://x', 'URL_MALFORMED'],
    ['file:///etc/passwd', 'URL_MALFORMED'],
    ['https://me:pass@x', 'URL_MALFORMED'],
    ['https://x/#part', 'URL_MALFORMED'],
  ])('%s is refused: %s', (url, code) => {
    const act = () => checkedUrl(settings({ OPSCTL_TRACKER_URL: url }), 'tracker.url');
    expect(act).toThrow(
      expect.objectContaining({
        category: 'config',
        message: expect.stringContaining('OPSCTL_TRACKER_URL'),
        detail: expect.objectContaining({ code }),
      }),
    );
    expect(act).not.toThrow(/me:pass/);
  });

  test.each<[string, string]>([
    ['https://tracker.example.com', 'https://tracker.example.com'],
    ['https://tracker.example.com/base//', 'https://tracker.example.com/base'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://127.9.9.9', 'http://127.9.9.9'],
    ['http://localhost:1/', 'http://localhost:1'],
    ['http://api.localhost', 'http://api.localhost'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('the URL %s is accepted', (url, expected) => {
    expect(checkedUrl(settings({ OPSCTL_TRACKER_URL: url }), 'tracker.url')?.value).toBe(expected);
  });
});

describe('ca_file', () => {
  const pem = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n';
  const trusting = async (files: Record<string, string>, setting?: string) => {
    const host = fakeHost({
      env: { OPSCTL_HOME: '/h', ...(setting === undefined ? {} : { OPSCTL_CA_FILE: setting }) },
      files,
      reply: () => ({}),
    });
    const wrapped = withCaFile(host, loadSettings(host, {}));
    await wrapped.network.request({ method: 'GET', url: 'https://x' });
    await wrapped.network.request({ method: 'GET', url: 'https://x', tls: { ca: 'own' } });
    return host.requests.map(({ tls }) => tls);
  };
  test('ca_file adds an authority, except for requests that set their own', async () => {
    expect(await trusting({ '/ca.pem': pem }, '/ca.pem')).toEqual([{ extraCa: pem }, { ca: 'own' }]);
    expect(await trusting({ '/place/ca.pem': pem }, 'ca.pem')).toEqual([{ extraCa: pem }, { ca: 'own' }]);
    expect(await trusting({})).toEqual([undefined, { ca: 'own' }]);
  });
  test.each([
    [{}, naming('ca_file', 'OPSCTL_CA_FILE', '/ca.pem', 'exist')],
    [{ '/ca.pem': 'binary' }, naming('ca_file', 'OPSCTL_CA_FILE', '/ca.pem', 'PEM')],
  ])('ca_file with %j: %s', async (files: Record<string, string>, why) => {
    await expect(trusting(files, '/ca.pem')).rejects.toMatchObject({
      category: 'config',
      message: why,
    });
  });
});
