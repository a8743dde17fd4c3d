import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { rawResult, recordResult, type Result } from '../../core/result.ts';
import { bulk } from '../../tracker/bulk/bulk.ts';
import { trackerNaming } from '../../tracker/names/naming.ts';
import { kindNames } from '../../tracker/workspace/kinds.ts';
import { type Plan, type PlanOptions, planText, refusal } from '../../tracker/workspace/plan.ts';
import { planFindings, planFromFile, plannedAsSaved, savePlan } from '../../tracker/workspace/planned.ts';
import { carryOut } from '../../tracker/workspace/read.ts';

const flags = {
  file: {
    effects: ['reads'],
    field: req(str()),
    short: 'f',
    summary: 'The rows; - is standard input',
    value: 'file|-',
    complete: 'file',
  },
  'input-format': {
    field: oneOf('ndjson', 'csv'),
    summary: 'Format of the rows (default: by the name of the file)',
    value: 'ndjson|csv',
  },
  delimiter: {
    field: oneOf('comma', 'semicolon', 'tab'),
    summary: 'What separates the cells of CSV (default: found in the header)',
    value: 'comma|semicolon|tab',
  },
  resource: { field: str(), summary: 'Resource of rows that name none', value: 'resource' },
  op: {
    field: oneOf('create', 'update', 'delete'),
    summary: 'What to do in rows that do not say',
    value: 'create|update|delete',
  },
  concurrency: {
    field: int({ min: 1, max: 64 }),
    summary: 'Requests at the same time (default 4); 1 keeps the order of the rows',
    value: 'number',
  },
  'create-labels': { field: bool(), summary: 'Make labels that rows name and that do not exist yet' },
  'create-categories': { field: bool(), summary: 'Make categories that rows name and that do not exist yet' },
  resume: { field: bool(), summary: 'Resume an interrupted run of the same file' },
  restart: { field: bool(), summary: 'Send every row again after an interrupted run' },
  journal: {
    effects: ['reads', 'writes'],
    field: str(),
    summary: 'File that remembers what was done (default: kept in the state directory)',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
export const bulkCommand = defineCommand({
  path: ['tracker', 'bulk'],
  summary: 'Create, update and delete many records from NDJSON or CSV',
  about:
    'Each row says what to do: {"op":"create","resource":"labels","name":"bug"} or {"op":"update","resource":"stories","id":7,"body":{…}}. ' +
    'In CSV the columns op, resource and id do the same, every other column is a field; an empty cell is left out, null unsets what can be unset, lists are separated by ; or |. ' +
    'A result is printed for each row as it is finished. After an interruption, --resume skips the rows that are done. ' +
    'Without --resume or --restart, bulk refuses a file that an interrupted run has applied in part (exit code 10).',
  flags,
  examples: [
    { line: 'opsctl tracker bulk -f changes.ndjson --dry-run', says: 'Check every row, send nothing' },
    {
      line: 'opsctl tracker bulk -f labels.csv --resource labels --op create --concurrency 8',
      says: 'Labels from a table',
    },
    { line: 'opsctl tracker bulk -f changes.ndjson --resume', says: 'Resume after an interruption' },
  ],
  isCheck: true,
  run: bulk,
});

export const file = {
  effects: ['reads'],
  field: req(str()),
  short: 'f',
  summary: 'The workspace file (YAML or JSON); - is standard input',
  value: 'file|-',
  complete: 'file',
} as const satisfies Flag;
const prune = {
  effects: [],
  field: bool(),
  summary: 'Also remove what the file does not name, in the lists that it has',
} as const satisfies Flag;
const force = { effects: [], field: bool(), summary: 'Prune even what is in use' } as const satisfies Flag;
export const changeFlags = { file, prune, force };
export const optionsOf = (values: Omit<ValuesOf<typeof changeFlags>, 'file'>): PlanOptions => ({
  prune: values.prune ?? false,
  force: values.force ?? false,
});

const workspaceApplyFlags = {
  ...changeFlags,
  file: { ...file, field: str() },
  plan: {
    effects: ['reads'],
    field: str(),
    summary: 'Carry out this plan of `tracker diff --out` instead of a file',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
/** The plan of a file, or one that was kept. */
const planToApply = async (context: Context, values: ValuesOf<typeof workspaceApplyFlags>): Promise<Plan> => {
  const { file: path, plan } = values;
  if ((path === undefined) === (plan === undefined))
    throw invalidArguments([problem('--file', 'required', 'or --plan must be given, and not both')]);
  if (plan !== undefined) return plannedAsSaved(context, plan);
  return (await planFromFile(context, path ?? '', optionsOf(values))).plan;
};
export const applyCommand = defineCommand({
  path: ['tracker', 'apply'],
  summary: 'Make the workspace what a file says: plan first, then the fewest changes',
  about:
    'Records are found by external_id, then by name, so a changed name with the same external_id is a rename. Fields that the file leaves out are left alone. ' +
    'Nothing is removed without --prune, and nothing in use without --force. A second apply of the same file sends nothing.',
  flags: workspaceApplyFlags,
  examples: [
    { line: 'opsctl tracker apply -f workspace.yaml --dry-run', says: 'Only the plan' },
    { line: 'opsctl tracker apply -f workspace.yaml --yes', says: 'In a script' },
  ],
  run: async (context, values) => {
    const plan = await planToApply(context, values);
    const refused = refusal(plan);
    if (refused) throw refused;
    if (context.isDryRun) return recordResult({ ...plan, dry_run: true }, { text: planText(plan) });
    if (plan.actions.length === 0) return recordResult({ ...plan, done: [] }, { text: planText(plan) });
    if (!context.isConfirmed) context.log.info(planText(plan).trimEnd());
    await context.confirm(`Make these ${plan.actions.length} changes?`);
    const done = await carryOut(context, plan).finally(() => trackerNaming.forget(context));
    return recordResult(
      { ...plan, done },
      { text: `${done.length} changed, ${plan.kept} were as the file says\n` },
    );
  },
});

export const diffCommand = defineCommand({
  path: ['tracker', 'diff'],
  summary: 'Show what `tracker apply` would change; exit 20 when that is anything',
  about:
    '--out keeps the plan in a file: `tracker apply --plan` carries out exactly that plan, or refuses when the workspace is another one by then.',
  flags: {
    ...changeFlags,
    out: {
      effects: ['writes'],
      field: str(),
      summary: 'Keep the plan in this file',
      value: 'file',
      complete: 'file',
    },
    markdown: { effects: [], field: bool(), summary: 'As Markdown, for a comment on a pull request' },
  },
  isCheck: true,
  examples: [
    { line: 'opsctl tracker diff -f workspace.yaml', says: 'What would change' },
    { line: 'opsctl tracker diff -f workspace.yaml --markdown', says: 'For a pull request' },
  ],
  run: async (context, values) => {
    const { plan, workspace } = await planFromFile(context, values.file, optionsOf(values));
    const { actions, refused } = plan;
    if (values.out !== undefined)
      await savePlan(context, values.out, { version: 1, workspace, options: optionsOf(values), actions });
    const exit = actions.length + refused.length > 0 ? ('no' as const) : undefined;
    const findings = () => planFindings(plan, values.file);
    if (!values.markdown) return recordResult(plan, { text: planText(plan), findings }, exit);
    const { planMarkdown } = await import('../../tracker/workspace/planned.ts');
    return { ...rawResult(planMarkdown(plan)), view: { findings }, ...(exit === undefined ? {} : { exit }) };
  },
});

export const exportCommand = defineCommand({
  path: ['tracker', 'export'],
  summary:
    'Write labels, categories, groups, custom fields, objectives, projects, iterations, epics, linked files and story templates as a file',
  about: 'The file is what `tracker diff` and `tracker apply` read: applying it unchanged sends nothing.',
  flags: {
    only: { field: list(oneOf(...kindNames)), repeat: true, summary: 'Only these lists', value: 'list' },
    json: { effects: [], field: bool(), summary: 'As data for -o and --jq instead of YAML text' },
  },
  examples: [{ line: 'opsctl tracker export > workspace.yaml', says: 'Everything' }],
  run: async (context, values): Promise<Result> => {
    const kinds = values.only ?? kindNames;
    const { exportData, exportText } = await import('../../tracker/workspace/read.ts');
    return values.json
      ? recordResult(await exportData(context, kinds))
      : { kind: 'raw', chunks: exportText(context, kinds) };
  },
});
