import { chmod, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  insecureFileReason,
  makePrivateDirectory,
  readGuarded,
  writeGuarded,
} from '../../../src/auth/credential-store/guarded-file.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { errorWith, naming, valuesIn } from '../../support/facts.ts';

const info = { kind: 'file', sizeBytes: 1, mode: 0o100600, uid: 7, gid: 7, modifiedMs: 0 } as const;

test.each([
  ['its owner alone', info, undefined],
  ['a link', { ...info, kind: 'link' } as const, []],
  ['a directory', { ...info, kind: 'directory' } as const, []],
  ['a foreign owner', { ...info, uid: 8 }, ['8', '7', '600']],
  ['readable by the group', { ...info, mode: 0o100640 }, ['7', '640']],
  ['writable by all', { ...info, mode: 0o100602 }, ['7', '602']],
])('%s', (_, seen, values) => {
  const reason = insecureFileReason(seen, 7, 'linux')?.why;
  expect(reason === undefined ? undefined : valuesIn(reason)).toEqual(values);
});

test('file modes are ignored on Windows', () => {
  expect(insecureFileReason({ ...info, mode: 0o100666, uid: 0 }, 7, 'win32')).toBeUndefined();
});

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
});

test('the file is written with 0600 under any umask', async () => {
  const path = join(real.directory, 'a');
  await writeGuarded(real.host, path, 'secret');
  expect(((await real.host.files.info(path))?.mode ?? 0) & 0o777).toBe(0o600);
  expect(await readGuarded(real.host, path)).toBe('secret');
});

test('a link in its place is neither read nor written', async () => {
  const other = join(real.directory, 'other');
  await writeFile(other, 'x', { mode: 0o600 });
  await symlink(other, join(real.directory, 'a'));
  await expect(readGuarded(real.host, join(real.directory, 'a'))).rejects.toMatchObject({
    category: 'config',
    detail: { code: 'UNSAFE_FILE' },
  });
  await expect(writeGuarded(real.host, join(real.directory, 'a'), 'y')).rejects.toMatchObject({
    detail: { code: 'UNSAFE_FILE' },
  });
  expect(await real.host.files.read(other)).toBe('x');
});

test('a file that others may read is refused with the remedy', async () => {
  const path = join(real.directory, 'a');
  await writeFile(path, 'x');
  await chmod(path, 0o644);
  await expect(readGuarded(real.host, path)).rejects.toMatchObject({
    detail: { tryThis: [`chmod 600 ${path}`] },
  });
});

test('a directory that cannot be written is a matter of configuration', async () => {
  await writeFile(join(real.directory, 'file'), 'x');
  await expect(makePrivateDirectory(real.host, join(real.directory, 'file', 'state'))).rejects.toMatchObject({
    category: 'config',
    detail: { code: 'DIRECTORY_UNWRITABLE' },
  });
  const readOnly = {
    ...real.host,
    hostname: real.host.hostname,
    files: { ...real.host.files, isWritable: async () => false },
  };
  await expect(makePrivateDirectory(readOnly, join(real.directory, 'state'))).rejects.toThrow(
    'no permission',
  );
  await makePrivateDirectory(real.host, join(real.directory, 'state'));
  expect(((await real.host.files.info(join(real.directory, 'state')))?.mode ?? 0) & 0o777).toBe(0o700);
});

const failing = (code: string) => ({
  ...real.host,
  files: {
    ...real.host.files,
    replace: () => Promise.reject(Object.assign(new Error(`${code}: on purpose`), { code })),
  },
});
test.each([
  ['ENOSPC', 'disk'],
  ['EROFS', 'file system'],
  ['EDQUOT', 'quota'],
  ['EACCES', 'permission'],
])('a disk error %s names the path', async (code, why) => {
  const path = join(real.directory, 'a');
  await expect(writeGuarded(failing(code), path, 'x')).rejects.toMatchObject({
    category: 'config',
    message: naming(path, why, 'credentials', 'stored', 'credentials'),
    detail: { code: 'DIRECTORY_UNWRITABLE' },
  });
});

test('an error that does not concern the disk stays unchanged', async () => {
  await expect(writeGuarded(failing('EBADF'), join(real.directory, 'a'), 'x')).rejects.toMatchObject({
    message: 'EBADF: on purpose',
  });
});

test('a file that appeared after the check is not read', async () => {
  const path = join(real.directory, 'late');
  await writeFile(path, 'x');
  const files = { ...real.host.files, info: async () => undefined };
  expect(await readGuarded({ ...real.host, hostname: real.host.hostname, files }, path)).toBeUndefined();
});

test('an error states why a directory cannot be created, even if the cause has no name', async () => {
  const made = (error: object) => {
    const files = { ...real.host.files, makeDirectory: () => Promise.reject(error) };
    return makePrivateDirectory({ ...real.host, hostname: real.host.hostname, files }, '/x');
  };
  await expect(made({ code: 'ENOSPC' })).rejects.toThrow(
    errorWith('DIRECTORY_UNWRITABLE', '/x', 'ENOSPC', 'credentials'),
  );
  await expect(made({})).rejects.toThrow(errorWith('DIRECTORY_UNWRITABLE', '/x', 'credentials', 'cause'));
});

describe('a home directory of another owner', () => {
  const hostWith = async (uid: number, owner: number, env: Readonly<Record<string, string>>) => {
    const real = await realHost();
    const files = {
      ...real.host.files,
      info: async (path: string) => {
        const info = await real.host.files.info(path);
        return info === undefined ? undefined : { ...info, uid: owner };
      },
    };
    return {
      real,
      host: { ...real.host, hostname: real.host.hostname, uid, env: { ...real.host.env, ...env }, files },
    };
  };
  test.each([
    ['root with sudo in the home of the caller', 0, 1000, { SUDO_UID: '1000' }, true],
    ['root with sudo in its own home', 0, 0, { SUDO_UID: '1000' }, false],
    ['root without sudo', 0, 1000, {}, false],
    ['the user', 1000, 1000, { SUDO_UID: '1000' }, false],
  ])('%s: uid %i, owner %i', async (_, uid, owner, env, isRefused) => {
    const { real, host } = await hostWith(uid, owner, env as Record<string, string>);
    const path = join(real.directory, '.local', 'state', 'opsctl');
    const made = makePrivateDirectory(host, path);
    if (isRefused) await expect(made).rejects.toMatchObject({ detail: { code: 'SUDO_HOME' } });
    else await made;
    expect(await real.host.files.info(join(real.directory, '.local'))).toEqual(
      isRefused ? undefined : expect.objectContaining({ kind: 'directory' }),
    );
    await real.close();
  });
  test('a file that cannot be read names the command that gives it back', async () => {
    const real = await realHost();
    const info = () => Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }));
    const host = { ...real.host, hostname: real.host.hostname, files: { ...real.host.files, info } };
    await expect(readGuarded(host, '/home/ada/.local/state/opsctl/x.json')).rejects.toMatchObject({
      category: 'config',
      detail: {
        code: 'STATE_FORBIDDEN',
        tryThis: [expect.stringContaining('/home/ada/.local/state/opsctl'), expect.any(String)],
      },
    });
    await real.close();
  });
});
