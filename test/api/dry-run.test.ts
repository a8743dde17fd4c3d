import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type ContextOptions, makeContext } from '../../src/api/calls.ts';
import { asPreview } from '../../src/api/context.ts';
import { dryRun } from '../../src/api/request.ts';
import { fakeHost } from '../support/fake-host.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const request = { method: 'POST', url: 'http://t.example/x', body: '{"a":"it\'s"}' };

test('a dry run parses a JSON body and shows any other body unchanged', () => {
  const json = dryRun({ ...request, headers: { 'content-type': 'application/json' } });
  expect(json.body).toEqual({ a: "it's" });
  const form = dryRun({ ...request, headers: { 'content-type': 'text/plain' } });
  expect(form.body).toBe(request.body);
  expect(dryRun({ method: 'GET', url: request.url, headers: {} })).toEqual({
    dry_run: true,
    method: 'GET',
    url: request.url,
    headers: {},
    curl: "curl -X GET 'http://t.example/x'",
  });
});

test('secrets are not shown, in the headers as little as in the curl line', () => {
  const headers = { authorization: 'Bearer abc', 'x-session-token': 'def', accept: 'text/plain' };
  const shown = dryRun({ ...request, headers });
  expect(shown.headers).toEqual({
    authorization: 'Bearer ***',
    'x-session-token': '***',
    accept: 'text/plain',
  });
  expect(shown.curl).toBe(
    `curl -X POST 'http://t.example/x' -H 'authorization: Bearer ***' -H 'x-session-token: ***' -H 'accept: text/plain' --data-raw '{"a":"it'\\''s"}'`,
  );
});

test('the curl line of an upload names the files and leaves the boundary to curl', async () => {
  const at = trackerInMemory({ 'a.txt': 'a', 'b;"c.bin': 'b' });
  const words = ['files', 'upload', 'a.txt', 'b;"c.bin', '--story-id', '107', '--dry-run', '-o', 'json'];
  const shown = (await at.run(words)).json();
  expect(shown.curl.match(/-F '[^']*'/g)).toEqual([
    "-F 'story_id=107'",
    expect.stringMatching(/^-F 'file0=@".*\/a\.txt";type=text\/plain'$/),
    expect.stringMatching(/^-F 'file1=@".*\/b;\\"c\.bin";type=application\/octet-stream'$/),
  ]);
  expect(shown.curl).not.toMatch(/content-(type|length)/);
  expect(shown.headers).toHaveProperty('content-type');
});

/**
 * A request of a dry run is recorded by its transport, so code checks for a dry run only where it skips something else.
 * Each file has its reasons.
 */
const reasons = {
  switch: 'parses the flag, selects the transport, or checks whether the command has a dry run',
  files: 'writes local files, locks or journals',
  plan: 'sends several requests or changes members: its plan is the result',
  pages: 'reads page by page or repeatedly: the request of the first page is the result',
  prompt: 'asks for more than a confirmation',
  token: 'a recorded request needs no token, and a token is not renewed for it',
  guard: 'a recorded request is not compared with the requests of earlier commands',
  other: 'sends requests that are outside the services of the context',
  trial: 'tries a request to learn what a name means',
  text: 'words the output',
} as const;
const checks: Readonly<Record<string, readonly (keyof typeof reasons)[]>> = {
  'api/calls.ts': ['switch'],
  'api/context.ts': ['switch'],
  'cli/approved-files.ts': ['files'],
  'cli/execute.ts': ['switch'],
  'cli/options.ts': ['switch'],
  'cli/watch-list.ts': ['pages'],
  'auth/media-api.ts': ['other'],
  'auth/programs/setup.ts': ['files'],
  'commands/api.ts': ['pages'],
  'commands/auth/account.ts': ['other', 'token'],
  'commands/auth/programs.ts': ['files'],
  'commands/auth/token.ts': ['other'],
  'commands/kv/compare.ts': ['plan'],
  'commands/kv/fleet.ts': ['plan'],
  'commands/kv/history.ts': ['files', 'text'],
  'commands/kv/plan.ts': ['plan'],
  'commands/kv/prepare.ts': ['plan'],
  'commands/kv/restore.ts': ['plan'],
  'commands/kv/snapshot.ts': ['plan', 'text'],
  'commands/kv/space.ts': ['plan'],
  'commands/kv/upgrade.ts': ['plan'],
  'commands/labels/commands.ts': ['pages'],
  'commands/mock/oauth.ts': ['other'],
  'commands/tracker/everyday.ts': ['text'],
  'commands/tracker/many.ts': ['plan'],
  'commands/tracker/records.ts': ['pages'],
  'labels/adopt.ts': ['files'],
  'labels/api-types.ts': ['token'],
  'labels/apply.ts': ['files', 'plan', 'text'],
  'labels/export.ts': ['files'],
  'labels/outcome.ts': ['text'],
  'labels/plan-file.ts': ['files', 'text'],
  'labels/publish.ts': ['prompt', 'plan'],
  'labels/read-labels.ts': ['trial'],
  'labels/record-writes.ts': ['files', 'plan'],
  'labels/sync-permissions.ts': ['plan'],
  'tracker/bulk/bulk.ts': ['plan'],
  'tracker/bulk/journal.ts': ['files'],
  'tracker/bulk/outcomes.ts': ['text'],
  'tracker/bulk/run.ts': ['plan'],
  'tracker/bulk/undo.ts': ['plan'],
  'tracker/bulk/upsert.ts': ['plan'],
  'tracker/ensure.ts': ['files'],
};
test('only code that skips more than a request checks for a dry run', () => {
  const found = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && /\bisDryRun\b/.test(readFileSync(`src/${path}`, 'utf8')))
    .map((path) => path.replaceAll('\\', '/'));
  expect(found.sort()).toEqual(Object.keys(checks).sort());
});

