import { beforeEach, describe, expect, test } from 'vitest';
import { trackerState } from '../../src/mock-server/tracker/state.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, NO_UUID, OWNER } from './tracker-cases.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker();
});

describe('comments of an epic', () => {
  const at = '/epics/106/comments';
  /** Skips the comparison with the row, which traverses the whole thread each time. */
  const raw = async (method: string, path: string, body?: unknown): Promise<{ body: any }> => {
    const headers = { 'Tracker-Token': TOKEN, 'Content-Type': 'application/json' };
    return {
      body: await (
        await fetch(`${server.base}${path}`, { method, headers, body: JSON.stringify(body) })
      ).json(),
    };
  };
  const fetchReply = async (parent: number, text: string) =>
    (await raw('POST', `${at}/${parent}`, { text })).body;
  test('the author defaults to the owner of the token; times and external id may be given', async () => {
    expect((await ask('POST', at, { text: 'hi' })).body).toMatchObject({
      author_id: OWNER,
      text: 'hi',
      deleted: false,
      comments: [],
      external_id: null,
    });
    const given = {
      text: 'hi',
      author_id: BEN,
      created_at: '2020-01-01T00:00:00Z',
      updated_at: '2020-01-02T00:00:00Z',
      external_id: 'ext',
    };
    expect((await ask('POST', at, given)).body).toMatchObject(given);
    expect((await ask('POST', at, { text: 'x', author_id: NO_UUID })).status).toBe(422);
  });
  test('replies nest to any depth and appear in the whole thread', async () => {
    let parent = (await ask('POST', at, { text: 'level 0' })).body.id;
    for (let level = 1; level <= 6; level++) {
      const reply = await ask('POST', `${at}/${parent}`, { text: `level ${level}` });
      expect([reply.status, reply.body.text]).toEqual([201, `level ${level}`]);
      parent = reply.body.id;
    }
    const depth = (comments: any[]): string[] =>
      comments.length === 0 ? [] : [comments[0].text, ...depth(comments[0].comments)];
    const levels = ['level 0', 'level 1', 'level 2', 'level 3', 'level 4', 'level 5', 'level 6'];
    expect(depth((await ask('GET', at)).body)).toEqual(levels);
    expect(depth((await ask('GET', '/epics/106')).body.comments)).toEqual(levels);
    expect((await ask('GET', `${at}/${parent}`)).body).toMatchObject({ text: 'level 6', comments: [] });
  });
  test('a thread of two hundred levels is read whole', async () => {
    let parent = (await ask('POST', at, { text: '0' })).body.id;
    const top = parent;
    for (let level = 1; level <= 200; level++) parent = (await fetchReply(parent, `${level}`)).id;
    let levels = 0;
    for (
      let comment = (await raw('GET', `${at}/${top}`)).body;
      comment !== undefined;
      comment = comment.comments[0]
    )
      levels += 1;
    expect(levels).toBe(201);
  });
  test('a thread deeper than any stack is read, searched and deleted', async () => {
    const state = trackerState(server.mock.env);
    const { body: top } = await ask('POST', at, { text: 'depth 0' });
    const first = state.comments.get(top.id);
    if (first === undefined) throw new Error('the first comment is not stored');
    server.store.transact(() => {
      for (let level = 1; level <= 20_000; level++) {
        state.comments.put(top.id + level, {
          ...first,
          id: top.id + level,
          parent_id: top.id + level - 1,
          text: `depth ${level}`,
        });
      }
    });
    // Sends the requests in sequence: on a busy machine, a slow response would delay a parallel request until it times out (408).
    for (const path of ['/epics/106', at, `${at}/${top.id}`, '/search?query=sign-up&entity_types=epic']) {
      const answer = await fetch(`${server.base}${path}`, { headers: { 'Tracker-Token': TOKEN } });
      expect([path, answer.status, (await answer.text()).includes('"depth 20000"')]).toEqual([
        path,
        200,
        true,
      ]);
    }
    expect((await ask('DELETE', `${at}/${top.id}`)).status).toBe(204);
    expect(state.comments.get(top.id + 20_000)).toBeUndefined();
  });
  test('a reply can be changed and deleted; a deleted comment takes its replies with it', async () => {
    const { body: top } = await ask('POST', at, { text: 'top' });
    const { body: reply } = await ask('POST', `${at}/${top.id}`, { text: 'reply' });
    expect((await ask('PUT', `${at}/${reply.id}`, { text: 'changed @ben' })).body).toMatchObject({
      text: 'changed @ben',
      mention_ids: [BEN],
    });
    expect((await ask('GET', `${at}/${top.id}`)).body.comments[0].text).toBe('changed @ben');
    expect((await ask('DELETE', `${at}/${top.id}`)).status).toBe(204);
    expect((await ask('GET', `${at}/${reply.id}`)).status).toBe(404);
    expect((await ask('GET', at)).body).toEqual([]);
  });
  test('a comment of another epic is not found', async () => {
    const { body: comment } = await ask('POST', at, { text: 'here' });
    const { body: other } = await ask('POST', '/epics', { name: 'other' });
    for (const [method, body] of [
      ['GET'],
      ['PUT', { text: 'x' }],
      ['POST', { text: 'x' }],
      ['DELETE'],
    ] as const) {
      expect((await ask(method, `/epics/${other.id}/comments/${comment.id}`, body)).status).toBe(404);
    }
  });
  test('the text must not be empty', async () => {
    expect((await ask('POST', at, { text: '' })).status).toBe(400);
  });
});

