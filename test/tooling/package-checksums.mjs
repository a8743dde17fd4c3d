// @ts-check
// dist/SHA256SUMS: the checksum of each file of the program, in the format of sha256sum. `opsctl version --verify` reads it.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Every file that the program loads or prints. Other text files of the npm package are not part of a Debian or RPM package. */
const PARTS = ['bin', 'dist', 'completions'];

/** @param {string} root @param {string} part */
const filesBelow = (root, part) =>
  readdirSync(join(root, part), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));

/** @type {typeof import('./package-checksums.mjs').checksumsText} */
export const checksumsText = (root) =>
  [...PARTS.flatMap((part) => filesBelow(root, part)), 'package.json']
    .filter((path) => path !== 'dist/SHA256SUMS')
    .sort()
    .map(
      (path) =>
        `${createHash('sha256')
          .update(readFileSync(join(root, path)))
          .digest('hex')}  ${path}\n`,
    )
    .join('');
