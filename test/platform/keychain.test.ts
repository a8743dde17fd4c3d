import { expect, test } from 'vitest';
import { hasKeychain, nodeKeychain } from '../../src/platform/node/keychain.ts';

test.each([
  ['linux', {}, false],
  ['linux', { DBUS_SESSION_BUS_ADDRESS: '' }, false],
  ['linux', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/1/bus' }, true],
  ['darwin', {}, true],
  ['win32', {}, true],
])('%s with %j has a keychain to ask: %s', (platform, env, has) => {
  expect(hasKeychain(env, platform)).toBe(has);
  expect(nodeKeychain(env, platform) !== undefined).toBe(has);
});

test('a keychain that cannot be asked answers within its limit, one way or the other', async () => {
  const keychain = nodeKeychain({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }, 'linux');
  const outcome = await keychain?.get('opsctl-test', 'nobody').then(
    () => 'answered',
    () => 'refused',
  );
  expect(['answered', 'refused']).toContain(outcome);
});
