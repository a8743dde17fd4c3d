/** Tests that dist/sbom.cdx.json is valid by the schema of CycloneDX, complete by the minimum elements of NTIA, and reproducible. */
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { bundledPackages } from './notices.mjs';
import { sbomText } from './sbom.mjs';

const root = new URL('../../', import.meta.url).pathname;
const facts = createRequire(import.meta.url)('../../package.json');
const bundled = [
  'chalk/source/index.js',
  '@inquirer/prompts/dist/index.js',
  '@inquirer/core/dist/index.js',
].map((path) => `${root}node_modules/${path}`);
const directories = bundledPackages(bundled).map(({ directory }) => directory);
const text = sbomText({ root, directories, facts, seconds: 1_764_547_200 });
type Component = {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope: string;
  readonly supplier?: { readonly name: string };
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly unknown[];
};
type Sbom = {
  readonly serialNumber: string;
  readonly metadata: {
    readonly timestamp: string;
    readonly component: Component;
    readonly authors: unknown[];
  };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
};
const sbom = JSON.parse(text) as Sbom;
const refOf = (name: string) => sbom.components.find(({ purl }) => purl.includes(`/${name}@`))?.['bom-ref'];

test('the list is valid by the strict schema of CycloneDX 1.6', async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(text)).toBeNull();
  expect(await validator.validate(text.replace('"library"', '"bundle"'))).not.toBeNull();
});

test('every component has a version, a license, a supplier and the checksum of the lock file', () => {
  const { packages } = createRequire(import.meta.url)('../../package-lock.json') as {
    packages: Record<string, { integrity: string }>;
  };
  const chalk = sbom.components.find(({ name }) => name === 'chalk');
  const integrity = packages['node_modules/chalk']?.integrity.replace('sha512-', '') ?? '';
  expect(chalk?.hashes).toEqual([
    { alg: 'SHA-512', content: Buffer.from(integrity, 'base64').toString('hex') },
  ]);
  for (const component of sbom.components) {
    expect(component.version, component.name).toMatch(/^\d/);
    expect(component.licenses, component.name).toHaveLength(1);
    expect(component.hashes, component.name).toHaveLength(1);
  }
  expect(chalk?.supplier?.name).toBeTruthy();
});

test('the relations name what each package requires, and what opsctl requires itself', () => {
  const of = (ref: string | undefined) => sbom.dependencies.find((one) => one.ref === ref)?.dependsOn ?? [];
  expect(of(sbom.metadata.component['bom-ref'])).toEqual(
    expect.arrayContaining([refOf('chalk'), refOf('prompts')]),
  );
  // @inquirer/core is not in package.json. The bundle contains it because @inquirer/prompts requires the prompts that
  // use it.
  expect(of(sbom.metadata.component['bom-ref'])).not.toContain(refOf('core'));
  for (const { dependsOn = [] } of sbom.dependencies)
    for (const ref of dependsOn) expect(sbom.components.map((one) => one['bom-ref'])).toContain(ref);
});

test('the package that npm installs next to the program is listed as optional', () => {
  expect(sbom.components.find(({ name }) => name === 'keyring')?.scope).toBe('optional');
});

test('time, author and serial number follow from the input', () => {
  expect(sbom.metadata).toMatchObject({
    timestamp: '2025-12-01T00:00:00.000Z',
    authors: [{ name: 'The opsctl authors' }],
  });
  expect(sbomText({ root, directories, facts, seconds: 1_764_547_200 })).toBe(text);
  const later = JSON.parse(sbomText({ root, directories, facts, seconds: 1_764_547_201 })) as Sbom;
  expect(later.serialNumber).not.toBe(sbom.serialNumber);
  expect(sbom.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});
