import { expect, it } from 'vitest';
import { binaryVersion } from '../../../src/kv-upgrade/supervisors/local.ts';
import { fakeHost } from '../../support/fake-host.ts';

/** A server that says its version after so many seconds. */
const after = (seconds: number) =>
  fakeHost({
    run: ({ options: { timeoutMs = Number.POSITIVE_INFINITY } }) =>
      timeoutMs < seconds * 1000 ? { code: null, timedOut: true } : { stdout: 'etcd Version: 3.6.14\n' },
  });

it('a server on a busy machine has seconds to say its version; one that hangs is named with the time', async () => {
  expect(await binaryVersion(after(8), '/new/etcd')).toEqual({ version: '3.6.14' });
  expect(await binaryVersion(after(60), '/new/etcd')).toEqual({
    error: '/new/etcd --version does not log a version within 10 s',
  });
});
