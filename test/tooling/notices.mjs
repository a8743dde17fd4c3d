// @ts-check
// Collects the packages inside a bundle and their license texts (THIRD-PARTY-NOTICES.txt). sbom.mjs lists the packages
// for programs.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const LICENSE_FILE = /^(licen[cs]e|notice|copying)(\.|$|-)/i;

/**
 * Returns the directory of the package that a bundled file belongs to, unless the file belongs to opsctl.
 * @param {string} id
 */
const packageDirectory = (id) => {
  const at = id.lastIndexOf('/node_modules/');
  if (at === -1) return undefined;
  const [first = '', second] = id.slice(at + '/node_modules/'.length).split('/');
  return join(id.slice(0, at), 'node_modules', first.startsWith('@') ? `${first}/${second}` : first);
};

/**
 * Returns the packages of bundled files without duplicates, sorted by name.
 * @type {typeof import('./notices.mjs').bundledPackages}
 */
export const bundledPackages = (ids) => {
  const directories = new Set(
    ids
      .flatMap((id) => packageDirectory(id.split('?')[0] ?? '') ?? [])
      .filter((directory) => existsSync(join(directory, 'package.json'))),
  );
  return [...directories]
    .map((directory) => {
      const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
      const texts = readdirSync(directory)
        .filter((file) => LICENSE_FILE.test(file))
        .map((file) => readFileSync(join(directory, file), 'utf8').trim());
      return {
        name,
        directory,
        version,
        license: typeof license === 'string' ? license : (license?.type ?? 'see its text'),
        text: texts.join('\n\n'),
      };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
};

/** @type {typeof import('./notices.mjs').noticesText} */
export const noticesText = (packages) =>
  `Third-party notices\n\nThis program contains code of the packages below.\n\n${packages
    .map(
      ({ name, version, license, text }) => `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`,
    )
    .join('\n')}`;
