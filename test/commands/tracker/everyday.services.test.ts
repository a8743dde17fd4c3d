import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../../src/platform/host.ts';
import { findState } from '../../../src/tracker/stories.ts';
import { type Ran, opsctl } from '../../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../../support/tracker-server.ts';
import { makeDirectory } from '../../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
});
const run = (
  argv: readonly string[],
  more: Record<string, string> = {},
  host: (host: Host) => Host = (one) => one,
): Promise<Ran> => {
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
    ...more,
  };
  return opsctl(['tracker', ...argv, '-o', 'json'], { home, env, host });
};
const story = async (id: number) => (await server.ask('GET', `/stories/${id}`)).body;

test('move accepts a name in any case and a common word; an unknown state lists the states', async () => {
  expect((await run(['stories', 'move', '107', 'in progress'])).code).toBe(0);
  expect((await run(['stories', 'done', '107'])).code).toBe(0);
  expect((await story(107)).workflow_state_id).toBe(13);
  const wrong = await run(['stories', 'move', '107', 'Finito']);
  expect(wrong.code).toBe(2);
  for (const name of ['Backlog', 'Ready', 'In Progress', 'Completed']) expect(wrong.stderr).toContain(name);
  expect((await story(107)).workflow_state_id).toBe(13);
  expect((await run(['stories', 'start', '107'])).json().workflow_state_id).toBe(12);
});

test('a wrong name in a flag lists the names that exist', async () => {
  const wrong = await run(['stories', 'update', '107', '--workflow-state', 'Finito']);
  expect(wrong.code).not.toBe(0);
  for (const name of ['Backlog', 'Ready', 'In Progress', 'Completed']) expect(wrong.stderr).toContain(name);
});

test('list accepts a query or fields, and not both', async () => {
  expect((await run(['stories', 'list'])).json()).toHaveLength(3);
  expect((await run(['stories', 'list', 'is:started'])).json()).toHaveLength(1);
  expect((await run(['stories', 'list', 'is:started', '--archived'])).code).toBe(2);
});

test('clone copies fields, labels and open tasks', async () => {
  const made = (await run(['stories', 'clone', '107', '--name', 'copy'])).json();
  const original = await story(107);
  expect(made).toMatchObject({
    name: 'copy',
    epic_id: original.epic_id,
    owner_ids: original.owner_ids,
    estimate: original.estimate,
    description: original.description,
  });
  expect(made.tasks.map((task: { complete: boolean }) => task.complete)).toEqual([false, false]);
});

const editor = (script: string): string => {
  const path = join(home, `editor-${Math.random()}.sh`);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
};
test('edit sends only the edited fields, and no request for an unchanged text', async () => {
  const EDITOR = editor(`sed -i 's/^estimate:.*/estimate: 8/' "$1"`);
  const before = await story(107);
  const edited = await run(['stories', 'edit', '107'], { EDITOR });
  expect([edited.code, edited.json().estimate]).toEqual([0, 8]);
  expect({ ...(await story(107)), estimate: 0, updated_at: '' }).toEqual({
    ...before,
    estimate: 0,
    updated_at: '',
  });
  const again = await story(107);
  expect((await run(['stories', 'edit', '107'], { EDITOR })).code).toBe(0);
  expect(await story(107)).toEqual(again);
});
/** The editor is open for a minute, so messages that are held only at the start of a command are no longer held. */
const afterMinute = (host: Host): Host => {
  let openedMs = 0;
  const run: Host['processes']['run'] = async (...call) => {
    openedMs = 60_000;
    return host.processes.run(...call);
  };
  return { ...host, elapsed: () => host.elapsed() + openedMs, processes: { ...host.processes, run } };
};
test('edit refuses to overwrite a field that another user has changed, and keeps the text', async () => {
  const url = `${server.base}/stories/107`;
  const theirs = `curl -s -X PUT -H 'content-type: application/json' -H 'tracker-token: ${TOKEN}' -d '{"name":"theirs"}' ${url} >/dev/null`;
  const EDITOR = editor(`sed -i 's/^name:.*/name: mine/' "$1"; ${theirs}`);
  const refused = await run(['stories', 'edit', '107'], { EDITOR }, afterMinute);
  expect([refused.code, JSON.parse(refused.stderr).code], refused.stderr).toEqual([5, 'CONFLICT']);
  // The changes are a part of the error, because a script reads stderr as one object.
  expect(JSON.parse(refused.stderr).notes.join('\n')).toContain('mine');
  expect((await story(107)).name).toBe('theirs');
});

