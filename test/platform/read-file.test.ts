import { call } from '../../src/core/program-call.ts';
import { execFileSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { isPlaceToWrite } from '../../src/core/file-name.ts';
import { nodeFiles } from '../../src/platform/node/files.ts';
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

describe('links of other users', () => {
  const [user, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  /** Changes the owner of a link, or lets the test act as another user than the owner. */
  const giveAway = (path: string): void => {
    if (user === 0) lchownSync(path, 65_534, group);
    else vi.spyOn(process, 'geteuid').mockReturnValue(user + 1);
  };
  const publicDirectory = (mode: number): string => {
    const at = join(directory, `public-${mode}-${Math.random()}`);
    mkdirSync(at);
    chmodSync(at, mode);
    writeFileSync(`${at}-victim`, 'keep');
    mkdirSync(`${at}-private`, { mode: 0o700 });
    return at;
  };
  /** The owner of the directory is neither this user nor the owner of a link in it. */
  const giveDirectoryAway = (path: string): void => {
    if (user === 0) {
      chownSync(path, 65_533, group);
      return;
    }
    vi.spyOn(fs, 'statSync').mockImplementation(((at: string, options?: object) => {
      const stats = statSync(at, options);
      return at === path ? Object.assign(stats as object, { uid: user + 2 }) : stats;
    }) as typeof fs.statSync);
  };
  const movedTo = (act: (from: string) => Promise<void>): Promise<void> => {
    const from = join(directory, `from-${Math.random()}`);
    writeFileSync(from, 'x');
    return act(from);
  };
  /** Ways that act on the last name itself, which may be any link. */
  const keepsLast = new Set([
    'create',
    'makeDirectory',
    'rename away',
    'rename to',
    'copy to',
    'remove',
    'copy',
    'list',
  ]);
  /** Every way in which the program writes to a path. */
  const writers: readonly (readonly [string, (path: string) => unknown])[] = [
    ['replace', (path) => nodeFiles.replace(path, 'x')],
    ['replaceStream', (path) => nodeFiles.replaceStream(path, nodeFiles.stream(join(directory, 'file')))],
    ['append', async (path) => nodeFiles.append(path).write('x')],
    ['truncate', (path) => nodeFiles.truncate(path, 0)],
    ['create', (path) => nodeFiles.create(path, 'x')],
    ['start', (path) => start(...call`true`, { logFile: path, detached: true, env: {} })],
  ];
  /** Every way in which the program reads a file. */
  const readers: typeof writers = [
    ['read', (path) => nodeFiles.read(path)],
    ['readBytes', (path) => nodeFiles.readBytes(path)],
    ['readNow', (path) => nodeFiles.readNow(path)],
    ['stream', (path) => nodeFiles.stream(path)[Symbol.asyncIterator]().next()],
    ['openParts', (path) => nodeFiles.openParts(path)?.close()],
  ];
  /** Every other way in which the program uses a path. */
  const others: typeof writers = [
    ['makeDirectory', (path) => nodeFiles.makeDirectory(path)],
    ['rename away', (path) => nodeFiles.rename(path, `${directory}/moved`)],
    ['rename to', (path) => movedTo((from) => nodeFiles.rename(from, path))],
    ['copy to', (path) => movedTo((from) => nodeFiles.copy(from, path))],
    ['remove', (path) => nodeFiles.remove(path)],
    ['setMode', (path) => nodeFiles.setMode(path, 0o777)],
    ['copy', (path) => nodeFiles.copy(path, `${directory}/copied`)],
    ['list', (path) => nodeFiles.list(dirname(path))],
  ];
  afterEach(() => void vi.restoreAllMocks());
  it.each([...writers, ...readers, ...others])(
    '%s follows no link of another user in a directory that others can write to',
    async (kind, write) => {
      for (const mode of [0o1777, 0o777]) {
        const at = publicDirectory(mode);
        symlinkSync(`${at}-victim`, join(at, 'out'));
        symlinkSync('out', join(at, 'second'));
        symlinkSync(`${at}-private`, join(at, 'way'));
        for (const name of ['out', 'way']) giveAway(join(at, name));
        giveDirectoryAway(at);
        const last = keepsLast.has(kind) ? [] : ['out', 'second'];
        for (const name of [...last, 'way/new', 'way/../new']) {
          await expect((async () => write(`${at}/${name}`))()).rejects.toMatchObject({
            code: 'ELINKOWNER',
            path: ['list', 'copy to'].includes(kind) ? expect.stringContaining(`${at}/way`) : `${at}/${name}`,
          });
        }
        expect(readFileSync(`${at}-victim`, 'utf8')).toBe('keep');
        expect(readdirSync(`${at}-private`)).toEqual([]);
      }
    },
  );
  it.runIf(process.platform === 'linux').each([...writers, ...readers, ...others])(
    '%s uses no directory that another user replaces by a link after the check',
    async (kind, act) => {
      const names = ['way/old', 'way/deep/old', 'way/new', 'way/deep/new'];
      for (const [name, isOpen] of names.flatMap((each) => [[each, false] as const, [each, true] as const])) {
        if (isOpen && kind === 'copy to' && user !== 0) continue;
        const at = publicDirectory(0o777);
        const [way, foreign] = [join(at, 'way'), `${at}-private`];
        for (const path of [way, foreign]) {
          mkdirSync(join(path, 'deep'), { recursive: true });
          for (const file of ['old', 'deep/old']) writeFileSync(join(path, file), path);
        }
        const swap = (): void => {
          renameSync(way, `${at}-checked`);
          symlinkSync(foreign, way);
          // A later check must see that the link belongs to another user.
          if (user !== 0) return;
          lchownSync(way, 65_534, group);
          chownSync(at, 65_533, group);
        };
        // The last check of this path is the one of the file itself.
        const spy = vi.spyOn(fs, 'lstatSync').mockImplementation(((path: string, options?: object) => {
          const stats = lstatSync(path, options);
          if (!isOpen && path === join(at, name) && lstatSync(way).isDirectory()) swap();
          return stats;
        }) as typeof fs.lstatSync);
        // opsctl reads the path of the directory after it opened the directory.
        const spyOfOpen = vi.spyOn(fs, 'readlinkSync').mockImplementation(((path: string) => {
          const to = readlinkSync(path);
          if (isOpen && to.startsWith(way) && lstatSync(way).isDirectory()) swap();
          return to;
        }) as typeof fs.readlinkSync);
        const got = await (async () => act(`${at}/${name}`))().catch((error: Error) => error);
        spy.mockRestore();
        spyOfOpen.mockRestore();
        expect(JSON.stringify(got) ?? '').not.toContain(foreign);
        expect(statSync(join(foreign, 'old')).mode & 0o777).not.toBe(0o777);
        expect(readFileSync(join(foreign, 'old'), 'utf8')).toBe(foreign);
        expect(readFileSync(join(foreign, 'deep/old'), 'utf8')).toBe(foreign);
        expect([readdirSync(foreign), readdirSync(join(foreign, 'deep'))]).toEqual([
          ['deep', 'old'],
          ['old'],
        ]);
      }
    },
  );
  it.each([
    ['cannot change', 'once in a turn', 0, 1],
    ['can write to', 'for each file', 0o002, undefined],
  ])('a directory that others %s is checked %s', async (_, __, open, most) => {
    const real = realpathSync(directory);
    const lstat = vi.spyOn(fs, 'lstatSync').mockImplementation(((at: string, options?: object) => {
      const stats = lstatSync(at, options) as fs.Stats | undefined;
      if (stats?.isDirectory() !== true) return stats;
      return Object.assign(stats, { mode: (stats.mode & ~0o002) | (at === dirname(real) ? open : 0) });
    }) as typeof fs.lstatSync);
    const checks = (): number => {
      lstat.mockClear();
      expect(nodeFiles.readNow(join(real, 'file'))).toBe('text');
      return lstat.mock.calls.length;
    };
    const all = real.split('/').length + 1;
    expect([checks(), checks()]).toEqual([all, most ?? all]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(checks()).toBe(all);
  });
  it.each([0o1777, 0o777])('a link of the owner of the directory is followed, mode %o', async (mode) => {
    const at = publicDirectory(mode);
    symlinkSync(`${at}-private`, join(at, 'latest'));
    giveAway(join(at, 'latest'));
    if (user === 0) chownSync(at, 65_534, group);
    await nodeFiles.replace(join(at, 'latest', 'new'), 'new');
    expect(readFileSync(join(`${at}-private`, 'new'), 'utf8')).toBe('new');
  });
  it('a link of the user, and any link in a private directory, is followed', async () => {
    const at = publicDirectory(0o1777);
    symlinkSync(`${at}-victim`, join(at, 'own'));
    await nodeFiles.replace(join(at, 'own'), 'own');
    expect(readFileSync(`${at}-victim`, 'utf8')).toBe('own');
    symlinkSync(`${at}-victim`, join(`${at}-private`, 'link'));
    giveAway(join(`${at}-private`, 'link'));
    await nodeFiles.replace(join(`${at}-private`, 'link'), 'private');
    expect(readFileSync(`${at}-victim`, 'utf8')).toBe('private');
  });
  /** A directory that every user can write to, with a link to a missing file. Both belong to another user. */
  const withDanglingLink = (): string => {
    const at = publicDirectory(0o1777);
    symlinkSync(`${at}-private/missing`, join(at, 'dangling'));
    giveAway(join(at, 'dangling'));
    if (user === 0) chownSync(at, 65_534, group);
    return at;
  };
  it('create follows no link at the end of a path', async () => {
    const at = withDanglingLink();
    for (const name of ['dangling', 'out']) {
      if (name === 'out') {
        symlinkSync(`${at}-victim`, join(at, name));
        giveAway(join(at, name));
        giveDirectoryAway(at);
      }
      expect(await nodeFiles.create(join(at, name), 'x')).toBe(false);
    }
    expect(readdirSync(`${at}-private`)).toEqual([]);
    expect(readFileSync(`${at}-victim`, 'utf8')).toBe('keep');
  });
  it('replace replaces a link to a missing file, in every directory', async () => {
    const at = withDanglingLink();
    symlinkSync('missing', join(`${at}-private`, 'dangling'));
    symlinkSync(join(at, 'missing'), join(`${at}-private`, 'shared'));
    for (const path of [`${at}/dangling`, `${at}-private/dangling`, `${at}-private/shared`]) {
      await nodeFiles.replace(path, 'new');
      expect([lstatSync(path).isFile(), readFileSync(path, 'utf8')]).toEqual([true, 'new']);
    }
    expect(readdirSync(at)).toEqual(['dangling']);
    expect(readdirSync(`${at}-private`).sort()).toEqual(['dangling', 'shared']);
  });
  it.runIf(process.platform === 'linux')(
    'an open file of a shared directory is read after it was removed, and as a pipe',
    async () => {
      const at = publicDirectory(0o1777);
      const [path, pipe] = [join(at, 'removed'), join(at, 'pipe')];
      writeFileSync(path, 'text');
      const file = openSync(path, 'r');
      rmSync(path);
      for (const named of [`/dev/fd/${file}`, `/proc/self/fd/${file}`]) {
        expect(await nodeFiles.read(named)).toBe('text');
        expect(nodeFiles.readNow(named)).toBe('text');
        expect(nodeFiles.openParts(named)?.size).toBe(4);
        expect(String((await nodeFiles.stream(named)[Symbol.asyncIterator]().next()).value)).toBe('text');
      }
      closeSync(file);
      execFileSync('mkfifo', [pipe]);
      // With both ends open, no call blocks, so the test also terminates if it fails.
      const ends = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
      writeFileSync(ends, 'piped');
      const chunks = nodeFiles.stream(`/dev/fd/${ends}`)[Symbol.asyncIterator]();
      const first = await chunks.next().finally(() => closeSync(ends));
      expect(String(first.value)).toBe('piped');
      await chunks.return?.();
    },
  );
  it('an error of a replaced file names the requested file only', async () => {
    const at = publicDirectory(0o1777);
    const path = join(at, 'busy');
    vi.spyOn(fs.promises, 'rename').mockImplementation(async (from, to) => {
      const message = `EBUSY: resource busy or locked, rename '${String(from)}' -> '${String(to)}'`;
      throw Object.assign(new Error(message), { code: 'EBUSY', path: from, dest: to });
    });
    await expect(nodeFiles.replace(path, 'x')).rejects.toMatchObject({
      code: 'EBUSY',
      path,
      message: `EBUSY: resource busy or locked, rename '${path}' -> '${path}'`,
    });
    expect(readdirSync(at)).toEqual([]);
  });
  it.skipIf(process.platform !== 'linux')(
    'an error of its open directory names the code and the file once',
    async () => {
      const at = publicDirectory(0o1777);
      writeFileSync(join(at, 'file'), '');
      const path = join(at, 'file', 'in');
      await expect(nodeFiles.create(path, 'x')).rejects.toMatchObject({
        ...{ code: 'ENOTDIR', path },
        message: `ENOTDIR: not a directory, open '${path}'`,
      });
    },
  );
  it.each(['with', 'without'])('paths into a shared directory are used %s /proc', async (proc) => {
    const at = publicDirectory(0o1777);
    if (proc === 'without')
      vi.spyOn(fs, 'readlinkSync').mockImplementation(() => {
        throw new Error('ENOENT');
      });
    for (const path of [join(at, 'new'), relative(process.cwd(), join(at, 'second'))]) {
      expect(await nodeFiles.create(path, 'one')).toBe(true);
      await nodeFiles.replace(path, 'two');
      nodeFiles.append(path).write('three');
      expect(await nodeFiles.read(path)).toBe('twothree');
      expect(nodeFiles.readNow(path)).toBe('twothree');
    }
    for (const end of ['/', '/.']) {
      const path = join(at, 'new') + end;
      expect(await nodeFiles.read(path)).toBeUndefined();
      for (const [kind, write] of writers)
        await expect((async () => write(path))(), kind).rejects.toThrow(/ENOTDIR|EISDIR/);
    }
    expect(readdirSync(at).sort()).toEqual(['new', 'second']);
    expect(readFileSync(join(at, 'new'), 'utf8')).toBe('twothree');
  });
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
    await expect(start(...call`true`, log)).rejects.toMatchObject({ code: 'ENOTFILE' });
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
