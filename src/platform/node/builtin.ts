import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Built-in modules that are costly to import with ESM syntax: `import 'node:http'` evaluates every named export and
 * with them the built-in undici (40 ms on Node 22 and later); this way the module alone is loaded.
 */
export const builtin = {
  get http() {
    return process.getBuiltinModule('node:http');
  },
  get https() {
    return process.getBuiltinModule('node:https');
  },
  get http2() {
    return process.getBuiltinModule('node:http2');
  },
  get net() {
    return process.getBuiltinModule('node:net');
  },
  get tls() {
    return process.getBuiltinModule('node:tls');
  },
  get stream() {
    return process.getBuiltinModule('node:stream');
  },
  get crypto() {
    return process.getBuiltinModule('node:crypto');
  },
  get childProcess() {
    return process.getBuiltinModule('node:child_process');
  },
  get readline() {
    return process.getBuiltinModule('node:readline');
  },
  get tty() {
    return process.getBuiltinModule('node:tty');
  },
  get os() {
    return process.getBuiltinModule('node:os');
  },
  get vm() {
    return process.getBuiltinModule('node:vm');
  },
  get v8() {
    return process.getBuiltinModule('node:v8');
  },
} as const;

/**
 * Reading a long list only produces garbage. V8 responds with a young generation of 3 × 16 MB, which saves no
 * time here and costs a third of the memory of the process. V8 reads this factor before it grows the
 * generation (a factor of 1 prevents growth). Each new isolate resets the factor, so a thread that is started
 * later calls this function again.
 */
export const keepHeapSmall = (): void => {
  builtin.v8.setFlagsFromString('--semi-space-growth-factor=1');
  restoreAtEnd();
};
let willRestore = false;
/**
 * bin/load.js keeps compiled code at the end of a run. V8 accepts that code only under the flags of that
 * time.
 */
const restoreAtEnd = (): void => {
  if (willRestore) return;
  willRestore = true;
  process.prependOnceListener('exit', () => {
    for (const flag of ['--semi-space-growth-factor=2', '--no-expose-gc'])
      builtin.v8.setFlagsFromString(flag);
  });
};
/** Response bytes between two young collections, and the number of young collections before a full one. */
const COLLECT_BYTES = 2 * 1024 * 1024;
/** A shorter response does not grow the young generation, and node:v8 takes time to load. */
const SHORT_BYTES = 64 * 1024;
const YOUNG_ONES = 16;
/**
 * Without an argument, Node collects everything. Node 20 treats `{ type: 'major' }` as a young collection.
 */
type Collect = (what?: { readonly type: 'minor' }) => void;
let collect: Collect | undefined;
const collector = (): Collect => {
  builtin.v8.setFlagsFromString('--expose-gc');
  collect ??= builtin.vm.runInNewContext('gc') as Collect;
  return collect;
};
/** From the second call on, it also collects everything. */
export const keepMemorySmall = (): void => {
  if (willRestore) collector()();
  keepHeapSmall();
};
/**
 * Receives the size of each piece of a response. V8 does not count the pieces as young memory, and short JSON
 * strings are kept in a table that only a full collection clears. V8 sees no reason for a full collection in
 * a small heap: a million names used 50 MB. A young collection takes less than 1 ms, a full collection 10 to
 * 20 ms.
 */
export const heapKeeper = (): ((bytes: number) => void) => {
  let left = COLLECT_BYTES;
  let count = 0;
  let isKept = false;
  return (bytes) => {
    left -= bytes;
    if (!isKept && left < COLLECT_BYTES - SHORT_BYTES) {
      keepHeapSmall();
      isKept = true;
    }
    if (left > 0) return;
    left = COLLECT_BYTES;
    count += 1;
    if (count % YOUNG_ONES === 0) collector()();
    else collector()({ type: 'minor' });
  };
};

/**
 * Bytes of the generator of the kernel, which also seeds the one of node:crypto. Every request and every file needs a few of them, and
 * loading node:crypto costs a fifth of the start of Node.
 */
export const randomBytes = (count: number): Uint8Array => {
  try {
    const source = openSync('/dev/urandom', 'r');
    try {
      const bytes = Buffer.alloc(count);
      if (readSync(source, bytes) === count && fstatSync(source).isCharacterDevice()) return bytes;
    } finally {
      closeSync(source);
    }
  } catch {
    // Windows has no such device, and a sandbox may hide it.
  }
  return builtin.crypto.randomBytes(count);
};
/** True in the single executable, whose build sets the name: there is no directory of the program. */
export const isSingleExecutable = typeof OPSCTL_SINGLE_EXECUTABLE !== 'undefined';
type Sea = { getRawAsset(name: string): ArrayBuffer };
/** Older types of Node do not know the module. */
const sea = (): Sea => process.getBuiltinModule('node:sea' as 'node:fs') as unknown as Sea;
/**
 * A file that the build wrote next to the module of that URL. The single executable contains it under its
 * name.
 */
export const buildFile = (place: URL): Buffer =>
  isSingleExecutable ? Buffer.from(sea().getRawAsset(basename(place.pathname))) : readFileSync(place);

/** The build puts these texts next to its chunks. */
export const buildText = (name: string): string | undefined => {
  const place = new URL(`./${name}`, import.meta.url);
  return isSingleExecutable || existsSync(place) ? buildFile(place).toString('utf8') : undefined;
};

/** Monotonic milliseconds. `performance` would load eleven modules of Node at the first call. */
export const elapsedMs = (): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
};
