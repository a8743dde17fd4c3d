import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { operations } from '../../src/core/operation.ts';
import { labelsService as service } from '../../src/api-specs/labels/labels.ts';
import { type Program, program } from '../support/built-program.ts';
import { makeDirectory } from '../support/directory.ts';

/** Debian's golang-google-api-dev 0.61: the libraries of all generated clients, and their generator. */
const SHARED = '/usr/share/gocode';
const API = 'src/google.golang.org/api';
const missing = (): string | undefined => {
  if (!existsSync(join(SHARED, API, 'google-api-go-generator'))) return 'the package golang-google-api-dev';
  return spawnSync('go', ['version']).status === 0 ? undefined : 'the program go';
};
const leftOut = missing();
if (leftOut !== undefined)
  process.stderr.write(`left out: the Go client of the label service: no ${leftOut}\n`);

let home: Program;
let serving: ReturnType<Program['start']>;
let origin: string;
let place: string;
beforeAll(async () => {
  place = makeDirectory();
  home = program();
  serving = home.start(['mock', 'serve', '--ephemeral', '--seed', 'empty', '-o', 'json']);
  const ready = await serving.first;
  origin = new URL(ready.labels.base_url).origin;
});
afterAll(async () => {
  serving.kill('SIGTERM');
  await serving.ended;
});

test.skipIf(leftOut !== undefined)(
  'the generated Go client drives every method from the served discovery document',
  async () => {
    const env = {
      PATH: process.env['PATH'],
      HOME: place,
      GO111MODULE: 'off',
      GOPATH: `${place}:${SHARED}`,
      GOCACHE: join(place, 'cache'),
    };
    const go = (...words: string[]): void => {
      execFileSync('go', words, { cwd: place, env, stdio: ['ignore', 'ignore', 'pipe'] });
    };
    mkdirSync(join(place, API), { recursive: true });
    const document = await (await fetch(`${origin}/discovery/labels/v2beta`)).text();
    writeFileSync(join(place, 'labels.json'), document);
    go('build', '-o', 'generate', 'google.golang.org/api/google-api-go-generator');
    const generate = ['-api_json_file=labels.json', '-cache=false', `-gendir=${join(place, API)}`];
    execFileSync(join(place, 'generate'), generate, { cwd: place, env, stdio: ['ignore', 'ignore', 'pipe'] });
    // Go allows internal packages only below the directory that contains them. The generator uses the shared ones.
    for (const part of ['internal', 'googleapi', 'option', 'transport'])
      cpSync(join(SHARED, API, part), join(place, API, part), { recursive: true });
    go('build', '-o', 'drive', new URL('./labels-go.go', import.meta.url).pathname);
    const out = execFileSync(join(place, 'drive'), [origin], { cwd: place, env, encoding: 'utf8' });
    expect(JSON.parse(out)).toEqual({
      calls: operations(service.table).length,
      title: 'From Go',
      fields: 1,
      pages: 1,
      gone: 404,
    });
  },
  600_000,
);
