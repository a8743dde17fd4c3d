import { expect, it } from 'vitest';
import { directoryFinding } from '../../../src/support/doctor.ts';
import { fakeHost } from '../fake-host.ts';
import { contextWith } from '../context.ts';

const found = (freeBytes: number) => {
  const host = fakeHost();
  const files = { ...host.files, freeBytes: async () => freeBytes };
  const settings = { directories: { state: '/home/state' } };
  return directoryFinding(contextWith({ host: { ...host, files }, settings }), 'state');
};

it('a directory on a full disk is found', async () => {
  expect(await found(1)).toMatchObject({ state: 'pass', found: '/home/state' });
  expect(await found(0)).toMatchObject({ state: 'fail', found: '/home/state: the disk is full' });
});
