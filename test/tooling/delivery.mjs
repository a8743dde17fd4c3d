// Makes packages for Linux systems from nfpm.yaml and the unpacked npm package: deb with dpkg-deb, rpm with rpmbuild,
// and apk. Each package contains the program, its manual pages and its completions. The same input produces the same
// bytes.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { alpineArchive } from './alpine.mjs';

const description = fileURLToPath(new URL('../../nfpm.yaml', import.meta.url));

const run = (command, args, env = {}) => {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', ...env },
  });
  if (error?.code === 'ENOENT')
    throw new Error(
      command === 'rpmbuild'
        ? 'rpmbuild not found\n  try: apt-get install rpm, or --skip rpm'
        : `${command} not found\n  try: apt-get install dpkg, or --skip deb`,
    );
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} exited with code ${status}: ${stderr.trim()}`);
};

const byName = (a, b) => (a.name < b.name ? -1 : 1);

/** Returns the regular files below a directory in the same order on every file system. */
const filesBelow = (directory) =>
  readdirSync(directory, { withFileTypes: true })
    .sort(byName)
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });

/** Only the program itself is executable, regardless of the mode of the source file. */
const modeOf = (path) => (path === '/usr/lib/opsctl/bin/opsctl.js' ? 0o755 : 0o644);

const entriesOf = (item, from) => {
  const { src, dst, type = 'file' } = item;
  // A relative link also works in a root that is not `/`.
  if (type === 'symlink') return [{ path: dst, target: relative(dirname(dst), src) }];
  const file = (source, path) => ({
    path,
    data: readFileSync(source),
    mode: item.file_info?.mode ?? modeOf(path),
  });
  if (type === 'file') return [file(join(from, src), dst)];
  if (type !== 'tree')
    throw new Error(`nfpm.yaml: unknown type "${type}" of ${dst}; allowed: file, tree, symlink`);
  return filesBelow(join(from, src)).map((path) => file(path, `${dst}/${relative(join(from, src), path)}`));
};

/** Returns the description with replaced variables, and the files of one packager sorted by path. */
const readDescription = (from, packager, variables) => {
  const text = readFileSync(description, 'utf8').replace(/\$\{(\w+)\}/g, (_, name) =>
    JSON.stringify(variables[name] ?? ''),
  );
  const { overrides = {}, contents, ...fields } = parse(text);
  const entries = contents
    .filter((item) => item.packager === undefined || item.packager === packager)
    .flatMap((item) => entriesOf(item, from))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { ...fields, ...overrides[packager], entries };
};

const indented = (text) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
    .join('\n');

const copyrightText = (
  { license },
  text,
) => `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: opsctl
Comment: The program contains other packages. /usr/lib/opsctl/dist contains their
 license texts (THIRD-PARTY-NOTICES.txt) and a list of them (sbom.cdx.json).

Files: *
Copyright: ${/^Copyright (?:\(c\) )?(.+)$/im.exec(text)?.[1] ?? 'the authors of opsctl'}
License: ${license}
${indented(text)}
`;

const debianChangelog = (version, maintainer, seconds) => {
  const date = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000');
  return `opsctl (${version}) unstable; urgency=medium\n\n  * Release ${version}.\n\n -- ${maintainer}  ${date}\n`;
};

/** Compresses with gzip as Debian requires: best compression, without a name or a timestamp. */
const compressed = (data) => gzipSync(data, { level: 9 });

/** Writes the files that only the Linux packages need into packaging/ of the unpacked npm package. */
const prepare = (from, facts, { version, maintainer, seconds }) => {
  const to = join(from, 'packaging');
  rmSync(to, { recursive: true, force: true });
  mkdirSync(join(to, 'man'), { recursive: true });
  const pages = join(from, 'dist/man');
  for (const name of existsSync(pages) ? readdirSync(pages) : [])
    writeFileSync(join(to, 'man', `${name}.gz`), compressed(readFileSync(join(pages, name))));
  const license = join(from, 'LICENSE');
  const text = existsSync(license) ? readFileSync(license, 'utf8') : '';
  writeFileSync(join(to, 'copyright'), copyrightText(facts, text));
  writeFileSync(join(to, 'changelog.gz'), compressed(debianChangelog(version, maintainer, seconds)));
};

/** Writes the files of a package below `root`, all with the same timestamp. */
const lay = (entries, root, seconds) => {
  const directories = new Set();
  for (const { path, target, data, mode } of entries) {
    const to = join(root, path);
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
    for (let at = dirname(to); at.startsWith(root) && at !== root; at = dirname(at)) directories.add(at);
    if (target === undefined) writeFileSync(to, data);
    else symlinkSync(target, to);
    if (target === undefined) chmodSync(to, mode);
    lutimesSync(to, seconds, seconds);
  }
  for (const at of [...directories, root].sort((a, b) => b.length - a.length)) {
    chmodSync(at, 0o755);
    lutimesSync(at, seconds, seconds);
  }
};

const bytesOf = (entries) => entries.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);

/** Debian sorts `~` before all other characters, so that a pre-release sorts before its release. */
const debianVersion = (version) => version.replace('-', '~');

const field = (name, value) => (value ? `${name}: ${value}\n` : '');

const control = (facts, version) => {
  const [synopsis, ...extended] = facts.description.trimEnd().split('\n');
  return [
    ...[field('Package', facts.name), field('Version', version), field('Architecture', facts.arch)],
    ...[field('Maintainer', facts.maintainer), field('Homepage', facts.homepage)],
    field('Installed-Size', String(Math.ceil(bytesOf(facts.entries) / 1024))),
    field('Depends', facts.depends.join(', ')),
    ...[field('Section', facts.section), field('Priority', facts.priority)],
    `Description: ${synopsis}\n${indented(extended.join('\n'))}\n`,
  ].join('');
};

const work = (name, make) => {
  const directory = mkdtempSync(join(tmpdir(), `opsctl-${name}-`));
  try {
    return make(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

const startPackage = (from, packager, { maintainer, seconds }, format) => {
  const facts = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const version = format(facts.version);
  prepare(from, facts, { version, maintainer, seconds });
  const variables = { VERSION: facts.version, MAINTAINER: maintainer, HOMEPAGE: facts.homepage };
  return { ...readDescription(from, packager, variables), version };
};

/** Builds the Debian package of the unpacked npm package at `from`; returns its path. */
export const debianPackage = (from, to, options) => {
  const facts = startPackage(from, 'deb', options, debianVersion);
  const path = join(to, `${facts.name}_${facts.version}_all.deb`);
  return work('deb', (root) => {
    const files = facts.entries.filter(({ data }) => data !== undefined);
    const sums = files.map(
      (one) => `${createHash('md5').update(one.data).digest('hex')}  ${one.path.slice(1)}\n`,
    );
    const own = [
      { path: '/DEBIAN/control', data: Buffer.from(control(facts, facts.version)), mode: 0o644 },
      { path: '/DEBIAN/md5sums', data: Buffer.from(sums.join('')), mode: 0o644 },
    ];
    lay([...facts.entries, ...own], root, options.seconds);
    run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, path], {
      SOURCE_DATE_EPOCH: String(options.seconds),
    });
    return path;
  });
};

/** Returns the directories that the package owns. Directories of the system are excluded. */
const ownDirectories = (entries, name) =>
  [...new Set(entries.map(({ path }) => dirname(path)))]
    .filter((path) => path.split('/').includes(name))
    .sort();

const specText = (facts, stage) => {
  const [synopsis, ...extended] = facts.description.trimEnd().split('\n');
  const directories = ownDirectories(facts.entries, facts.name).map(
    (path) => `%dir %attr(0755,root,root) "${path}"\n`,
  );
  const files = facts.entries.map(({ path, mode, target }) =>
    target === undefined ? `%attr(0${mode.toString(8)},root,root) "${path}"\n` : `"${path}"\n`,
  );
  return `%global __os_install_post %{nil}
