/** How the values of one field are read from a column of another tool. */
export type FieldRule = {
  readonly field: string;
  /** Values of the column as values of the field; keys are compared without case. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Leaves the field unset if the workspace does not have the user, state or value; the report lists the value. */
  readonly isOptional?: boolean;
  /** Reads the text of a cell that the tool wrote in its own form. */
  readonly read?: (cell: string) => string;
};
type PresetRule = FieldRule & {
  /** Names of the column in exports, without case; the first that the file has is used. */
  readonly columns: readonly string[];
};
export const presetNames = ['jira', 'linear', 'trello', 'asana', 'github'] as const;
export type PresetName = (typeof presetNames)[number];

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
const optional = { isOptional: true } as const;
const labelColor =
  /\((?:green|yellow|orange|red|purple|blue|sky|lime|pink|black|none)(?:_(?:dark|light))?\)\s*(?:[;,|]\s*|$)/gi;
/** An item of a list cell in quotes: a comma inside it does not split it. */
const quoteItem = (item: string): string => `"${item.replaceAll('"', '""')}"`;
/** Items for the colors of labels: `Urgent, now (red), (blue)` has two labels. A label without a name keeps its color. */
const withoutColors = (cell: string): string => {
  const items: string[] = [];
  let end = 0;
  for (const { 0: color, index } of cell.matchAll(labelColor)) {
    const name = cell.slice(end, index).trim();
    items.push(quoteItem(name === '' ? color.replace(/[;,|\s]+$/, '') : name));
    end = index + color.length;
  }
  return [...items, cell.slice(end)].join(';');
};
/** The tool writes a quote before a text that a spreadsheet reads as a formula. */
const withoutFormulaMark = (cell: string): string => cell.replace(/^'(?=[=+\-@\t\r])/, '');
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
    { field: 'deadline', columns: ['Due Date', 'Due'] },
    { field: 'description', columns: ['Description'] },
    {
      field: 'estimate',
      columns: ['Custom field (Story Points)', 'Custom field (Story point estimate)', 'Story Points'],
    },
    { field: 'created_at', columns: ['Created'] },
  ],
  linear: [
    { field: 'name', columns: ['Title'], read: withoutFormulaMark },
    { field: 'external_id', columns: ['ID'] },
    { field: 'workflow_state_id', columns: ['Status'], ...optional },
    { field: 'owner_ids', columns: ['Assignee'], ...optional },
    { field: 'requested_by_id', columns: ['Creator'], ...optional },
    { field: 'labels', columns: ['Labels'] },
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
    { field: 'labels', columns: ['Labels'], read: withoutColors },
    { field: 'deadline', columns: ['Due Date', 'Due'] },
    { field: 'description', columns: ['Card Description', 'Description'] },
    { field: 'archived', columns: ['Archived'] },
  ],
  asana: [
    { field: 'name', columns: ['Name', 'Task Name'] },
    { field: 'external_id', columns: ['Task ID', 'Task Id'] },
    { field: 'workflow_state_id', columns: ['Section/Column', 'Section'], ...optional },
    { field: 'owner_ids', columns: ['Assignee Email', 'Assignee'], ...optional },
    { field: 'labels', columns: ['Tags'] },
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
};
