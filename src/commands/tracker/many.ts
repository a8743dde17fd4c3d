import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { countText } from '../../core/format.ts';
import { type Advice, after } from '../../core/next.ts';
import { rawResult, recordResult, type Result, rowsResult } from '../../core/result.ts';
import { shellWord } from '../../core/shell.ts';
import { bulk } from '../../tracker/bulk/bulk.ts';
import { presetNames } from '../../tracker/bulk/presets.ts';
import { undoBulk } from '../../tracker/bulk/undo.ts';
import { listRuns } from '../../tracker/bulk/journal.ts';
import { trackerNames } from '../../tracker/names/name-resolution.ts';
import { kindNames } from '../../tracker/workspace/kinds.ts';
import { type Plan, type PlanOptions, planText, refusal } from '../../tracker/workspace/plan.ts';
import {
  planFindings,
  planFromFile,
  planAsSaved,
  refuseOtherPlan,
  savePlan,
} from '../../tracker/workspace/workspace-file.ts';
import { applyPlan } from '../../tracker/workspace/read.ts';

const flags = {
  file: {
    effects: ['reads'],
    field: req(str()),
    short: 'f',
    summary: 'File with the rows; - reads standard input',
    value: 'file|-',
    complete: 'file',
  },
  'input-format': {
    field: oneOf('ndjson', 'csv'),
    summary: 'Format of the rows (default: from the file name)',
    value: 'ndjson|csv',
  },
  delimiter: {
    field: oneOf('comma', 'semicolon', 'tab'),
    summary: 'Cell separator of CSV (default: detected from the header)',
    value: 'comma|semicolon|tab',
  },
  resource: { field: str(), summary: 'Default resource', value: 'resource' },
  map: {
    field: list(str()),
    repeat: true,
    summary: 'Columns and the fields to read them into: Summary=name,Issue key=external_id',
    value: 'column=field',
  },
  'map-file': {
    effects: ['reads'],
    field: str(),
    summary: 'File with columns, values, users and states of another tool',
    value: 'file',
    complete: 'file',
  },
  from: {
    field: oneOf(...presetNames),
    summary: 'Map of a CSV export of another tool; rows become stories',
    value: presetNames.join('|'),
  },
  'ignore-unknown': { field: bool(), summary: 'Ignore columns that are not fields; a report lists them' },
  op: {
    field: oneOf('create', 'update', 'delete', 'upsert'),
    summary: 'Default operation',
    value: 'create|update|delete|upsert',
  },
  concurrency: {
    field: int({ min: 1, max: 64 }),
    summary: 'Number of parallel requests (default 4); 1 keeps the order of the rows',
    value: 'number',
  },
  'create-labels': { field: bool(), summary: 'Create missing labels' },
  'create-categories': { field: bool(), summary: 'Create missing categories' },
  resume: { field: bool(), summary: 'Resume an interrupted run of the same file' },
  restart: { field: bool(), summary: 'Send every row of an earlier run again' },
  journal: {
    effects: ['reads', 'writes'],
    field: str(),
    summary: 'Journal of completed rows (default: in the state directory)',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
const { op: _op, resume: _resume, restart: _restart, ...syncFlags } = flags;
export const syncCommand = defineCommand({
  path: ['tracker', 'sync'],
  readsBeforeWrites: true,
  summary: 'Make records match the rows of a file, by external ID',
  about:
    'Each row creates the record with its external_id, or changes the fields that differ. A second run of the same file sends no change. ' +
    'Rows may name other records as external:KEY. Two rows, or two records, with the same external_id are an error. ' +
    'With --from, the command reads the CSV export of another tool; after the run it lists the columns and values that it left out.',
  flags: syncFlags,
  examples: [
    {
      line: 'opsctl tracker sync -f export.csv --from jira --dry-run',
      says: 'Check an import from Jira and list the changes',
    },
    {
      line: 'opsctl tracker sync -f rows.csv --resource stories --map "Summary=name,Issue key=external_id"',
      says: 'Map the columns of a table',
    },
    { line: 'opsctl tracker sync -f rows.ndjson --resource epics', says: 'Create or change epics' },
  ],
  isCheck: true,
  // An upsert finds the rows of an earlier run, so that a repeated run needs no flag.
  run: (context, values) => bulk(context, { ...values, op: 'upsert', restart: true, isSync: true }),
});
export const bulkCommand = defineCommand({
  path: ['tracker', 'bulk'],
  readsBeforeWrites: true,
  summary: 'Create, update and delete many records from NDJSON or CSV',
  about:
    'Each row is one change: {"op":"create","resource":"labels","name":"bug"} or {"op":"update","resource":"stories","id":7,"body":{…}}. ' +
    'The operation upsert creates a record or changes it, found by its external_id; an id of external:KEY addresses a record by its external_id. ' +
    'In CSV, the columns op, resource and id select the change, and every other column is a field. An empty cell leaves the field unchanged, null clears it, and ;, | or commas separate the items of a list. ' +
    'opsctl prints a result for each row; a terminal shows a progress bar and the rows that failed, unless -o is given. After an interruption, --resume skips the rows that are done. ' +
    'Without --resume or --restart, bulk refuses a file that an interrupted run has applied in part, and a file whose records a finished run created (exit code 10).',
  flags,
  examples: [
    { line: 'opsctl tracker bulk -f changes.ndjson --dry-run', says: 'Check every row without a change' },
    {
      line: 'opsctl tracker bulk -f labels.csv --resource labels --op create --concurrency 8',
      says: 'Create labels from a table',
    },
    { line: 'opsctl tracker bulk -f changes.ndjson --resume', says: 'Resume after an interruption' },
  ],
  isCheck: true,
  run: bulk,
});

export const runsCommand = defineCommand({
  path: ['tracker', 'bulk', 'runs'],
  summary: 'List bulk runs that can be undone',
  about:
    'Lists the runs of `tracker bulk` and `tracker sync` whose journals are on this machine, the newest first. The ID of a run is the argument of `tracker bulk undo`.',
  examples: [{ line: 'opsctl tracker bulk runs', says: 'Find the ID of the last run' }],
  run: async (context) => {
    const runs = await listRuns(context);
    const rows = runs.map(({ id, startedAt, about, isFinished, effects, undone }) => ({
      id,
      started_at: new Date(startedAt).toISOString(),
      file: about?.file ?? null,
      service: about?.service ?? null,
      is_finished: isFinished,
      created: effects.filter(({ before }) => before.op === 'create').length,
      updated: effects.filter(({ before }) => before.op === 'update').length,
      deleted: effects.filter(({ before }) => before.op === 'delete').length,
      undone,
    }));
    const columns = ['id', 'started_at', 'file', 'created', 'updated', 'deleted', 'undone', 'service'];
    return rowsResult(rows, { columns });
  },
});
export const undoCommand = defineCommand({
  path: ['tracker', 'bulk', 'undo'],
  readsBeforeWrites: true,
  summary: 'Undo a bulk run from its journal',
  about:
    'Deletes the records that the run created and restores the values that it replaced, the last change first. ' +
    'Records that changed since the run are refused and named, unless --force is given. ' +
    'The service cannot restore a deleted record; --recreate creates it again with a new ID. ' +
    'Labels and categories that rows created by name are kept, and a moved record keeps its position. ' +
    'The command shows the plan and asks before the first change. It can be repeated after an interruption. ' +
    'Exits with code 9 if some rows were not undone, and with code 10 if none were.',
  args: [
    {
      name: 'run',
      effects: ['reads', 'writes'],
      field: req(str()),
      summary: 'ID of the run, or the journal that --journal wrote',
    },
  ],
  flags: {
    force: { effects: [], field: bool(), summary: 'Undo rows even if their records changed since the run' },
    recreate: { effects: [], field: bool(), summary: 'Create deleted records again, with new IDs' },
  },
  examples: [
    { line: 'opsctl tracker bulk undo mhx2k9p1 --dry-run', says: 'Show what an undo would do' },
    { line: 'opsctl tracker bulk undo mhx2k9p1 --yes', says: 'Undo a run in a script' },
  ],
  run: (context, { run, force = false, recreate = false }) => undoBulk(context, { run, force, recreate }),
});

const file = {
  effects: ['reads'],
  field: req(str()),
  short: 'f',
  summary: 'Workspace file (YAML or JSON); - reads standard input',
  value: 'file|-',
  complete: 'file',
} as const satisfies Flag;
const prune = {
  effects: [],
  field: bool(),
  summary: 'Also remove records that the file does not contain, for lists in the file',
} as const satisfies Flag;
const force = {
  effects: [],
  field: bool(),
  summary: 'Prune even records that are in use',
} as const satisfies Flag;
const changeFlags = { file, prune, force };
const optionsOf = (values: Omit<ValuesOf<typeof changeFlags>, 'file'>): PlanOptions => ({
  prune: values.prune ?? false,
  force: values.force ?? false,
});

const workspaceApplyFlags = {
  ...changeFlags,
  file: { ...file, field: str() },
  plan: {
    effects: ['reads'],
    field: str(),
    summary: 'Apply this plan of `tracker diff --out` instead of a file',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
/** The plan for a file, or a saved plan. */
const planToApply = async (context: Context, values: ValuesOf<typeof workspaceApplyFlags>) => {
  const { file: path, plan } = values;
  if ((path === undefined) === (plan === undefined))
    throw invalidArguments([problem('--file', 'required', 'or --plan is required, but not both')]);
  if (plan !== undefined) return planAsSaved(context, plan);
  return planFromFile(context, path ?? '', optionsOf(values));
};
export const applyCommand = defineCommand({
  path: ['tracker', 'apply'],
  readsBeforeWrites: true,
  summary: 'Apply a workspace file',
  about:
    'Finds records by external_id, then by name; a changed name with the same external_id is a rename. Fields that the file omits are not changed. Records are removed only with --prune, and records in use only with --force. A second apply of the same file sends no changes.',
  flags: workspaceApplyFlags,
  examples: [
    { line: 'opsctl tracker apply -f workspace.yaml --dry-run', says: 'Show only the plan' },
    { line: 'opsctl tracker apply -f workspace.yaml --yes', says: 'Apply in a script' },
  ],
  run: async (context, values) => {
    const planned = await planToApply(context, values);
    const { plan, planAgain } = planned;
    const refused = refusal(plan);
    if (refused) throw refused;
    if (context.isDryRun)
      return recordResult({ ...plan, dry_run: true }, { text: planText(plan), isProse: true });
    if (plan.actions.length === 0)
      return recordResult({ ...plan, done: [] }, { text: planText(plan), isProse: true, isReport: true });
    if (!context.isConfirmed) context.log.info(planText(plan).trimEnd(), true);
    await context.confirm(`Make ${countText(plan.actions.length, 'change')}?`);
    if (!context.isConfirmed) await refuseOtherPlan(planned);
    const done = await applyPlan(context, plan, planAgain).finally(() => trackerNames.forget(context));
    return recordResult(
      { ...plan, done },
      { text: `${done.length} changed, ${plan.kept} already up to date\n`, isReport: true },
    );
  },
});

/** The next step after a plan was saved: only a plan that `tracker apply` accepts names the command. */
const savedMessage = ({ actions, refused }: Plan, path: string | undefined): Advice | undefined => {
  if (path === undefined) return undefined;
  if (refused.length > 0) return `wrote plan to ${path}; \`tracker apply\` rejects it`;
  if (actions.length === 0) return `wrote plan to ${path}`;
  return after(`wrote plan to ${path}; apply it with`, ['tracker', 'apply', '--plan', shellWord(path)]);
};
export const diffCommand = defineCommand({
  path: ['tracker', 'diff'],
  summary: 'Show what `tracker apply` would change',
  about:
    'Exits with code 20 if there are changes. --out saves the plan to a file: `tracker apply --plan` applies exactly that plan, or fails if the workspace has changed.',
  flags: {
    ...changeFlags,
    out: {
      effects: ['writes'],
      field: str(),
      summary: 'File to write the plan to',
      value: 'file',
      complete: 'file',
    },
    markdown: { effects: [], field: bool(), summary: 'Print Markdown for a pull request comment' },
  },
  isCheck: true,
  examples: [
    { line: 'opsctl tracker diff -f workspace.yaml', says: 'Show the pending changes' },
    { line: 'opsctl tracker diff -f workspace.yaml --markdown', says: 'Write a comment for a pull request' },
  ],
  run: async (context, values) => {
    const { plan, workspace } = await planFromFile(context, values.file, optionsOf(values));
    const { actions, refused } = plan;
    if (values.out !== undefined)
      await savePlan(context, values.out, {
        ...{ version: 1, file: values.file, workspace },
        ...{ options: optionsOf(values), actions },
      });
    const exit = actions.length + refused.length > 0 ? ('no' as const) : undefined;
    const findings = () => planFindings(plan, values.file);
    const message = savedMessage(plan, values.out);
    if (!values.markdown)
      return recordResult(plan, { text: planText(plan), isProse: true, findings, message }, exit);
    const { planMarkdown } = await import('../../tracker/workspace/workspace-file.ts');
    return {
      ...rawResult(planMarkdown(plan)),
      view: { findings, message },
      ...(exit === undefined ? {} : { exit }),
    };
  },
});

export const exportCommand = defineCommand({
  path: ['tracker', 'export'],
  summary: 'Export the workspace as a file',
  about:
    'Writes labels, categories, groups, custom fields, objectives, projects, iterations, epics, linked files and story templates. `tracker diff` and `tracker apply` read the file; applying it unchanged sends no changes.',
  flags: {
    only: {
      field: list(oneOf(...kindNames)),
      repeat: true,
      summary: 'Export only these lists',
      value: 'list',
    },
    json: { effects: [], field: bool(), summary: 'Print data for -o and --jq instead of YAML text' },
  },
  examples: [{ line: 'opsctl tracker export > workspace.yaml', says: 'Export everything' }],
  run: async (context, values): Promise<Result> => {
    const kinds = values.only ?? kindNames;
    const { exportData, exportText } = await import('../../tracker/workspace/read.ts');
    return values.json
      ? recordResult(await exportData(context, kinds))
      : { kind: 'raw', chunks: exportText(context, kinds) };
  },
});
