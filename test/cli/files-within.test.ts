/** A tool reads only files in the directories of its server, even if an agent makes links in them. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { withinDirectories } from '../../src/cli/approved-files.ts';
import { type Caller, callTool } from '../../src/cli/mcp/call.ts';
import { toolsOf } from '../../src/cli/mcp/tools.ts';
import { groups } from '../../src/commands/program.ts';
import { nodeFiles } from '../../src/platform/node/files.ts';
import type { Files, Host, Processes } from '../../src/platform/host.ts';
import { makeDirectory } from '../support/directory.ts';
import { partlyMade } from '../support/context.ts';
import { opsctl } from '../support/program.ts';

let root: string;
const at = (name: string): string => join(root, name);
beforeEach(() => {
  root = makeDirectory();
  mkdirSync(at('work/defs'), { recursive: true });
  mkdirSync(at('work/.opsctl/config'), { recursive: true });
  mkdirSync(at('elsewhere'));
  writeFileSync(at('work/defs/a.yaml'), 'key: a\ntitle: a\n');
  writeFileSync(at('elsewhere/a.yaml'), 'key: secret\ntitle: secret\n');
  symlinkSync(at('elsewhere/a.yaml'), at('work/link.yaml'));
  symlinkSync(at('elsewhere'), at('work/linked'));
  symlinkSync(at('work/defs'), at('work/inner'));
});
const filesOf = (changed: Partial<Files> = {}): Files =>
  withinDirectories(
    partlyMade<Host>({
      env: { OPSCTL_HOME: at('work/.opsctl') },
      cwd: root,
      files: { ...nodeFiles, ...changed },
    }),
    [at('work')],
  ).files;
const all = async (parts: AsyncIterable<Uint8Array>): Promise<string> => {
  const found: Uint8Array[] = [];
  for await (const part of parts) found.push(part);
  return Buffer.concat(found).toString();
};
const readers: Readonly<Record<string, (files: Files, path: string) => unknown>> = {
  read: (files, path) => files.read(path),
  readBytes: (files, path) => files.readBytes(path),
  readNow: async (files, path) => files.readNow(path),
  stream: (files, path) => all(files.stream(path)),
  openParts: async (files, path) => files.openParts(path),
  copy: (files, path) => files.copy(path, at('work/copy')),
};
async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('x');
}
const writers: Readonly<Record<string, (files: Files, path: string) => unknown>> = {
  replace: (files, path) => files.replace(path, 'x'),
  replaceStream: (files, path) => files.replaceStream(path, oneByte()),
  create: (files, path) => files.create(path, 'x'),
  append: async (files, path) => {
    const file = files.append(path);
    file.write('x');
    file.close();
  },
  truncate: (files, path) => files.truncate(path, 0),
  setMode: (files, path) => files.setMode(path, 0o600),
};
/** Act on a link itself, so that only the directories on the path count. */
const entryWriters: Readonly<Record<string, (files: Files, path: string) => unknown>> = {
  rename: (files, path) => files.rename(path, at('work/renamed')),
  'rename to': (files, path) => files.rename(at('work/defs/a.yaml'), path),
  remove: (files, path) => files.remove(path),
};
const others = {
  info: 'returns no content',
  realPath: 'returns no content',
  isWritable: 'returns no content',
  freeBytes: 'returns no content',
  diskOf: 'returns no content',
  temporaryDirectory: 'has no path',
  homeDirectory: 'has no path',
};

