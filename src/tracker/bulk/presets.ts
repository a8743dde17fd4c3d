import { formats, momentOf } from '../../core/format.ts';
export type Meanings = readonly [readonly string[], readonly string[]];
/** How the values of one field are read from a column of another tool. */
export type FieldRule = {
  readonly field: string;
  /** Values of the column as values of the field; keys are compared without case. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Leaves the field unset if the workspace does not have the user, state or value; the report lists the value. */
  readonly isOptional?: boolean;
  /** Reads the text of a cell that the tool wrote in its own form. A map file may have a user for the whole cell. */
  readonly read?: (cell: string, isMappedUser: (text: string) => boolean) => string;
  /** The column with the workflow of the state in this column: several workflows may have a state of this name. */
  readonly within?: string;
  /** The tool writes all times of the column in UTC, without a zone. */
  readonly isUtc?: boolean;
  /** Two lists that one cell may mean; undefined if it has one meaning. */
  readonly meanings?: (cell: string) => Meanings | undefined;
};
export type PresetRule = FieldRule & {
  /** Names of the column in exports, without case; the first that the file has is used. */
  readonly columns: readonly string[];
  /** The columns hold one value: all that the file has are read, and different values in a row are refused. */
  readonly isOneValue?: boolean;
};
export const presetNames = [
  'jira',
  'linear',
  'trello',
  'asana',
  'github',
  'gitlab',
  'azure-boards',
  'shortcut',
] as const;
export type PresetName = (typeof presetNames)[number];
/**
 * Columns of a tool that have the names of fields of the service and other contents: IDs of records of another
 * workspace, or times without their offset. A user maps them explicitly.
 */
export const foreignColumns: Readonly<Partial<Record<PresetName, readonly string[]>>> = {
  shortcut: ['epic_id', 'project_id', 'iteration_id', 'created_at', 'updated_at', 'tasks', 'custom_fields'],
};
/**
 * Last columns that a tool writes into the header and leaves out of each row. Such an export of Linear ends its header with
 * Roadmaps.
 */
export const headerOnlyColumns: Readonly<Partial<Record<PresetName, string>>> = { linear: 'Roadmaps' };

/** Words of other tools for the types of workflow states. A state with the same name comes first. */
export const stateTypes: Readonly<Record<string, string>> = {
  backlog: 'backlog',
  triage: 'backlog',
  icebox: 'backlog',
  'to do': 'unstarted',
  todo: 'unstarted',
  open: 'unstarted',
  new: 'unstarted',
  reopened: 'unstarted',
  'selected for development': 'unstarted',
  'in progress': 'started',
  active: 'started',
  doing: 'started',
  started: 'started',
  'in review': 'started',
  review: 'started',
  done: 'done',
  closed: 'done',
  resolved: 'done',
  complete: 'done',
  completed: 'done',
  canceled: 'done',
  cancelled: 'done',
};
const storyTypes = {
  bug: 'bug',
  defect: 'bug',
  incident: 'bug',
  story: 'feature',
  'user story': 'feature',
  feature: 'feature',
  'new feature': 'feature',
  improvement: 'feature',
  epic: 'feature',
  task: 'chore',
  'sub-task': 'chore',
  subtask: 'chore',
  chore: 'chore',
};
/** Also the types of the Scrum and Basic processes, where an issue is an item of the backlog. */
const workItemTypes = { ...storyTypes, 'product backlog item': 'feature', issue: 'feature' };
const optional = { isOptional: true } as const;
const oneValue = { isOneValue: true } as const;
/** The color that the tool writes behind the name of a label; a label without a color has an empty word. */
const labelColor =
  /(?:\((?:green|yellow|orange|red|purple|blue|sky|lime|pink|black|none)(?:_(?:dark|light))?\)|(?<![^\s,;|])\((?:null)?\))\s*(?:[;,|]\s*|$)/gi;
/** An item of a list cell in quotes: a comma inside it does not split it. */
const quoteItem = (item: string): string => `"${item.replaceAll('"', '""')}"`;
/** Items of a list cell that the tool separates by this character only. A list in JSON or quotes is of a person. */
const itemsBy =
  (separator: ',' | ';') =>
  (cell: string): string =>
    cell.includes('"')
      ? cell
      : cell
          .split(separator)
          .map((item) => quoteItem(item.trim()))
          .join(';');
