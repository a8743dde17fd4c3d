import { countText, placesOf, wordLines } from '../core/format.ts';
import type { Display, EngineContext } from '../api/context.ts';
import { bare, type Field, type Fields } from '../core/field.ts';
import type { Operation } from '../core/operation.ts';
import type { View } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import { fieldReferences } from '../api-specs/tracker/info.ts';
import type { Change } from './stories.ts';

type Row = Readonly<Record<string, unknown>>;

/** Fields of ids that a record has and no input takes. */
const references: Readonly<Record<string, { readonly kind: string }>> = {
  ...fieldReferences,
  default_state_id: { kind: 'workflow-state' },
  default_epic_state_id: { kind: 'epic-state' },
};
/** The column that shows the names behind a field of ids: `workflow_state_id` → `state`, `owner_ids` → `owner`. */
const columnNames: Readonly<Record<string, string>> = {
  workflow_state_id: 'state',
  epic_state_id: 'state',
  owner_ids: 'owner',
  follower_ids: 'followers',
  requested_by_id: 'requested_by',
  objective_ids: 'objectives',
  group_id: 'team',
  group_ids: 'teams',
};
const isNamed = (field: string): boolean => Object.hasOwn(references, field) && !/_(add|remove)$/.test(field);
const nameColumn = (field: string): string =>
  columnNames[field] ?? (isNamed(field) ? field.replace(/_id(s?)$/, (_, many: string) => many) : field);

const rowFields = ({ returns }: Operation): Fields => {
  const inner: Field | undefined = returns && bare(returns);
  const row = inner?.type === 'array' ? bare(inner.items) : inner;
  return row?.type === 'object' ? row.fields : {};
};

const idsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((id) => id !== null && id !== undefined).map(String);
/** Replaces IDs by names. An unknown ID stays unchanged. */
const namesOf = async (
  context: EngineContext,
  field: string,
  value: unknown,
  isLong = false,
): Promise<string> => {
  const ids = idsOf(value);
  if (ids.length === 0) return '';
  const { getNamesById } = await import('./names/resolve.ts');
  const kind = references[field]?.kind ?? field;
  const names = await getNamesById(context, kind);
  const nameOf = (id: string): string => {
    const [first, second] = names.get(id) ?? [];
    return first === undefined ? id : isLong && kind === 'member' && second ? `${second} (@${first})` : first;
  };
  return ids.map(nameOf).join(', ');
};
/**
 * Changes for a person: the names of records in place of their IDs, below the name of the column that shows them. Two
 * workflows can have a state of the same name, so equal names keep their IDs.
 */
export const nameChanges = (context: EngineContext, changes: readonly Change[]): Promise<Change[]> =>
  Promise.all(
    changes.map(async (change) => {
      const { field } = change;
      if (!isNamed(field)) return change;
      const [from, to] = await Promise.all([
        namesOf(context, field, change.from),
        namesOf(context, field, change.to),
      ]);
      return from === to ? change : { field: nameColumn(field), from, to };
    }),
  );

const MINUTE_MS = 60_000;
const UNITS: readonly (readonly [number, string])[] = [
  [24 * 60 * MINUTE_MS, 'day'],
  [60 * MINUTE_MS, 'hour'],
  [MINUTE_MS, 'minute'],
];
const LONGEST_AGE_MS = 30 * 24 * 60 * MINUTE_MS;
/** `3 days ago` for the last month, the day for an older moment. Pure. */
export const ageText = (iso: string, now: number): string => {
  const age = now - Date.parse(iso);
  if (Number.isNaN(age)) return iso;
  if (age < 0 || age > LONGEST_AGE_MS) return iso.slice(0, 10);
  const [size, unit] = UNITS.find(([ms]) => age >= ms) ?? [0, ''];
  if (size === 0) return 'now';
  const count = Math.floor(age / size);
  return `${countText(count, unit)} ago`;
};
const TIME = /_at$/;
/** A row for people: names in the columns that are shown, times as ages. */
const toPeopleRow = async (context: EngineContext, row: Row, columns: ReadonlySet<string>): Promise<Row> => {
  const shown: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(row)) {
    const column = isNamed(field) ? nameColumn(field) : field;
    if (!columns.has(column)) continue;
    if (isNamed(field)) shown[column] = await namesOf(context, field, value);
    else if (TIME.test(field) && typeof value === 'string') shown[field] = ageText(value, context.host.now());
  }
  return { ...row, ...shown, ...(row.story_type === undefined ? {} : { type: row.story_type }) };
};
/** A list view whose rows have names in place of ids, read only for columns that are shown. */
const listView = (
  context: EngineContext & Display,
  columns: readonly string[] | undefined,
  wideColumns: readonly string[] = [],
): View => {
  const shown = new Set([...(columns ?? []), ...(context.format === 'wide' ? wideColumns : [])]);
  const toTableRows: View['toTableRows'] = (batch) =>
    Promise.all(
      batch.map((row) =>
        isRecord(row) && context.columns === undefined ? toPeopleRow(context, row, shown) : row,
      ),
    );
  return { ...(columns === undefined ? {} : { columns, wideColumns }), toTableRows };
};

