// @ts-check
// The list of components in a package (CycloneDX 1.6), written with the library of the CycloneDX project: every bundled
// package with license, supplier, checksum and relations.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { Enums, Models, SPDX, Serialize, Spec } from '@cyclonedx/cyclonedx-library';

const { Component } = Models;

/** @typedef {string | { readonly name?: string }} Person */
/**
 * The parts of a package.json that the document uses.
 * @typedef {object} Manifest
 * @property {string} [version]
 * @property {string | { readonly type?: string }} [license]
 * @property {Person} [author]
 * @property {readonly Person[]} [maintainers]
 * @property {readonly Person[]} [contributors]
 * @property {string | { readonly url?: string }} [repository]
 */
/**
 * A package in the lock file.
 * @typedef {object} Locked
 * @property {string} [version]
 * @property {string} [license]
 * @property {string} [integrity]
 * @property {Readonly<Record<string, string>>} [dependencies]
 * @property {Readonly<Record<string, string>>} [devDependencies]
 * @property {Readonly<Record<string, string>>} [optionalDependencies]
 */
/**
 * @typedef {object} Row
 * @property {string} path
 * @property {string} name
 * @property {string} version
 * @property {string} license
 * @property {string | undefined} supplier
 * @property {string | undefined} integrity
 * @property {boolean} isOptional
 * @property {readonly string[]} requires
 * @param {{ readonly name: string, readonly version: string }} component
 */
const purlOf = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** @param {string} license */
const licenseOf = (license) => {
  if (SPDX.isSupportedSpdxId(license)) return new Models.SpdxLicense(license);
  return / (AND|OR|WITH) /.test(license)
    ? new Models.LicenseExpression(license)
    : new Models.NamedLicense(license);
};

/** @param {Person | undefined} person */
const personName = (person) =>
  (typeof person === 'string' ? person : person?.name)?.replace(/\s*[<(].*$/, '').trim() || undefined;

/**
 * Returns the owner of the repository, for a package that does not name a person.
 * @param {Manifest['repository']} repository
 */
const ownerOf = (repository) =>
  /(?:^|[:/])([^/:]+)\/[^/]+$/.exec(
    (typeof repository === 'string' ? repository : (repository?.url ?? '')).replace(/#.*$/, ''),
  )?.[1];

/**
 * Returns the SHA-512 of the package that npm downloads, from the lock file.
 * @param {string | undefined} integrity
 * @returns {[Enums.HashAlgorithm, string][]}
 */
const hashesOf = (integrity) => {
  const [, base64] = /^sha512-(\S+)$/.exec(integrity ?? '') ?? [];
  return base64 === undefined
    ? []
    : [[Enums.HashAlgorithm['SHA-512'], Buffer.from(base64, 'base64').toString('hex')]];
};

/** @param {Row} row */
const componentOf = ({ name, version, license, supplier, integrity, isOptional }) => {
  const [first = name, last] = name.split('/');
  const purl = purlOf({ name, version });
  const component = new Component(Enums.ComponentType.Library, last ?? first, {
    bomRef: purl,
    group: last === undefined ? undefined : first,
    version,
    purl,
    author: supplier,
    supplier: supplier === undefined ? undefined : new Models.OrganizationalEntity({ name: supplier }),
    scope: isOptional ? Enums.ComponentScope.Optional : Enums.ComponentScope.Required,
    hashes: new Models.HashDictionary(hashesOf(integrity)),
  });
  component.licenses.add(licenseOf(license));
  return component;
};

/**
 * Resolves a required package as npm does: next to the requiring package, then in each directory above.
 * @param {Readonly<Record<string, Locked>>} packages @param {string} from @param {string} name
 */
const resolveIn = (packages, from, name) => {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (at === '') return undefined;
  }
};

/**
 * Returns the bundled packages and the optional packages that npm installs next to the program, by their path in the lock file.
 * @param {string} root @param {readonly string[]} directories
 */
const rowsOf = (root, directories) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { optionalDependencies = {} } = packages[''];
  // node_modules may be a link to the directory of another checkout, and the bundler reports real paths.
  const modules = realpathSync(join(root, 'node_modules'));
  const paths = directories.map(
    (directory) => `node_modules/${relative(modules, realpathSync(directory)).split(sep).join('/')}`,
  );
  const optional = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
  /** @param {string} path @param {boolean} isOptional @returns {Row} */
  const rowOf = (path, isOptional) => {
    const { version, license, integrity, dependencies = {} } = packages[path] ?? {};
    const own = join(root, path, 'package.json');
    const facts = existsSync(own) ? JSON.parse(readFileSync(own, 'utf8')) : {};
    const names = Object.keys(dependencies);
    return {
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: version ?? facts.version,
      license:
        license ?? (typeof facts.license === 'string' ? facts.license : (facts.license?.type ?? 'unknown')),
      supplier:
        personName(facts.author) ??
        personName(facts.maintainers?.[0] ?? facts.contributors?.[0]) ??
        ownerOf(facts.repository),
      integrity,
      isOptional,
      requires: names.flatMap((name) => resolveIn(packages, path, name) ?? []),
    };
  };
  const rows = [
    ...paths.map((path) => rowOf(path, false)),
    ...optional.filter((path) => !paths.includes(path)).map((path) => rowOf(path, true)),
  ];
  const { devDependencies = {} } = packages[''];
  const direct = [...Object.keys(devDependencies), ...Object.keys(optionalDependencies)];
  return { rows, direct: new Set(direct.map((name) => `node_modules/${name}`)) };
};

/**
 * Returns a serial number that depends only on the content, so that the same package has the same serial number.
 * @param {string} text
 */
const serialOf = (text) => {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/**
 * Returns the document as JSON text. `directories` are the bundled packages below `root`/node_modules, `facts` is
 * package.json, and `seconds` is the time of the release.
 * @type {typeof import('./sbom.mjs').sbomText}
 */
export const sbomText = ({ root, directories, facts, seconds }) => {
  const self = new Component(Enums.ComponentType.Application, facts.name, {
    bomRef: purlOf(facts),
    version: facts.version,
    purl: purlOf(facts),
    description: facts.description,
    author: facts.author,
    supplier: new Models.OrganizationalEntity({ name: personName(facts.author) }),
  });
  self.licenses.add(licenseOf(facts.license));
  const library = createRequire(import.meta.url)('@cyclonedx/cyclonedx-library/package.json');
  const bom = new Models.Bom({
    metadata: new Models.Metadata({
      timestamp: new Date(seconds * 1000),
      component: self,
      lifecycles: new Models.LifecycleRepository([Enums.LifecyclePhase.Build]),
      authors: new Models.OrganizationalContactRepository([
        new Models.OrganizationalContact({ name: personName(facts.author) }),
      ]),
      tools: new Models.Tools({
        components: new Models.ComponentRepository([
          new Component(Enums.ComponentType.Library, 'cyclonedx-library', {
            group: '@cyclonedx',
            version: library.version,
          }),
        ]),
      }),
    }),
  });
  const { rows, direct } = rowsOf(root, directories);
  const listed = rows.map((row) => ({ row, component: componentOf(row) }));
  const components = new Map(listed.map(({ row, component }) => [row.path, component]));
  for (const { row, component } of listed) {
    const { path, requires } = row;
    bom.components.add(component);
    if (direct.has(path)) self.dependencies.add(component.bomRef);
    for (const one of requires) {
      const required = components.get(one);
      if (required !== undefined) component.dependencies.add(required.bomRef);
    }
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  const write = () => serializer.serialize(bom, { sortLists: true, space: 2 });
  bom.serialNumber = serialOf(write());
  return `${write()}\n`;
};