%global _build_id_links none
Name: ${facts.name}
Version: ${facts.version}
Release: 1
Summary: ${synopsis[0].toUpperCase()}${synopsis.slice(1)}
License: ${facts.license}
Group: Applications/System
Packager: ${facts.maintainer}
${field('URL', facts.homepage)}BuildArch: noarch
AutoReqProv: no
${facts.depends.map((one) => `Requires: ${one}\n`).join('')}
%description
${extended.join('\n').replaceAll(/^ *\.$/gm, '')}

%install
mkdir -p %{buildroot}
cp -a "${stage}/." %{buildroot}/

%files
${directories.join('')}${files.join('')}`;
};

/** Builds the RPM package of the unpacked npm package at `from`; returns its path. */
export const rpmPackage = (from, to, options) => {
  const facts = startPackage(from, 'rpm', options, debianVersion);
  const name = `${facts.name}-${facts.version}-1.noarch.rpm`;
  return work('rpm', (top) => {
    const stage = join(top, 'stage');
    mkdirSync(stage);
    lay(facts.entries, stage, options.seconds);
    writeFileSync(join(top, 'opsctl.spec'), specText(facts, stage));
    // Without these macros, the host name, the time and the compression level would make each build different.
    const macros = {
      _topdir: top,
      _rpmdir: to,
      _rpmfilename: name,
      _buildhost: 'localhost',
      _binary_payload: 'w9.xzdio',
      use_source_date_epoch_as_buildtime: '1',
      clamp_mtime_to_source_date_epoch: '1',
      source_date_epoch_from_changelog: '0',
    };
    const defines = Object.entries(macros).flatMap(([key, value]) => ['--define', `${key} ${value}`]);
    run('rpmbuild', ['-bb', '--target', 'noarch', ...defines, join(top, 'opsctl.spec')], {
      SOURCE_DATE_EPOCH: String(options.seconds),
      HOME: top,
    });
    return join(to, name);
  });
};

/** Alpine writes `_rc1` for a pre-release, without a dot. */
const alpineVersion = (version) =>
  `${version.replace(/-(alpha|beta|pre|rc)\.?(\d*)$/, '_$1$2').replace(/-.*$/, '')}-r0`;

/** Builds the Alpine package of the unpacked npm package at `from`; returns its path. The package is not signed. */
export const alpinePackage = (from, to, options) => {
  const facts = startPackage(from, 'apk', options, alpineVersion);
  const path = join(to, `${facts.name}-${facts.version}.apk`);
  writeFileSync(path, alpineArchive({ ...facts, size: bytesOf(facts.entries) }, options.seconds));
  return path;
};

/** The function and the file name of each packager. */
export const packagers = {
  deb: { make: debianPackage, file: (version) => `opsctl_${debianVersion(version)}_all.deb` },
  rpm: { make: rpmPackage, file: (version) => `opsctl-${debianVersion(version)}-1.noarch.rpm` },
  apk: { make: alpinePackage, file: (version) => `opsctl-${alpineVersion(version)}.apk` },
};

/** Returns the first line of the description, for package pages with limited space. */
export const synopsis = () => {
  const [line] = parse(readFileSync(description, 'utf8').replace(/\$\{\w+\}/g, '""')).description.split('\n');
  return `${line[0].toUpperCase()}${line.slice(1)}`;
};
