import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { readBodies } from '../../src/cli/execute.ts';
import { textFile } from '../../src/api/input.ts';
import type { Bytes, Host } from '../../src/platform/host.ts';
import { fakeHost } from '../support/fake-host.ts';
import { contextWith } from '../support/context.ts';

const holding = (bytes: Bytes): Host => {
  const host = fakeHost({ files: { '/a.txt': '' } });
  return { ...host, cwd: '/', files: { ...host.files, readBytes: async () => bytes } };
};
const read = (bytes: Bytes): Promise<string> =>
  textFile(contextWith({ host: holding(bytes) }), 'a.txt', '--text-file');
const body = async (bytes: Bytes): Promise<unknown> => {
  const command = { path: ['x'], operation: {} } as unknown as Command;
  return (await readBodies(holding(bytes), command, { body: '@a.txt' })).body;
};
const mark = Buffer.from([0xef, 0xbb, 0xbf]);

describe('a file that a flag names', () => {
  it('a file from a flag is text in UTF-8, without its byte order mark', async () => {
    expect(await read(Buffer.from('é\n'))).toBe('é\n');
    expect(await read(Buffer.concat([mark, Buffer.from('é\r\n')]))).toBe('é\r\n');
    expect(await body(Buffer.concat([mark, Buffer.from('{"name":"é"}')]))).toEqual({ name: 'é' });
  });
  it.each([
    ['UTF-16', Buffer.from('\ufeffa text', 'utf16le')],
    ['Latin-1', Buffer.from('é', 'latin1')],
    ['NUL', Buffer.from('a\0b')],
  ])('%s is refused by its name: it would be sent as something else', async (_, bytes) => {
    await expect(read(bytes)).rejects.toMatchObject({
      category: 'usage',
      detail: { problems: [{ path: '--text-file', message: 'names a.txt, which is not text in UTF-8' }] },
    });
    await expect(body(bytes)).rejects.toMatchObject({ category: 'usage' });
  });
});
