import { mapCall } from '../core/program-call.ts';
import { childPath, isInside, pathPart } from '../core/file-name.ts';
import { createHash, hash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { configFile, directoriesOf } from '../config/settings.ts';
import { limits } from '../core/limits.ts';
import { usageError } from '../core/problem.ts';
import { decodeUtf8 } from '../core/text.ts';
import type { Bytes, FileInfo, FileParts, Files, Host, Processes } from '../platform/host.ts';
import type { Command } from './command.ts';
import type { Values } from '../core/flag.ts';
import { effectsOf } from './read-only.ts';

/** What a dry run found at a path. A directory has no digest: its files have their own entries. */
type Found =
  | { readonly kind: 'file'; readonly copy: string; readonly sha256: string }
  | { readonly kind: 'directory'; readonly names: readonly string[] }
  | { readonly kind: 'missing' };
type Manifest = {
  readonly found: Readonly<Record<string, Found>>;
  /** Digest of every file that the command line names, or that is in a directory that it names. */
  readonly sha256: string;
};

/** Paths that the command line names: values of flags and arguments that read a file. */
const namedPaths = ({ args = [], flags = {} }: Command, values: Values, cwd: string): string[] =>
  [...args.map((part) => [part.name, part] as const), ...Object.entries(flags)].flatMap(([name, part]) => {
    if (effectsOf(part)?.includes('reads') !== true) return [];
    return [values[name] ?? []].flat().flatMap((text) => {
      if (typeof text !== 'string' || text === '-') return [];
      if (name === 'body') return text.startsWith('@') ? [resolve(cwd, text.slice(1))] : [];
      return [resolve(cwd, text)];
    });
  });

/** Files of the environment that decide what a `kv` command does. */
const filesOfEnvironment = ({ env, cwd }: Host): string[] =>
  [env.OPSCTL_KV_CLUSTER, env.OPSCTL_KV_VERSIONS_FILE].flatMap((path) => (path ? [resolve(cwd, path)] : []));

/** Settings and credentials of this program are not content of a call, except the settings file itself. */
const ownDirectories = (host: Host): string[] => {
  const { config, state, cache } = directoriesOf(host, 'any');
  return [dirname(config), dirname(state), dirname(cache)];
};

const manifestFile = (directory: string): string => join(directory, 'files.json');

/** Copies of the files that a dry run read, in a private directory. */
class Copies {
  readonly #host: Host;
  readonly #directory: string;
  readonly #named: readonly string[];
  readonly #isRecording: boolean;
  readonly #isEveryFile: boolean;
  readonly #own: readonly string[];
  readonly #found = new Map<string, Found>();
  readonly #pending = new Map<string, Promise<void>>();

  constructor(
    host: Host,
    directory: string,
    { named, isRecording, isEveryFile }: { named: string[]; isRecording: boolean; isEveryFile: boolean },
  ) {
    this.#host = host;
    this.#directory = directory;
    this.#named = named;
    this.#isRecording = isRecording;
    this.#isEveryFile = isEveryFile;
    this.#own = [...ownDirectories(host), directory];
  }

  async load(): Promise<void> {
    const text = await this.#host.files.read(manifestFile(this.#directory));
    if (text === undefined) throw usageError('--approved-files is not the directory of an earlier dry run');
    const { found } = JSON.parse(text) as Manifest;
    for (const [path, one] of Object.entries(found)) this.#found.set(path, one);
  }

  async recordNamed(): Promise<void> {
    for (const path of this.#named) await this.#record(path);
  }

  async save(): Promise<void> {
    const named = [...this.#found]
      .filter(([path]) => this.#named.some((one) => isInside(one, path)))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, one]) => [path, one.kind === 'file' ? one.sha256 : one]);
    const manifest: Manifest = {
      found: Object.fromEntries(this.#found),
      sha256: hash('sha256', JSON.stringify(named)),
    };
    await this.#host.files.replace(manifestFile(this.#directory), JSON.stringify(manifest), 0o600);
  }

  /** From now on the path has what this run wrote. */
  forget(path: string): void {
    this.#found.delete(path);
    this.#found.delete(dirname(path));
  }

  now(path: string): Found | undefined {
    return this.#found.get(path);
  }

  /** The path to read: the copy; the path itself for a file that is not copied; undefined for a missing one. */
  async at(path: string): Promise<string | undefined> {
    if (this.#isRecording && this.#isRecorded(path)) await this.#record(path);
    return this.#pathOf(path);
  }

  atNow(path: string): string | undefined {
    return this.#pathOf(path);
  }

  async list(path: string): Promise<readonly string[]> {
    if (this.#isRecording && this.#isRecorded(path)) await this.#record(path);
    const one = this.#found.get(path);
    return one?.kind === 'directory' ? one.names : this.#host.files.list(path);
  }

  #pathOf(path: string): string | undefined {
    const one = this.#found.get(path);
    if (one?.kind === 'file') return childPath(this.#directory, pathPart(one.copy));
    return one?.kind === 'missing' ? undefined : path;
  }

  #isRecorded(path: string): boolean {
    if (path === configFile(this.#host)) return true;
    if (this.#own.some((one) => isInside(one, path))) return this.#named.includes(path);
    return this.#isEveryFile || this.#named.some((one) => isInside(one, path));
  }

  #record(path: string): Promise<void> {
    if (this.#found.has(path)) return Promise.resolve();
    const pending = this.#pending.get(path) ?? this.#recordOnce(path);
    this.#pending.set(path, pending);
    return pending;
  }

  async #recordOnce(path: string): Promise<void> {
    const { files } = this.#host;
    const real = await files.realPath(path);
    if (real === undefined) {
      this.#found.set(path, { kind: 'missing' });
      return;
    }
    const kind = (await files.info(real))?.kind;
    if (kind === 'directory') this.#found.set(path, { kind, names: await files.list(path) });
    if (kind !== 'file') return;
    const copy = hash('sha256', path);
    const digest = createHash('sha256');
    await files.replaceStream(
      childPath(this.#directory, pathPart(copy)),
      hashParts(files.stream(path), digest),
      0o600,
    );
    this.#found.set(path, { kind: 'file', copy, sha256: digest.digest('hex') });
  }
}

async function* hashParts(
  parts: AsyncIterable<Uint8Array>,
  digest: { update(part: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    digest.update(part);
    yield part;
  }
}

type ReadingFiles = Pick<
  Files,
  'read' | 'readBytes' | 'readNow' | 'stream' | 'openParts' | 'list' | 'info' | 'copy'
>;
const readingFiles = (files: Files, copies: Copies): ReadingFiles => ({
  read: async (path) => {
    const at = await copies.at(path);
    return at === undefined ? undefined : files.read(at);
  },
  readBytes: async (path) => {
    const at = await copies.at(path);
    return at === undefined ? undefined : files.readBytes(at);
  },
  readNow: (path) => {
    const at = copies.atNow(path);
    return at === undefined ? undefined : files.readNow(at);
  },
  async *stream(path) {
    yield* files.stream((await copies.at(path)) ?? path);
  },
  openParts: (path) => {
    const at = copies.atNow(path);
    return at === undefined ? undefined : files.openParts(at);
  },
  list: async (path) => [...(await copies.list(path))],
  info: async (path) => {
    const [at, info] = [await copies.at(path), await files.info(path)];
    if (at === undefined || at === path) return at === undefined ? undefined : info;
    const copy = await files.info(at);
    if (copy === undefined || info?.kind === 'link') return info;
    return { ...(info ?? copy), kind: 'file', sizeBytes: copy.sizeBytes } satisfies FileInfo;
  },
  copy: async (from, to) => {
    copies.forget(to);
    return files.copy((await copies.at(from)) ?? from, to);
  },
});

type WritingFiles = Pick<
  Files,
  'replace' | 'replaceStream' | 'create' | 'append' | 'truncate' | 'rename' | 'remove'
>;
const writingFiles = (files: Files, copies: Copies): WritingFiles => ({
  replace: (path, ...rest) => {
    copies.forget(path);
    return files.replace(path, ...rest);
  },
  replaceStream: (path, ...rest) => {
    copies.forget(path);
    return files.replaceStream(path, ...rest);
  },
  create: (path, ...rest) => {
    copies.forget(path);
    return files.create(path, ...rest);
  },
  append: (path, ...rest) => {
    copies.forget(path);
    return files.append(path, ...rest);
  },
  truncate: (path, size) => {
    copies.forget(path);
    return files.truncate(path, size);
  },
  rename: (from, to) => {
    copies.forget(from);
    copies.forget(to);
    return files.rename(from, to);
  },
  remove: (path) => {
    copies.forget(path);
    return files.remove(path);
  },
});

/** A program that gets the path of a copied file reads the copy. */
const withCopies = (processes: Processes, copies: Copies): Processes => {
  const copyPath = (path: string): string =>
    copies.now(path)?.kind === 'file' ? (copies.atNow(path) ?? path) : path;
  const { isAlive, signal, startMark, scope } = processes;
  return {
    ...{ isAlive, signal, startMark, scope },
    run: (command, args, options) =>
      processes.run(...mapCall([command, args], copyPath), {
        ...options,
        ...(options?.inputFile === undefined ? {} : { inputFile: copyPath(options.inputFile) }),
      }),
    start: (command, args, options) =>
      processes.start(...mapCall([command, args], (word, at) => (at === 0 ? word : copyPath(word))), options),
  };
};

/** The methods without content, by name: a new one that reads files must not pass a wrapper by. */
const contentFree = (files: Files) => {
  const { realPath, makeDirectory, setMode, freeBytes, diskOf, isWritable } = files;
  const { temporaryDirectory, homeDirectory } = files;
  return {
    ...{ realPath, makeDirectory, setMode, freeBytes, diskOf, isWritable, temporaryDirectory, homeDirectory },
  };
};

export type ApprovedFiles = { readonly host: Host; readonly end: () => Promise<void> };

/**
 * The machine of a run whose dry run was approved. The dry run reads private copies and leaves them in the directory;
 * the run reads those copies, so that a file that was replaced in the meantime has no effect. The member programs and
 * logs of a cluster change all the time: `kv` commands read copies only of the files that the command line names.
 */
export const withApprovedFiles = async (
  host: Host,
  directory: string,
  given: { readonly command: Command; readonly values: Values; readonly isDryRun: boolean },
): Promise<ApprovedFiles> => {
  const { command, values, isDryRun } = given;
  const copies = new Copies(host, directory, {
    named: [...namedPaths(command, values, host.cwd), ...filesOfEnvironment(host)],
    isRecording: isDryRun,
    isEveryFile: command.path[0] !== 'kv',
  });
  if (isDryRun) {
    await copies.recordNamed();
    await copies.at(configFile(host));
  } else await copies.load();
  const files: Files = {
    ...contentFree(host.files),
    ...readingFiles(host.files, copies),
    ...writingFiles(host.files, copies),
  };
  return {
    host: Object.create(host, {
      files: { value: files, enumerable: true },
      processes: { value: withCopies(host.processes, copies), enumerable: true },
    }) as Host,
    end: async () => {
      if (isDryRun) await copies.save();
    },
  };
};

/** The digest of the named files of a dry run. */
export const approvedDigest = async (files: Files, directory: string): Promise<string> => {
  const text = await files.read(manifestFile(directory));
  if (text === undefined) throw usageError('the dry run left no list of the files that it read');
  return (JSON.parse(text) as Manifest).sha256;
};

const chunkBytes = 65_536;
async function* readChunks(parts: FileParts): AsyncGenerator<Bytes> {
  try {
    for (let from = 0; ; ) {
      const chunk = parts.read(from, chunkBytes);
      if (chunk.length === 0) return;
      from += chunk.length;
      yield chunk;
    }
  } finally {
    parts.close();
  }
}
const readWhole = (parts: FileParts | undefined, path: string): Bytes | undefined => {
  if (parts === undefined) return undefined;
  try {
    if (parts.size <= limits.fileBytes) return parts.read(0, parts.size);
    throw usageError(`${path} is larger than ${limits.fileBytes} bytes`);
  } finally {
    parts.close();
  }
};
/** The error of the system, so that its explanation is the same. */
const missingFile = (path: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), {
    ...{ code: 'ENOENT', path, syscall: 'open' },
  });
/** Checks the paths of a run that belong to the directories of the server. */
const boundaryOf = (host: Host, directories: readonly string[]) => {
  const { files } = host;
  const own = ownDirectories(host);
  const isBound = (path: string): boolean =>
    directories.some((one) => isInside(one, path)) && !own.some((one) => isInside(one, path));
  const check = (path: string, real: string | undefined): void => {
    if (real === undefined || directories.some((one) => isInside(one, real))) return;
    const message = `${path} leads out of ${directories.join(' or ')}; the file was not read or changed`;
    throw usageError(message, [], ['start opsctl mcp with another --files for the directory of that file']);
  };
  /** The real path of a path, or of the nearest directory above it that exists and is in the directories. */
  const nearestReal = async (path: string): Promise<string | undefined> =>
    isBound(path) ? ((await files.realPath(path)) ?? nearestReal(dirname(path))) : undefined;
  const checkPlace = async (path: string): Promise<void> => check(path, await nearestReal(path));
  /** For a method that acts on a link itself and not on its target. */
  const checkEntry = async (path: string): Promise<void> => check(path, await nearestReal(dirname(path)));
  /** The system reports where the open file is, so a link that another process replaces at this moment has no effect. */
  const checkOpen = <T extends Pick<FileParts, 'path' | 'close'>>(path: string, opened: T): T => {
    try {
      if (isBound(path)) check(path, opened.path);
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  };
  const openNow = (path: string): FileParts | undefined => {
    const parts = files.openParts(path);
    return parts && checkOpen(path, parts);
  };
  const open = async (path: string): Promise<FileParts | undefined> => {
    await checkPlace(path);
    return openNow(path);
  };
  return { isBound, checkPlace, checkEntry, checkOpen, open, openNow };
};
type Boundary = ReturnType<typeof boundaryOf>;
const boundedReads = (files: Files, { isBound, checkPlace, open, openNow }: Boundary) => {
  const readBytes = async (path: string): Promise<Bytes | undefined> =>
    isBound(path) ? readWhole(await open(path), path) : files.readBytes(path);
  return {
    readBytes,
    read: async (path: string) => {
      const bytes = await readBytes(path);
      return bytes === undefined ? undefined : decodeUtf8(bytes, path);
    },
    readNow: (path: string) => {
      if (!isBound(path)) return files.readNow(path);
      // A missing file is not opened a second time: a link to another place may have been made in the meantime.
      const bytes = readWhole(openNow(path), path);
      return bytes === undefined ? undefined : decodeUtf8(bytes, path);
    },
    async *stream(path: string) {
      if (!isBound(path)) return yield* files.stream(path);
      const parts = await open(path);
      if (parts === undefined) throw missingFile(path);
      yield* readChunks(parts);
    },
    openParts: openNow,
    list: async (path: string) => {
      await checkPlace(path);
      const names = await files.list(path);
      await checkPlace(path);
      return names;
    },
  } satisfies Partial<Files>;
};
const boundedWrites = (files: Files, { checkPlace, checkOpen }: Boundary) => {
  const checkFirst =
    <Rest extends unknown[], Value>(change: (path: string, ...rest: Rest) => Promise<Value>) =>
    async (path: string, ...rest: Rest): Promise<Value> => {
      await checkPlace(path);
      return change(path, ...rest);
    };
  return {
    replace: checkFirst(files.replace.bind(files)),
    replaceStream: checkFirst(files.replaceStream.bind(files)),
    create: checkFirst(files.create.bind(files)),
    copy: async (from, to) => {
      await checkPlace(from);
      await checkPlace(to);
      return files.copy(from, to);
    },
    append: (path, ...rest) => checkOpen(path, files.append(path, ...rest)),
    truncate: checkFirst(files.truncate.bind(files)),
    setMode: checkFirst(files.setMode.bind(files)),
    makeDirectory: checkFirst(files.makeDirectory.bind(files)),
  } satisfies Partial<Files>;
};
const boundedEntries = (files: Files, { checkEntry }: Boundary) =>
  ({
    rename: async (from, to) => {
      await checkEntry(from);
      await checkEntry(to);
      return files.rename(from, to);
    },
    remove: async (path) => {
      await checkEntry(path);
      return files.remove(path);
    },
  }) satisfies Partial<Files>;
/**
 * The machine of a tool whose files are limited to directories. The server checks only the paths of the call. In a
 * directory, the agent may have made a link to a file elsewhere, or may replace a directory by a link after that check.
 */
export const withinDirectories = (host: Host, directories: readonly string[]): Host => {
  const boundary = boundaryOf(host, directories);
  const files: Files = {
    ...contentFree(host.files),
    info: host.files.info,
    ...boundedReads(host.files, boundary),
    ...boundedWrites(host.files, boundary),
    ...boundedEntries(host.files, boundary),
  };
  return Object.create(host, { files: { value: files, enumerable: true } }) as Host;
};
