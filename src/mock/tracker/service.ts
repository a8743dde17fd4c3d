import { problemText } from '../../kernel/problem.ts';
import { tracker } from '../../services/tracker/index.ts';
import { Refused } from '../refused.ts';
import type { MockReply, MockRequest, MockService, World } from '../service.ts';
import { tableService } from '../table-service.ts';
import { labelHandlers } from './labels.ts';
import { trackerState } from './state.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

/** decisions 8: `{"message", "errors"?, "tag"?}`; facts tracker 4 for the shapes that were seen. */
const refusal = (refused: Refused): MockReply => {
  const errors = Object.fromEntries(refused.problems.map((p) => [p.path === '' ? 'body' : p.path, problemText({ ...p, path: '' })]));
  const body = { message: refused.message, ...(refused.problems.length > 0 ? { errors } : {}), ...refused.body };
  return { status: refused.status, headers: json, body: JSON.stringify(body) };
};

/** doc2 Authentication 1 and 3: header, or the deprecated query parameter. */
const admit = (world: World) => (request: MockRequest) => {
  const token = request.headers['tracker-token'] ?? new URLSearchParams(request.query).get('token') ?? undefined;
  if (token === undefined || token === '') {
    throw new Refused(401, 'Sorry, the organization context for this request is missing.', { body: { tag: 'organization2_missing' } });
  }
  if (token !== world.options.trackerToken) throw new Refused(401, 'Unauthorized', { body: { tag: 'unauthorized' } });
};

export const makeTracker = (world: World): MockService => ({
  name: 'tracker',
  owns: (path) => path.startsWith(`${tracker.basePath}/`),
  handle: tableService({
    service: tracker,
    handlers: { labels: labelHandlers },
    state: trackerState(world.store),
    world,
    admit: admit(world),
    refusal,
    commonQuery: new Set(['token']),
  }),
  seed: () => {},
});
