// Builds the fuzzer as a program whose product sources record coverage: each block sets a byte when it starts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { marked } from '../tooling/marks.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

let count = 0;

export const buildFuzzer = async (outfile) => {
  await build({
    absWorkingDir: root,
    entryPoints: ['test/fuzz/main.ts'],
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: ['@napi-rs/keyring'],
    define: { OPSCTL_VERSION: '"0.0.0-fuzzed"' },
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url); globalThis.__reached = new Uint8Array(200000);",
    },
    plugins: [
      {
        name: 'marks',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => ({
            contents: marked(readFileSync(path, 'utf8'), () => `__reached[${count++}] = 1`),
            loader: 'ts',
          })),
      },
    ],
    logLevel: 'error',
  });
  return { program: outfile, marks: count };
};
