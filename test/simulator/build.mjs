// Makes the simulator a program: the product's sources with `node:fs` replaced by the simulated disk, and, for seeded bugs, with a text replaced.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const simulated = `${root}test/simulator/kernel/node-fs.ts`;
/** conf makes a directory and reads by itself. */
const USERS_OF_FILES =
  /src\/platform\/node\/(files|replace|append-file|read-file|make-directory)\.ts$|node_modules\/conf\/.*\.js$/;

const filesAreSimulated = {
  name: 'files-are-simulated',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^(node:)?fs$/ }, ({ importer }) =>
      USERS_OF_FILES.test(importer) ? { path: simulated } : undefined,
    ),
};
/** `changes`: { file, find, replace }; a text that is not there exactly once is an error. */
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
