// Builds dist/ (split ESM bundle), then lets the built program write what is derived from the tables:
// help.txt, version.txt, tree.json for the fast answers of bin, and with --docs the committed completions and README parts.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../', import.meta.url));
const dist = process.env.OPSCTL_DIST ?? `${root}dist`;
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

// While groups are being written, a missing one is left out of the bundle instead of failing it.
const missing = {
  name: 'missing',
  setup: (b) =>
    b.onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir }) =>
      existsSync(new URL(path, `file://${resolveDir}/`)) ? undefined : { path: 'missing', namespace: 'missing' },
    ) ?? b.onLoad({ filter: /.*/, namespace: 'missing' }, () => ({ contents: 'export const commands = [];' })),
};
const result = await build({
  plugins: [missing],
  absWorkingDir: root,
  entryPoints: { main: 'src/main.ts', complete: 'src/complete.ts', docs: 'src/docs.ts' },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  chunkNames: 'chunks/[name]-[hash]',
  metafile: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  external: ['@napi-rs/keyring'],
  // jq-wasm, a CommonJS package, asks for its folder.
  define: { OPSCTL_VERSION: JSON.stringify(version), __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
  // CommonJS packages inside ESM chunks need these three.
  banner: { js: "const require=process.getBuiltinModule('node:module').createRequire(import.meta.url);" },
  write: false,
});

/** Whole or not at all: a program that starts during a build sees old or new files, never half of one. */
const put = (path, contents) => {
  if (existsSync(path) && Buffer.from(contents).equals(readFileSync(path))) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
};
const chunksFirst = [...result.outputFiles].sort((a, b) => Number(b.path.includes('/chunks/')) - Number(a.path.includes('/chunks/')));
for (const file of chunksFirst) put(file.path, file.contents);
const made = new Set(result.outputFiles.map(({ path }) => path));
for (const name of readdirSync(`${dist}/chunks`)) if (!made.has(`${dist}/chunks/${name}`)) rmSync(`${dist}/chunks/${name}`, { force: true });
put(`${dist}/meta.json`, JSON.stringify(result.metafile));
const { writeDocs } = await import(`file://${dist}/docs.js`);
const { dist: derived, committed } = await writeDocs(version, { readme: readFileSync(`${root}README.md`, 'utf8') });
for (const [name, text] of Object.entries(derived)) put(`${dist}/${name}`, text);
if (process.argv.includes('--docs')) {
  for (const [name, text] of Object.entries(committed)) {
    put(`${root}${name}`, text);
  }
}
