import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { driverKinds } from '../../src/kv/upgrade/cluster/drivers.ts';
import { versionRows } from '../../src/api-specs/etcd/versions.ts';
import { keys } from '../../src/config/settings.ts';
import { exitCodes } from '../../src/core/problem.ts';
import { acceptable } from '../../src/kv/upgrade/guards/guard.ts';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { releases } from '../real/etcd.mjs';
import { covers } from '../support/covers.ts';

/**
 * Each part that a newcomer may add (CONTRIBUTING.md, "How to add"), and what belongs to it. A failure names the part,
 * what it lacks, and the file to put it into. That a test proves each part is checked by marks (`marks.test.ts`).
 */
const root = new URL('../../', import.meta.url).pathname;
const text = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const filesBelow = (directory: string): string[] =>
  readdirSync(`${root}${directory}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
    .map((entry) => `${entry.parentPath}/${entry.name}`.replace(root, ''))
    .filter((file) => !file.includes('node_modules') && !file.startsWith('test/completeness/'));
const textsBelow = (...directories: string[]): string => directories.flatMap(filesBelow).map(text).join('\n');
const settingsPage = text('docs/reference/settings.md');
const exitCodesPage = text('docs/reference/exit-codes.md');
const clusterFilePage = text('docs/reference/cluster-file.md');
const isQuoted = (word: string, source: string): boolean =>
  ["'", '"', '`'].some((quote) => source.includes(`${quote}${word}${quote}`));

/** Returns a sentence for each missing part; an empty list if the product is complete. */
type Need = { readonly isThere: boolean; readonly lacks: string };
const lacking = (name: string, needs: readonly Need[]): string[] =>
  needs.filter(({ isThere }) => !isThere).map(({ lacks }) => `${name} ${lacks}`);

const guardNeeds = (name: string, isListed: boolean): string[] =>
  lacking(`guard ${name}`, [
    { isThere: isListed, lacks: 'is not listed: add it to src/kv/upgrade/guards/all.ts' },
  ]);

test('every guard of the upgrade is listed', () => {
  const declared = filesBelow('src/kv/upgrade/guards').flatMap((file) =>
    [...text(file).matchAll(/= guard\(\s*'([a-z0-9-]+)'/g)].map(([, name = '']) => name),
  );
  const listed = new Set(guards.map(({ id }) => id));
  expect(
    [...listed].filter((name) => !declared.includes(name)),
    "guards are found by `= guard('name'`",
  ).toEqual([]);
  expect(declared.flatMap((name) => guardNeeds(name, listed.has(name)))).toEqual([]);
  expect(
    acceptable.filter((name) => !listed.has(name)),
    'src/kv/upgrade/guards/guard.ts names guards that do not exist',
  ).toEqual([]);
});

const methodNeeds = (file: string, tests: string, sources: string): string[] =>
  lacking(`sign-in method src/auth/methods/${file}`, [
    {
      isThere:
        existsSync(`${root}test/auth/methods/${file.replace('.ts', '.test.ts')}`) ||
        tests.includes(`/${file}'`),
      lacks: 'has no test: add test/auth/methods/ (success, denial, interruption)',
    },
    {
      isThere: sources.includes(`/${file}'`),
      lacks: 'is connected to nothing: import it in src/auth/flow.ts',
    },
  ]);

test('every sign-in method is connected and has a test', () => {
  const sources = textsBelow('src/auth');
  const names = filesBelow('src/auth/methods').map((file) => file.replace('src/auth/methods/', ''));
  const tests = textsBelow('test/auth', 'test/real', 'test/browser', 'test/stories');
  expect(names.length).toBeGreaterThan(1);
  const reached = `${tests}\n${names.map((name) => (tests.includes(`/${name}'`) ? text(`src/auth/methods/${name}`) : '')).join('\n')}`;
  expect(
    names.flatMap((name) => methodNeeds(name, `${reached}\n${text('src/auth/flow.ts')}`, sources)),
  ).toEqual([]);
});

const driverNeeds = (name: string): string[] =>
  lacking(`driver ${name}`, [
    {
      isThere:
        new RegExp(`case '${name}'|/${name}\\.ts'|\\b${name}Service\\(`).test(
          text('src/kv/upgrade/supervisors/open.ts'),
        ) || name === 'ssh',
      lacks: 'is not opened: src/kv/upgrade/supervisors/open.ts',
    },
    {
      isThere:
        isQuoted(
          name,
          textsBelow('test/kv/upgrade/supervisors', 'test/cluster', 'test/kv/upgrade/cluster'),
        ) || textsBelow('test/kv/upgrade/supervisors', 'test/cluster').includes(`driver: ${name}`),
      lacks: 'has no test of start, stop and status: test/kv/upgrade/supervisors/',
    },
    {
      isThere: clusterFilePage.includes(`\`${name}\``),
      lacks: 'is not in docs/reference/cluster-file.md, section Drivers',
    },
  ]);

test('every driver of a cluster file is opened, tested and documented', () => {
  expect(driverKinds).toContain('local');
  expect(driverKinds.flatMap(driverNeeds)).toEqual([]);
});

test('every setting is in the reference', () => {
  const missing = keys.flatMap(({ key, env, summary }) =>
    lacking(`setting ${key}`, [
      { isThere: summary.length > 0, lacks: 'has no summary: src/config/settings.ts' },
      {
        isThere: env === undefined || settingsPage.includes(`\`${env}\``),
        lacks: 'is not in docs/reference/settings.md: run npm run docs',
      },
    ]),
  );
  expect(missing).toEqual([]);
});

test('every exit code is in the reference', covers('spec/program#exit-codes-1'), () => {
  const missing = Object.entries(exitCodes).flatMap(([category, { code, meaning }]) =>
    lacking(`exit code ${code} (${category})`, [
      { isThere: meaning.length > 0, lacks: 'has no meaning: src/core/problem.ts' },
      {
        isThere: exitCodesPage.includes(`| ${code} | `),
        lacks: 'is not in docs/reference/exit-codes.md: run npm run docs',
      },
    ]),
  );
  expect(missing).toEqual([]);
});

/** Debian has no server package for these minors; the simulated cluster and self-supplied binaries replace it. */
const withoutPackage = new Set(['3.2', '3.6', '3.7']);

test('every version of the store has its tests, its text and its real server', () => {
  const missing = versionRows.flatMap(({ minor }) =>
    lacking(`store version ${minor}`, [
      {
        isThere: textsBelow('test/api-specs/etcd').includes(minor),
        lacks: 'has no test of its row: test/api-specs/etcd/versions.test.ts',
      },
      {
        isThere: textsBelow('src/etcd-sim').includes(`'${minor}'`),
        lacks: 'is not simulated: src/etcd-sim/forms.ts',
      },
      {
        isThere: withoutPackage.has(minor) || releases.some((release) => release.minor === minor),
        lacks: 'has no real server: test/real/etcd.mjs',
      },
      {
        isThere: text('docs/spec/store.md').includes(minor),
        lacks: 'is documented nowhere: docs/spec/store.md',
      },
    ]),
  );
  expect(missing).toEqual([]);
});

test('an error names each missing part and the place to add it', () => {
  expect(guardNeeds('odd-members', false)).toEqual([
    'guard odd-members is not listed: add it to src/kv/upgrade/guards/all.ts',
  ]);
  expect(methodNeeds('device-code.ts', '', '')).toHaveLength(2);
  expect(driverNeeds('no-such-driver')).toEqual([
    'driver no-such-driver is not opened: src/kv/upgrade/supervisors/open.ts',
    'driver no-such-driver has no test of start, stop and status: test/kv/upgrade/supervisors/',
    'driver no-such-driver is not in docs/reference/cluster-file.md, section Drivers',
  ]);
});
