/** `npm run advisories` with the real `npm audit` and a registry on loopback. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';
import { reportAdvisories, sortAdvisories } from './advisories.mjs';

const row = (name: string) => ({ name, severity: 'high', range: '<2', via: [], effects: [] });

test('an advisory counts against the program only if the program contains the package', () => {
  const rows = { chalk: row('chalk'), vitest: row('vitest') };
  const { inside, outside } = sortAdvisories(rows, new Set(['chalk']));
  expect([inside.map(({ name }) => name), outside.map(({ name }) => name)]).toEqual([['chalk'], ['vitest']]);
});

test.each([
  [{ vulnerabilities: {} }, 0],
  [{ vulnerabilities: { vitest: row('vitest') } }, 0],
  [{ vulnerabilities: { chalk: row('chalk') } }, 1],
  [{ reason: '405 Method Not Allowed' }, 2],
  [{}, 2],
])('the exit code for %j is %i', (audit, exitCode) => {
  expect(reportAdvisories(audit, new Set(['chalk'])).exitCode).toBe(exitCode);
});

/** A project with one package inside the program and one for its tests. */
const makeProject = (): string => {
  const root = makeDirectory();
  const at = (name: string) => ({
    version: '1.0.0',
    resolved: `https://registry.npmjs.org/${name}/-/${name}-1.0.0.tgz`,
    integrity: `sha512-${'A'.repeat(86)}==`,
  });
  const facts = { name: 'project', version: '1.0.0', devDependencies: { inner: '1.0.0', outer: '1.0.0' } };
  for (const directory of ['dist', 'test/tooling']) mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, 'package.json'), JSON.stringify(facts));
  writeFileSync(
    join(root, 'package-lock.json'),
    JSON.stringify({
      ...{ name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true },
      packages: {
        '': facts,
        'node_modules/inner': { ...at('inner'), dev: true },
        'node_modules/outer': { ...at('outer'), dev: true },
      },
    }),
  );
  writeFileSync(join(root, 'dist/sbom.cdx.json'), JSON.stringify({ components: [{ name: 'inner' }] }));
  cpSync(new URL('advisories.mjs', import.meta.url).pathname, join(root, 'test/tooling/advisories.mjs'));
  return root;
};
const advisory = (id: number, name: string) => ({
  ...{ id, url: `https://advisories.example/${id}`, title: `A fault of ${name}`, severity: 'high' },
  ...{ vulnerable_versions: '<2.0.0', cwe: [], cvss: { score: 0, vectorString: null } },
});

const run = async (
  status: number,
  answer: (asked: Readonly<Record<string, readonly string[]>>) => string,
): Promise<[number | null, string]> => {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const bytes = Buffer.concat(parts);
      const isPacked = request.headers['content-encoding'] === 'gzip';
      const isBulk = request.url?.endsWith('/security/advisories/bulk') === true;
      const name = request.url?.slice(1) ?? '';
      const versions = { '1.0.0': { name, version: '1.0.0' }, '2.0.0': { name, version: '2.0.0' } };
      const facts = { name, versions, 'dist-tags': { latest: '2.0.0' } };
      response.writeHead(isBulk ? status : 200, { 'content-type': 'application/json' });
      response.end(
        isBulk ? answer(JSON.parse(`${isPacked ? gunzipSync(bytes) : bytes}`)) : JSON.stringify(facts),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const root = makeProject();
  const child = spawn(process.execPath, [join(root, 'test/tooling/advisories.mjs')], {
    cwd: root,
    env: {
      ...{ PATH: process.env['PATH'], HOME: root, npm_config_cache: join(root, 'cache') },
      ...{ npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' },
      npm_config_userconfig: join(root, 'npmrc'),
    },
  });
  let text = '';
  child.stdout.on('data', (part) => {
    text += part;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  server.closeAllConnections();
  server.close();
  return [code, text];
};

test('npm audit: the registry is asked about the packages inside the program, and decides the exit code', async () => {
  let names: string[] = [];
  const note = (asked: object, found: object): string => {
    names = Object.keys(asked);
    return JSON.stringify(found);
  };
  expect(await run(200, (asked) => note(asked, {}))).toEqual([
    0,
    expect.stringContaining('0 packages inside'),
  ]);
  expect(names).toEqual(expect.arrayContaining(['inner', 'outer']));
  const both = { inner: [advisory(1, 'inner')], outer: [advisory(2, 'outer')] };
  const [code, text] = await run(200, (asked) => note(asked, both));
  expect([code, text.split('\n')]).toEqual([
    1,
    [
      '1 package inside the program has an advisory',
      '  high: inner 1.0.0',
      '1 package for tests and build has an advisory',
      '  high: outer 1.0.0',
      '',
    ],
  ]);
  expect((await run(200, () => JSON.stringify({ outer: both.outer })))[0]).toBe(0);
});

test.each([
  ['does not offer advisories', 405, '{}'],
  ['fails', 500, '{"error":"broken"}'],
  ['returns a page', 200, '<html>sign in</html>'],
  ['returns an empty response', 200, ''],
])('npm audit: the state is unknown if the registry %s', async (_, status, body) => {
  expect(await run(status, () => body)).toEqual([2, expect.stringContaining('Advisories unknown')]);
});
