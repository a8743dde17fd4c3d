// @ts-check
// dist/SHA256SUMS: the checksum of each file of the package, in the format of sha256sum. `opsctl version --verify` reads it.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/**
 * Every file of the npm package: the directories and files that package.json lists, without package.json.
 * @param {string} root
 */
const listedFiles = (root) => {
  /** @type {{ readonly files: readonly string[] }} */
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return files.flatMap((part) => {
    const path = join(root, part);
    if (statSync(path).isFile()) return [part];
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
  });
};

/** @type {typeof import('./package-checksums.mjs').checksumsText} */
export const checksumsText = (root) =>
  [...listedFiles(root), 'package.json']
    .filter((path) => path !== 'dist/SHA256SUMS')
    .sort()
    .map(
      (path) =>
        `${createHash('sha256')
          .update(readFileSync(join(root, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');
