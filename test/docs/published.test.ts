import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bundledPackages, noticesText } from '../tooling/notices.mjs';
import { covers } from '../support/covers.ts';

const root = new URL('../../', import.meta.url).pathname;
const pkg = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

test('all versions are pinned, and the lock file contains no download location', () => {
  const pins = Object.values({ ...pkg.dependencies, ...pkg.devDependencies, ...pkg.optionalDependencies });
  expect(pins.filter((pin) => !/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(String(pin)))).toEqual([]);
  expect(readFileSync(`${root}package-lock.json`, 'utf8')).not.toMatch(/"resolved"/);
});

type LockEntry = {
  readonly integrity?: string;
  readonly hasInstallScript?: true;
};
const lockEntries = (): [string, LockEntry][] => {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  return Object.entries(packages).filter(([at]) => at !== '');
};

test(
  'every package of the lock file is checked by its integrity',
  covers('defect/D12-1', 'defect/R-14'),
  () => {
    const unchecked = lockEntries().filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
    expect(unchecked.map(([at]) => at)).toEqual([]);
  },
);

test('no package needs an install script', () => {
  // esbuild only replaces its start script with the binary: it also works without this step (`npm ci --ignore-scripts`, as in CI).
  expect(lockEntries().flatMap(([at, { hasInstallScript }]) => (hasInstallScript ? [at] : []))).toEqual([
    'node_modules/esbuild',
  ]);
});

test('the lock file has every optional package: `npm ci` stops at one that an install could not see and left out', () => {
  type Locked = { readonly optionalDependencies?: Record<string, string> };
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const wanted = Object.entries(packages).flatMap(([at, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => [at, name] as const),
  );
  const missing = wanted.filter(
    ([at, name]) =>
      packages[`node_modules/${name}`] === undefined && packages[`${at}/node_modules/${name}`] === undefined,
  );
  expect(missing.map(([, name]) => name)).toEqual([]);
});

test('the packages inside a bundle are named with version and license, each once', () => {
  const found = bundledPackages([
    `${root}node_modules/chalk/source/index.js`,
    `${root}node_modules/chalk/source/utilities.js`,
    `${root}node_modules/@inquirer/prompts/dist/index.js`,
    `${root}src/main.ts`,
  ]);
  expect(found.map(({ name, license }) => [name, license])).toEqual([
    ['@inquirer/prompts', 'MIT'],
    ['chalk', 'MIT'],
  ]);
  expect(noticesText(found)).toContain('Permission is hereby granted');
});