test('wait exits with code 0 in the state, and with code 20 after the given time', async () => {
  expect((await run(['stories', 'wait', '110', '--for', 'Completed'])).code).toBe(0);
  expect(
    (await run(['stories', 'wait', '110', '--for', 'Ready', '--within', '1s', '--interval', '500ms'])).code,
  ).toBe(20);
});

const makeStory = async (name: string): Promise<number> =>
  (await run(['stories', 'create', '--name', name, '--workflow-state', 'Ready'])).json().id;
const tickOf = ['--interval', '500ms'];

test('wait accepts several stories: a row for each, one limit for all, and code 20 if one is late', async () => {
  const [first, second] = [await makeStory('wait one'), await makeStory('wait two')];
  expect((await run(['stories', 'move', String(first), 'Completed'])).code).toBe(0);
  const ids = [first, second, first].map(String);
  const late = await run(['stories', 'wait', ...ids, '--for', 'Completed', '--within', '1s', ...tickOf]);
  expect(late.code).toBe(20);
  expect(late.json()).toEqual([
    { id: first, name: 'wait one', state: 'Completed', wanted: 'Completed', reached: true },
    { id: second, name: 'wait two', state: 'Ready', wanted: 'Completed', reached: false },
  ]);
  const waiting = run(['stories', 'wait', ...ids, '--for', 'Completed', ...tickOf]);
  expect((await run(['stories', 'move', String(second), 'Completed'])).code).toBe(0);
  const done = await waiting;
  expect([done.code, done.json().map(({ reached }: { reached: boolean }) => reached)]).toEqual([
    0,
    [true, true],
  ]);
});

test('wait ends before its limit if a story is deleted, and names the story', async () => {
  const [kept, gone] = [await makeStory('kept'), await makeStory('gone')];
  const waiting = run(['stories', 'wait', String(kept), String(gone), '--for', 'Completed', ...tickOf]);
  const deleted = await run(['stories', 'delete', String(gone), '--yes']);
  expect(deleted.code, deleted.stderr).toBe(0);
  const ended = await waiting;
  expect([ended.code, ended.stderr.includes(String(gone))], ended.stderr).toEqual([6, true]);
});

test('rollover names the missing iteration instead of an earlier one', async () => {
  for (const [to, message] of [
    [[], 'no iteration starts after'],
    [['--to', 'Sprint 1'], 'must differ from --from'],
  ] as const) {
    const refused = await run(['iterations', 'rollover', '--from', 'Sprint 1', ...to, '--dry-run']);
    expect([refused.code, refused.stderr.includes(message)], refused.stderr).toEqual([2, true]);
  }
});

test('a story that does not exist leads to the list of stories', async () => {
  const missing = await run(['stories', 'get', '999999']);
  expect(missing.code).toBe(6);
  expect(missing.stderr).toContain('opsctl tracker stories list');
  expect(missing.stderr).not.toContain('name:');
});

test('rollover moves unfinished stories only, in one request', async () => {
  const { body: next } = await server.ask('POST', '/iterations', {
    name: 'Sprint 2',
    start_date: '2099-01-01',
    end_date: '2099-01-14',
  });
  const dry = await run(['iterations', 'rollover', '--from', 'Sprint 1', '--dry-run']);
  expect([dry.code, (await story(110)).iteration_id, (await story(107)).iteration_id]).toEqual([0, 104, 104]);
  expect((await run(['iterations', 'rollover', '--from', 'Sprint 1', '--yes'])).code).toBe(0);
  expect([(await story(110)).iteration_id, (await story(107)).iteration_id]).toEqual([104, next.id]);
});

test('a word for a type of state finds the first state of that type', () => {
  const states = [
    { id: 1, name: 'Open', type: 'unstarted' },
    { id: 2, name: 'Review', type: 'started' },
    { id: 3, name: 'Shipped', type: 'done' },
  ];
  expect(findState(states, 'done', '<state>').id).toBe(3);
  expect(findState(states, 'review', '<state>').id).toBe(2);
  expect(findState(states, '3', '<state>').id).toBe(3);
  expect(() => findState(states, 'nowhere', '<state>')).toThrow();
});

test('two flags for one field are rejected before a request', async () => {
  const twice = await run(['stories', 'update', '107', '--epic', '106', '--epic-id', '106']);
  expect(twice.code).toBe(2);
  expect(twice.stderr).toContain('--epic-id');
});
