// @ts-check
// Builds dist/ (split CommonJS bundle, which bin/load.js loads). The built program then writes the files that are
// derived from the tables: help.txt, version.txt and tree.json for the fast responses of bin and, with --docs, the
// committed completions and reference pages.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { bundledPackages, noticesText } from './notices.mjs';
import { checksumsText } from './package-checksums.mjs';
import { dayOf, releaseSeconds } from './release-date.mjs';
import { comparison } from './comparison.mjs';
import { kvComparison } from './kv-comparison.mjs';
import { joinPages, splitPages } from './derived-pages.mjs';
import { committedPublicKey } from './signature.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = process.env.OPSCTL_DIST ?? `${root}dist`;
/** A package build starts with an empty directory, so that the package contains no chunk of an earlier build. */
const isPackage = process.argv.includes('--clean');
if (isPackage) rmSync(dist, { recursive: true, force: true });
const facts = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const { version } = facts;
const releaseKey = committedPublicKey(root);
const seconds = releaseSeconds(root, version);

/**
 * The files that a start loads at the top level, in groups: every command, then help and output, then a request. The
 * automatic splitting of the bundler would make a small chunk of almost every file.
 */
const HOT = {
  core: ['src/main.ts', 'src/cli/parse.ts', 'src/commands/tracker/lazy-resource.ts', 'src/output/render.ts'],
  request: [
    'src/cli/execute.ts',
    'src/api/list-rows.ts',
    'src/commands/target.ts',
    'src/platform/node/network.ts',
    'src/platform/node/transport.ts',
  ],
};
/** @param {string[]} entries */
const together = async (entries) => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outdir: 'out',
    logLevel: 'silent',
  });
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {string} file */
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? [])
      if (kind === 'import-statement' && !external) visit(path);
  };
  for (const entry of entries) visit(entry);
  return found;
};
/** Each file belongs to the first group that loads it. */
const hot = new Map();
for (const [name, entries] of Object.entries(HOT))
  for (const file of await together(entries)) if (!hot.has(file)) hot.set(file, name);
/** @param {string} id */
const within = (id) => id.replace(root, '');

/**
 * commander starts other programs for subcommands in separate files. opsctl has no such subcommands, and loading
 * child_process costs 5 ms at every start.
 * @type {import('rolldown').Plugin}
 */
const commanderWithoutChildren = {
  name: 'commander-without-children',
  resolveId: (source, importer) =>
    source === 'node:child_process' && importer?.includes('/commander/') ? '\0no-children' : null,
  load: (id) => (id === '\0no-children' ? 'export default {};' : null),
};

const externals = ['@napi-rs/keyring'];
/**
 * `import()` finds no loader in code that V8 compiled at an earlier start, so the bundle loads external packages with require.
 * @type {import('rolldown').Plugin}
 */
