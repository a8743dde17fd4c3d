import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { directoryDestination } from '../../../src/kv/snapshots/destination.ts';
import type { Host } from '../../../src/platform/host.ts';
import { nodeHost } from '../../../src/platform/node/host.ts';
import { makeDirectory } from '../../support/directory.ts';

let root: string;
const host = nodeHost({ env: {} });
const at = (name: string): string => join(root, name);
beforeEach(() => {
  root = makeDirectory();
  writeFileSync(at('file'), '');
  symlinkSync('file', at('link'));
  symlinkSync('loop', at('loop'));
  mkdirSync(at('directory'));
  writeFileSync(at('directory/a.db'), 'x');
  symlinkSync('directory', at('other'));
});

describe('snapshots in a directory', () => {
  it('a directory contains its snapshots; a missing directory is empty', async () => {
    for (const name of ['directory', 'other'])
      expect(await directoryDestination(host, at(name)).names()).toEqual([{ name: 'a.db', sizeBytes: 1 }]);
    expect(await directoryDestination(host, at('missing')).names()).toEqual([]);
  });
  it.each(['file', 'link'])('%s is not mistaken for a directory without snapshots', async (name) => {
    const { names, discardUnfinished } = directoryDestination(host, at(name));
    const refused = { category: 'usage', message: `${at(name)} is not a directory` };
    await expect(names()).rejects.toMatchObject(refused);
    await expect(discardUnfinished()).rejects.toMatchObject(refused);
  });
  it('an unreadable file is reported', async () => {
    await expect(directoryDestination(host, at('loop')).names()).rejects.toThrow('ELOOP');
    const closed = async () => {
      throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
    };
    const unreadable: Host = { ...host, files: { ...host.files, list: closed } };
    await expect(directoryDestination(unreadable, at('directory')).names()).rejects.toThrow('EACCES');
  });
});
