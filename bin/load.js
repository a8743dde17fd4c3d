// Loads the files of the program and stores the code that V8 compiled, so that the next start does not compile them again.
// Compiling took half of the time of a short command. Node itself can do this from 22.8 on (module.enableCompileCache).
const fs = require('node:fs');
const { basename, dirname, isAbsolute, join, resolve } = require('node:path');
const { Script } = require('node:vm');

const { env } = process;
const OLD_MS = 7 * 24 * 3_600_000;
/** Compiling a smaller file takes no longer than reading its code. */
const MIN_BYTES = 4096;

/** The cache directory of the program (src/config/settings.ts has all of them). */
const cacheRoot = () => {
  if (env.OPSCTL_HOME) return resolve(env.OPSCTL_HOME, 'cache');
  const isWindows = process.platform === 'win32';
  const place = isWindows ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
  const home = env.HOME || require('node:os').homedir();
  const root =
    place && isAbsolute(place) ? place : join(home, ...(isWindows ? ['AppData', 'Local'] : ['.cache']));
  // With an empty or relative HOME, the cache would be in the current directory.
  if (!isAbsolute(root)) throw new Error('no home');
  return join(root, 'opsctl', ...(isWindows ? ['cache'] : []));
};

/** A cache that cannot be read never stops the program, even if the home is a file or cannot be searched. */
const lookAt = (path) => {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
};

/** The program runs the code in this directory, so no other user may be able to write to it. */
const isPrivate = (directory) => {
  const found = lookAt(directory);
  if (process.platform === 'win32') return found !== undefined;
  return found !== undefined && found.uid === process.getuid() && (found.mode & 0o022) === 0;
};

/** The directory of Node's own cache if it is set, otherwise the cache directory. A user without a home has no such directory. */
const cacheDirectory = () => {
  try {
    return env.NODE_COMPILE_CACHE ? resolve(env.NODE_COMPILE_CACHE, 'opsctl') : join(cacheRoot(), 'code');
  } catch {
    return undefined;
  }
};
const directory = cacheDirectory();
/** Compiled code fits one version of Node on one processor architecture. */
const suffix = `-${process.version}-${process.arch}.bin`;
const isWanted = directory !== undefined && !env.NODE_DISABLE_COMPILE_CACHE;
const isTrusted = isWanted && isPrivate(directory);
const loaded = new Map();
/** The scripts of this run whose code is not stored yet, by the path of the cache file. */
const fresh = new Map();

/**
 * V8 runs damaged code, because it checks no sum. Each file therefore contains the code twice: loading node:zlib or
 * node:crypto for a sum would need more time than reading the file twice. V8 rejects an empty file and a file of zeros.
 */
const kept = (place) => {
  try {
    if (!isTrusted || !fs.statSync(place).isFile()) return undefined;
    const bytes = fs.readFileSync(place);
    const half = bytes.length / 2;
    const data = bytes.subarray(0, half);
    return half > 0 && data.equals(bytes.subarray(half)) ? data : undefined;
  } catch {
    return undefined;
  }
};

/** A missing or damaged file is a fault of the installation: without this code, the command would search for it in its arguments. */
const broken = (file, what) =>
  Object.assign(new Error(`the installation is damaged: ${file} ${what}`), {
    code: 'PROGRAM_FILE',
    path: file,
  });
const textOf = (file) => {
  try {
    return fs.readFileSync(file, 'latin1');
  } catch (error) {
    throw broken(file, error.code === 'ENOENT' ? 'not found' : `cannot be read (${error.code})`);
  }
};
const scriptOf = (source, options) => {
  try {
    return new Script(source, options);
  } catch (error) {
    throw error instanceof SyntaxError ? broken(options.filename, 'is not complete') : error;
  }
};

const compiled = (file) => {
  const source = `(function (exports, require, module, __filename, __dirname) {${textOf(file)}\n})`;
  const options = { filename: file };
  // V8 compares only the length of the source, so a file without a hash in its name cannot be cached.
  if (!isWanted || source.length < MIN_BYTES || !/-[\w-]{8}\.js$/.test(file))
    return scriptOf(source, options);
  const place = join(directory, `${basename(file)}${suffix}`);
  const script = scriptOf(source, { ...options, cachedData: kept(place) });
  // Undefined without stored code, true if V8 rejected it.
  if (script.cachedDataRejected !== false) fresh.set(place, script);
  return script;
};

/** Modules that most commands never use. Loading one takes up to a fifth of the start of Node, so its first use loads it. */
const lazyModule = (name) => {
  let whole;
  const loadWhole = () => {
    whole ??= require(name);
    return whole;
  };
  return new Proxy(
    {},
    {
      get: (_, key) => loadWhole()[key],
      has: (_, key) => key in loadWhole(),
      ownKeys: () => Reflect.ownKeys(loadWhole()),
      // The target lacks the property, so the proxy may report only a configurable one.
      getOwnPropertyDescriptor: (_, key) => {
        const found = Reflect.getOwnPropertyDescriptor(loadWhole(), key);
        return found && { ...found, configurable: true };
      },
    },
  );
};
const lazyModules = new Map(['node:crypto', 'node:zlib'].map((name) => [name, lazyModule(name)]));
const packageOf = (name) => lazyModules.get(name) ?? require(name);

/** Loads a file of the build as `require` would. */
const load = (file) => {
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const own = { exports: {} };
  loaded.set(file, own);
  const beside = (name) => (name.startsWith('.') ? load(join(dirname(file), name)) : packageOf(name));
  compiled(file).runInThisContext().call(own.exports, own.exports, beside, own, file, dirname(file));
  return own.exports;
};

/** Removes old code of other builds and other versions of Node, and no other file: a profile may be named `code`. */
const tidy = () => {
  for (const name of fs.readdirSync(directory).filter((one) => /\.js-v[\w.-]+\.bin(\.\d+)?$/.test(one))) {
    const path = join(directory, name);
    if (!fresh.has(path) && Date.now() - fs.statSync(path).mtimeMs > OLD_MS) fs.rmSync(path, { force: true });
  }
};

/** Writes the whole file or none. An incomplete file is removed, for example on a full disk. */
const put = (place, data) => {
  const unfinished = `${place}.${process.pid}`;
  try {
    fs.writeFileSync(unfinished, Buffer.concat([data, data]), { mode: 0o600, flush: true });
    fs.renameSync(unfinished, place);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw error;
  }
};

/** The recursive `mkdir` of Node never ends below an existing directory that accepts no new one (/proc, automounts). */
const makeDirectory = (path) => {
  if (fs.existsSync(path)) return;
  if (!fs.existsSync(dirname(path))) makeDirectory(dirname(path));
  fs.mkdirSync(path, { mode: 0o700 });
};

/** With sudo, the home may belong to another user. Root leaves no file there. */
const isOwnPlace = (path) => {
  if (process.platform === 'win32') return true;
  const found = lookAt(path);
  return found === undefined ? isOwnPlace(dirname(path)) : found.uid === process.getuid();
};

/** Runs at the end, so that the cache includes functions that were compiled during the run. */
const keep = () => {
  if (fresh.size === 0) return;
  try {
    if (!isOwnPlace(directory)) return;
    makeDirectory(directory);
    if (!isPrivate(directory)) return;
    for (const [place, script] of fresh) put(place, script.createCachedData());
    tidy();
  } catch {
    // A cache that cannot be written (no home, no space, read-only) causes neither an error nor a message.
  }
};
process.on('exit', keep);

module.exports = { load, directory };