/** The texts before the colors of labels, each with its color, and the text behind the last color. */
const partsOf = (cell: string) => {
  const colored: { readonly name: string; readonly color: string }[] = [];
  let end = 0;
  for (const { 0: color, index } of cell.matchAll(labelColor)) {
    colored.push({ name: cell.slice(end, index).trim(), color: color.replace(/[;,|\s]+$/, '') });
    end = index + color.length;
  }
  return { colored, rest: cell.slice(end).trim() };
};
/** Items for the colors of labels. A label without a name keeps its color. */
const withoutColors = (cell: string): string => {
  const { colored, rest } = partsOf(cell);
  return [...colored.map(({ name, color }) => quoteItem(name === '' ? color : name)), rest].join(';');
};
/**
 * The two meanings of a text with a comma next to a color. The tool separates labels with commas, quotes no name, and
 * may leave out a color, so the comma belongs to a name or separates two labels.
 */
const labelMeanings = (cell: string): Meanings | undefined => {
  const { colored, rest } = partsOf(cell);
  if (colored.length === 0) return undefined;
  const part = [...colored, { name: rest, color: '' }].find(({ name }) => name.includes(','));
  if (part === undefined) return undefined;
  const names = part.name.split(',').map((name) => name.trim());
  return [[part.name], names.map((name) => name || part.color).filter((name) => name !== '')];
};
type UserReader = NonNullable<FieldRule['read']>;
/** The tool writes users as `Name <address>`. */
const addressOf: UserReader = (cell, isMappedUser) =>
  isMappedUser(cell) ? cell : (/^[^<>]*<([^<>]+)>$/.exec(cell.trim())?.[1] ?? cell);
/** A name may contain a comma, which separates the items of a list: `Lima, Ana <ana@example.com>`. */
const itemOfAddress: UserReader = (cell, isMappedUser) =>
  isMappedUser(cell) ? quoteItem(cell) : addressOf(cell, isMappedUser);
