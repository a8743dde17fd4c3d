// @ts-check
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

/** @typedef {import('./alpine.mjs').PackageEntry} Entry */
/** @typedef {import('./delivery.mjs').PackageOptions} PackageOptions */
/** @typedef {keyof typeof import('./delivery.mjs').packagers} Packager */
/** @typedef {{ readonly version: string, readonly homepage?: string, readonly license: string }} Manifest */
/**
 * A row of `contents` in nfpm.yaml.
 * @typedef {object} Content
 * @property {string} src
 * @property {string} dst
 * @property {string} [type]
 * @property {string} [packager]
 * @property {{ readonly mode?: number }} [file_info]
 */
/**
 * The fields of nfpm.yaml for one packager.
 * @typedef {import('./alpine.mjs').PackageFacts & Readonly<Record<'arch' | 'section' | 'priority', string>>} Facts
 */
/**
 * @typedef {Omit<Facts, 'entries' | 'version'> & {
 *   readonly contents: readonly Content[],
 *   readonly overrides?: Readonly<Partial<Record<Packager, object>>>,
 * }} Description
 */

const description = fileURLToPath(new URL('../../nfpm.yaml', import.meta.url));

/**
 * @param {string} command @param {readonly string[]} args @param {Readonly<Record<string, string>>} env
 */
