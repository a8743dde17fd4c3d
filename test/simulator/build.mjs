// Bundles the simulator: the sources of the product with the simulated disk instead of `node:fs` and, for seeded bugs,
// with one replaced text.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const simulated = `${root}test/simulator/kernel/node-fs.ts`;
const simulatedWrites = `${root}test/simulator/kernel/atomically.ts`;
/** conf calls `node:fs` directly to create a directory and to read files, and writes with `atomically`. */
const USERS_OF_FILES = /src\/platform\/node\/files\.ts$|node_modules\/conf\/.*\.js$/;

const filesAreSimulated = {
  name: 'files-are-simulated',
  setup: ({ onResolve }) => {
    onResolve({ filter: /^(node:)?fs$/ }, ({ importer }) =>
      USERS_OF_FILES.test(importer) ? { path: simulated } : undefined,
    );
    onResolve({ filter: /^atomically$/ }, () => ({ path: simulatedWrites }));
  },
};
/** `changes` contains { file, find, replace } objects. Throws an error if a text does not occur exactly once. */
const changed = (changes) => ({
  name: 'changed-sources',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const wanted = changes.filter(({ file }) => path === root + file);
      if (wanted.length === 0) return undefined;
      let contents = readFileSync(path, 'utf8');
      for (const { file, find, replace } of wanted) {
        if (contents.split(find).length !== 2)
          throw new Error(`${file} does not hold this text once: ${find}`);
        contents = contents.replace(find, () => replace);
      }
      return { contents, loader: 'ts' };
    }),
});

export const buildSimulator = async (outfile, changes = []) => {
  await build({
    absWorkingDir: root,
    entryPoints: ['test/simulator/main.ts'],
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['@napi-rs/keyring'],
    define: { OPSCTL_VERSION: '"0.0.0-simulated"' },
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    plugins: [filesAreSimulated, changed(changes)],
    logLevel: 'error',
  });
  return outfile;
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSimulator(process.argv[2]);
