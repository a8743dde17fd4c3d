import { tracker } from '../../api-specs/tracker/index.ts';
import { requestFrom } from '../../api/request.ts';
import { type Command, defineCommand, extend } from '../../cli/command.ts';
import { columnsOf, commandFrom } from '../../cli/derived/command.ts';
import {
  inputFrom,
  limitOf,
  type Argument,
  type Flags,
  type Values,
  type ValuesOf,
} from '../../core/flag.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { recordResult, rawResult, rowsResult } from '../../core/result.ts';
import { ensure, type Kind, upsert, type Verbs } from '../../tracker/ensure.ts';
import { resolveParams, trackerNames } from '../../tracker/names/name-resolution.ts';
import { foundView, trackerView } from '../../tracker/screens.ts';
import {
  type Answer,
  type SearchCall,
  byOffset,
  byPage,
  listFound,
  limitResults,
} from '../../tracker/search.ts';
import { containedPath } from '../../platform/trust.ts';
import {
  absolute,
  contentOf,
  type FileRecord,
  needContentUrl,
  safeName,
  uploadAll,
} from '../../tracker/files.ts';

/** Resources whose records are known by name or external_id, so that "make it if it is not there" has a meaning. */
const RESOURCES = [
  'categories',
  'epics',
  'groups',
  'iterations',
  'labels',
  'objectives',
  'projects',
] as const;
type Resource = (typeof RESOURCES)[number];
const verbsOf = (resource: Resource): Verbs => tracker.table[resource] as Verbs;
const singularOf = (resource: Resource): string => resource.replace(/ies$/, 'y').replace(/s$/, '');
const kindOf = (resource: Resource, verb: string): Kind => {
  const verbs = verbsOf(resource);
  return {
    verbs,
    singular: singularOf(resource),
    view: { columns: columnsOf(verbs.create) },
    words: `opsctl tracker ${resource} ${verb}`,
  };
};
const commandsOf = (resource: Resource): Command[] => {
  const { create } = verbsOf(resource);
  const base = commandFrom({
    service: tracker,
    resource,
    verb: 'create',
    operation: create,
    naming: trackerNames,
  });
  const shape = (verb: string, summary: string, about: string, run: Command['run']): Command => ({
    path: ['tracker', resource, verb],
    summary,
    about,
    get flags() {
      return base.flags;
    },
    operation: { service: tracker, operation: create },
    readsBeforeWrites: true,
    run,
  });
  const singular = singularOf(resource);
  const a = /^[aeio]/.test(singular) ? `an ${singular}` : `a ${singular}`;
  return [
    shape(
      'ensure',
      `Create ${a} if it does not exist`,
      'A record exists if it has the same external_id or, without an external_id, the same name. An existing record is not changed.',
      ensure(kindOf(resource, 'ensure')),
    ),
    shape(
      'upsert',
      `Create or update ${a}`,
      'Finds the record by external_id or, without an external_id, by name. Sends only fields that differ.',
      upsert(kindOf(resource, 'upsert')),
    ),
  ];
};
export const ensureCommands: readonly Command[] = RESOURCES.flatMap(commandsOf);

const flags = {
  type: {
    field: list(oneOf('story', 'epic', 'iteration', 'milestone', 'objective')),
    repeat: true,
    summary: 'Types to search (default all)',
    value: 'kind',
  },
  limit: { field: int({ min: 1 }), summary: 'Maximum number of records (default 25)', value: 'number' },
  all: { effects: [], field: bool(), summary: 'Return all matching records' },
  detail: {
    field: oneOf('full', 'slim'),
    summary: 'Size of each record; slim omits descriptions and nested records',
    value: 'full|slim',
  },
} as const satisfies Flags;
const args = [
  { name: 'query', effects: [], field: req(str(undefined, { min: 1 })), summary: 'Search query' },
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
  if (first === undefined) throw new AppError('network', 'the search returned an empty response');
  return {
    kind: 'rows',
    rows: listFound(context, first, most),
    paged: true,
    view: foundView(context),
  };
};
export const searchCommand = defineCommand({
  path: ['tracker', 'search'],
  summary: 'Search stories, epics, iterations and objectives',
  about:
    'Operators: id: epic: label: project: state: owner: requester: type: estimate: team: iteration: objective: created: updated: completed: moved: due: is: has:. Join terms with "and"; put ! before a term to negate it; "quoted words" match as a phrase; ranges such as created:2026-01-01..2026-02-01.',
  args,
  flags,
  examples: [
    {
      line: "opsctl tracker search 'is:started owner:ana' --type story --all -o ndjson",
      says: 'Find all started stories of @ana',
    },
  ],
  operation: { service: tracker, operation: tracker.table.search.run },
  run,
});

