import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Bytes, Files } from '../../src/platform/host.ts';
import { nodeFiles } from '../../src/platform/node/files.ts';
import { fakeHost } from '../support/fake-host.ts';
import { makeDirectory } from '../support/directory.ts';

let directory = '';
beforeEach(() => {
  directory = makeDirectory();
});
const at = (...names: string[]): string => join(directory, ...names);
async function* chunks(...texts: string[]): AsyncGenerator<Bytes> {
  for (const text of texts) yield Buffer.from(text);
}

// The fake must return the same results as the real files; otherwise tests against the fake are not valid.
describe.each<[string, () => Files]>([
  ['real', () => nodeFiles],
  ['fake', () => fakeHost().files],
])('%s files', (_, make) => {
  test('reading a missing file returns undefined', async () => {
    const files = make();
    await files.makeDirectory(directory);
    expect(await files.read(at('no'))).toBeUndefined();
    expect(await files.readBytes(at('no', 'deeper'))).toBeUndefined();
    expect(files.readNow(at('no'))).toBeUndefined();
    expect(await files.info(at('no'))).toBeUndefined();
    expect(await files.realPath(at('no'))).toBeUndefined();
    expect(await files.list(at('no'))).toEqual([]);
    await files.remove(at('no'));
  });

  test('replace writes and overwrites; read, readNow and readBytes agree', async () => {
    const files = make();
    await files.makeDirectory(directory);
    await files.replace(at('a'), 'one');
    await files.replace(at('a'), 'grüße');
    expect(await files.read(at('a'))).toBe('grüße');
    expect(files.readNow(at('a'))).toBe('grüße');
    expect(Buffer.from((await files.readBytes(at('a'))) ?? []).toString()).toBe('grüße');
    expect(await files.list(directory)).toEqual(['a']);
  });

  test('a mode is kept until another is given', async () => {
    const files = make();
    await files.makeDirectory(directory);
    await files.replace(at('a'), 'x', 0o600);
    expect((await files.info(at('a')))?.mode).toBe(0o600);
    await files.replace(at('a'), 'y');
    expect((await files.info(at('a')))?.mode).toBe(0o600);
    await files.setMode(at('a'), 0o640);
    expect((await files.info(at('a')))?.mode).toBe(0o640);
  });

  test('replaceStream counts bytes, and leaves the old text when the source fails', async () => {
    const files = make();
    await files.makeDirectory(directory);
    expect(await files.replaceStream(at('a'), chunks('ab', 'cde'))).toBe(5);
    async function* failing(): AsyncGenerator<Bytes> {
      yield Buffer.from('new');
      throw new Error('gone');
    }
    await expect(files.replaceStream(at('a'), failing())).rejects.toThrow('gone');
    expect(await files.read(at('a'))).toBe('abcde');
    expect(await files.list(directory)).toEqual(['a']);
  });

  test('create makes a file once', async () => {
    const files = make();
    await files.makeDirectory(directory);
    expect(await files.create(at('lock'), 'me', 0o600)).toBe(true);
    expect(await files.create(at('lock'), 'you')).toBe(false);
    expect(await files.read(at('lock'))).toBe('me');
  });

  test('append grows a file and knows its size; truncate cuts it', async () => {
    const files = make();
    await files.makeDirectory(directory);
    const first = files.append(at('log'), 0o600);
    first.write('one\n');
    first.write(Buffer.from('two\n'));
    first.sync();
    expect(first.sizeBytes()).toBe(8);
    first.close();
    const again = files.append(at('log'));
    expect(again.sizeBytes()).toBe(8);
    again.write('three');
    again.close();
    expect(await files.read(at('log'))).toBe('one\ntwo\nthree');
    await files.truncate(at('log'), 4);
    expect(await files.read(at('log'))).toBe('one\n');
    const parts: Bytes[] = [];
    for await (const part of files.stream(at('log'))) parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe('one\n');
  });

  test('directories: made with parents, listed, renamed, copied, removed', async () => {
    const files = make();
    await files.makeDirectory(at('a', 'b'), 0o700);
    await files.replace(at('a', 'b', 'f'), 'x', 0o600);
    await files.copy(at('a'), at('c', 'copy'));
    expect(await files.read(at('c', 'copy', 'b', 'f'))).toBe('x');
    expect((await files.info(at('c', 'copy', 'b', 'f')))?.mode).toBe(0o600);
    await files.rename(at('a'), at('d'));
    expect((await files.list(directory)).sort()).toEqual(['c', 'd']);
    await files.remove(at('c'));
    expect(await files.list(directory)).toEqual(['d']);
    expect((await files.info(at('d')))?.kind).toBe('directory');
    expect((await files.info(at('d', 'b', 'f')))?.kind).toBe('file');
    expect(await files.isWritable(at('d'))).toBe(true);
    expect(await files.isWritable(at('no'))).toBe(false);
    expect(await files.freeBytes(directory)).toBeGreaterThan(0);
    expect(await files.diskOf(at('d'))).toBe(await files.diskOf(directory));
    expect(await files.diskOf(at('no'))).toBeUndefined();
  });
});

