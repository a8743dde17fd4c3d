import { expect, test } from 'vitest';
import { demoClientId, demoUsers } from '../../src/login/demo.ts';
import { demo } from '../../src/mock/auth/demo.ts';

test('client and users are those of the demo seed', () => {
  expect(demoClientId).toBe(demo.clients.desktop);
  expect(demo.users).toMatchObject(demoUsers);
});