const epics = commandFrom({
  service: tracker,
  resource: 'epics',
  verb: 'paginated',
  operation: tracker.table.epics.page,
  naming: trackerNames,
});
const epicsPaginated: Command = extend(epics, {
  summary: 'List epics page by page, starting immediately',
  about: 'Reads all pages in order. With --page, shows only that page, with its total.',
  get flags() {
    return {
      ...epics.flags,
      limit: { field: int({ min: 1 }), summary: 'Maximum number of epics', value: 'number' },
    };
  },
  run: async (context, values: Values) => {
    const { query = {} } = inputFrom(tracker.table.epics.page, values);
    const ask: SearchCall = (q) => context.call(tracker, tracker.table.epics.page, { query: q });
    if (query.page !== undefined || context.isDryRun)
      return recordResult(await ask(query), { columns: ['total', 'next'] });
    return {
      kind: 'rows',
      rows: limitResults(context, byPage(ask, query), limitOf(values)),
      paged: true,
      view: trackerView(context, tracker.table.epics.list, columnsOf(tracker.table.epics.list)),
    };
  },
});
const stories = commandFrom({
  service: tracker,
  resource: 'groups',
  verb: 'stories',
  operation: tracker.table.groups.stories,
  naming: trackerNames,
});
const PAGE = 1000;
const groupStories: Command = extend(stories, {
  about: 'Reads all stories, 1,000 at a time. --limit or --offset select a part.',
  run: async (context, values: Values) => {
    const operation: Operation = tracker.table.groups.stories;
    const input = await resolveParams(trackerNames, context, operation, inputFrom(operation, values));
    const isPart = values.limit !== undefined || values.offset !== undefined || context.isDryRun;
    const ask: SearchCall = (query) => context.call(tracker, operation, { ...input, query });
    const rows = isPart
      ? ((await context.call(tracker, operation, input)) as unknown[])
      : byOffset(ask, PAGE, `GET ${operation.path}`);
    return { kind: 'rows', rows, paged: true, view: trackerView(context, operation, columnsOf(operation)) };
  },
});
export const paginatedCommands: readonly Command[] = [epicsPaginated, groupStories];

export const downloadCommand = defineCommand({
  path: ['tracker', 'files', 'download'],
  summary: 'Download the content of an uploaded file',
  effects: ['writes'],
  args: [{ name: 'file', effects: [], field: req(int()), summary: 'File ID or name' }],
  flags: {
    to: {
      effects: ['writes'],
      field: str(),
      summary: 'File to write (default: its own name in this directory); - writes to standard output',
      value: 'path|-',
      complete: 'file',
    },
    force: { effects: ['writes'], field: bool(), summary: 'Overwrite an existing file' },
  },
  operation: { service: tracker, operation: tracker.table.files.download },
  examples: [{ line: 'opsctl tracker files download 7 --to - | tar tz', says: 'Write into a pipe' }],
  run: async (context, values) => {
    const { get } = tracker.table.files;
    const record = (await context.call(tracker, get, {
      params: { 'file-public-id': values.file },
    })) as FileRecord;
    if (record.url === null || record.url === undefined)
      throw new AppError('not-found', `file ${record.id} has no content to download`);
    const target = await context.target('tracker');
    const from = needContentUrl(String(record.url), target.baseUrl, `the url of file ${record.id}`);
    const reply = await contentOf(context, from, target);
    if (values.to === '-') return { ...rawResult(), chunks: reply.stream() };
    const name = safeName({ id: record.id, filename: String(record.filename ?? '') });
    const path =
      values.to === undefined
        ? await containedPath(context.host.files, context.host.cwd, name)
        : absolute(context, values.to);
    if (!values.force && (await context.host.files.info(path))) {
      throw usageError(`${path} exists`, [], ['--force overwrites it', '--to selects another name']);
    }
    const size = await context.host.files.replaceStream(path, reply.stream());
    return recordResult({ id: record.id, path, size }, { message: `${path}: ${size} bytes` });
  },
});

export const uploadCommand = defineCommand({
  path: ['tracker', 'files', 'upload'],
  summary: 'Upload files, up to four per request',
  args: [
    {
      name: 'paths',
      effects: ['reads'],
      field: req(list(str(), { min: 1 })),
      summary: 'Files to upload',
      rest: true,
      complete: 'file',
    },
  ],
  flags: { 'story-id': { field: int(), summary: 'Story to attach them to', value: 'number' } },
  examples: [
    {
      line: 'opsctl tracker files upload trace.log screenshot.png --story-id 42',
      says: 'Attach two files to a story',
    },
  ],
  operation: { service: tracker, operation: tracker.table.files.create },
  run: async (context, values) => {
    const found = await uploadAll(context, values.paths, values['story-id']);
    return rowsResult(found, { columns: ['id', 'name', 'content_type', 'size'] });
  },
});
