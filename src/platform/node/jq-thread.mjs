// Runs jq 1.8 in a separate thread. Plain JavaScript, because a thread starts from a file and Node does not
// read TypeScript. The package would read all input before it starts and keep all output. Here both are
// streamed (jq-run.ts is the other end).
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { loadJq } from 'jq-wasm';

const { control, ring, args, program, module: given } = workerData;
/** Places in `control`; jq-run.ts has the same. */
const FILLED = 0;
const ENDED = 1;
const WANTS_ROOM = 2;
const EVENT = 3;
const POSTED = 4;
/** Unread output pieces before jq waits. */
const MOST_POSTED = 8;
const PIECE_BYTES = 64 * 1024;
const input = new Uint8Array(ring);

/** Names of three imports in the minified build of exactly this version; test/platform/jq.test.ts fails when they change. */
const FD_READ = 'h';
const FD_WRITE = 'd';
const RESIZE_HEAP = 'k';
/** The build allows jq 256 MB; a list of 100,000 records in one array needs twice that. 4 GB is the most that wasm32 has. */
const MOST_PAGES = 65_535;

const out = new Uint8Array(PIECE_BYTES);
let outSize = 0;
const flush = () => {
  if (outSize === 0) return;
  for (
    let posted = Atomics.load(control, POSTED);
    posted >= MOST_POSTED;
    posted = Atomics.load(control, POSTED)
  )
    Atomics.wait(control, POSTED, posted);
  Atomics.add(control, POSTED, 1);
  const piece = out.slice(0, outSize);
  outSize = 0;
  parentPort.postMessage({ output: piece }, [piece.buffer]);
};
const print = (bytes) => {
  for (let at = 0; at < bytes.length; ) {
    const size = Math.min(bytes.length - at, PIECE_BYTES - outSize);
    out.set(bytes.subarray(at, at + size), outSize);
    outSize += size;
    at += size;
    if (outSize === PIECE_BYTES) flush();
  }
};

let isReady = false;
let readAt = 0;
/** Waits for input, gives at most `size` bytes of it; none at its end. */
const take = (size) => {
  if (!isReady) {
    // jq has compiled the program before it reads.
    isReady = true;
    parentPort.postMessage({ ready: true });
  }
  for (;;) {
    const event = Atomics.load(control, EVENT);
    // Read the flag before counting: input that arrives between the two would otherwise be missed, and its
    // end treated as the end of all input.
    const isEnded = Atomics.load(control, ENDED) === 1;
    const filled = Atomics.load(control, FILLED);
    if (filled > 0) {
      const count = Math.min(size, filled, input.length - readAt);
      const bytes = input.slice(readAt, readAt + count);
      readAt = (readAt + count) % input.length;
      const left = Atomics.sub(control, FILLED, count) - count;
      if (left <= input.length / 2 && Atomics.exchange(control, WANTS_ROOM, 0) === 1)
        parentPort.postMessage({ room: true });
      return bytes;
    }
    if (isEnded) return new Uint8Array();
    // A reader that waits for the next row must first get the results of the previous row.
    flush();
    Atomics.wait(control, EVENT, event);
  }
};

/** The buffers of one readv or writev call. */
const vectors = (memory, at, count) => {
  const words = new Uint32Array(memory.buffer);
  return Array.from({ length: count }, (_, i) => [words[(at >> 2) + 2 * i], words[(at >> 2) + 2 * i + 1]]);
};
const errors = new TextDecoder();
let stderr = '';
const MOST_STDERR = 64 * 1024;

const flowing = (imports, memory) => {
  const { [FD_WRITE]: write, [RESIZE_HEAP]: resize } = imports.a;
  imports.a[FD_READ] = (_fd, at, count, sizeAt) => {
    let total = 0;
    for (const [start, size] of vectors(memory(), at, count)) {
      if (size === 0 || total > 0) continue;
      const bytes = take(size);
      new Uint8Array(memory().buffer).set(bytes, start);
      total += bytes.length;
    }
    new Uint32Array(memory().buffer)[sizeAt >> 2] = total;
    return 0;
  };
  imports.a[FD_WRITE] = (fd, at, count, sizeAt) => {
    if (fd !== 1 && fd !== 2) return write(fd, at, count, sizeAt);
    let total = 0;
    for (const [start, size] of vectors(memory(), at, count)) {
      const bytes = new Uint8Array(memory().buffer, start, size);
      if (fd === 1) print(bytes);
      else if (stderr.length < MOST_STDERR) stderr += errors.decode(bytes, { stream: true });
      total += size;
    }
    new Uint32Array(memory().buffer)[sizeAt >> 2] = total;
    return 0;
  };
  imports.a[RESIZE_HEAP] = (wanted) => {
    const size = memory().buffer.byteLength;
    const pages = Math.min(MOST_PAGES, Math.ceil(Math.max(wanted >>> 0, size * 1.2) / 65_536));
    if (wanted >>> 0 > MOST_PAGES * 65_536) return false;
    try {
      memory().grow(pages - size / 65_536);
    } catch {
      return false;
    }
    // Growth by zero pages: the package only refreshes its view of the memory.
    return resize(1);
  };
};

/** Reads a number in the encoding of wasm; its value and where it ends. */
const number = (bytes, start) => {
  let value = 0;
  for (let at = start, shift = 0; ; at++, shift += 7) {
    value |= (bytes[at] & 127) << shift;
    if (bytes[at] < 128) return [value >>> 0, at + 1];
  }
};
/** The module with a memory section that allows 4 GB: one memory, 256 pages at first. */
const roomy = (bytes) => {
  for (let at = 8; at < bytes.length; ) {
    const [size, start] = number(bytes, at + 1);
    if (bytes[at] === 5)
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from([5, 7, 1, 1, 0x80, 0x02, 0xff, 0xff, 0x03]),
        bytes.subarray(start + size),
      ]);
    at = start + size;
  }
  throw new Error('the jq module has no memory');
};

/** Next to the built thread, otherwise in the package. */
const moduleFile = () => {
  const beside = new URL('./jq.wasm', import.meta.url);
  return readFileSync(
    existsSync(beside) ? beside : createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'),
  );
};

const load = async () => {
  const bytes = given === undefined ? moduleFile() : Buffer.from(given);
  const instantiateWasm = (imports, done) => {
    let memory;
    flowing(imports, () => memory);
    WebAssembly.instantiate(roomy(bytes), imports).then(({ instance, module }) => {
      const exports = { ...instance.exports };
      for (const [name, found] of Object.entries(exports)) {
        if (!(found instanceof WebAssembly.Memory)) continue;
        memory = found;
        // What the package grows has been grown already.
        exports[name] = {
          get buffer() {
            return found.buffer;
          },
          grow: () => 0,
        };
      }
      done({ exports }, module);
    });
  };
  return loadJq({ instantiateWasm });
};

// Functions that no filter calls need not be compiled, and optimizing the start of jq is not worth it: with
// the default budget it took longer than a filter over 1,000 rows. A long list still reaches the budget
// within a second.
for (const flag of ['--wasm-lazy-compilation', '--wasm-tiering-budget=2000000000']) setFlagsFromString(flag);
const jq = await load();
let code;
try {
  code = jq.raw('', program, args).exitCode;
} catch (error) {
  stderr += `jq: error: ${error.message}`;
  code = 5;
}
flush();
parentPort.postMessage({ code, stderr });