const storyColumns = ['id', 'name', 'state', 'owner', 'estimate', 'updated_at'] as const;
const storyWide = ['type', 'epic', 'iteration', 'labels', 'team', 'deadline'] as const;
const epicColumns = [
  'id',
  'name',
  'state',
  'stats.num_stories_done',
  'stats.num_stories_total',
  'owner',
  'updated_at',
] as const;
const epicWide = ['labels', 'deadline', 'teams'] as const;
const foundColumns = ['id', 'entity_type', 'name', 'state', 'owner', 'estimate', 'updated_at'] as const;
/** Columns that name a page; the embedded server of one command closes with the command, so that its pages are gone. */
const isPageColumn = (column: string): boolean => column === 'app_url';

/** One change of a field: `state: Ready → Done`, `labels: + urgent`. */
const changeText = async (context: EngineContext, field: string, change: unknown): Promise<string> => {
  if (!isRecord(change)) return field;
  const of = (value: unknown): Promise<string> => valueText(context, field, value);
  const [from, to, added, removed] = await Promise.all(
    [change.old, change.new, change.adds, change.removes].map(of),
  );
  const parts = [
    ...(added ? [`+ ${added}`] : []),
    ...(removed ? [`- ${removed}`] : []),
    ...(from || to ? [`${from || 'nothing'} → ${to || 'nothing'}`] : []),
  ];
  return `${nameColumn(field).replaceAll('_', ' ')}: ${parts.join(', ')}`;
};
/** Fields that the service changes together with another field. */
const FOLLOWS = /_(at|override|time)$|mention_ids$|^(position|started|completed)$/;
/** One action of the history: `update story: state: Ready → Done`, `create story comment: Looks good`. */
const actionText = async (context: EngineContext, action: unknown): Promise<string> => {
  if (!isRecord(action)) return '';
  const what = `${text(action.action)} ${text(action.entity_type).replaceAll('-', ' ')}`;
  const all = isRecord(action.changes) && action.action === 'update' ? Object.entries(action.changes) : [];
  const chosen = all.filter(([field]) => !FOLLOWS.test(field));
  const changes = chosen.length > 0 ? chosen : all;
  const changed = await Promise.all(changes.map(([field, change]) => changeText(context, field, change)));
  const content = text(action.name) || text(action.text) || text(action.description);
  return `${what}: ${changed.length > 0 ? changed.join('; ') : content}`;
};
/** The history of a record: who did what, with names in place of IDs. */
const historyView = (context: EngineContext & Display): View => ({
  columns: ['changed_at', 'actor', 'change'],
  toTableRows: (batch) =>
    Promise.all(
      batch.map(async (row) => {
        if (!isRecord(row) || context.columns !== undefined) return row;
        const actions = Array.isArray(row.actions) ? row.actions : [];
        const change = (await Promise.all(actions.map((one) => actionText(context, one)))).join('; ');
        const at = ageText(text(row.changed_at), context.host.now());
        return { ...row, changed_at: at, actor: text(row.actor_name), change };
      }),
    ),
});

/** How a list or a record of the tracker is shown to a person. Data formats never call it. */
export const trackerView = (
  context: EngineContext & Display,
  operation: Operation,
  columns: readonly string[] | undefined,
): View => {
  const fields = rowFields(operation);
  const drawRecord: View['drawRecord'] = (data, width) =>
    drawTrackerRecord(context, data, columns ?? [], width);
  if (fields.workflow_state_id !== undefined)
    return { ...listView(context, storyColumns, storyWide), drawRecord };
  if (fields.epic_state_id !== undefined) return { ...listView(context, epicColumns, epicWide), drawRecord };
  if (fields.actions !== undefined) return historyView(context);
  if (fields.states !== undefined)
    return { ...listView(context, ['id', 'name', 'states'], ['default_state', 'projects']), drawRecord };
  const named = columns
    ?.filter((column) => !isPageColumn(column))
    .map((column) => (isNamed(column) ? nameColumn(column) : column));
  return { ...listView(context, named), drawRecord };
};
/** The view of records of several kinds, as a search finds them. */
export const foundView = (context: EngineContext & Display): View =>
  listView(context, foundColumns, ['type', 'epic', 'iteration', 'labels']);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const records = (value: unknown): Row[] => (Array.isArray(value) ? value.filter(isRecord) : []);
