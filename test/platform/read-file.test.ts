import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isPlaceToWrite, nodeFiles } from '../../src/platform/node/files.ts';
import { start } from '../../src/platform/node/processes.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

let directory: string;
beforeAll(() => {
  directory = makeDirectory();
  writeFileSync(join(directory, 'file'), 'text');
  execFileSync('mkfifo', [join(directory, 'pipe')]);
  symlinkSync('/dev/zero', join(directory, 'device'));
  symlinkSync('loop', join(directory, 'loop'));
  symlinkSync('file', join(directory, 'link'));
});

describe('paths that are not regular files', () => {
  it.each([
    ['pipe', 'ENOTFILE'],
    ['device', 'ENOTFILE'],
    ['loop', 'ELOOP'],
    ['.', 'EISDIR'],
  ])('%s is rejected with %s, without waiting', covers('defect/D8-1', 'defect/R-10'), async (name, code) => {
    const path = join(directory, name);
    await expect(nodeFiles.read(path)).rejects.toMatchObject({ code });
    await expect(nodeFiles.readBytes(path)).rejects.toMatchObject({ code });
    expect(() => nodeFiles.readNow(path)).toThrow(code);
  });
  it('a device is not appended to, cut, replaced or streamed', covers('defect/D8-2'), async () => {
    const path = join(directory, 'pipe');
    const log = { logFile: path, detached: true, env: {} };
    // With both ends open, no call blocks, so the test also terminates if it fails.
    const ends = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const { ino } = statSync(path);
    expect(() => nodeFiles.append(path)).toThrow('ENOTFILE');
    await expect(start('true', [], log)).rejects.toMatchObject({ code: 'ENOTFILE' });
    await expect(nodeFiles.truncate(path, 0)).rejects.toMatchObject({ code: 'ENOTFILE' });
    await expect(nodeFiles.replace(path, 'x')).rejects.toMatchObject({ code: 'ENOTFILE' });
    await expect(nodeFiles.replaceStream(path, nodeFiles.stream('/dev/null'))).rejects.toMatchObject({
      code: 'ENOTFILE',
    });
    for (const name of ['pipe', 'device'])
      await expect(
        nodeFiles.stream(join(directory, name))[Symbol.asyncIterator]().next(),
      ).rejects.toMatchObject({
        code: 'ENOTFILE',
      });
    expect(statSync(path).ino).toBe(ino);
    closeSync(ends);
  });
  it('writing to a stream of this process replaces no file', covers('defect/D8-3'), async () => {
    const path = join(directory, 'written');
    const file = openSync(path, 'a');
    const { ino } = statSync(path);
    await nodeFiles.replace(`/dev/fd/${file}`, 'through');
    closeSync(file);
    expect([readFileSync(path, 'utf8'), statSync(path).ino]).toEqual(['through', ino]);
    expect(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/full'].filter(isPlaceToWrite)).toHaveLength(3);
  });
  it('a link to a file, an empty device and a missing file are read as before', async () => {
    expect(await nodeFiles.read(join(directory, 'link'))).toBe('text');
    expect(await nodeFiles.read('/dev/null')).toBe('');
    expect(await nodeFiles.read(join(directory, 'none'))).toBeUndefined();
    expect(nodeFiles.readNow(join(directory, 'none'))).toBeUndefined();
  });
});
