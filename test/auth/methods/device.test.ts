import { expect, test } from 'vitest';
import { deviceAuthorization, signInWithDevice } from '../../../src/auth/methods/device.ts';
import { fakeHost, type ScriptedReply } from '../../support/fake-host.ts';
import { contextOn, origin } from '../schedules/environment.ts';

const begun = {
  device_code: 'dc-secret',
  user_code: 'BCDF-GHJK',
  verification_uri: 'https://a.example/device',
  expires_in: 900,
  interval: 5,
};
const tokens = { access_token: 'at', token_type: 'Bearer', expires_in: 60, refresh_token: 'rt' };
const endpoints = {
  authorize: `${origin}/auth`,
  token: `${origin}/token`,
  revoke: `${origin}/revoke`,
  device: `${origin}/device/code`,
};
const plan = {
  server: { endpoints, key: origin, isMock: false, clientId: 'c' },
  scopes: ['a'],
  timeoutMs: 600_000,
};
const error = (code: string): ScriptedReply => ({ status: 400, body: { error: code } });

const run = async (
  answers: readonly ScriptedReply[],
  tty: readonly 'stderr'[] = [],
  more: { readonly interval?: number; readonly expires_in?: number } = {},
) => {
  const left = [...answers];
  const host = fakeHost({
    env: { OPSCTL_KEYCHAIN: 'never' },
    tty,
    reply: ({ url }) =>
      url.endsWith('/device/code')
        ? { body: { ...begun, ...more } }
        : (left.shift() ?? error('expired_token')),
  });
  const outcome = await signInWithDevice(contextOn(host), plan).catch((failure: Error) => failure);
  return { host, outcome };
};

test('RFC 8628 3.5: polling uses the interval, slows down on request, and stores the tokens', async () => {
  const { host, outcome } = await run([error('authorization_pending'), error('slow_down'), { body: tokens }]);
  expect(outcome).toMatchObject({ name: 'default', accessToken: 'at', refreshToken: 'rt' });
  expect(host.slept.filter((ms) => ms >= 5000 && ms < 30_000)).toEqual([5000, 5000, 10_000]);
  expect(host.err()).toContain('https://a.example/device');
  expect(host.err()).toContain('BCDF-GHJK');
  expect(host.err()).not.toMatch(/[▀▄█]/);
});

test('a long interval does not outlast the sign-in', async () => {
  const { host, outcome } = await run([], [], { interval: 1e9 });
  expect(outcome).toBeInstanceOf(Error);
  expect(Math.max(...host.slept)).toBe(plan.timeoutMs);
});

test('a terminal gets the address as a QR code as well', async () => {
  const { host } = await run([{ body: tokens }], ['stderr']);
  expect(host.err()).toMatch(/[▀▄█]{5}/);
  // The QR code, the URL and the user code are on the screen together.
  expect(host.err().split('\n').length).toBeLessThan(24);
  expect(host.err()).toMatch(/▀\n.*https:\/\/a\.example\/device\n.*BCDF-GHJK\n/);
});

test.each([
  ['access_denied', 'ACCESS_DENIED'],
  ['expired_token', 'EXPIRED_TOKEN'],
])('%s ends it', async (code, expected) => {
  expect((await run([error(code)])).outcome).toMatchObject({ detail: { code: expected } });
});

test('the end of the code ends the waiting', async () => {
  const pending = Array.from({ length: 400 }, () => error('authorization_pending'));
  expect((await run(pending)).outcome).toMatchObject({ detail: { code: 'LOGIN_TIMEOUT' } });
});

test.each(['javascript:alert(1)', 'tel:900123', 'https://user@a.example/', 'https://a.example/\u202e', '-x'])(
  'an unsafe address %j of the device flow is named as the cause',
  async (uri) => {
    const host = fakeHost({
      env: { OPSCTL_KEYCHAIN: 'never' },
      reply: () => ({ body: { ...begun, verification_uri: uri } }),
    });
    const failure = await signInWithDevice(contextOn(host), plan).catch((error: Error) => error);
    expect(failure).toMatchObject({
      category: 'network',
      message: expect.stringContaining('unsafe verification_uri'),
      detail: { code: 'UNSAFE_ADDRESS' },
    });
    expect((failure as Error).message).not.toContain('\u202e');
    expect(host.err()).toBe('');
  },
);

test('a response without a usable URL is rejected', () => {
  expect(deviceAuthorization(begun)).toMatchObject({ userCode: 'BCDF-GHJK', intervalS: 5 });
  expect(deviceAuthorization({ ...begun, verification_uri: 'javascript:alert(1)' })).toBeUndefined();
  expect(deviceAuthorization({ ...begun, user_code: undefined })).toBeUndefined();
  for (const uri of [
    'tel:900123',
    'http://b.example/device',
    'http://127.0.0.1.b.example/device',
    'http://localhost.b.example/',
    'http://a@b.example/',
    'https://b.example/\u202ex',
    '--flag',
    'file:///x',
  ]) {
    expect(deviceAuthorization({ ...begun, verification_uri: uri })).toBeUndefined();
    // The QR code contains the URL that the terminal shows.
    const device = deviceAuthorization({ ...begun, verification_uri_complete: uri });
    expect(device?.completeUri).toBe(device?.verificationUri);
  }
  const plain = { ...begun, verification_uri: 'http://b.example/device' };
  expect(deviceAuthorization(plain, { OPSCTL_PLAIN_HTTP_HOSTS: 'b.example' })).toBeDefined();
  expect(deviceAuthorization({ ...begun, verification_uri: 'http://127.0.0.1:8/device' })).toBeDefined();
  for (const [interval, used] of [
    [-1, 5],
    [0, 5],
    ['1', 5],
    [null, 5],
    [1e-9, 1],
    [0.5, 1],
    [1, 1],
    [1e300, 1e300],
  ])
    expect([interval, deviceAuthorization({ ...begun, interval })?.intervalS]).toEqual([interval, used]);
  for (const expires_in of [-1, 0, '900', null])
    expect(deviceAuthorization({ ...begun, expires_in })?.expiresInS).toBe(900);
});
test('a server that slows down without an end, or whose code has no end, does not outlast --timeout', async () => {
  const slower = Array.from({ length: 400 }, () => error('slow_down'));
  for (const more of [{}, { expires_in: 1e300 }, { interval: 1e300 }, { interval: 1e-9 }]) {
    const { host, outcome } = await run(slower, [], more);
    expect(outcome).toMatchObject({ category: 'auth', detail: { code: 'LOGIN_TIMEOUT' } });
    expect(host.slept.every((ms) => ms <= plan.timeoutMs)).toBe(true);
    // Each poll has a wait and the limit of its request.
    expect(host.slept.length).toBeLessThan(100);
  }
});
test('a user code gives the terminal no command and has a limit', () => {
  const code = `A\u001b[2J\u202e\n::set-output name=x::y${'B'.repeat(10_000)}`;
  const shown = deviceAuthorization({ ...begun, user_code: code })?.userCode ?? '';
  expect(shown).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(shown.length).toBeLessThanOrEqual(41);
});