describe('health of an epic', () => {
  const at = '/epics/106/health';
  test('an epic without a record has No Health with every field of the document, including within the epic', async () => {
    const none = {
      id: null,
      author_id: null,
      epic_id: 106,
      objective_id: null,
      status: 'No Health',
      text: null,
      entity_type: 'health',
    };
    expect((await ask('GET', at)).body).toEqual({ ...none, created_at: null, updated_at: null });
    expect((await ask('GET', '/epics/106')).body.health).toEqual({
      ...none,
      created_at: null,
      updated_at: null,
    });
    expect((await ask('POST', '/epics', { name: 'new' })).body.health).toMatchObject({
      id: null,
      status: 'No Health',
    });
    expect((await ask('GET', '/epics/106/health-history')).body).toEqual([]);
  });
  test('the newest record is the current one; the history is most recent first', async () => {
    const made = [];
    for (const status of ['On Track', 'At Risk', 'Off Track', 'No Health'])
      made.push((await ask('POST', at, { status, text: `now ${status}` })).body);
    expect((await ask('GET', at)).body).toEqual(made[3]);
    expect((await ask('GET', '/epics/106')).body.health).toEqual(made[3]);
    expect((await ask('GET', '/epics/106/health-history')).body).toEqual([...made].reverse());
    expect(made[0]).toMatchObject({
      epic_id: 106,
      author_id: OWNER,
      status: 'On Track',
      text: 'now On Track',
      entity_type: 'health',
    });
  });
  test('a record can be changed in its status or its text', async () => {
    const { body } = await ask('POST', at, { status: 'On Track', text: 'fine' });
    expect((await ask('PUT', `/health/${body.id}`, { status: 'At Risk' })).body).toMatchObject({
      id: body.id,
      status: 'At Risk',
      text: 'fine',
    });
    expect((await ask('PUT', `/health/${body.id}`, { text: 'hm' })).body).toMatchObject({
      status: 'At Risk',
      text: 'hm',
    });
    expect((await ask('GET', at)).body).toMatchObject({ status: 'At Risk', text: 'hm' });
  });
  test('the health record is deleted with its epic', async () => {
    const { body } = await ask('POST', at, { status: 'On Track' });
    await ask('DELETE', '/epics/106');
    expect((await ask('PUT', `/health/${body.id}`, {})).status).toBe(404);
  });
});