/** The tool writes a quote before a text that a spreadsheet reads as a formula. */
const withoutFormulaMark = (cell: string): string => cell.replace(/^'(?=[=+\-@\t\r])/, '');
/** The tool also writes the quote before a semicolon (CsvBuilder of GitLab), and before the whole cell of a list. */
const withoutGitlabMark = (cell: string): string => cell.replace(/^'(?=[=+\-@;])/, '');
/** Ready maps for the CSV exports of other tools. Each row becomes a story. */
export const presets: Readonly<Record<PresetName, readonly PresetRule[]>> = {
  jira: [
    { field: 'name', columns: ['Summary'] },
    { field: 'external_id', columns: ['Issue key', 'Key', 'Issue id'] },
    { field: 'story_type', columns: ['Issue Type', 'Type'], values: storyTypes, ...optional },
    { field: 'workflow_state_id', columns: ['Status'], ...optional },
    { field: 'owner_ids', columns: ['Assignee'], ...optional },
    { field: 'requested_by_id', columns: ['Reporter'], ...optional },
    { field: 'labels', columns: ['Labels'] },
    { field: 'deadline', columns: ['Due Date', 'Due'], ...oneValue },
    { field: 'description', columns: ['Description'] },
    {
      field: 'estimate',
      columns: [
        'Custom field (Story Points)',
        'Custom field (Story point estimate)',
        'Story Points',
        'Story point estimate',
      ],
      ...oneValue,
    },
    { field: 'created_at', columns: ['Created'] },
  ],
  linear: [
    { field: 'name', columns: ['Title'], read: withoutFormulaMark },
    { field: 'external_id', columns: ['ID'] },
    { field: 'workflow_state_id', columns: ['Status'], ...optional },
    { field: 'owner_ids', columns: ['Assignee'], ...optional },
    { field: 'requested_by_id', columns: ['Creator'], ...optional },
    { field: 'labels', columns: ['Labels'], read: itemsBy(',') },
    { field: 'deadline', columns: ['Due Date'] },
    { field: 'description', columns: ['Description'], read: withoutFormulaMark },
    { field: 'estimate', columns: ['Estimate'] },
    { field: 'created_at', columns: ['Created'] },
    // The column has the time at which the issue was archived.
    { field: 'archived', columns: ['Archived'], values: { '*': 'true' } },
  ],
  trello: [
    { field: 'name', columns: ['Card Name', 'Name'] },
    { field: 'external_id', columns: ['Card ID', 'Card Id', 'Card URL', 'Card #'] },
    { field: 'workflow_state_id', columns: ['List Name', 'List'], ...optional },
    { field: 'owner_ids', columns: ['Members'], ...optional },
    { field: 'labels', columns: ['Labels'], read: withoutColors, meanings: labelMeanings },
    { field: 'deadline', columns: ['Due Date', 'Due'], ...oneValue },
    { field: 'description', columns: ['Card Description', 'Description'] },
    { field: 'archived', columns: ['Archived'] },
  ],
  asana: [
    { field: 'name', columns: ['Name', 'Task Name'] },
    { field: 'external_id', columns: ['Task ID', 'Task Id'] },
    { field: 'workflow_state_id', columns: ['Section/Column', 'Section'], ...optional },
    { field: 'owner_ids', columns: ['Assignee Email', 'Assignee'], ...optional },
    { field: 'labels', columns: ['Tags'], read: itemsBy(',') },
    { field: 'deadline', columns: ['Due Date'] },
    { field: 'description', columns: ['Notes'] },
    { field: 'created_at', columns: ['Created At'] },
  ],
  github: [
    { field: 'name', columns: ['Title'] },
    { field: 'external_id', columns: ['URL', 'html_url', 'Number', 'ID'] },
    { field: 'story_type', columns: ['Type', 'Issue Type'], values: storyTypes, ...optional },
    { field: 'workflow_state_id', columns: ['Status', 'State'], ...optional },
    { field: 'owner_ids', columns: ['Assignees', 'Assignee'], ...optional },
    { field: 'requested_by_id', columns: ['Author', 'User', 'Creator'], ...optional },
    { field: 'labels', columns: ['Labels'] },
    { field: 'description', columns: ['Body', 'Description'] },
    { field: 'created_at', columns: ['Created_at', 'Created at', 'CreatedAt', 'Created'] },
  ],
  // Columns: docs.gitlab.com/user/project/issues/csv_export. A label has no comma, and the times are in UTC.
  gitlab: [
    { field: 'name', columns: ['Title'], read: withoutGitlabMark },
    { field: 'external_id', columns: ['URL'] },
    { field: 'story_type', columns: ['Type'], values: storyTypes, ...optional },
    { field: 'workflow_state_id', columns: ['State'], ...optional },
    { field: 'owner_ids', columns: ['Assignee Username', 'Assignee'], ...optional },
    { field: 'requested_by_id', columns: ['Author Username', 'Author'], ...optional },
    { field: 'labels', columns: ['Labels'], read: (cell) => itemsBy(',')(withoutGitlabMark(cell)) },
    { field: 'deadline', columns: ['Due Date'] },
    { field: 'description', columns: ['Description'], read: withoutGitlabMark },
    { field: 'estimate', columns: ['Weight'] },
    { field: 'created_at', columns: ['Created At (UTC)'], isUtc: true },
  ],
  // Columns: learn.microsoft.com/azure/devops/boards/queries/import-work-items-from-csv. A tag has no comma.
  'azure-boards': [
    { field: 'name', columns: ['Title'] },
    { field: 'external_id', columns: ['ID'] },
    { field: 'story_type', columns: ['Work Item Type'], values: workItemTypes, ...optional },
    { field: 'workflow_state_id', columns: ['State'], ...optional },
    { field: 'owner_ids', columns: ['Assigned To'], read: itemOfAddress, ...optional },
    { field: 'requested_by_id', columns: ['Created By'], read: addressOf, ...optional },
    { field: 'labels', columns: ['Tags'], read: itemsBy(';') },
    { field: 'deadline', columns: ['Due Date'] },
    { field: 'description', columns: ['Description'] },
    { field: 'estimate', columns: ['Story Points', 'Effort', 'Size'], ...oneValue },
  ],
  // Columns: the export of all stories as CSV; items of its lists are separated by semicolons.
  shortcut: [
    { field: 'name', columns: ['name'] },
    { field: 'external_id', columns: ['id'] },
    { field: 'story_type', columns: ['type'], values: storyTypes, ...optional },
    { field: 'workflow_state_id', columns: ['state'], within: 'workflow', ...optional },
    { field: 'owner_ids', columns: ['owners'], read: itemsBy(';'), ...optional },
    { field: 'requested_by_id', columns: ['requester'], ...optional },
    { field: 'labels', columns: ['labels'], read: itemsBy(';') },
    { field: 'description', columns: ['description'] },
    { field: 'estimate', columns: ['estimate'] },
    { field: 'archived', columns: ['is_archived'] },
  ],
};

export type DateOrder = 'day-first' | 'month-first';
/** Beginnings of the names of the months, as exports write them in the language of their user. */
const months: readonly RegExp[] = [
  /^(jan|ene|gen)/,
  /^(feb|fev)/,
  /^(mar|mrz)/,
  /^(apr|avr|abr)/,
  /^(may|mai|mag)/,
  /^(jun|juin|giu)/,
  /^(jul|juil|lug)/,
  /^(aug|aou|ago)/,
  /^(sep|set)/,
  /^(oct|okt|ott|out)/,
  /^nov/,
  /^(dec|dez|dic)/,
];
/** The number of a month, 0 for another word. */
const monthOf = (name: string): number => {
  const plain = name.trim().toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
  return months.findIndex((month) => month.test(plain)) + 1;
};
const twoDigits = (value: number): string => String(value).padStart(2, '0');
const fullYear = (text: string): number => (text.length === 2 ? 2000 + Number(text) : Number(text));
const clock = (text: string): string | undefined => {
  if (text.trim() === '') return '00:00:00';
  const [, hour = '', minute = '', second = '00', half] =
    /^\s*(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]m)?\s*(?:utc|z)?$/i.exec(text) ?? [];
  if (hour === '') return undefined;
  const base = half === undefined ? Number(hour) : Number(hour) % 12;
  return `${twoDigits(base + (/^pm$/i.test(half ?? '') ? 12 : 0))}:${minute}:${second}`;
};
/** Day, month and year of a date as people write it; undefined if the order of day and month is ambiguous. */
const dayOf = (
  text: string,
  order: DateOrder | undefined,
): readonly [string, string, number, number] | undefined => {
  const named = /^(\d{1,2})\.?[ /.-](\p{L}{3,})[ /.,-]+(\d{4}|\d{2})\b(.*)$/iu.exec(text);
  if (named) return [named[3] ?? '', named[4] ?? '', monthOf(named[2] ?? ''), Number(named[1])];
  const american = /^(\p{L}{3,}) (\d{1,2}),? (\d{4})\b,?(.*)$/iu.exec(text);
  if (american)
    return [american[3] ?? '', american[4] ?? '', monthOf(american[1] ?? ''), Number(american[2])];
  const [, a = '', mark = '', b = '', year = '', rest = ''] =
    /^(\d{1,2})([/.])(\d{1,2})[/.](\d{4})\b,?(.*)$/.exec(text) ?? [];
  if (year === '') return undefined;
  const isDayFirst = mark === '.' || order === 'day-first' || Number(a) > 12;
  if (isDayFirst) return [year, rest, Number(b), Number(a)];
  return order === 'month-first' || Number(b) > 12 ? [year, rest, Number(a), Number(b)] : undefined;
};
/** Whether a text is a date in a form that is accepted, of a day that does not exist. Pure. */
export const namesMissingDay = (text: string): boolean => {
  const [year, rest, month, day] = dayOf(text.trim(), undefined) ?? [];
  if (year === undefined || month === undefined || month < 1 || clock(rest ?? '') === undefined) return false;
  return !formats.date.holds(`${fullYear(year)}-${twoDigits(month)}-${twoDigits(day ?? 0)}`);
};
/** A date of another tool as ISO 8601 in UTC; text that is not a date is returned unchanged. Pure. */
export const readMoment = (text: string, order?: DateOrder): string => {
  const dashed = text.replace(
    /^(\d{4})\/(\d{1,2})\/(\d{1,2})(?![\d/])/,
    (_, year: string, month: string, day: string) =>
      [year, month.padStart(2, '0'), day.padStart(2, '0')].join('-'),
  );
  const iso = momentOf(dashed.replace(/ ?(UTC|GMT)$/, 'Z'));
  if (formats.datetime?.holds(iso) === true) return iso;
  const script = /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2} GMT[+-]\d{4}/.exec(text)?.[0];
  if (script !== undefined && !Number.isNaN(Date.parse(script))) return new Date(script).toISOString();
  const [year, rest, month, day] = dayOf(text.trim(), order) ?? [];
  const time = rest === undefined ? undefined : clock(rest);
  if (year === undefined || time === undefined || month === undefined || month < 1) return text;
  const found = `${fullYear(year)}-${twoDigits(month)}-${twoDigits(day ?? 0)}T${time}Z`;
  // The error shows the cell of the file.
  return formats.datetime?.holds(found) === true ? found : text;
};
