import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { requestFrom } from '../../api/request.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { defineCommand, type Argument, type Command, type Flags, type ValuesOf } from '../../cli/command.ts';
import { type Answer, found } from '../../tracker/search.ts';

const flags = {
  type: {
    field: list(oneOf('story', 'epic', 'iteration', 'milestone', 'objective')),
    repeat: true,
    summary: 'Kinds to search (default all)',
    value: 'kind',
  },
  limit: { field: int({ min: 1 }), summary: 'Records at most (default 25)', value: 'number' },
  all: { effects: [], field: bool(), summary: 'Every record that the service gives' },
  detail: {
    field: oneOf('full', 'slim'),
    summary: 'slim leaves descriptions and nested records out',
    value: 'full|slim',
  },
} as const satisfies Flags;
const args = [
  { name: 'query', effects: [], field: req(str(undefined, { min: 1 })), summary: 'What to find' },
] as const satisfies readonly Argument[];
type Given = ValuesOf<typeof flags, typeof args>;

const run: Command['run'] = async (context, values: Given) => {
  const most = values.all ? Number.POSITIVE_INFINITY : (values.limit ?? 25);
  const types = values.type ?? [];
  const query = {
    query: values.query,
    page_size: Math.min(250, most),
    detail: values.detail ?? 'full',
    ...(types.length > 0 ? { entity_types: types } : {}),
  };
  requestFrom(tracker, tracker.table.search.run, { query }, { baseUrl: '', headers: {} });
  const first = (await context.call(tracker, tracker.table.search.run, { query })) as Answer | undefined;
  if (first === undefined) throw new AppError('network', 'the search gave an empty answer');
  return {
    kind: 'rows',
    rows: found(context, first, most),
    view: { columns: ['id', 'entity_type', 'name', 'app_url'] },
  };
};

export const searchCommand = defineCommand({
  path: ['tracker', 'search'],
  summary: 'Search stories, epics, iterations and objectives',
  about:
    'Operators: id: epic: label: project: state: owner: requester: type: estimate: team: iteration: objective: created: updated: completed: moved: due: is: has: — ' +
    'joined by and; ! in front turns one round; "quoted words" stay together; ranges like created:2026-01-01..2026-02-01.',
  args,
  flags,
  examples: [
    {
      line: "opsctl tracker search 'is:started owner:ana' --type story --all -o ndjson",
      says: 'All started stories of @ana',
    },
  ],
  operation: { service: tracker, operation: tracker.table.search.run },
  run,
});
