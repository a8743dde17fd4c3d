// Makes the fuzzer a program whose product sources count what they reach: at the start of each block a byte is set.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { parseAst } from 'rolldown/parseAst';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Blocks get a mark behind their brace; what an arrow or a condition stands for becomes `(mark, value)`. */
const marksFor = (source) => {
  const inserts = [];
  const value = ({ start, end }) => inserts.push([start, `(__reached[${count++}] = 1, `], [end, ')']);
  const visit = (node) => {
    if (Array.isArray(node)) for (const one of node) visit(one);
    if (typeof node?.type !== 'string' || node.type.startsWith('TSType')) return;
    if (node.type === 'BlockStatement' || node.type === 'FunctionBody')
      inserts.push([node.start + 1, `__reached[${count++}] = 1;`]);
    if (node.type === 'ConditionalExpression')
      for (const part of [node.consequent, node.alternate]) value(part);
    for (const part of Object.values(node)) if (typeof part === 'object' && part !== null) visit(part);
  };
  visit(parseAst(source, { lang: 'ts' }));
  return inserts;
};

let count = 0;
const marked = (source) => {
  // From the end; of two marks at one place the inner one first.
  const inserts = marksFor(source).map(([at, mark], order) => ({ at, mark, order }));
  inserts.sort((a, b) => b.at - a.at || b.order - a.order);
  let text = source;
  for (const { at, mark } of inserts) text = text.slice(0, at) + mark + text.slice(at);
  return text;
};

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
            contents: marked(readFileSync(path, 'utf8')),
            loader: 'ts',
          })),
      },
    ],
    logLevel: 'error',
  });
  return { program: outfile, marks: count };
};
