// `npm run release [-- DIRECTORY]`: the package and SHA256SUMS, from a clean build. The same commit gives the same bytes.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

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

export const sha256 = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = resolve(process.argv[2] ?? join(root, 'release'));
  rmSync(to, { recursive: true, force: true });
  const { path, name } = pack(root, to);
  const sums = `${sha256(path)}  ${name}\n`;
  writeFileSync(join(to, 'SHA256SUMS'), sums);
  process.stdout.write(`${path}\n${sums}`);
}
