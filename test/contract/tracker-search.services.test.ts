import { beforeAll, describe, expect, test } from 'vitest';
import { trackerState } from '../../src/mock-server/tracker/state.ts';
import { createStory } from '../../src/mock-server/tracker/stories.ts';
import { type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { BEN, GROUP } from './tracker-cases.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
const ask: TrackerServer['ask'] = (...request) => server.ask(...request);
beforeAll(async () => {
  server = await startTracker({}, 'demo', Date.parse('2026-03-05T10:00:00Z'));
  const at = '2025-06-15T12:00:00Z';
  await ask('POST', '/stories', {
    name: 'Old chore with "quotes"',
    story_type: 'chore',
    created_at: at,
    updated_at: at,
    deadline: '2025-07-01T00:00:00Z',
    workflow_state_id: 10,
  });
});

const search = async (query: string, more = '') =>
  (await ask('GET', `/search?query=${encodeURIComponent(query)}${more}`)).body;
const stories = async (query: string): Promise<number[]> =>
  (await search(query)).stories.data.map((story: { id: number }) => story.id);
const OLD = 112;

describe('operators', () => {
  test.each<[string, number[]]>([
    ['sign-up', [107]],
    ['SIGN-UP form', [107]],
    ['"three fields"', [107]],
    ['release', [110]],
    ['id:110', [110]],
    ['110', [110]],
    ['type:bug', [110]],
    ['type:bug type:chore', []],
    ['!type:bug', [107, 111, OLD]],
    ['-type:bug', [107, 111, OLD]],
    ['!e-mail', [111, OLD]],
    ['epic:106', [107, 110, 111]],
    ['epic:"Sign-up in five minutes" type:feature', [107]],
    ['label:onboarding', [107, 110, 111]],
    ['label:ONBOARDING !is:done', [107, 111]],
    ['project:"Web shop"', [107, 110, 111]],
    ['iteration:"Sprint 1"', [107, 110, 111]],
    ['objective:"Faster sign-up"', [107, 110, 111]],
    ['state:"In Progress"', [107]],
    ['state:13', [110]],
    ['owner:ben', [107, 110, 111]],
    ['owner:@ben', [107, 110, 111]],
    [`owner:${BEN}`, [107, 110, 111]],
    ['owner:"Ben Okafor"', [107, 110, 111]],
    ['requester:ana type:bug', [110]],
    ['team:platform', [107, 110, 111]],
    [`team:${GROUP}`, [107, 110, 111]],
    ['estimate:4', [107]],
    ['is:unestimated', [111, OLD]],
    ['is:started', [107]],
    ['is:done', [110]],
    ['is:unstarted', [111, OLD]],
    ['is:overdue', [OLD]],
    ['is:archived', []],
    ['is:epic', []],
    ['is:story type:bug', [110]],
    ['has:task', [107]],
    ['has:deadline', [OLD]],
    ['!has:epic', [OLD]],
    ['has:external-link', [107, 110, 111]],
    ['has:label has:owner', [107, 110, 111]],
    ['has:comment', []],
    ['has:attachment', []],
    ['created:today', [107, 110, 111]],
    ['created:yesterday', []],
    ['created:2025-06-15', [OLD]],
    ['created:2025-06-01..2025-06-30', [OLD]],
    ['created:*..2025-12-31', [OLD]],
    ['created:2026-01-01..*', [107, 110, 111]],
    ['due:2025-07-01', [OLD]],
    ['completed:today', [110]],
    ['created:nonsense', []],
    ['priority:high', [107]],
    ['title:chart', []],
    ['description:chart', [111]],
    ['https://nowhere.example', []],
    ['"with \\"quotes\\""', [OLD]],
  ])('%s', async (query, expected) => {
    expect(await stories(query)).toEqual(expected);
  });
  test('the search for epics supports the same operators', async () => {
    const epics = async (query: string): Promise<number> => (await search(query)).epics.total;
    expect(
      await Promise.all(
        [
          'label:onboarding',
          'is:started',
          'is:epic',
          'owner:ana',
          'state:"in progress"',
          'first order',
          '!has:comment',
        ].map(epics),
      ),
    ).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(await Promise.all(['is:done', 'owner:ben', 'is:story', 'has:deadline'].map(epics))).toEqual([
      0, 0, 0, 0,
    ]);
  });
});

describe('search response', () => {
  test(
    'the response has all four groups unless kinds are requested, each with data, next and total',
    covers('spec/tracker#search-1', 'spec/tracker#choices-8'),
    async () => {
      expect(await search('sign-up')).toEqual({
        stories: { total: 1, next: null, data: [expect.objectContaining({ id: 107 })] },
        epics: { total: 1, next: null, data: [expect.objectContaining({ id: 106 })] },
        iterations: { total: 1, next: null, data: [expect.objectContaining({ name: 'Sprint 1' })] },
        milestones: { total: 1, next: null, data: [expect.objectContaining({ name: 'Faster sign-up' })] },
      });
      const all = await search(
        'i',
        '&entity_types=story&entity_types=epic&entity_types=iteration&entity_types=milestone',
      );
      expect(Object.keys(all).sort()).toEqual(['epics', 'iterations', 'milestones', 'stories']);
      expect(all.iterations.data[0].name).toBe('Sprint 1');
      expect(all.milestones.data[0].name).toBe('Faster sign-up');
      expect(Object.keys(await search('i', '&entity_types=objective'))).toEqual(['milestones']);
    },
  );
  test('full detail has the records, slim has their ids', async () => {
    const [full] = (await search('id:107')).stories.data;
    expect(full).toMatchObject({
      description: expect.any(String),
      tasks: [{}, {}],
      task_ids: [expect.any(Number), expect.any(Number)],
    });
    const [slim] = (await search('id:107', '&detail=slim')).stories.data;
    for (const key of ['description', 'tasks', 'comments', 'files', 'branches', 'pull_requests'])
      expect(slim).not.toHaveProperty(key);
    expect(slim.task_ids).toHaveLength(2);
    expect((await search('is:epic', '&detail=slim')).epics.data[0]).not.toHaveProperty('comments');
    expect((await search('is:epic')).epics.data[0]).toHaveProperty('comments');
  });
  test.each([
    ['query', ''],
    ['query', '?query='],
    ['page_size', '?query=x&page_size=0'],
    ['page_size', '?query=x&page_size=251'],
    ['detail', '?query=x&detail=all'],
    ['entity_types[0]', '?query=x&entity_types=label'],
    ['next', '?query=x&next=nonsense'],
  ])('%s is checked: %s', covers('spec/tracker#search-2'), async (field, query) => {
    const answer = await ask('GET', `/search${query}`);
    expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [field]]);
  });
});

