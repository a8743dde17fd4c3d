import { expect, test } from 'vitest';
import { withListeners } from '../../../../src/kv/upgrade/present/notify.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { covers } from '../../../support/covers.ts';

const long = 'a'.repeat(8193);
const plan = { cluster: 'shop', from: '3.4', to: '3.5' } as never;
const listen = (env: Record<string, string>, notify?: string) =>
  withListeners(
    { host: { ...fakeHost(), env }, log: { warn: () => {}, hide: () => {} } },
    { notify },
    { plan, run: 'r', action: 'upgrade' },
    () => {},
    async () => 'ran',
  );

test.each([
  ['OPSCTL_NOTIFY_SECRET', { OPSCTL_NOTIFY_SECRET: long }, 'http://127.0.0.1:1/x'],
  ['OPSCTL_NOTIFY_URL', { OPSCTL_NOTIFY_URL: `http://127.0.0.1:1/${long}` }, undefined],
  ['--notify', {}, `http://127.0.0.1:1/${long}`],
])(
  '%s longer than a secret can be stops the run before it starts',
  covers('defect/D1-3'),
  async (name, env, notify) => {
    await expect(listen(env, notify)).rejects.toMatchObject({
      category: 'config',
      message: expect.stringContaining(`${name} has`),
      detail: { code: 'SECRET_TOO_LONG' },
    });
  },
);
