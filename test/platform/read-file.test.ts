import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeFiles } from '../../src/platform/node/files.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'opsctl-read-'));
  writeFileSync(join(directory, 'file'), 'text');
  execFileSync('mkfifo', [join(directory, 'pipe')]);
  symlinkSync('/dev/zero', join(directory, 'device'));
  symlinkSync('loop', join(directory, 'loop'));
  symlinkSync('file', join(directory, 'link'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('what stands in place of a file', () => {
  it.each([
    ['pipe', 'ENOTFILE'],
    ['device', 'ENOTFILE'],
    ['loop', 'ELOOP'],
    ['.', 'EISDIR'],
  ])('%s is refused with %s, and nothing waits for it', async (name, code) => {
    const path = join(directory, name);
    await expect(nodeFiles.read(path)).rejects.toMatchObject({ code });
    await expect(nodeFiles.readBytes(path)).rejects.toMatchObject({ code });
    expect(() => nodeFiles.readNow(path)).toThrow(code);
  });
  it('a link to a file, an empty device and nothing at all are read as before', async () => {
    expect(await nodeFiles.read(join(directory, 'link'))).toBe('text');
    expect(await nodeFiles.read('/dev/null')).toBe('');
    expect(await nodeFiles.read(join(directory, 'none'))).toBeUndefined();
    expect(nodeFiles.readNow(join(directory, 'none'))).toBeUndefined();
  });
});
