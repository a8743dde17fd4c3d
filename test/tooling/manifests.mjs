// @ts-check
// Files with which people and other package managers install a release: Homebrew formula, Scoop manifest and shell
// installer. Each contains the URL and the SHA-256 of the npm package of the release.
import { readFileSync } from 'node:fs';

/** @param {string} text */
const rubyText = (text) => `"${text.replaceAll(/["\\#]/g, '\\$&')}"`;

/**
 * Returns a Homebrew formula. Homebrew reads the version from the file name in `url`.
 * @type {typeof import('./manifests.mjs').formula}
 */
export const formula = ({ license, homepage }, { summary, url, sum }) => `class Opsctl < Formula
  desc ${rubyText(summary)}
  homepage ${rubyText(homepage)}
  url ${rubyText(url)}
  sha256 ${rubyText(sum)}
  license ${rubyText(license)}

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
    generate_completions_from_executable(bin/"opsctl", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/opsctl --version")
    assert_match "onboarding", shell_output("#{bin}/opsctl tracker labels list -o json")
  end
end
`;

/**
 * Returns a Scoop manifest. Scoop does not create a command for a Node script, so the manifest writes a wrapper.
 * @type {typeof import('./manifests.mjs').scoopManifest}
 */
export const scoopManifest = ({ version, license, homepage }, { summary, url, sum }) =>
  `${JSON.stringify(
    {
      version,
      description: summary,
      homepage,
      license,
      depends: 'nodejs-lts',
      url,
      hash: sum,
      extract_dir: 'package',
      pre_install: 'Set-Content "$dir\\opsctl.cmd" \'@node "%~dp0bin\\opsctl.js" %*\' -Encoding Ascii',
      bin: 'opsctl.cmd',
    },
    null,
    4,
  )}\n`;

/**
 * Returns the shell installer for this release. `url` is the directory of the release files.
 * @type {typeof import('./manifests.mjs').installer}
 */
export const installer = ({ version }, { file, url, sum }) => {
  const values = { VERSION: version, FILE: file, SHA256: sum, URL: url };
  for (const [name, value] of Object.entries(values))
    if (/['\n]/.test(value))
      throw new Error(`invalid ${name.toLowerCase()} "${value}": contains a quote or a line break`);
  return readFileSync(new URL('install.sh', import.meta.url), 'utf8').replaceAll(
    /@(VERSION|FILE|SHA256|URL)@/g,
    (_, /** @type {keyof typeof values} */ name) => values[name],
  );
};
