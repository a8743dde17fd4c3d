import { readFileSync, writeFileSync } from 'node:fs';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Ran, opsctl } from '../../support/program.ts';
import { covers } from '../../support/covers.ts';
import { makeDirectory } from '../../support/directory.ts';
import { errorOf } from '../../support/facts.ts';

let answer: (reply: ServerResponse, method: string) => void;
let got: string[] = [];
let home: string;
let server: Server;
let base: string;
// A finished run of one case would prevent the run of the next one.
beforeEach(() => {
  home = makeDirectory();
});
beforeAll(async () => {
  server = createServer((request, reply) => {
    got.push(`${request.method} ${request.url}`);
    request.resume().once('end', () => answer(reply, request.method ?? ''));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});
const run = (...argv: string[]): Promise<Ran> =>
  opsctl(['tracker', ...argv], {
    home,
    env: { OPSCTL_TRACKER_URL: base, OPSCTL_TRACKER_TOKEN: 'proof-t0ken', OPSCTL_RATE_PER_MINUTE: 'off' },
  });
const json = (reply: ServerResponse, status: number, text: string): void =>
  void reply.writeHead(status, { 'content-type': 'application/json' }).end(text);

const page = '<html><title>Sign in to WiFi</title>';
/** Responses that contain no information about the change, and the text that the error must show. */
const unproven: readonly [string, number, string, string][] = [
  ['not modified', 304, '', '304'],
  ['empty', 200, '', 'empty'],
  ['null', 200, 'null', 'null'],
  ['a text', 200, '"x"', '"x"'],
  ['a number', 200, '5', '5'],
  ['a list', 200, '[]', '[]'],
  ['an object without the record', 200, '{"login":"https://portal.example"}', 'portal.example'],
  ['a record without its id', 200, '{"id":null,"name":"x"}', '"id":null'],
  ['the page of a captive portal', 200, page, 'Sign in to WiFi'],
];

test.each(unproven)(
  '%s: create, update and delete exit with code 11 and an excerpt',
  covers('defect/D3-2', 'defect/R-4'),
  async (_, status, text, words) => {
    answer = (reply) =>
      text === page
        ? void reply.writeHead(status, { 'content-type': 'text/html' }).end(text)
        : json(reply, status, text);
    for (const argv of [
      ['labels', 'create', '--name', 'x', '--send-again'],
      ['labels', 'update', '5', '--name', 'x'],
      ['labels', 'delete', '5', '--yes'],
    ]) {
      const ran = await run(...argv, '-o', 'json');
      expect([argv, ran.code, ran.stdout]).toEqual([argv, 11, '']);
      expect(errorOf(ran).message).toContain(words);
    }
  },
);

test.each(unproven)(
  '%s: bulk never treats the row as done, and --resume creates the record',
  covers('defect/D3-3'),
  async (_, status, text) => {
    const [rows, journal] = [join(home, 'rows.ndjson'), join(home, 'rows.journal')];
    writeFileSync(rows, '{"resource":"labels","op":"create","name":"x"}\n');
    answer = (reply) => json(reply, status, text);
    const first = await run('bulk', '-f', rows, '--journal', journal, '-o', 'ndjson');
    expect([first.code, first.stdout]).toEqual([11, '']);
    expect(readFileSync(journal, 'utf8')).not.toMatch(/^d /m);
    answer = (reply, method) =>
      json(reply, method === 'GET' ? 200 : 201, method === 'GET' ? '[]' : '{"id":9}');
    got = [];
    const again = await run('bulk', '-f', rows, '--journal', journal, '--resume', '-o', 'ndjson');
    expect([again.code, JSON.parse(again.stdout)]).toEqual([
      0,
      expect.objectContaining({ status: 'done', id: 9 }),
    ]);
    expect(got).toEqual(['GET /api/v3/labels', 'POST /api/v3/labels']);
  },
);

test('the record with any success, a 204, and a record for a documented 204 confirm a write', async () => {
  answer = (reply) => json(reply, 200, '{"id":7,"name":"x","new_field":1}');
  expect((await run('labels', 'create', '--name', 'x', '--send-again', '-o', 'name')).stdout).toBe('x\n');
  expect((await run('labels', 'delete', '7', '--yes')).code).toBe(0);
  answer = (reply) => void reply.writeHead(204).end();
  expect((await run('labels', 'delete', '7', '--yes')).code).toBe(0);
  expect((await run('labels', 'update', '7', '--name', 'y')).code).toBe(11);
});

test('a record with another ID confirms no update and is no valid response to a read', async () => {
  answer = (reply) => json(reply, 200, '{"id":6,"name":"x"}');
  for (const argv of [
    ['labels', 'get', '5'],
    ['labels', 'update', '5', '--name', 'x'],
  ]) {
    const ran = await run(...argv, '-o', 'json');
    expect([argv, ran.code, ran.stdout]).toEqual([argv, 11, '']);
  }
  expect((await run('labels', 'delete', '5', '--yes')).code).toBe(0);
});

test('bulk: an update with another record in the response is not done, and --resume repeats it', async () => {
  const [rows, journal] = [join(home, 'others.ndjson'), join(home, 'others.journal')];
  writeFileSync(rows, '{"resource":"labels","op":"update","id":5,"name":"x"}\n');
  answer = (reply, method) => json(reply, 200, `{"id":${method === 'GET' ? 5 : 6},"name":"x"}`);
  const first = await run('bulk', '-f', rows, '--journal', journal, '-o', 'ndjson');
  expect([first.code, first.stdout]).toEqual([11, '']);
  expect(errorOf(first)).toMatchObject({
    code: 'NOT_PROVEN',
  });
  expect(readFileSync(journal, 'utf8')).not.toMatch(/^d /m);
  answer = (reply) => json(reply, 200, '{"id":5,"name":"x"}');
  got = [];
  const again = await run('bulk', '-f', rows, '--journal', journal, '--resume', '-o', 'ndjson');
  expect([again.code, JSON.parse(again.stdout)]).toEqual([
    0,
    expect.objectContaining({ status: 'done', id: 5 }),
  ]);
  expect(got).toEqual(['GET /api/v3/labels/5', 'PUT /api/v3/labels/5']);
});

test('several stories: fewer records than requested do not confirm any of them', async () => {
  answer = (reply) => json(reply, 201, '[{"id":1,"name":"a"}]');
  const made = await run('stories', 'bulk-create', '--stories', '[{"name":"a"},{"name":"b"}]', '-o', 'json');
  expect([made.code, made.stdout]).toEqual([11, '']);
  expect(made.stderr).toContain('2 records, one for each of `stories`; there are 1');
  const changed = await run('stories', 'bulk-update', '--story-ids', '1,2', '--estimate', '3', '-o', 'json');
  expect([changed.code, changed.stdout]).toEqual([11, '']);
  answer = (reply) => json(reply, 200, '[{"id":1,"name":"a"},{"id":2,"name":"b"}]');
  expect((await run('stories', 'bulk-update', '--story-ids', '1,2,1', '--estimate', '3')).code).toBe(0);
});
