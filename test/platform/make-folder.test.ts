import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import fs, { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeFolder } from '../../src/platform/node/make-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'opsctl-folder-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test('parents are made with the same mode, and a folder that is there is left alone', async () => {
  await makeFolder(join(root, 'a', 'b', 'c'), 0o700);
  expect([await modeOf(join(root, 'a')), await modeOf(join(root, 'a', 'b', 'c'))]).toEqual([0o700, 0o700]);
  await mkdir(join(root, 'open'), 0o755);
  await makeFolder(join(root, 'open'), 0o700);
  expect(await modeOf(join(root, 'open'))).toBe(0o755);
});

test('many at once make one', async () => {
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(join(root, 'x', 'y', 'z'))));
  expect((await stat(join(root, 'x', 'y', 'z'))).isDirectory()).toBe(true);
});

test('a parent that another process made between the failure and the look at it is used', async () => {
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
    await makeFolder(join(root, 'x', 'y'));
  } finally {
    fs.promises.mkdir = really;
  }
  expect((await stat(join(root, 'x', 'y'))).isDirectory()).toBe(true);
});

test('a link to a folder is a folder; a file is not', async () => {
  await symlink(root, join(root, 'link'));
  await makeFolder(join(root, 'link', 'in'));
  await writeFile(join(root, 'file'), '');
  await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(root, 'file', 'in'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.runIf(existsSync('/proc/self'))(
  'where nothing can be made it fails, and does not try for ever',
  async () => {
    await expect(makeFolder('/proc/opsctl-nothing/below')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
