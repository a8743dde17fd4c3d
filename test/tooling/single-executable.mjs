// One file that needs no Node: the program, the files of its build and the Node that this is called with an executable of
// (26 or newer, which makes such files by itself). Native parts are left out: tokens lie in the encrypted file.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Executables contain this Node: the oldest with long-term support that makes them by itself. */
export const nodeOfExecutables = 26;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Files of the build by the name that the program asks for. */
const assetsOf = (dist) => {
  const beside = (directory, names) => names.map((name) => [name, join(dist, directory, name)]);
  return Object.fromEntries([
    ...beside('', ['version.txt', 'help.txt']),
    ...beside('chunks', ['jq.wasm']),
    ...beside('tree', readdirSync(join(dist, 'tree')).sort()),
  ]);
};

/** Packages ask for their own directory when they are loaded: it is that of the executable. */
const ownUrl = "const ownUrl = process.getBuiltinModule('node:url').pathToFileURL(process.execPath).href;";
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
/** The whole program in one CommonJS file, as the executable wants it. With a code cache there is no `import()`. */
const bundleProgram = (outfile, version) =>
  bundle('src/single-executable.ts', outfile, {
    format: 'cjs',
    supported: { 'dynamic-import': false },
    define: { OPSCTL_VERSION: JSON.stringify(version), OPSCTL_SINGLE_EXECUTABLE: 'true' },
  });

/** V8 puts random numbers into a code cache. With `--hash-seed` it would be the same bytes too, and refused at each start. */
const sameCache = ['--random-seed=1'];

/** Makes the executable `to` from the build in `dist`, with the Node at `node`. */
export const singleExecutable = async ({ dist, node, to }) => {
  const work = mkdtempSync(join(tmpdir(), 'opsctl-single-'));
  try {
    // The path of the program gets into the executable: a name in the working directory is the same everywhere.
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