/** Lines of at most `width` places; the lines that the author wrote stay. */
const wrap = (value: string, width: number, indent = ''): string[] =>
  value
    .split('\n')
    .flatMap((line) => wordLines(line, width - indent.length))
    .map((line) => indent + line);
type Term = readonly [label: string, value: string];
/** A word that does not fit next to the labels, such as a URL, makes its value stand below the label. */
const termLines = (terms: readonly Term[], width: number): string[] => {
  const shown = terms.filter(([, value]) => value !== '');
  const size = Math.max(0, ...shown.map(([label]) => placesOf(label))) + 2;
  return shown.flatMap(([label, value]) => {
    const lines = wrap(value, width - size);
    if (lines.some((line) => placesOf(line) > width - size)) return [label, ...wrap(value, width, '  ')];
    return lines.map(
      (line, i) => (i === 0 ? label + ' '.repeat(size - placesOf(label)) : ' '.repeat(size)) + line,
    );
  });
};
const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...lines];
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1).replaceAll('_', ' ');
const points = (estimate: unknown): string =>
  typeof estimate === 'number' ? countText(estimate, 'point') : '';
const flagWords = (row: Row): string[] =>
  ['archived', 'blocked', 'blocker'].filter((flag) => row[flag] === true);
/** `story_links` from the side of this record. */
const linkLines = (row: Row, width: number): string[] => [
  ...records(row.story_links).flatMap(({ verb, subject_id: subject, object_id: object }) => {
    const isSubject = subject === row.id;
    const passive = verb === 'blocks' ? 'is blocked by' : verb === 'duplicates' ? 'is duplicated by' : verb;
    return wrap(`${isSubject ? verb : passive} #${isSubject ? object : subject}`, width, '  ');
  }),
  ...(Array.isArray(row.external_links) ? row.external_links : []).map((link) => `  ${link}`),
];
const linkSections = (row: Row, width: number): string[] => {
  const files = records(row.files).flatMap(({ name }) => wrap(text(name), width, '  '));
  return [...section('Links', linkLines(row, width)), ...section('Files', files)];
};
const taskSection = (row: Row, width: number): string[] => {
  const tasks = records(row.tasks);
  const done = tasks.filter(({ complete }) => complete === true).length;
  const lines = tasks.flatMap(({ complete, description }) => {
    const [first = '', ...more] = wrap(text(description), width - 6);
    return [`  [${complete === true ? 'x' : ' '}] ${first}`, ...more.map((line) => `      ${line}`)];
  });
  return section(`Tasks (${done} of ${tasks.length} done)`, lines);
};
const commentSection = async (context: EngineContext, row: Row, width: number): Promise<string[]> => {
  const lines: string[] = [];
  const comments = records(row.comments).filter((comment) => comment.deleted !== true);
  for (const comment of comments) {
    const author = await namesOf(context, 'author_id', comment.author_id, true);
    lines.push(
      `  ${author === '' ? 'unknown' : author}, ${ageText(text(comment.created_at), context.host.now())}`,
    );
    lines.push(...wrap(text(comment.text), width, '    '));
  }
  return section(`Comments (${comments.length})`, lines);
};
const customFieldTerms = async (context: EngineContext, row: Row): Promise<Term[]> => {
  const given = records(row.custom_fields);
  if (given.length === 0) return [];
  const { getNamesById } = await import('./names/resolve.ts');
  const names = await getNamesById(context, 'custom-field');
  return given.map(({ field_id: id, value }) => [
    names.get(String(id))?.[0] ?? String(id),
    String(value ?? ''),
  ]);
};
/** The page of the record, unless the server that has it closes with this command. */
const pageTerm = async (context: EngineContext, row: Row): Promise<Term> => {
  const { isPassing } = await context.target('tracker');
  return ['Page', isPassing === true ? '' : text(row.app_url)];
};
const drawStory = async (context: EngineContext, row: Row, width: number): Promise<string> => {
  const now = context.host.now();
  const nameOf = (field: string): Promise<string> => namesOf(context, field, row[field], true);
  const state = await nameOf('workflow_state_id');
  const [owner, epic, iteration, team, project, requester] = await Promise.all(
    ['owner_ids', 'epic_id', 'iteration_id', 'group_id', 'project_id', 'requested_by_id'].map(nameOf),
  );
  const terms: Term[] = [
    ['Owner', owner === '' ? 'nobody' : (owner ?? '')],
    ['Epic', epic ?? ''],
    ['Iteration', iteration ?? ''],
    ['Team', team ?? ''],
    ['Project', project ?? ''],
    [
      'Labels',
      records(row.labels)
        .map(({ name }) => text(name))
        .join(', '),
    ],
    ...(await customFieldTerms(context, row)),
    ['Deadline', text(row.deadline).slice(0, 10)],
    ['Requested by', requester ?? ''],
    ['External ID', text(row.external_id)],
    ['Created', ageText(text(row.created_at), now)],
    ['Updated', ageText(text(row.updated_at), now)],
    await pageTerm(context, row),
  ];
  const heading = [capital(text(row.story_type)), state, points(row.estimate), ...flagWords(row)];
  const description = text(row.description);
  return [
    ...wrap(`#${row.id} ${text(row.name)}`, width),
    heading.filter((part) => part !== '').join(' · '),
    '',
    ...termLines(terms, width),
    ...(description === '' ? [] : ['', ...wrap(description, width)]),
    ...taskSection(row, width),
    ...(await commentSection(context, row, width)),
    ...linkSections(row, width),
  ].join('\n');
};