const requireExternals = {
  name: 'require-externals',
  renderChunk: (code) =>
    code.replace(/\bimport\((["'`])([^"'`]+)\1\)/g, (whole, _, name) =>
      externals.includes(name) || isBuiltin(name)
        ? `Promise.resolve().then(() => require("${name}"))`
        : whole,
    ),
};

const bundle = await rolldown({
  plugins: [commanderWithoutChildren, requireExternals],
  cwd: root,
  preserveEntrySignatures: 'allow-extension',
  input: {
    main: 'src/main.ts',
    complete: 'src/complete.ts',
    docs: 'src/docs.ts',
    testing: 'src/testing.ts',
    crash: 'src/crash.ts',
  },
  platform: 'node',
  external: externals,
  transform: {
    target: 'node20.19',
    define: {
      OPSCTL_VERSION: JSON.stringify(version),
      ...(releaseKey === undefined ? {} : { OPSCTL_RELEASE_KEY: JSON.stringify(releaseKey) }),
    },
  },
  // Some code loads a module immediately and other code loads the same module lazily. The chunk groups handle this case.
  checks: { ineffectiveDynamicImport: false },
});
const { output } = await bundle.generate({
  format: 'cjs',
  minify: true,
  chunkFileNames: 'chunks/[name]-[hash].js',
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      {
        name: 'tracker-records',
        test: (id) => /^src\/api-specs\/tracker\/(fields|.*records)\.ts$/.test(within(id)),
        minSize: 0,
      },
      ...Object.keys(HOT).map((name) => ({
        name,
        /** @param {string} id */
        test: (id) =>
          (hot.get(within(id)) === name && within(id) !== 'src/main.ts') ||
          (name === 'core' && id.includes('rolldown/runtime')),
        minSize: 0,
      })),
    ],
  },
});
await bundle.close();

/**
 * Finds cycles of CommonJS chunks. Chunks that load each other see incomplete exports, and the program would fail at its start.
 * @param {readonly { readonly fileName: string, readonly imports: readonly string[] }[]} chunks
 */
const chunkCycle = (chunks) => {
  const importsOf = new Map(chunks.map(({ fileName, imports }) => [fileName, imports]));
  const done = new Set();
  /** @type {(name: string, path: readonly string[]) => string[] | undefined} */
  const visit = (name, path) => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const next of importsOf.get(name) ?? []) {
      const cycle = visit(next, [...path, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  return [...importsOf.keys()].map((name) => visit(name, [])).find((cycle) => cycle !== undefined);
};
const cycle = chunkCycle(output.filter((file) => file.type === 'chunk'));
if (cycle !== undefined)
  throw new Error(
    `the chunks import each other: ${cycle.join(' > ')}; a file of the hot path imports one that it must load lazily`,
  );

/**
 * jq runs in a thread, and a thread starts from a file. The file is next to the chunk that starts the thread, and its
 * WebAssembly module is next to the file.
 */
const { outputFiles, metafile: threadParts } = await build({
  absWorkingDir: root,
  entryPoints: ['src/platform/node/jq-thread.mjs'],
  bundle: true,
  write: false,
  metafile: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  outdir: 'out',
  logLevel: 'silent',
});
const [jqThread] = outputFiles;
if (jqThread === undefined) throw new Error('the build of the jq thread wrote no file');
const jqModule = readFileSync(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'));

/**
 * Writes a file atomically: a program that starts during a build sees old or new files, never a partial file.
 * @param {string} path @param {string | Uint8Array} contents
 */
const put = (path, contents) => {
  if (existsSync(path) && Buffer.from(contents).equals(readFileSync(path))) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
};
const chunksFirst = [...output].sort(
  (a, b) => Number(b.fileName.startsWith('chunks/')) - Number(a.fileName.startsWith('chunks/')),
);
put(`${dist}/package.json`, '{ "type": "commonjs" }\n');
put(`${dist}/chunks/jq.wasm`, jqModule);
put(`${dist}/chunks/jq-thread.mjs`, jqThread.contents);
/**
 * bin/load.js reads the code as Latin-1, which V8 keeps in half of the memory and scans faster. No file has String.raw with such a sign.
 * @param {string} code
 */
const asAscii = (code) =>
  code.replace(/[^\0-\x7f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
/**
 * The bundler loads its helpers also in files that use none of them, and TAB would wait for them.
 * @param {string} code
 */
const withoutUnusedHelpers = (code) =>
  code.replace(/,require\("\.\/(?:chunks\/)?rolldown-runtime-[\w-]+\.js"\);/g, ';');
for (const file of chunksFirst)
  put(
    `${dist}/${file.fileName}`,
    file.type === 'chunk' ? asAscii(withoutUnusedHelpers(file.code)) : file.source,
  );
const made = new Set([...output.map(({ fileName }) => fileName), 'chunks/jq.wasm', 'chunks/jq-thread.mjs']);
// A program that started from the previous build may still load its chunks, so only old chunks are removed.
/** @param {string} path */
const isOld = (path) => Date.now() - statSync(path).mtimeMs > 3_600_000;
for (const name of readdirSync(`${dist}/chunks`)) {
  const path = `${dist}/chunks/${name}`;
  if (!made.has(`chunks/${name}`) && isOld(path)) rmSync(path, { force: true });
}
put(`${dist}/testing.d.ts`, readFileSync(`${root}src/testing/api.d.ts`, 'utf8'));
const packages = bundledPackages([
  ...output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])),
  ...Object.keys(threadParts.inputs).map((path) => `${root}${path}`),
]);
put(`${dist}/THIRD-PARTY-NOTICES.txt`, noticesText(packages));
const sbom = await (async () => {
  try {
    const { sbomText } = await import('./sbom.mjs');
    return sbomText({ root, directories: packages.map(({ directory }) => directory), facts, seconds });
  } catch (error) {
    // A development build also works with the node_modules of an earlier commit, but a package build does not.
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'ERR_MODULE_NOT_FOUND' || isPackage) throw error;
    process.stderr.write(`dist/sbom.cdx.json is not written: ${message.split('\n')[0]}; try: npm ci\n`);
    return undefined;
  }
})();
if (sbom !== undefined) put(`${dist}/sbom.cdx.json`, sbom);
const { writeDocs } = await import(`file://${dist}/docs.js`);
const { dist: derived, committed } = await writeDocs(version, {
  readme: joinPages(root),
  date: dayOf(seconds),
});
// Otherwise the pages of removed commands would remain.
for (const directory of ['help', 'man'])
  for (const name of existsSync(`${dist}/${directory}`) ? readdirSync(`${dist}/${directory}`) : [])
    if (derived[`${directory}/${name}`] === undefined) rmSync(`${dist}/${directory}/${name}`);
for (const [name, text] of Object.entries(derived)) put(`${dist}/${name}`, text);
if (process.argv.includes('--docs')) {
  const compared = { 'docs/comparison.md': comparison(), 'docs/kv-comparison.md': kvComparison() };
  const { 'README.md': pages, ...completions } = committed;
  // npm links only the manual pages that package.json lists individually.
  const man = Object.keys(derived)
    .filter((name) => name.startsWith('man/'))
    .sort()
    .map((name) => `./dist/${name}`);
  put(`${root}package.json`, `${JSON.stringify({ ...facts, man }, null, 2)}\n`);
  for (const [name, text] of Object.entries({ ...completions, ...splitPages(pages), ...compared })) {
    put(`${root}${name}`, text);
  }
}
// Only for a package, because a development build replaces single files.
if (isPackage) put(`${dist}/SHA256SUMS`, checksumsText(root));
else rmSync(`${dist}/SHA256SUMS`, { force: true });
