// Loads the program's files, and keeps what V8 compiled of them for the next start: compiling was half of the time of a
// short command. Node has this for itself only from 22.8 on (module.enableCompileCache).
const fs = require('node:fs');
const { basename, dirname, isAbsolute, join, resolve } = require('node:path');
const { Script } = require('node:vm');
const { crc32 } = require('node:zlib');

const { env } = process;
const OLD_MS = 7 * 24 * 3_600_000;
/** Smaller files are compiled as fast as they are read. */
const MIN_BYTES = 4096;

/** The cache directory of the program (src/config/settings.ts has all of them). */
const cacheRoot = () => {
  if (env.OPSCTL_HOME) return resolve(env.OPSCTL_HOME, 'cache');
  const isWindows = process.platform === 'win32';
  const place = isWindows ? env.LOCALAPPDATA : env.XDG_CACHE_HOME;
  const home = env.HOME || require('node:os').homedir();
  const root =
    place && isAbsolute(place) ? place : join(home, ...(isWindows ? ['AppData', 'Local'] : ['.cache']));
  // Below an empty or relative HOME it would lie in whatever directory the program is started in.
  if (!isAbsolute(root)) throw new Error('no home');
  return join(root, 'opsctl', ...(isWindows ? ['cache'] : []));
};

/** Nothing about the cache may stop the program: not a home that is a file, nor one that cannot be searched. */
const lookAt = (path) => {
  try {
    return fs.statSync(path);
  } catch {
    return undefined;
  }
};

/** What lies there is run: only a directory that nobody else can write to is trusted. */
const isPrivate = (directory) => {
  const found = lookAt(directory);
  if (process.platform === 'win32') return found !== undefined;
  return found !== undefined && found.uid === process.getuid() && (found.mode & 0o022) === 0;
};

/** Where Node is told to keep its own, else in the cache directory. A user without a home (a container's made-up user id) has none. */
const cacheDirectory = () => {
  try {
    return env.NODE_COMPILE_CACHE ? resolve(env.NODE_COMPILE_CACHE, 'opsctl') : join(cacheRoot(), 'code');
  } catch {
    return undefined;
  }
};
const directory = cacheDirectory();
/** Code is good for one version of Node on one kind of processor. */
const suffix = `-${process.version}-${process.arch}.bin`;
const isWanted = directory !== undefined && !env.NODE_DISABLE_COMPILE_CACHE;
const isTrusted = isWanted && isPrivate(directory);
const loaded = new Map();
/** Files of this run whose compiled code is not kept yet, and where it goes. */
const fresh = new Map();

/** V8 checks no sum of its own: it would run damaged code. Loading node:crypto for one costs a fifth of the start of Node. */
const SUM_BYTES = 8;
const sumOf = (data) => {
  const sum = Buffer.alloc(SUM_BYTES);
  sum.writeUInt32LE(crc32(data));
  sum.writeUInt32LE(data.length, 4);
  return sum;
};

const kept = (place) => {
  try {
    if (!isTrusted || !fs.statSync(place).isFile()) return undefined;
    const bytes = fs.readFileSync(place);
    const data = bytes.subarray(SUM_BYTES);
    return sumOf(data).equals(bytes.subarray(0, SUM_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
};

/** A missing or damaged file is a fault of the installation: without this code, the command would look for it in its arguments. */
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
  // V8 compares no more than the length of the source: without a hash of it in the name nothing can be kept.
  if (!isWanted || source.length < MIN_BYTES || !/-[\w-]{8}\.js$/.test(file))
    return scriptOf(source, options);
  const place = join(directory, `${basename(file)}${suffix}`);
  const script = scriptOf(source, { ...options, cachedData: kept(place) });
  // Undefined without kept code, true when V8 refused it.
  if (script.cachedDataRejected !== false) fresh.set(place, script);
  return script;
};

/** Most commands hash nothing, and node:crypto costs a fifth of the start of Node: it is loaded by its first use. */
let crypto;
const wholeCrypto = () => {
  crypto ??= require('node:crypto');
  return crypto;
};
const lazyCrypto = new Proxy(
  {},
  {
    get: (_, name) => wholeCrypto()[name],
    has: (_, name) => name in wholeCrypto(),
    ownKeys: () => Reflect.ownKeys(wholeCrypto()),
    // The target lacks the property, so the proxy may report only a configurable one.
    getOwnPropertyDescriptor: (_, name) => {
      const found = Reflect.getOwnPropertyDescriptor(wholeCrypto(), name);
      return found && { ...found, configurable: true };
    },
  },
);
const packageOf = (name) => (name === 'node:crypto' ? lazyCrypto : require(name));

/** A file of the build by its path, as `require` would load it. */
const load = (file) => {
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const own = { exports: {} };
  loaded.set(file, own);
  const beside = (name) => (name.startsWith('.') ? load(join(dirname(file), name)) : packageOf(name));
  compiled(file).runInThisContext().call(own.exports, own.exports, beside, own, file, dirname(file));
  return own.exports;
};

/** Code of other builds and other versions of Node goes when it is old; whatever else lies there stays: a profile may be called `code`. */
const tidy = () => {
  for (const name of fs.readdirSync(directory).filter((one) => /\.js-v[\w.-]+\.bin(\.\d+)?$/.test(one))) {
    const path = join(directory, name);
    if (!fresh.has(path) && Date.now() - fs.statSync(path).mtimeMs > OLD_MS) fs.rmSync(path, { force: true });
  }
};

/** Whole or not at all; what was begun on a full disk is removed. */
const put = (place, data) => {
  const unfinished = `${place}.${process.pid}`;
  try {
    fs.writeFileSync(unfinished, Buffer.concat([sumOf(data), data]), { mode: 0o600, flush: true });
    fs.renameSync(unfinished, place);
  } catch (error) {
    fs.rmSync(unfinished, { force: true });
    throw error;
  }
};

/** Node's own recursive `mkdir` never ends where a directory that is there lets none be made in it (/proc, automounts). */
const makeDirectory = (path) => {
  if (fs.existsSync(path)) return;
  if (!fs.existsSync(dirname(path))) makeDirectory(dirname(path));
  fs.mkdirSync(path, { mode: 0o700 });
};

/** Under sudo the home may be another user's: nothing of root's is left there. */
const isOwnPlace = (path) => {
  if (process.platform === 'win32') return true;
  const found = lookAt(path);
  return found === undefined ? isOwnPlace(dirname(path)) : found.uid === process.getuid();
};

/** At the end of a run, so that functions which were compiled on the way are kept as well. */
const keep = () => {
  if (fresh.size === 0) return;
  try {
    if (!isOwnPlace(directory)) return;
    makeDirectory(directory);
    if (!isPrivate(directory)) return;
    for (const [place, script] of fresh) put(place, script.createCachedData());
    tidy();
  } catch {
    // A cache that cannot be written (no home, no space, read-only) is no reason to fail, nor to say anything.
  }
};
process.on('exit', keep);

module.exports = { load, directory };
