/**
 * Every create of the tracker, with the built program killed (SIGKILL) after the service applied the request and before its
 * response arrives. The same command must not create a second record.
 */
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { isSearch, operations } from '../../src/core/operation.ts';
import { program, type RunningProgram } from '../support/built-program.ts';
import { slice } from '../support/slice.ts';
import { errorOf } from '../support/facts.ts';

type Ids = { readonly state: number; readonly story: number; readonly other: number; readonly epic: number };
type Words = (ids: Ids & { readonly comment: number; readonly reply: number }) => readonly string[];
/** One command for each POST row of the table that creates a record. */
const creates: Readonly<Record<string, Words>> = {
  'documents create': () => ['--title', 'a', '--content', 'x'],
  'entity-templates create': () => ['--name', 'a', '--body', '{"story_contents":{}}'],
  'epics create': () => ['--name', 'a'],
  'epic-comments create': ({ epic }) => [String(epic), '--text', 'a'],
  'epic-comments reply': ({ epic, comment }) => [String(epic), String(comment), '--text', 'a'],
  'health create': ({ epic }) => [String(epic), '--status', 'At Risk', '--text', 'a'],
  'files upload': () => ['a.txt'],
  'linked-files create': () => ['--name', 'a', '--type', 'url', '--url', 'https://files.example/a'],
  'groups create': () => ['--name', 'a', '--mention-name', 'a'],
  'webhooks create': () => ['--webhook-url', 'https://hooks.example/a'],
  'iterations create': () => ['--name', 'a', '--start-date', '2026-12-01', '--end-date', '2026-12-14'],
  'categories create': () => ['--name', 'a'],
  'labels create': () => ['--name', 'a'],
  'projects create': () => ['--name', 'a', '--team-id', '1'],
  'objectives create': () => ['--name', 'a'],
  'milestones create': () => ['--name', 'b'],
  'stories create': ({ state }) => ['--name', 'a', '--workflow-state-id', String(state)],
  'stories bulk-create': ({ state }) => [
    '--body',
    JSON.stringify({ stories: [{ name: 'b', workflow_state_id: state }] }),
  ],
  'story-tasks create': ({ story }) => [String(story), '--description', 'a'],
  'story-comments create': ({ story }) => [String(story), '--text', 'a'],
  'story-comments react': ({ story, reply }) => [String(story), String(reply), '--emoji', ':a:'],
  'story-links create': ({ story, other }) => [
    ...['--subject-id', String(story), '--object-id', String(other)],
    ...['--verb', 'blocks'],
  ],
};

const home = program();
const requests = { posts: 0 };
let running: RunningProgram | undefined;
let ids: Parameters<Words>[0];
let proxy: ReturnType<typeof createServer>;
const env: Record<string, string> = {};

beforeAll(async () => {
  const served = home.start([
    'mock',
    'serve',
    '--ephemeral',
    '--seed',
    'demo',
    '--rate-limit',
    'off',
    '-o',
    'json',
  ]);
  const ready = await served.first;
  const service = new URL(ready.tracker.base_url);
  proxy = createServer((incoming, outgoing) => {
    const isPost = incoming.method === 'POST';
    if (isPost) requests.posts += 1;
    const { method, url: path, headers } = incoming;
    const onward = request({ host: service.hostname, port: service.port, method, path, headers });
    onward.on('response', (reply) => {
      if (isPost && running !== undefined) {
        reply.resume().once('end', () => running?.kill('SIGKILL'));
        return;
      }
      reply.pipe(outgoing.writeHead(reply.statusCode ?? 0, reply.headers));
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  env.OPSCTL_TRACKER_URL = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${service.pathname}`;
  env.OPSCTL_TRACKER_TOKEN = ready.tracker.token;
  writeFileSync(join(home.home, 'a.txt'), 'content');
  const made = (...words: string[]) => home.json(['tracker', ...words], { env });
  const [{ states }] = await made('workflows', 'list');
  const state = states[0].id;
  const inState = ['--workflow-state-id', String(state)];
  const { id: story } = await made('stories', 'create', '--name', 'story', ...inState);
  const { id: other } = await made('stories', 'create', '--name', 'other', ...inState);
  const { id: epic } = await made('epics', 'create', '--name', 'epic');
  const { id: comment } = await made('epic-comments', 'create', String(epic), '--text', 'text');
  const { id: reply } = await made('story-comments', 'create', String(story), '--text', 'text');
  ids = { state, story, other, epic, comment, reply };
});
afterAll(async () => {
  proxy.close();
  await home.close();
});

test('each row of the tracker that creates a record has a command in this file', () => {
  const rows = operations(tracker.table).filter(
    ({ operation: { method, path } }) =>
      method === 'POST' && !isSearch(path) && !path.endsWith('/unlink-planningtool'),
  );
  expect(Object.keys(creates)).toHaveLength(rows.length);
});
test.each(slice(Object.keys(creates), 6))(
  'tracker %s that was killed after its request is not sent again',
  async (name) => {
    const words = ['tracker', ...name.split(' '), ...(creates[name]?.(ids) ?? [])];
    running = home.start(words, { env });
    expect((await running.ended).signal).toBe('SIGKILL');
    running = undefined;
    const before = requests.posts;
    const again = await home.run([...words, '-o', 'json'], { env });
    expect(again.code).toBe(10);
    expect(requests.posts).toBe(before);
    expect(errorOf(again)).toMatchObject({ code: 'UNFINISHED_REQUEST' });
  },
);