/** Fields that users do not read in a record: internal IDs, and data that the names already show. */
const HIDDEN =
  /(^|_)(entity_type|global_id|app_url|position|version)$|mention_ids$|^(label_ids|workflow_id|id|name|title|description|content|content_markdown|archived_at)$/;
const HIDDEN_BELOW = /(^|_)(entity_type|global_id|created_at|updated_at)$|(^|_)ids?$/;
/** An internal ID without a known name is not useful to a person. An external ID is the user's own. */
const isBareId = (field: string): boolean =>
  /_ids?$/.test(field) && field !== 'external_id' && !isNamed(field);
/** A nested value without ids. */
const withoutIds = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutIds);
  if (!isRecord(value)) return value;
  const isKept = (key: string): boolean => !HIDDEN_BELOW.test(key);
  return Object.fromEntries(Object.entries(value).filter(([key]) => isKept(key)));
};
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === '' ||
  value === false ||
  (Array.isArray(value) && value.length === 0);
/** The text of a nested value: its numbers and words with their names, no braces. */
const valueText = async (context: EngineContext, field: string, value: unknown): Promise<string> => {
  if (isNamed(field)) return namesOf(context, field, value, true);
  if (TIME.test(field) && typeof value === 'string') return ageText(value, context.host.now());
  const { cellText } = await import('../output/types.ts');
  return cellText(withoutIds(value));
};
const statsText = (stats: Row): string => {
  const { num_stories_done: done, num_stories_total: all } = stats;
  return typeof done === 'number' && typeof all === 'number' ? `${done} of ${all} stories done` : '';
};
const titleOf = (row: Row): string => text(row.name) || text(row.title);
const bodyOf = (row: Row): string =>
  text(row.description) || text(row.text) || text(row.content_markdown) || text(row.content);
/** Any other record of the tracker: its name, its fields with names in place of ids, its description, its comments. */
const drawOther = async (
  context: EngineContext,
  row: Row,
  first: readonly string[],
  width: number,
): Promise<string> => {
  const names = [...first.filter((name) => Object.hasOwn(row, name)), ...Object.keys(row)];
  // `started` and `started_at`, `state` and `epic_state_id`: the second one has more information.
  const isTwice = (name: string): boolean =>
    !isEmpty(row[`${name}_at`]) || (name === 'state' && !isEmpty(row.epic_state_id));
  const fields = [...new Set(names)].filter(
    (name) => !HIDDEN.test(name) && !isBareId(name) && !isTwice(name) && !isEmpty(row[name]),
  );
  const terms: Term[] = [];
  for (const field of fields.filter((name) => !['stats', 'comments', 'tasks', 'text'].includes(name)))
    terms.push([
      capital(nameColumn(field))
        .replace(/ (id|url)$/, (word) => word.toUpperCase())
        .replace(/ at$/, ''),
      await valueText(context, field, row[field]),
    ]);
  if (isRecord(row.stats)) terms.push(['Progress', statsText(row.stats)]);
  const [title, body] = [titleOf(row), bodyOf(row)];
  // People say "story 107", but nobody says a UUID.
  const isNumbered = typeof row.id === 'number' || title === '';
  terms.push(['ID', isNumbered ? '' : text(row.id)], await pageTerm(context, row));
  return [
    ...wrap(`${isNumbered && row.id !== undefined ? `#${row.id} ` : ''}${title}`.trim(), width),
    '',
    ...termLines(terms, width),
    ...(body === '' ? [] : ['', ...wrap(body, width)]),
    ...(await commentSection(context, row, width)),
  ].join('\n');
};
/** Draws a record of the tracker for a person. */
const drawTrackerRecord = async (
  context: EngineContext,
  data: unknown,
  first: readonly string[],
  width: number,
): Promise<string> => {
  if (!isRecord(data)) return String(data ?? '');
  return data.workflow_state_id !== undefined && data.story_type !== undefined
    ? drawStory(context, data, width)
    : drawOther(context, data, first, width);
};
