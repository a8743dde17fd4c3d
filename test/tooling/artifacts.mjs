// @ts-check
// Makes the files of a release: npm package, packages for Linux systems, manifests, SBOM, provenance, an executable for
// this system, SHA256SUMS over all of them and, with a key, the signature of SHA256SUMS. The same commit produces the same bytes.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { notesOf } from './changelog.mjs';
import { packagers, synopsis } from './delivery.mjs';
import { formula, installer, scoopManifest } from './manifests.mjs';
import { nodeOf } from './nodes.mjs';
import { provenanceText } from './provenance.mjs';
import { releaseSeconds } from './release-date.mjs';
import { signChecksums } from './signature.mjs';
import { nodeOfExecutables, singleExecutable } from './single-executable.mjs';

/** @type {typeof import('./artifacts.mjs').sha256} */
export const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/**
 * Packs the checkout at `from` into `to`; `prepack` builds it first.
 * @type {typeof import('./artifacts.mjs').pack}
 */
export const pack = (from, to, env = {}) => {
  mkdirSync(to, { recursive: true });
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['pack', '--json', '--dry-run=false', '--foreground-scripts=false', '--pack-destination', to],
    { cwd: from, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, env: { ...process.env, ...env } },
  );
  if (status !== 0) throw new Error(`npm pack exited with code ${status}: ${stderr.trim()}`);
  /** @type {[{ readonly filename: string, readonly files: readonly { readonly path: string }[] }]} */
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  return { path: join(to, filename), name: filename, files: files.map(({ path }) => path) };
};

/**
 * Installs a tarball as `npm install --global` does, without a registry. Returns the path of its program.
 * @type {typeof import('./artifacts.mjs').install}
 */
export const install = (tarball, prefix) => {
  mkdirSync(join(prefix, 'lib'), { recursive: true });
  const kept = Object.entries(process.env).filter(([name]) => !/^(OPSCTL_|npm_)/i.test(name));
  const { status, stderr } = spawnSync(
    'npm',
    [
      ...['install', '-g', '--ignore-scripts', '--offline', '--prefix', prefix],
      ...['--cache', join(prefix, 'no-cache'), tarball],
    ],
    { cwd: prefix, encoding: 'utf8', env: { ...Object.fromEntries(kept), HOME: prefix } },
  );
  if (status !== 0) throw new Error(`npm install exited with code ${status}: ${stderr}`);
  return join(prefix, 'lib/node_modules/opsctl/bin/opsctl.js');
};

const executableName = () => `opsctl-${process.platform}-${process.arch}`;

/**
 * The parts that `--skip` excludes, each with the files that it makes.
 * @type {typeof import('./artifacts.mjs').optionalParts}
 */
export const optionalParts = {
  ...Object.fromEntries(Object.entries(packagers).map(([name, { file }]) => [name, file])),
  executable: executableName,
};

/**
 * Returns the names of all files of a release except the files of the skipped parts.
 * @type {typeof import('./artifacts.mjs').artifactNames}
 */
export const artifactNames = (version, skip = []) => [
  `opsctl-${version}.tgz`,
  `opsctl-${version}.files.sha256`,
  ...Object.entries(optionalParts)
    .filter(([name]) => !skip.includes(name))
    .map(([, file]) => file(version)),
  ...['opsctl.rb', 'opsctl.json', 'install.sh', 'sbom.cdx.json', 'RELEASE-NOTES.md', 'provenance.json'],
];

/** @param {string} tarball @param {string} directory */
const unpackInto = (tarball, directory) => {
  const { status, stderr } = spawnSync('tar', ['-xzf', tarball, '-C', directory], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`tar exited with code ${status}: ${stderr.trim()}`);
  return join(directory, 'package');
};

/** @param {string} unpacked @param {string} to */
const makeExecutable = async (unpacked, to) => {
  const node = nodeOf(nodeOfExecutables);
  if (node === undefined)
    throw new Error(
      `${executableName()} needs Node ${nodeOfExecutables}, and npm could not download it; try: --skip executable`,
    );
  await singleExecutable({ dist: join(unpacked, 'dist'), node, to: join(to, executableName()) });
};

/**
 * Returns the URL of the release directory without a trailing slash. Without --url, this is the file URL of the local directory.
 * @param {string | undefined} url @param {string} to
 */
const baseUrl = (url, to) => (url ?? pathToFileURL(to).href).replace(/\/+$/, '');

/**
 * The names of the checksums of a release: the list, and its signature if the release has a key.
 * @type {typeof import('./artifacts.mjs').checksumNames}
 */
export const checksumNames = (key) => ['SHA256SUMS', ...(key === undefined ? [] : ['SHA256SUMS.minisig'])];

/**
 * Makes every file of the release of the checkout at `root` in the empty directory `to`. Returns the file names.
 * @type {typeof import('./artifacts.mjs').makeArtifacts}
 */
export const makeArtifacts = async (root, to, { url, maintainer, skip = [], key, packed }) => {
  const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const seconds = releaseSeconds(root, facts.version);
  const name = `opsctl-${facts.version}.tgz`;
  const path = join(to, name);
  if (packed === undefined) pack(root, to, { SOURCE_DATE_EPOCH: String(seconds) });
  else copyFileSync(packed, path);
  const work = mkdtempSync(join(tmpdir(), 'opsctl-release-'));
  try {
    const unpacked = unpackInto(path, work);
    for (const [packager, { make }] of Object.entries(packagers))
      if (!skip.includes(packager)) make(unpacked, to, { maintainer, seconds });
    if (!skip.includes('executable')) await makeExecutable(unpacked, to);
    const base = baseUrl(url, to);
    const where = { summary: synopsis(), file: name, url: `${base}/${name}`, sum: sha256(path) };
    const page = { ...facts, homepage: facts.homepage ?? base };
    writeFileSync(join(to, 'opsctl.rb'), formula(page, where));
    writeFileSync(join(to, 'opsctl.json'), scoopManifest(page, where));
    writeFileSync(join(to, 'install.sh'), installer(facts, { ...where, url: base }), { mode: 0o755 });
    copyFileSync(join(unpacked, 'dist/sbom.cdx.json'), join(to, 'sbom.cdx.json'));
    // The signature of SHA256SUMS covers this list, and this list covers every installed file.
    copyFileSync(join(unpacked, 'dist/SHA256SUMS'), join(to, `opsctl-${facts.version}.files.sha256`));
    const changelog = join(root, 'CHANGELOG.md');
    const notes = existsSync(changelog) ? notesOf(readFileSync(changelog, 'utf8'), facts.version) : '';
    writeFileSync(join(to, 'RELEASE-NOTES.md'), notes || `opsctl ${facts.version}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const names = artifactNames(facts.version, skip);
  const subjects = names.filter((one) => one !== 'provenance.json');
  writeFileSync(
    join(to, 'provenance.json'),
    provenanceText(
      root,
      facts,
      subjects.map((one) => [one, sha256(join(to, one))]),
    ),
  );
  const sums = names.map((one) => `${sha256(join(to, basename(one)))}  ${one}\n`).join('');
  writeFileSync(join(to, 'SHA256SUMS'), sums);
  if (key !== undefined)
    writeFileSync(join(to, 'SHA256SUMS.minisig'), signChecksums(key, Buffer.from(sums), facts.version));
  return { names: [...names, ...checksumNames(key)], sums };
};
