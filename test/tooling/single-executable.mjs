// @ts-check
// Makes a single file that runs without Node: the program, the files of its build and the Node executable that runs this
// script (26 or newer, which can make such files without other tools). Native parts are excluded, so tokens are in the
// encrypted file.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Executables contain this Node version: the oldest long-term support version that can make them without other tools. */
export const nodeOfExecutables = 26;

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the files of the build by the name that the program requests.
 * @param {string} dist
 */
const assetsOf = (dist) => {
  /** @param {string} directory @param {readonly string[]} names */
  const beside = (directory, names) => names.map((name) => [name, join(dist, directory, name)]);
  return Object.fromEntries([
    ...beside('', ['version.txt', 'help.txt']),
    ...beside('chunks', ['jq.wasm']),
    ...beside('tree', readdirSync(join(dist, 'tree')).sort()),
  ]);
};

/** Packages request their directory when they are loaded. The directory of the executable replaces it. */
const ownUrl = "const ownUrl = process.getBuiltinModule('node:url').pathToFileURL(process.execPath).href;";
/** @param {string} entry @param {string} outfile @param {import('esbuild').BuildOptions} options */
const bundle = (entry, outfile, options) =>
  build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node26',
    outfile,
    external: ['@napi-rs/keyring'],
    banner: { js: ownUrl },
    logLevel: 'error',
    ...options,
    define: { 'import.meta.url': 'ownUrl', ...options.define },
  });
/**
 * Bundles the whole program into one CommonJS file, as the executable requires. With a code cache, `import()` is not available.
 * @param {string} outfile @param {string} version
 */
const bundleProgram = (outfile, version) =>
  bundle('src/single-executable.ts', outfile, {
    format: 'cjs',
    supported: { 'dynamic-import': false },
    define: { OPSCTL_VERSION: JSON.stringify(version), OPSCTL_SINGLE_EXECUTABLE: 'true' },
  });

/**
 * V8 puts random numbers into a code cache. `--hash-seed` would also make the bytes reproducible, but V8 would reject
 * the cache at each start.
 */
const sameCache = ['--random-seed=1'];

/**
 * Makes the executable `to` from the build in `dist`, with the Node at `node`.
 * @type {typeof import('./single-executable.mjs').singleExecutable}
 */
export const singleExecutable = async ({ dist, node, to }) => {
  const work = mkdtempSync(join(tmpdir(), 'opsctl-single-'));
  try {
    // The executable contains the path of the program. A name in the working directory is the same on every machine.
    const main = 'opsctl.cjs';
    const jqThread = join(work, 'jq-thread.mjs');
    await bundleProgram(join(work, main), readFileSync(join(dist, 'version.txt'), 'utf8').trim());
    await bundle('src/platform/node/jq-thread.mjs', jqThread, { format: 'esm' });
    const config = join(work, 'sea.json');
    writeFileSync(
      config,
      JSON.stringify({
        main,
        output: to,
        disableExperimentalSEAWarning: true,
        useCodeCache: true,
        assets: { ...assetsOf(dist), 'jq-thread.mjs': jqThread },
      }),
    );
    const { status, stderr } = spawnSync(node, [...sameCache, '--build-sea', config], {
      cwd: work,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`node --build-sea ended with ${status}: ${stderr.trim()}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};
