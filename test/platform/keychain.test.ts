import { expect, test } from 'vitest';
import { hasKeychain, nodeKeychain } from '../../src/platform/node/host.ts';

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

test('a keychain that cannot be asked refuses: there is no second place that forgets at a restart', async () => {
  const keychain = nodeKeychain({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }, 'linux');
  await expect(keychain?.get('opsctl-test', 'nobody')).rejects.toThrow();
  await expect(keychain?.set('opsctl-test', 'nobody', 'x')).rejects.toThrow();
});
