import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { labelsService as service } from '../../src/api-specs/labels/index.ts';
import { type Program, program } from '../support/built-program.ts';
// @ts-expect-error: a plain script, shared with other tests.
import { fetchPackages } from '../real/packages.mjs';
// @ts-expect-error: a plain script, shared with other tests.
import { testCache } from '../tooling/cache.mjs';

/** Debian's Python client of services of this kind, unpacked into a cache. */
const packages = [
  'python3-googleapi',
  'python3-httplib2',
  'python3-uritemplate',
  'python3-google-auth',
  'python3-pyparsing',
  'python3-six',
  'python3-cachetools',
  'python3-rsa',
  'python3-pyasn1',
  'python3-pyasn1-modules',
  'python3-oauth2client',
];
const provide = (): { readonly path: string; readonly missing?: string } => {
  const directory = join(testCache(process.env), 'python-client');
  const path = join(directory, 'bookworm', 'usr/lib/python3/dist-packages');
  if (spawnSync('python3', ['--version']).status !== 0) return { path, missing: 'python3 is not installed' };
  if (existsSync(join(path, 'googleapiclient'))) return { path };
  mkdirSync(directory, { recursive: true });
  const missing: string | undefined = fetchPackages(
    { suite: 'bookworm', name: 'bookworm', packages },
    directory,
  );
  return missing === undefined ? { path } : { path, missing };
};

const client = provide();
if (client.missing !== undefined) console.warn(`the Python client cannot be had: ${client.missing}`);

let home: Program;
let serving: ReturnType<Program['start']>;
let origin: string;
beforeAll(async () => {
  home = program();
  serving = home.start(['mock', 'serve', '--ephemeral', '--seed', 'empty', '-o', 'json']);
  const ready = await serving.first;
  origin = new URL(ready.labels.base_url).origin;
});
afterAll(async () => {
  serving.kill('SIGTERM');
  await serving.ended;
  await home.close();
});

// On CI the client has to be there.
test.skipIf(client.missing !== undefined && process.env['CI'] !== 'true')(
  'the Python client drives every method, and a batch, from the served discovery document',
  () => {
    const script = new URL('./labels-python.py', import.meta.url).pathname;
    const out = execFileSync('python3', ['-W', 'ignore', script, origin], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], PYTHONPATH: client.path },
    });
    const { called, answers } = JSON.parse(out);
    expect(called).toHaveLength(operations(service.table).length);
    expect(answers).toEqual({ title: 'From Python', missing: 404, made: 'In a batch', gone: 404 });
  },
  300_000,
);