const service = {
  name: 'x',
  title: '',
  version: '1',
  basePath: '/v1',
  tokenHeader: { name: 'x-token', prefix: '' },
};
const read = { method: 'GET', path: '/things', summary: '', ok: 200, cites: '' } as const;
const change = { ...read, method: 'POST' } as const;
/** A context, what it sent, and what it asked on the terminal. */
const contextOf = (isDryRun: boolean) => {
  const host = fakeHost({ reply: () => ({ status: 200, body: '{}' }) });
  const confirmed: string[] = [];
  const prompts = { confirm: async (question: string) => confirmed.push(question) > 0 };
  const options = {
    host: { ...host, terminal: { ...host.terminal, prompts } },
    log: { debug: () => {}, info: () => {} },
    signal: new AbortController().signal,
    isInteractive: true,
    isDryRun,
    reach: async () => ({ baseUrl: 'http://127.0.0.1:1', headers: {}, isMock: false, origin: 'test' }),
  };
  const sent = () => host.requests.map(({ method }) => method);
  return { context: makeContext(options as unknown as ContextOptions), sent, confirmed };
};
test('a dry run records each request in place of sending it, and asks nothing', async () => {
  const dry = contextOf(true);
  const recorded = {
    name: 'RecordedRequest',
    request: { method: 'POST', url: 'http://127.0.0.1:1/v1/things' },
  };
  await dry.context.confirm('Change?');
  await expect(dry.context.call(service, change, {})).rejects.toMatchObject(recorded);
  await expect(dry.context.call(service, read, {})).rejects.toMatchObject({ request: { method: 'GET' } });
  await expect(dry.context.rows(service, read, {})).rejects.toMatchObject({ name: 'RecordedRequest' });
  const send = dry.context.send('api', { method: 'DELETE', path: '/x', body: 'text' });
  await expect(send).rejects.toMatchObject({ request: { method: 'DELETE', body: 'text' } });
  expect([dry.sent(), dry.confirmed]).toEqual([[], []]);

  const real = contextOf(false);
  await real.context.confirm('Change?');
  await real.context.call(service, change, {});
  expect([real.sent(), real.confirmed]).toEqual([['POST'], ['Change?']]);
});
test.each([true, false])('lookups send reads and nothing else (dry run: %s)', async (isDryRun) => {
  const { context, sent } = contextOf(isDryRun);
  await context.lookups.call(service, read, {});
  await expect(context.lookups.call(service, change, {})).rejects.toThrow('is a change, not a lookup');
  await expect(context.lookups.rows(service, change, {})).rejects.toThrow('is a change, not a lookup');
  expect(sent()).toEqual(['GET']);
});

test('no code copies a context into a dry run whose requests are still sent', () => {
  const root = new URL('../../src/', import.meta.url);
  const found = (readdirSync(root, { recursive: true }) as string[]).filter(
    (path) => path.endsWith('.ts') && readFileSync(new URL(path, root), 'utf8').includes('isDryRun: true'),
  );
  expect(found, 'Use asPreview.').toEqual(['api/context.ts']);
});
test('a preview sends no change, by any way to send one', async () => {
  const { context, sent } = contextOf(false);
  const preview = asPreview(context);
  await expect(preview.call(service, change, {})).rejects.toThrow('is a change, not a lookup');
  expect(() => preview.caller(service, change)).toThrow('a preview sends only');
  expect(() => preview.send('api', { method: 'DELETE', path: '/x' })).toThrow('a preview sends only');
  expect([preview.isDryRun, sent()]).toEqual([true, []]);
});
