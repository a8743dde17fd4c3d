import { existsSync, readFileSync } from 'node:fs';
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
 * Reading a long list makes garbage only. V8 answers that with a young generation of 3 × 16 MB, which saves no time here and
 * is a third of the memory of the process. It looks at this factor whenever it would grow (a factor of 1: it stays as it is).
 * Each new isolate resets the factor, so a thread that is started later calls this again.
 */
export const keepHeapSmall = (): void => {
  builtin.v8.setFlagsFromString('--semi-space-growth-factor=1');
  restoreAtEnd();
};
let willRestore = false;
/** bin/load.js keeps compiled code at the end of a run, and V8 takes it back only under the flags that it had then. */
const restoreAtEnd = (): void => {
  if (willRestore) return;
  willRestore = true;
  process.prependOnceListener('exit', () => {
    for (const flag of ['--semi-space-growth-factor=2', '--no-expose-gc'])
      builtin.v8.setFlagsFromString(flag);
  });
};
/** Bytes of an answer between two collections of what is young, and how many of those make a collection of everything. */
const COLLECT_BYTES = 2 * 1024 * 1024;
const YOUNG_ONES = 16;
/** Without an argument everything is collected: Node 20 takes `{ type: 'major' }` for what is young alone. */
type Collect = (what?: { readonly type: 'minor' }) => void;
let collect: Collect | undefined;
const collector = (): Collect => {
  builtin.v8.setFlagsFromString('--expose-gc');
  collect ??= builtin.vm.runInNewContext('gc') as Collect;
  return collect;
};
/**
 * Told of the size of each piece of an answer. V8 does not count the pieces themselves as young memory, and short texts of JSON
 * stand in a table that only a whole collection clears, for which V8 sees no reason in a small heap: a million names were 50 MB.
 * A young collection takes less than 1 ms, a whole one 10 to 20 ms.
 */
export const heapKeeper = (): ((bytes: number) => void) => {
  let left = COLLECT_BYTES;
  let count = 0;
  keepHeapSmall();
  return (bytes) => {
    left -= bytes;
    if (left > 0) return;
    left = COLLECT_BYTES;
    count += 1;
    if (count % YOUNG_ONES === 0) collector()();
    else collector()({ type: 'minor' });
  };
};

/** True in the single executable, whose build sets the name: there is no directory of the program. */
export const isSingleExecutable = typeof OPSCTL_SINGLE_EXECUTABLE !== 'undefined';
type Sea = { getRawAsset(name: string): ArrayBuffer };
/** Older types of Node do not know the module. */
const sea = (): Sea => process.getBuiltinModule('node:sea' as 'node:fs') as unknown as Sea;
/** A file that the build wrote beside the module of that URL; the single executable holds it inside, by its name alone. */
export const buildFile = (place: URL): Buffer =>
  isSingleExecutable ? Buffer.from(sea().getRawAsset(basename(place.pathname))) : readFileSync(place);

/** The build puts these texts beside its chunks. */
export const buildText = (name: string): string | undefined => {
  const place = new URL(`./${name}`, import.meta.url);
  return isSingleExecutable || existsSync(place) ? buildFile(place).toString('utf8') : undefined;
};

/** Milliseconds that never go back. `performance` would load eleven modules of Node at the first call. */
export const elapsedMs = (): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
};
