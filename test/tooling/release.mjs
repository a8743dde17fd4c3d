// `npm run release [-- DIRECTORY [URL]]`: tarball, Debian package, Homebrew formula, an executable for this system and
// SHA256SUMS, from a clean build. The same commit gives the same bytes. URL is where the tarball will be found.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianPackage, formula } from './delivery.mjs';
import { nodeOf } from './nodes.mjs';
import { nodeOfExecutables, singleExecutable } from './single-executable.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Packs the checkout at `from` into `to`; `prepack` builds it first. */
export const pack = (from, to) => {
  mkdirSync(to, { recursive: true });
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['pack', '--json', '--foreground-scripts=false', '--pack-destination', to],
    { cwd: from, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (status !== 0) throw new Error(`npm pack ended with ${status}: ${stderr.trim()}`);
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  return { path: join(to, filename), name: filename, files: files.map(({ path }) => path) };
};

/** Installs a tarball as `npm install --global` does, without a registry; the path of its program. */
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
  if (status !== 0) throw new Error(`npm install ended with ${status}: ${stderr}`);
  return join(prefix, 'lib/node_modules/opsctl/bin/opsctl.js');
};

export const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = resolve(process.argv[2] ?? join(root, 'release'));
  rmSync(to, { recursive: true, force: true });
  const { path, name } = pack(root, to);
  const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const unpacked = mkdtempSync(join(tmpdir(), 'opsctl-release-'));
  spawnSync('tar', ['-xzf', path, '-C', unpacked]);
  const deb = debianPackage(join(unpacked, 'package'), to);
  const executable = `opsctl-${process.platform}-${process.arch}`;
  const node = nodeOf(nodeOfExecutables);
  if (node !== undefined)
    await singleExecutable({ dist: join(unpacked, 'package/dist'), node, to: join(to, executable) });
  rmSync(unpacked, { recursive: true, force: true });
  writeFileSync(join(to, 'opsctl.rb'), formula(facts, process.argv[3] ?? name, sha256(path)));
  const made = [name, basename(deb), 'opsctl.rb', ...(node === undefined ? [] : [executable])];
  const sums = made.map((one) => `${sha256(join(to, one))}  ${one}\n`).join('');
  writeFileSync(join(to, 'SHA256SUMS'), sums);
  process.stdout.write(`${made.map((one) => `${join(to, one)}\n`).join('')}${sums}`);
}
