import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import fs, { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { makeDirectory } from '../../src/platform/node/files.ts';
import { makeDirectory as makeTemporary } from '../support/directory.ts';

let root: string;
beforeEach(() => {
  root = makeTemporary();
});
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test('parents are made with the same mode, and a directory that is there is left alone', async () => {
  await makeDirectory(join(root, 'a', 'b', 'c'), 0o700);
  expect([await modeOf(join(root, 'a')), await modeOf(join(root, 'a', 'b', 'c'))]).toEqual([0o700, 0o700]);
  await mkdir(join(root, 'open'), 0o755);
  await makeDirectory(join(root, 'open'), 0o700);
  expect(await modeOf(join(root, 'open'))).toBe(0o755);
});

test('many concurrent calls create one directory', async () => {
  await Promise.all(Array.from({ length: 20 }, () => makeDirectory(join(root, 'x', 'y', 'z'))));
  expect((await stat(join(root, 'x', 'y', 'z'))).isDirectory()).toBe(true);
});

test('a parent that another process created after the failure is used', async () => {
  const { mkdir: really } = fs.promises;
  const others = async (path: string, mode?: number): Promise<undefined> => {
    try {
      await really(path, mode);
    } catch (error) {
      fs.promises.mkdir = really;
      await really(join(root, 'x'));
      throw error;
    }
  };
  fs.promises.mkdir = others as typeof really;
  try {
    await makeDirectory(join(root, 'x', 'y'));
  } finally {
    fs.promises.mkdir = really;
  }
  expect((await stat(join(root, 'x', 'y'))).isDirectory()).toBe(true);
});

test('a link to a directory is a directory; a file is not', async () => {
  await symlink(root, join(root, 'link'));
  await makeDirectory(join(root, 'link', 'in'));
  await writeFile(join(root, 'file'), '');
  await expect(makeDirectory(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeDirectory(join(root, 'file', 'in'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.runIf(existsSync('/proc/self'))(
  'creation fails without endless retries if no directory can be created',
  async () => {
    await expect(makeDirectory('/proc/opsctl-nothing/below')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
