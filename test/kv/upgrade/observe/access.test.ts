import { expect, test } from 'vitest';
import { openAccess } from '../../../../src/kv/engine/access.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';

const root = { name: 'root' };
const opened = (
  user: ReturnType<typeof clusterFile>['user'],
  { env = {}, files = {} }: { env?: Record<string, string>; files?: Record<string, string> } = {},
) => openAccess(fakeHost({ env, files }), { ...clusterFile(), user });

test('the password comes from the file, else from the variable that is named, else from ours', async () => {
  const files = { '/pw': 'from the file\r\n' };
  const env = { OPSCTL_KV_PASSWORD: 'ours', MINE: 'mine' };
  const passwordOf = async (user: typeof root & { password_file?: string; password_env?: string }) =>
    (await opened(user, { env, files })).user;
  expect(await passwordOf({ ...root, password_file: '/pw', password_env: 'MINE' })).toEqual({
    ...root,
    password: 'from the file',
  });
  expect(await passwordOf({ ...root, password_env: 'MINE' })).toEqual({ ...root, password: 'mine' });
  expect(await passwordOf(root)).toEqual({ ...root, password: 'ours' });
  expect((await opened(undefined, { env, files })).user).toBeUndefined();
});

test('a missing password is reported with its source', async () => {
  await expect(opened({ ...root, password_file: '/none' })).rejects.toMatchObject({
    category: 'config',
    message: 'user.password_file: file not found: /none',
  });
  await expect(opened({ ...root, password_env: 'MINE' })).rejects.toMatchObject({
    category: 'auth',
    detail: { code: 'PASSWORD_NEEDED', tryThis: [expect.stringContaining('MINE'), expect.anything()] },
  });
  await expect(opened(root)).rejects.toMatchObject({
    detail: { tryThis: [expect.stringContaining('OPSCTL_KV_PASSWORD'), expect.anything()] },
  });
});

test('certificates are read only if the cluster file names them', async () => {
  expect((await opened(undefined)).tls).toBeUndefined();
  const cluster = { ...clusterFile(), tls: { ca_file: '/ca.pem' } };
  await expect(openAccess(fakeHost(), cluster)).rejects.toMatchObject({
    message: expect.stringContaining('/ca.pem'),
  });
});

test('a URL has one store for each time-out, so that its token is fetched once', async () => {
  const access = await opened(undefined);
  expect(access.store('http://a')).toBe(access.store('http://a'));
  expect(access.store('http://a', 5000)).not.toBe(access.store('http://a'));
  expect(access.store('http://b')).not.toBe(access.store('http://a'));
});

test('a password that is too long is refused, and named by where it stands', async () => {
  const long = 'x'.repeat(1024 * 1024);
  const refused = (user: Parameters<typeof opened>[0], named: string) =>
    expect(
      opened(user, { env: { MINE: long, OPSCTL_KV_PASSWORD: long }, files: { '/pw': long } }),
    ).rejects.toThrow(named);
  await refused({ ...root, password_file: '/pw' }, 'user.password_file');
  await refused({ ...root, password_env: 'MINE' }, 'MINE');
  await refused(root, 'OPSCTL_KV_PASSWORD');
});

test('a file that a flag names is called by the flag', async () => {
  const cluster = { ...clusterFile(), user: { ...root, password_file: '/none' } };
  await expect(openAccess(fakeHost({ files: { '/none': '\n' } }), cluster)).rejects.toThrow(
    'user.password_file: the file /none is empty',
  );
  await expect(openAccess(fakeHost(), cluster, { password_file: '--password-file' })).rejects.toThrow(
    '--password-file: file not found: /none',
  );
});
