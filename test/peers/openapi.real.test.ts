import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';
import { makeDirectory } from '../support/directory.ts';

const TOKEN = 'mock-tracker-token';
const documents = ['/openapi.json', '/swagger.json', '/openapi/labels.json'] as const;
let owner: Program;
let origin: string;
let base: string;
let directory: string;
beforeAll(async () => {
  peers();
  owner = program();
  const words = ['mock', 'serve', '-o', 'json', '--rate-limit', 'off', '--ephemeral'];
  const ready = await owner.start(words).first;
  origin = ready.url;
  base = `${ready.tracker.base_url}/api/v3`;
  directory = makeDirectory();
});
const served = async (path: string): Promise<string> => (await fetch(origin + path)).text();

describe('the documents that are served', () => {
  test.each(documents)('an external linter finds no error in %s', async (path) => {
    const { createConfig, lintFromString } = peers()('@redocly/openapi-core');
    const config = await createConfig({ extends: ['recommended'] });
    const found = await lintFromString({ source: await served(path), config });
    const errors = found.filter(({ severity }: any) => severity === 'error');
    expect(
      errors.map(({ ruleId, message, location }: any) => `${ruleId} ${location?.[0]?.pointer}: ${message}`),
    ).toEqual([]);
  });

  test('the linter does find an error', async () => {
    const { createConfig, lintFromString } = peers()('@redocly/openapi-core');
    const config = await createConfig({ extends: ['recommended'] });
    const document = JSON.parse(await served('/openapi.json'));
    document.paths['/labels'].get.responses[200].content['application/json'].schema = { $ref: '#/nowhere' };
    const found = await lintFromString({ source: JSON.stringify(document), config });
    expect(found.map(({ ruleId }: any) => ruleId)).toContain('no-unresolved-refs');
  });
});

/** The code of a user with a generated client. The client defines every type, including the error type. */
const caller = `
import { Api, HttpResponse } from './api.ts';

const isAnswer = (value: unknown): value is HttpResponse<unknown, { message?: string }> => value instanceof Response;
const api = new Api({
  baseUrl: process.env.BASE!,
  baseApiParams: { headers: { 'Tracker-Token': process.env.TOKEN! } },
});
const told: unknown[] = [];
const made = await api.labels.labelsCreate({ name: process.env.NAME!, color: '#00ff00' });
told.push([made.status, made.data.name]);
const all = await api.labels.labelsList();
told.push(all.data.map((label) => label.name).includes(process.env.NAME!));
try {
  await api.labels.labelsGet(1);
} catch (error) {
  if (!isAnswer(error)) throw error;
  told.push([error.status, typeof error.error.message]);
}
console.log(JSON.stringify(told));
`;
const tsc = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));
const strict = [
  ...['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', 'false'],
  ...['--lib', 'es2022,dom,dom.iterable', '--allowImportingTsExtensions', '--types', 'node'],
  ...['--typeRoots', fileURLToPath(new URL('../../node_modules/@types', import.meta.url))],
];

describe('clients generated from them', () => {
  test.each(documents)('%s: the generated client compiles under strict', async (path) => {
    const { generateApi } = peers()('swagger-typescript-api');
    const at = join(directory, path.replaceAll(/\W+/g, '-'));
    mkdirSync(at);
    const { files } = await generateApi({
      ...{ spec: JSON.parse(await served(path)), fileName: 'api.ts', output: at, silent: true },
    });
    expect(files).toHaveLength(1);
    writeFileSync(join(at, 'package.json'), '{"type":"module"}');
    const { status, stdout } = spawnSync(tsc, [...strict, 'api.ts'], { cwd: at, encoding: 'utf8' });
    expect([stdout, status]).toEqual(['', 0]);
  });

  test.each(['/openapi.json', '/swagger.json'])('%s: its client calls and reads an error', async (path) => {
    const at = join(directory, path.replaceAll(/\W+/g, '-'));
    writeFileSync(join(at, 'caller.ts'), caller);
    const checked = spawnSync(tsc, [...strict, 'caller.ts'], { cwd: at, encoding: 'utf8' });
    expect([checked.stdout, checked.status]).toEqual(['', 0]);
    for (const name of ['api', 'caller']) {
      const { code } = transformSync(readFileSync(join(at, `${name}.ts`), 'utf8'), { loader: 'ts' });
      writeFileSync(join(at, `${name}.mjs`), code.replace('./api.ts', './api.mjs'));
    }
    const run = spawnSync(process.execPath, [pathToFileURL(join(at, 'caller.mjs')).pathname], {
      env: { ...process.env, BASE: base, TOKEN, NAME: path },
      encoding: 'utf8',
    });
    expect([run.stderr, run.status]).toEqual(['', 0]);
    expect(JSON.parse(run.stdout)).toEqual([[201, path], true, [404, 'string']]);
  });
});
