import { expect, test } from 'vitest';
import { demoClientId, demoUser } from '../../src/login/demo.ts';
import { demo } from '../../src/mock/auth/seed.ts';

test('client and user are those of the demo seed', () => {
  expect(demoClientId).toBe(demo.clients.desktop);
  expect(demo.users[0]).toMatchObject(demoUser);
});
