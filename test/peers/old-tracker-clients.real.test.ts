/** Client libraries of earlier years, which release actions and scripts still use. Only the URL and the header are configured. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
// @ts-expect-error: a plain script, shared with the benches.
import { peers } from './install.mjs';

let server: TrackerServer;
beforeAll(async () => {
  peers();
  server = await startTracker();
});
afterAll(() => server.close());

/** The methods that both clients have. The newer one wraps its results in `data`. */
const clients = {
  '@useshortcut/client 1.1': (origin: string): any => {
    const { ShortcutClient } = peers()('@useshortcut/client');
    return new ShortcutClient(TOKEN, { baseURL: origin, headers: { 'Tracker-Token': TOKEN } });
  },
  'clubhouse-lib 0.13': (origin: string): any => {
    const Client = peers()('clubhouse-lib').default;
    const client = Client.create(TOKEN, { baseURL: origin, version: 'v3' });
    const factory = client.requestFactory;
    const create = factory.createRequest.bind(factory);
    factory.createRequest = (...args: unknown[]) => {
      const request = create(...args);
      request.headers.set('Tracker-Token', TOKEN);
      return request;
    };
    return client;
  },
};
const dataOf = async (call: Promise<any>): Promise<any> => {
  const answer = await call;
  return answer !== null && typeof answer === 'object' && 'data' in answer && 'status' in answer
    ? answer.data
    : answer;
};

test.each(Object.entries(clients))(
  '%s makes, reads, searches, moves and deletes a story',
  async (_, open) => {
    const client = open(server.mock.origin);
    const [workflow] = await dataOf(client.listWorkflows());
    const [first, second] = workflow.states;
    const members = await dataOf(client.listMembers());
    const epic = await dataOf(client.createEpic({ name: 'Release 1' }));
    const story = await dataOf(
      client.createStory({
        ...{ name: 'A story', epic_id: epic.id, workflow_state_id: first.id, owner_ids: [members[0].id] },
        labels: [{ name: `old-${epic.id}`, color: '#cc0000' }],
      }),
    );
    expect(await dataOf(client.getStory(story.id))).toMatchObject({ name: 'A story', epic_id: epic.id });
    const moved = await dataOf(client.updateStory(story.id, { workflow_state_id: second.id }));
    expect(moved.workflow_state_id).toBe(second.id);
    const labels = await dataOf(client.listLabels());
    expect(labels.map((one: { name: string }) => one.name)).toContain(`old-${epic.id}`);
    await client.deleteStory(story.id);
    await expect(client.getStory(story.id)).rejects.toBeDefined();
  },
);
