import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { labelsService as service } from '../../src/api-specs/labels/labels.ts';
import { type Program, program } from '../support/built-program.ts';
import { isLeftOut, pythonPackages } from './python.ts';

/** Debian's Python client of services of this kind, extracted into a cache. */
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
const client = pythonPackages('python-client', packages, 'googleapiclient');

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
});

test.skipIf(isLeftOut(client))(
  'the Python client drives every method, and a batch, from the served discovery document',
  () => {
    const script = new URL('./labels-python.py', import.meta.url).pathname;
    const out = execFileSync(client.command, ['-W', 'ignore', script, origin], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], PYTHONPATH: client.path },
    });
    const { called, answers } = JSON.parse(out);
    expect(called).toHaveLength(operations(service.table).length);
    expect(answers).toEqual({ title: 'From Python', missing: 404, made: 'In a batch', gone: 404 });
  },
);
