import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { catalogue, prunePlan, removeSnapshots } from '../../../src/kv/snapshots/catalog.ts';
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

describe('a directory to which others copied files', () => {
  const manifest = {
    format: 1,
    file_sha256: 's',
    size_bytes: 1,
    revision: 5,
    verified_at: '2026-01-01T00:00:00Z',
  };
  const fill = (): string => {
    const put = (name: string, text = 'x') => writeFileSync(at(`directory/${name}`), text);
    const stored = (day: number, cluster = 'c'): string => `${cluster}-2026010${day}T000000Z-r5.db`;
    for (const day of [1, 2, 4, 5, 6, 7]) put(stored(day));
    put(`${stored(1)}.json`, JSON.stringify(manifest));
    writeFileSync(at('outside.json'), JSON.stringify(manifest));
    symlinkSync(at('outside.json'), at(`directory/${stored(2)}.json`));
    symlinkSync('/etc/passwd', at(`directory/${stored(3)}`));
    mkdirSync(at(`directory/${stored(4)}.json`));
    execFileSync('mkfifo', [at(`directory/${stored(5)}.json`), at(`directory/${stored(8)}`)]);
    put(`${stored(6)}.json`);
    truncateSync(at(`directory/${stored(6)}.json`), 4 * 2 ** 30);
    put(`${stored(7)}.json`, JSON.stringify({ ...manifest, verified_at: { text: '\u001b[31m' } }));
    for (const cluster of ['\u001b[31mx', 'a\nb', 'a\u202e', '=cmd|x', 'a b']) put(stored(1, cluster));
    return at('directory');
  };
  it('only complete snapshots are listed, and only a small plain manifest next to one confirms it', async () => {
    const found = await catalogue(directoryDestination(host, fill()));
    expect(found.map(({ name }) => name.slice(0, 10))).toEqual(
      [1, 2, 4, 5, 6, 7].map((day) => `c-2026010${day}`),
    );
    expect(found.filter((one) => one.manifest !== undefined).map(({ name }) => name)).toEqual([
      'c-20260101T000000Z-r5.db',
    ]);
  });
  it('a prune removes no other file', async () => {
    const destination = directoryDestination(host, fill());
    const { prune } = await prunePlan(destination, 'c', { keepLast: 1 }, Date.parse('2026-02-01'));
    await removeSnapshots(destination, prune);
    expect(existsSync(at('outside.json'))).toBe(true);
    expect(readdirSync(at('directory')).filter((name) => !/^c-2026010[0-9]/.test(name))).toHaveLength(6);
  });
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