test('every method of the files is limited, or has a reason', () => {
  const entries = Object.keys(entryWriters).filter((name) => name !== 'rename to');
  const limited = [...Object.keys(readers), ...Object.keys(writers), ...entries, 'list', 'makeDirectory'];
  expect([...limited, ...Object.keys(others)].toSorted()).toEqual(Object.keys(nodeFiles).toSorted());
});
test.each(Object.keys(readers))('%s reads no file to which a link leads', async (name) => {
  const read = readers[name] as (files: Files, path: string) => Promise<unknown>;
  for (const path of ['work/link.yaml', 'work/linked/a.yaml'])
    await expect(Promise.resolve(read(filesOf(), at(path)))).rejects.toMatchObject({ category: 'usage' });
  for (const path of ['work/defs/a.yaml', 'work/inner/a.yaml', 'elsewhere/a.yaml'])
    await expect(Promise.resolve(read(filesOf(), at(path)))).resolves.not.toThrow();
});
test.each(Object.keys(writers))('%s changes no file to which a link leads', async (name) => {
  const write = writers[name] as (files: Files, path: string) => Promise<unknown>;
  for (const path of ['work/link.yaml', 'work/linked/a.yaml', 'work/linked/new.yaml'])
    await expect(Promise.resolve(write(filesOf(), at(path)))).rejects.toMatchObject({ category: 'usage' });
  expect(await nodeFiles.read(at('elsewhere/a.yaml'))).toBe('key: secret\ntitle: secret\n');
  for (const path of ['work/inner/a.yaml', 'elsewhere/a.yaml'])
    await expect(Promise.resolve(write(filesOf(), at(path)))).resolves.not.toThrow();
});
test.each(Object.keys(entryWriters))('%s changes no entry of a linked directory', async (name) => {
  const write = entryWriters[name] as (files: Files, path: string) => Promise<unknown>;
  await expect(write(filesOf(), at('work/linked/a.yaml'))).rejects.toMatchObject({ category: 'usage' });
  expect(await nodeFiles.list(at('elsewhere'))).toEqual(['a.yaml']);
  await write(filesOf(), at('work/link.yaml'));
  expect(await nodeFiles.read(at('elsewhere/a.yaml'))).toContain('secret');
});
test('makeDirectory creates no directory in a linked directory', async () => {
  for (const name of ['new', 'new/inner'])
    await expect(filesOf().makeDirectory(at(`work/linked/${name}`))).rejects.toMatchObject({
      category: 'usage',
    });
  expect(await nodeFiles.list(at('elsewhere'))).toEqual(['a.yaml']);
  await filesOf().makeDirectory(at('work/inner/new/inner'));
  expect(await nodeFiles.list(at('work/defs/new'))).toEqual(['inner']);
});
test('a link that is made after a file was missing has no effect', async () => {
  // The answers that the command got before another process made the link.
  const files = filesOf({ realPath: async () => undefined, openParts: () => undefined });
  const link = at('work/link.yaml');
  for (const name of ['read', 'readBytes', 'readNow', 'openParts'])
    expect(await readers[name]?.(files, link), name).toBeUndefined();
  await expect(readers.stream?.(files, link)).rejects.toMatchObject({ code: 'ENOENT', path: link });
});
test.runIf(process.platform === 'linux')('a file that is opened to append reports where it is', async () => {
  const files = filesOf({ realPath: async (path) => path });
  expect(() => files.append(at('work/linked/a.yaml'))).toThrow(
    expect.objectContaining({ category: 'usage' }),
  );
});
test('the names in a linked directory stay unknown', async () => {
  await expect(filesOf().list(at('work/linked'))).rejects.toMatchObject({ category: 'usage' });
  expect(await filesOf().list(at('work/inner'))).toEqual(['a.yaml']);
});
test.runIf(process.platform === 'linux')('a link that is made after the check has no effect', async () => {
  // The answer that the check got before another process replaced the directory.
  const files = filesOf({ realPath: async (path) => path });
  for (const name of ['read', 'readBytes', 'readNow', 'stream', 'openParts'])
    await expect(Promise.resolve(readers[name]?.(files, at('work/linked/a.yaml')))).rejects.toMatchObject({
      category: 'usage',
    });
});
test('a mounted volume, whose files are links into a directory such as ..data, can be read', async () => {
  mkdirSync(at('work/..2026_11_27'));
  writeFileSync(at('work/..2026_11_27/c.yaml'), 'mounted');
  symlinkSync('..2026_11_27', at('work/..data'));
  symlinkSync('..data/c.yaml', at('work/c.yaml'));
  expect(await filesOf().read(at('work/c.yaml'))).toBe('mounted');
});
test('the settings of opsctl may be links', async () => {
  symlinkSync(at('elsewhere/a.yaml'), at('work/.opsctl/config/config.json'));
  expect(await filesOf().read(at('work/.opsctl/config/config.json'))).toContain('secret');
});
test('a command with the directories of a server does not read a linked definition', async () => {
  symlinkSync(at('elsewhere/a.yaml'), at('work/defs/b.yaml'));
  const words = ['labels', 'validate', '-f', at('work/defs'), '-o', 'json'];
  const limited = await opsctl([...words, `--files-within=${at('work')}`], { home: at('home') });
  expect([limited.code, limited.stdout]).toEqual([2, '']);
  expect((await opsctl(words, { home: at('home') })).stdout).toContain('secret');
});
test.each(['a ', 'a,b', '[a]'])('the directory %j of a server limits its tools', async (name) => {
  mkdirSync(at(name));
  symlinkSync(at('elsewhere/a.yaml'), at(`${name}/b.yaml`));
  let line: string[] = [];
  const run: Processes['run'] = async (_, __, { input = '' } = {}) => {
    line = JSON.parse(String(input));
    return { code: 0, signal: null, stdout: '{}', stderr: '', timedOut: false };
  };
  const caller = partlyMade<Caller>({
    host: { self: ['opsctl'], processes: { run }, files: nodeFiles, cwd: root },
    ...{ approvals: {}, always: [], sharedFlags: [], directories: [at('work'), at(name)] },
  });
  const tools = toolsOf((await Promise.all(groups.map((group) => group.load()))).flat(), {
    ...{ mayWrite: false, groups: ['all'], mayReadFiles: true, forAll: {}, forTools: {} },
  });
  await callTool(caller, tools, 'labels_validate', { file: [at(name)] });
  const { code, stdout } = await opsctl(line, { home: at('home') });
  expect([code, stdout]).toEqual([2, '']);
});