describe('the home of this user', () => {
  afterEach(() => vi.unstubAllEnvs());
  test.each(['', 'relative'])("the home is the system's home if HOME is %j", (home) => {
    vi.stubEnv('HOME', home);
    expect(nodeFiles.homeDirectory()).toBe(userInfo().homedir);
  });
  test('the home is HOME if it is an absolute path', () => {
    vi.stubEnv('HOME', '/somewhere');
    expect(nodeFiles.homeDirectory()).toBe('/somewhere');
  });
});

describe('real files', () => {
  test('a device that is appended to needs no sync', () => {
    const file = nodeFiles.append('/dev/null');
    file.write('x');
    expect(() => file.sync()).not.toThrow();
    file.close();
  });
  test('a directory where a file should be is an error with its code', async () => {
    await expect(nodeFiles.read(directory)).rejects.toMatchObject({ code: 'EISDIR' });
    expect(() => nodeFiles.readNow(directory)).toThrow(/EISDIR/);
    await expect(nodeFiles.replace(at('no', 'file'), 'x')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('replace goes through a link and keeps it', async () => {
    fs.writeFileSync(at('real'), 'old');
    fs.symlinkSync(at('real'), at('link'));
    await nodeFiles.replace(at('link'), 'new');
    expect((await nodeFiles.info(at('link')))?.kind).toBe('link');
    expect(fs.readFileSync(at('real'), 'utf8')).toBe('new');
    expect(await nodeFiles.realPath(at('link'))).toBe(at('real'));
  });

  test('a reader never sees half of a replaced file', async () => {
    const texts = ['a'.repeat(200_000), 'b'.repeat(200_000)];
    await nodeFiles.replace(at('f'), texts[0] ?? '');
    let isDone = false;
    const writing = (async () => {
      for (let i = 0; i < 40; i++) await nodeFiles.replace(at('f'), texts[i % 2] ?? '');
      isDone = true;
    })();
    let seen = 0;
    while (!isDone) {
      expect(texts).toContain(await nodeFiles.read(at('f')));
      seen++;
    }
    await writing;
    expect(seen).toBeGreaterThan(0);
  });

  test('copy keeps modes, times and links', async () => {
    await nodeFiles.makeDirectory(at('a', 'sub'));
    await nodeFiles.replace(at('a', 'sub', 'f'), 'x', 0o640);
    fs.symlinkSync('sub/f', at('a', 'link'));
    const old = new Date(1_600_000_000_000);
    for (const name of ['a/sub/f', 'a/sub', 'a']) fs.utimesSync(at(name), old, old);
    await nodeFiles.copy(at('a'), at('b'));
    for (const name of ['b', 'b/sub', 'b/sub/f'])
      expect((await nodeFiles.info(at(name)))?.modifiedMs).toBe(old.getTime());
    expect(fs.readlinkSync(at('b', 'link'))).toBe('sub/f');
    expect((await nodeFiles.info(at('b', 'sub', 'f')))?.mode).toBe(0o640);
  });
});

test('an error names the file that cannot be replaced, not its temporary file', async () => {
  const path = at('no', 'report.html');
  await expect(nodeFiles.replace(path, 'x')).rejects.toMatchObject({ code: 'ENOENT', path });
  await expect(nodeFiles.replace(path, 'x')).rejects.toThrow(`'${path}'`);
});

test.skipIf(process.platform === 'win32')(
  'reading parts of a pipe without a writer returns no data and does not wait',
  () => {
    execFileSync('mkfifo', [at('pipe')]);
    const parts = nodeFiles.openParts(at('pipe'));
    expect([parts?.size, parts?.read(0, 100).length]).toEqual([0, 0]);
    parts?.close();
  },
);

describe('an error of a full disk names the file', () => {
  const full = (): Error =>
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });

  async function* failing(error: Error): AsyncGenerator<Bytes> {
    yield Buffer.from('x');
    throw error;
  }

  test.skipIf(process.platform !== 'linux')('a line is appended', () => {
    const file = nodeFiles.append('/dev/full');
    try {
      expect(() => file.write('x')).toThrow(
        expect.objectContaining({ message: expect.stringContaining("write '/dev/full'"), path: '/dev/full' }),
      );
    } finally {
      file.close();
    }
  });

  test('a file is replaced', async () => {
    await expect(nodeFiles.replaceStream(at('a'), failing(full()))).rejects.toMatchObject({
      message: `ENOSPC: no space left on device, write '${at('a')}'`,
      path: at('a'),
    });
  });

  test('a closed connection does not affect the file', async () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    const thrown = await nodeFiles.replaceStream(at('a'), failing(reset)).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ message: 'read ECONNRESET' });
    expect(thrown).not.toHaveProperty('path');
  });
});
