import { beforeEach, describe, expect, test } from 'vitest';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, GROUP, NO_UUID, OWNER } from './tracker-cases.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeEach(async () => {
  server = await startTracker();
});
const at = `/groups/${GROUP}`;

describe('groups', () => {
  test('a new group has the given values and no stories', async () => {
    const given = {
      name: 'Design',
      mention_name: 'design',
      description: 'd',
      color: '#010203',
      color_key: 'midnight-blue',
      member_ids: [BEN],
      workflow_ids: [1],
    };
    expect((await ask('POST', '/groups', given)).body).toMatchObject({
      ...given,
      archived: false,
      num_stories: 0,
      num_epics_started: 0,
      entity_type: 'group',
      display_icon: null,
    });
  });
  test('counts come from its stories and epics', async () => {
    expect((await ask('GET', at)).body).toMatchObject({
      num_stories: 3,
      num_stories_started: 1,
      num_stories_backlog: 0,
      num_epics_started: 1,
    });
    await ask('POST', '/stories', { name: 's', group_id: GROUP, workflow_state_id: 10 });
    await ask('PUT', '/epics/106', { epic_state_id: 23 });
    expect((await ask('GET', at)).body).toMatchObject({
      num_stories: 4,
      num_stories_backlog: 1,
      num_epics_started: 0,
    });
  });
  test('null unsets archived, color, default workflow and icon', async () => {
    const icon = 'cccccccc-0000-4000-8000-000000000001';
    expect(
      (await ask('PUT', at, { archived: true, default_workflow_id: 1, display_icon_id: icon })).body,
    ).toMatchObject({
      archived: true,
      display_icon: { id: icon, created_at: expect.stringMatching(/^\d{4}-/) },
    });
    expect(
      (
        await ask('PUT', at, {
          archived: null,
          color: null,
          default_workflow_id: null,
          display_icon_id: null,
        })
      ).body,
    ).toMatchObject({
      archived: false,
      color: null,
      default_workflow_id: null,
      display_icon: null,
      color_key: 'blue',
    });
  });
  test('members follow the groups', async () => {
    await ask('PUT', at, { member_ids: [OWNER] });
    expect((await ask('GET', `/members/${OWNER}`)).body.group_ids).toEqual([GROUP]);
    expect((await ask('GET', `/members/${BEN}`)).body.group_ids).toEqual([]);
  });
  test.each([{ member_ids: [NO_UUID] }, { workflow_ids: [77] }, { default_workflow_id: 77 }])(
    '%o of what does not exist is 422',
    async (body) => {
      expect((await ask('PUT', at, body)).status).toBe(422);
    },
  );
  test('stories: limit and offset cut the list; 1000 at most', async () => {
    const ids = async (query = ''): Promise<number[]> =>
      (await ask('GET', `${at}/stories${query}`)).body.map((story: { id: number }) => story.id);
    expect(await ids()).toEqual([107, 110, 111]);
    expect([
      await ids('?limit=2'),
      await ids('?offset=1'),
      await ids('?limit=1&offset=2'),
      await ids('?offset=3'),
    ]).toEqual([[107, 110], [110, 111], [111], []]);
    expect((await ask('GET', `${at}/stories?limit=1001`)).status).toBe(400);
  });
  test('403 UnusableEntitlementError on create and update when the plan does not include it', async () => {
    await ask('GET', '/groups');
    await fetch(`${server.mock.origin}/__opsctl/features`, {
      method: 'PUT',
      body: JSON.stringify({ 'group-entitlement': false }),
    });
    const refused = {
      reason_tag: 'entitlement-violation',
      entitlement_tag: 'teams',
      message: 'The plan of this workspace does not include more groups.',
    };
    for (const answer of [
      await ask('POST', '/groups', { name: 'a', mention_name: 'a' }),
      await ask('PUT', at, { name: 'b' }),
    ]) {
      expect([answer.status, answer.body]).toEqual([403, refused]);
    }
    expect((await ask('GET', at)).status).toBe(200);
  });
});

describe('projects', () => {
  test('a new project has the given values, settable times, and defaults', async () => {
    const given = {
      name: 'App',
      team_id: 7,
      abbreviation: 'app',
      color: '#010203',
      description: 'd',
      external_id: 'x',
      follower_ids: [BEN],
      iteration_length: 3,
      start_time: '2026-01-01T00:00:00Z',
      created_at: '2020-01-01T00:00:00Z',
      updated_at: '2020-01-02T00:00:00Z',
    };
    expect((await ask('POST', '/projects', given)).body).toMatchObject({
      ...given,
      archived: false,
      workflow_id: 1,
      stats: { num_points: 0, num_stories: 0 },
    });
  });
  test('statistics are counted', async () => {
    expect((await ask('GET', '/projects/103')).body.stats).toEqual({
      num_points: 6,
      num_related_documents: 0,
      num_stories: 3,
    });
    await ask('PUT', '/stories/107', { estimate: 1 });
    expect((await ask('GET', '/projects')).body[0].stats).toEqual({
      num_points: 3,
      num_related_documents: 0,
      num_stories: 3,
    });
  });
  test('deleting is 422 while stories remain, and done when they are moved or deleted', async () => {
    const answer = await ask('DELETE', '/projects/103');
    expect([answer.status, answer.body.message]).toEqual([
      422,
      'Project 103 still has 3 stories; move or delete them first.',
    ]);
    const { body: other } = await ask('POST', '/projects', { name: 'other', team_id: 1 });
    await ask('PUT', '/stories/107', { project_id: other.id });
    await ask('PUT', '/stories/110', { project_id: null });
    expect((await ask('DELETE', '/projects/103')).status).toBe(422);
    await ask('DELETE', '/stories/111');
    expect((await ask('DELETE', '/projects/103')).status).toBe(204);
    expect((await ask('GET', '/projects/103')).status).toBe(404);
  });
  test('an update archives in both directions, sets thermometer and followers; long abbreviations are accepted', async () => {
    const change = {
      archived: true,
      days_to_thermometer: 5,
      show_thermometer: false,
      follower_ids: [],
      abbreviation: 'long one',
      team_id: 2,
    };
    expect((await ask('PUT', '/projects/103', change)).body).toMatchObject({ ...change, name: 'Web shop' });
    expect((await ask('PUT', '/projects/103', { archived: false })).body.archived).toBe(false);
    expect((await ask('PUT', '/projects/103', { follower_ids: [NO_UUID] })).status).toBe(422);
  });
});

describe('members', () => {
  test('all, only enabled, only disabled', async () => {
    const names = async (query: string): Promise<string[]> =>
      (await ask('GET', `/members${query}`)).body.map((one: any) => one.profile.mention_name);
    expect([await names(''), await names('?disabled=false'), await names('?disabled=true')]).toEqual([
      ['ana', 'ben', 'cleo'],
      ['ana', 'ben'],
      ['cleo'],
    ]);
  });
  test('the authenticated member', async () => {
    expect((await ask('GET', '/member')).body).toMatchObject({
      id: OWNER,
      mention_name: 'ana',
      is_owner: true,
      role: 'owner',
      workspace2: { default_workflow_id: 1 },
    });
  });
  test('an identifier is found in any case', async () => {
    expect(
      (
        await ask(
          'GET',
          '/entity-templates/77777777-0000-4000-8000-000000000001'
            .toUpperCase()
            .replace('/ENTITY-TEMPLATES', '/entity-templates'),
        )
      ).status,
    ).toBe(200);
  });
});