const run = (command, args, env = {}) => {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', ...env },
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new Error(
      command === 'rpmbuild'
        ? 'rpmbuild not found\n  try: apt-get install rpm, or --skip rpm'
        : `${command} not found\n  try: apt-get install dpkg, or --skip deb`,
    );
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${command} exited with code ${status}: ${stderr.trim()}`);
};

/** @param {{ readonly name: string }} a @param {{ readonly name: string }} b */
const byName = (a, b) => (a.name < b.name ? -1 : 1);

/**
 * Returns the regular files below a directory in the same order on every file system.
 * @param {string} directory
 * @returns {string[]}
 */
const filesBelow = (directory) =>
  readdirSync(directory, { withFileTypes: true })
    .sort(byName)
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });

/**
 * Only the program itself is executable, regardless of the mode of the source file.
 * @param {string} path
 */
const modeOf = (path) => (path === '/usr/lib/opsctl/bin/opsctl.js' ? 0o755 : 0o644);

/** @param {Content} item @param {string} from @returns {Entry[]} */
const entriesOf = (item, from) => {
  const { src, dst, type = 'file' } = item;
  // A relative link also works in a root that is not `/`.
  if (type === 'symlink') return [{ path: dst, target: relative(dirname(dst), src) }];
  /** @param {string} source @param {string} path @returns {Entry} */
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

/**
 * Returns the description with replaced variables, and the files of one packager sorted by path.
 * @param {string} from
 * @param {Packager} packager
 * @param {Readonly<Record<string, string | undefined>>} variables
 */
const readDescription = (from, packager, variables) => {
  const text = readFileSync(description, 'utf8').replace(/\$\{(\w+)\}/g, (_, name) =>
    JSON.stringify(variables[name] ?? ''),
  );
  /** @type {Description} */
  const { overrides = {}, contents, ...fields } = parse(text);
  const entries = contents
    .filter((item) => item.packager === undefined || item.packager === packager)
    .flatMap((item) => entriesOf(item, from))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  return { ...fields, ...overrides[packager], entries };
};

/** @param {string} text */
const indented = (text) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
    .join('\n');

/** @param {{ readonly license: string }} facts @param {string} text */
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

/** @param {string} version @param {string} maintainer @param {number} seconds */
const debianChangelog = (version, maintainer, seconds) => {
  const date = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000');
  return `opsctl (${version}) unstable; urgency=medium\n\n  * Release ${version}.\n\n -- ${maintainer}  ${date}\n`;
};

/**
 * Compresses with gzip as Debian requires: best compression, without a name or a timestamp.
 * @param {string | Buffer} data
 */
const compressed = (data) => gzipSync(data, { level: 9 });

/**
 * Writes the files that only the Linux packages need into packaging/ of the unpacked npm package.
 * @param {string} from @param {Manifest} facts @param {PackageOptions & { readonly version: string }} options
 */
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

/**
 * Writes the files of a package below `root`, all with the same timestamp.
 * @param {readonly Entry[]} entries @param {string} root @param {number} seconds
 */
const lay = (entries, root, seconds) => {
  /** @type {Set<string>} */
  const directories = new Set();
  for (const { path, target, data, mode } of entries) {
    const to = join(root, path);
    mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
    for (let at = dirname(to); at.startsWith(root) && at !== root; at = dirname(at)) directories.add(at);
    if (target === undefined) {
      writeFileSync(to, data);
      chmodSync(to, mode);
    } else symlinkSync(target, to);
    lutimesSync(to, seconds, seconds);
  }
  for (const at of [...directories, root].sort((a, b) => b.length - a.length)) {
    chmodSync(at, 0o755);
    lutimesSync(at, seconds, seconds);
  }
};

/** @param {readonly Entry[]} entries */
const bytesOf = (entries) => entries.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);

/**
 * Debian sorts `~` before all other characters, so that a pre-release sorts before its release.
 * @param {string} version
 */
const debianVersion = (version) => version.replace('-', '~');

/** @param {string} name @param {string | undefined} value */
const field = (name, value) => (value ? `${name}: ${value}\n` : '');

/** @param {Facts} facts @param {string} version */
const control = (facts, version) => {
  const [synopsis = '', ...extended] = facts.description.trimEnd().split('\n');
  return [
    ...[field('Package', facts.name), field('Version', version), field('Architecture', facts.arch)],
    ...[field('Maintainer', facts.maintainer), field('Homepage', facts.homepage)],
    field('Installed-Size', String(Math.ceil(bytesOf(facts.entries) / 1024))),
    field('Depends', facts.depends.join(', ')),
    ...[field('Section', facts.section), field('Priority', facts.priority)],
    `Description: ${synopsis}\n${indented(extended.join('\n'))}\n`,
  ].join('');
};

/** @param {string} name @param {(directory: string) => string} make */
const work = (name, make) => {
  const directory = mkdtempSync(join(tmpdir(), `opsctl-${name}-`));
  try {
    return make(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

/**
 * @param {string} from
 * @param {Packager} packager
 * @param {PackageOptions} options
 * @param {(version: string) => string} format
 * @returns {Facts}
 */
const startPackage = (from, packager, { maintainer, seconds }, format) => {
  /** @type {Manifest} */
  const facts = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const version = format(facts.version);
  prepare(from, facts, { version, maintainer, seconds });
  const variables = { VERSION: facts.version, MAINTAINER: maintainer, HOMEPAGE: facts.homepage };
  return { ...readDescription(from, packager, variables), version };
};

/**
 * Builds the Debian package of the unpacked npm package at `from`; returns its path.
 * @type {typeof import('./delivery.mjs').debianPackage}
 */
export const debianPackage = (from, to, options) => {
  const facts = startPackage(from, 'deb', options, debianVersion);
  const path = join(to, `${facts.name}_${facts.version}_all.deb`);
  return work('deb', (root) => {
    const sums = facts.entries.flatMap(({ data, path: own }) =>
      data === undefined ? [] : `${createHash('md5').update(data).digest('hex')}  ${own.slice(1)}\n`,
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

/**
 * Returns the directories that the package owns. Directories of the system are excluded.
 * @param {readonly Entry[]} entries @param {string} name
 */
const ownDirectories = (entries, name) =>
  [...new Set(entries.map(({ path }) => dirname(path)))]
    .filter((path) => path.split('/').includes(name))
    .sort();

/** @param {string} text */
const firstLine = (text) => text.split('\n', 1).join('');
/** @param {string} text */
const capitalized = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** @param {Facts} facts @param {string} stage */
const specText = (facts, stage) => {
  const [synopsis = '', ...extended] = facts.description.trimEnd().split('\n');
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
Summary: ${capitalized(synopsis)}
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

/**
 * Builds the RPM package of the unpacked npm package at `from`; returns its path.
 * @type {typeof import('./delivery.mjs').rpmPackage}
 */
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

/**
 * Alpine writes `_rc1` for a pre-release, without a dot.
 * @param {string} version
 */
const alpineVersion = (version) =>
  `${version.replace(/-(alpha|beta|pre|rc)\.?(\d*)$/, '_$1$2').replace(/-.*$/, '')}-r0`;

/**
 * Builds the Alpine package of the unpacked npm package at `from`; returns its path. The package is not signed.
 * @type {typeof import('./delivery.mjs').alpinePackage}
 */
export const alpinePackage = (from, to, options) => {
  const facts = startPackage(from, 'apk', options, alpineVersion);
  const path = join(to, `${facts.name}-${facts.version}.apk`);
  writeFileSync(path, alpineArchive({ ...facts, size: bytesOf(facts.entries) }, options.seconds));
  return path;
};

/**
 * The function and the file name of each packager.
 * @type {typeof import('./delivery.mjs').packagers}
 */
export const packagers = {
  deb: { make: debianPackage, file: (version) => `opsctl_${debianVersion(version)}_all.deb` },
  rpm: { make: rpmPackage, file: (version) => `opsctl-${debianVersion(version)}-1.noarch.rpm` },
  apk: { make: alpinePackage, file: (version) => `opsctl-${alpineVersion(version)}.apk` },
};

/**
 * Returns the first line of the description, for package pages with limited space.
 * @type {typeof import('./delivery.mjs').synopsis}
 */
export const synopsis = () => {
  /** @type {Description} */
  const fields = parse(readFileSync(description, 'utf8').replace(/\$\{\w+\}/g, '""'));
  return capitalized(firstLine(fields.description));
};
