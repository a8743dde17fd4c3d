// What `npm run release` makes of the packed package besides the tarball: a Debian package and a Homebrew formula.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const run = (command, args, env = {}) => {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr.trim()}`);
};

/** Where each shell looks for completion by itself. */
const completions = {
  'opsctl.bash': 'usr/share/bash-completion/completions/opsctl',
  _opsctl: 'usr/share/zsh/vendor-completions/_opsctl',
  'opsctl.fish': 'usr/share/fish/vendor_completions.d/opsctl.fish',
};

const put = (path, data, mode = 0o644) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, data);
  chmodSync(path, mode);
};

const control = ({ version, description, author }) => `Package: opsctl
Version: ${version.replaceAll('-', '~')}
Architecture: all
Maintainer: ${author}
Depends: nodejs (>= 20.19)
Section: admin
Priority: optional
Description: ${description}
`;

/** One moment for all files: the same package gives the same bytes. */
const settle = (path, seconds) => {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, entry.name);
    if (entry.isDirectory()) settle(at, seconds);
    if (!entry.isSymbolicLink()) {
      chmodSync(at, entry.isDirectory() || at.includes('/bin/') ? 0o755 : 0o644);
      utimesSync(at, seconds, seconds);
    }
  }
};

/** A Debian package of the unpacked npm package at `from`: program, manual pages and completion where the system looks for them. */
export const debianPackage = (from, to, seconds = 1_577_836_800) => {
  const facts = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const root = mkdtempSync(join(tmpdir(), 'opsctl-deb-'));
  try {
    const home = join(root, 'usr/lib/opsctl');
    mkdirSync(home, { recursive: true });
    for (const name of ['bin', 'dist', 'completions', 'package.json', 'LICENSE'])
      if (existsSync(join(from, name))) cpSync(join(from, name), join(home, name), { recursive: true });
    mkdirSync(join(root, 'usr/bin'), { recursive: true });
    symlinkSync('../lib/opsctl/bin/opsctl.js', join(root, 'usr/bin/opsctl'));
    for (const page of facts.man ?? [])
      put(
        join(root, 'usr/share/man/man1', `${page.split('/').at(-1)}.gz`),
        gzipSync(readFileSync(join(from, page))),
      );
    for (const [name, path] of Object.entries(completions))
      if (existsSync(join(from, 'completions', name)))
        put(join(root, path), readFileSync(join(from, 'completions', name)));
    put(join(root, 'DEBIAN/control'), control(facts));
    settle(root, seconds);
    const path = join(to, `opsctl_${facts.version.replaceAll('-', '~')}_all.deb`);
    run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, path], {
      SOURCE_DATE_EPOCH: String(seconds),
    });
    return path;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

/** A Homebrew formula for the tarball at `url`. */
export const formula = ({ version, description, license }, url, sum) => `class Opsctl < Formula
  desc "${description.slice(0, 79)}"
  url "${url}"
  version "${version}"
  sha256 "${sum}"
  license "${license}"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
    generate_completions_from_executable(bin/"opsctl", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/opsctl --version")
  end
end
`;