describe('pages', () => {
  let many: TrackerServer;
  beforeAll(async () => {
    many = await startTracker({}, 'empty');
    await many.ask('GET', '/member');
    const state = trackerState(many.mock.env);
    many.store.transact(() => {
      for (let i = 0; i < 1030; i += 1) createStory(state, { name: `needle ${i}` });
    });
  });

  test(
    'a change or delete between two pages moves no other record',
    covers('spec/tracker#choices-11'),
    async () => {
      const ids = (body: { stories: { data: { id: number }[] } }) => body.stories.data.map(({ id }) => id);
      const made: number[] = [];
      for (const n of [1, 2, 3, 4, 5, 6])
        made.push((await many.ask('POST', '/stories', { name: `moving ${n}` })).body.id);
      const first = (await many.ask('GET', '/search?query=moving&page_size=2')).body;
      expect(ids(first)).toEqual(made.slice(0, 2));
      // A script that processes its search results removes each record from the result when the record is done.
      await many.ask('DELETE', `/stories/${made[0]}`);
      await many.ask('PUT', `/stories/${made[1]}`, { name: 'done with it' });
      const second = (await many.ask('GET', `${many.mock.origin}${first.stories.next}`)).body;
      expect(ids(second)).toEqual(made.slice(2, 4));
      await many.ask('DELETE', `/stories/${made[5]}`);
      const third = (await many.ask('GET', `${many.mock.origin}${second.stories.next}`)).body;
      expect([ids(third), third.stories.next]).toEqual([[made[4]], null]);
    },
  );
  test(
    'next is a path from the host root; following it gives each record once, in a stable order, up to 1000',
    covers('spec/tracker#search-3'),
    async () => {
      const seen: number[] = [];
      let path: string | null = '/api/v3/search?query=needle&page_size=250&detail=slim';
      let pages = 0;
      while (path !== null) {
        const { body } = await many.ask('GET', `${many.mock.origin}${path}`);
        expect(body.stories.total).toBe(1030);
        seen.push(...body.stories.data.map((story: { id: number }) => story.id));
        path = body.stories.next;
        if (path !== null) expect(path).toMatch(/^\/api\/v3\/search\?.*next=/);
        pages += 1;
      }
      expect([pages, seen.length, new Set(seen).size]).toEqual([4, 1000, 1000]);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
    },
  );
  test(
    'a page past the thousandth result is refused in its own words',
    covers('spec/tracker#search-3'),
    async () => {
      const next = Buffer.from('stories:1000:0').toString('base64url');
      const answer = await many.ask('GET', `/search?query=needle&next=${next}`);
      expect([answer.status, answer.body]).toMatchObject([
        400,
        { error: 'maximum-results-exceeded', 'maximum-results': 1000 },
      ]);
    },
  );
  test('25 a page unless asked', async () => {
    const { body } = await many.ask('GET', '/search?query=needle');
    expect(body.stories.data).toHaveLength(25);
  });
});
