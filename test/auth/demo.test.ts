import { expect, test } from 'vitest';
import { demoClientId, demoUsers } from '../../src/auth/demo.ts';
import { demo } from '../../src/mock-server/oauth/demo.ts';

test('client and users are those of the demo seed', () => {
  expect(demoClientId).toBe(demo.clients.desktop);
  expect(demo.users).toMatchObject(demoUsers);
});
