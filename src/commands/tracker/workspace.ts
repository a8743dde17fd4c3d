import { bool, list, oneOf, req, str } from '../../core/field.ts';
import type { CheckFinding } from '../../core/finding.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { rawResult, recordResult, type Result } from '../../core/result.ts';
import { defineCommand, type Command, type Context, type Flag, type ValuesOf } from '../../cli/command.ts';
import { trackerNaming } from '../../names/tracker-naming.ts';
import { type Lists, act } from '../../workspace/apply-step.ts';
import { type Workspace, kindNames } from '../../workspace/kinds.ts';
import { withMemberIds } from '../../workspace/members.ts';
import {
  type Action,
  type Plan,
  type PlanOptions,
  planText,
  planWorkspace,
  refusal,
} from '../../workspace/plan.ts';
import { readCurrent, readWorkspace } from '../../workspace/read.ts';
import { plannedAsSaved, savePlan } from '../../workspace/saved-plan.ts';

const file = {
  field: req(str()),
  short: 'f',
  summary: 'The workspace file (YAML or JSON); - is standard input',
  value: 'file|-',
  complete: 'file',
} as const satisfies Flag;
const prune = {
  field: bool(),
  summary: 'Also remove what the file does not name, in the lists that it has',
} as const satisfies Flag;
const force = { field: bool(), summary: 'Prune even what is in use' } as const satisfies Flag;

const changeFlags = { file, prune, force };
type ChangeValues = ValuesOf<typeof changeFlags>;

const optionsOf = (values: Omit<ChangeValues, 'file'>): PlanOptions => ({
  prune: values.prune ?? false,
  force: values.force ?? false,
});

const planned = async (
  context: Context,
  values: ChangeValues,
): Promise<{ plan: Plan; workspace: Workspace }> => {
  const workspace = await withMemberIds(context, await readWorkspace(context, values.file));
  const { current, lookup } = await readCurrent(context, Object.keys(workspace));
  return { plan: planWorkspace(workspace, current, lookup, optionsOf(values)), workspace };
};

const exportCommand = defineCommand({
  path: ['tracker', 'export'],
  summary:
    'Write labels, categories, groups, custom fields, objectives, projects, iterations, epics, linked files and story templates as a file',
  about: 'The file is what `tracker diff` and `tracker apply` read: applying it unchanged sends nothing.',
  flags: {
    only: { field: list(oneOf(...kindNames)), repeat: true, summary: 'Only these lists', value: 'list' },
    json: { field: bool(), summary: 'As data for -o and --jq instead of YAML text' },
  },
  examples: [{ line: 'opsctl tracker export > workspace.yaml', says: 'Everything' }],
  run: async (context, values): Promise<Result> => {
    const kinds = values.only ?? kindNames;
    const { exportData, exportText } = await import('../../workspace/export.ts');
    return values.json
      ? recordResult(await exportData(context, kinds))
      : { kind: 'raw', chunks: exportText(context, kinds) };
  },
});

/** Each difference is a failure beside the file that was to be true. */
const planFindings = ({ actions, refused, kept }: Plan, path: string): CheckFinding[] => {
  const file = path === '-' ? {} : { file: path };
  const found = [
    ...actions.map(({ action, kind, name }) => ({
      ...{ rule: 'difference', level: 'fail' as const, subject: `${kind} ${name}` },
      ...{ message: `${action} ${kind} ${name}`, ...file },
    })),
    ...refused.map((one) => ({
      ...{ rule: 'refused', level: 'fail' as const, message: `${one.path} ${one.message}`, ...file },
      ...(one.line === undefined ? {} : { line: one.line }),
    })),
  ];
  if (found.length > 0) return found;
  return [{ rule: 'difference', level: 'pass', message: `${kept} records are as the file says`, ...file }];
};

const diffCommand = defineCommand({
  path: ['tracker', 'diff'],
  summary: 'Show what `tracker apply` would change; exit 20 when that is anything',
  about:
    '--out keeps the plan in a file: `tracker apply --plan` carries out exactly that plan, or refuses when the workspace is another one by then.',
  flags: {
    ...changeFlags,
    out: { field: str(), summary: 'Keep the plan in this file', value: 'file', complete: 'file' },
    markdown: { field: bool(), summary: 'As Markdown, for a comment on a pull request' },
  },
  isCheck: true,
  examples: [
    { line: 'opsctl tracker diff -f workspace.yaml', says: 'What would change' },
    { line: 'opsctl tracker diff -f workspace.yaml --markdown', says: 'For a pull request' },
  ],
  run: async (context, values) => {
    const { plan, workspace } = await planned(context, values);
    const { actions, refused } = plan;
    if (values.out !== undefined)
      await savePlan(context, values.out, { version: 1, workspace, options: optionsOf(values), actions });
    const exit = actions.length + refused.length > 0 ? ('no' as const) : undefined;
    const findings = () => planFindings(plan, values.file);
    if (!values.markdown) return recordResult(plan, { text: planText(plan), findings }, exit);
    const { planMarkdown } = await import('../../workspace/plan-markdown.ts');
    return { ...rawResult(planMarkdown(plan)), view: { findings }, ...(exit === undefined ? {} : { exit }) };
  },
});

const carryOut = async (context: Context, plan: Plan): Promise<Action[]> => {
  const done: Action[] = [];
  const lists: Lists = new Map();
  for (const action of plan.actions) {
    if (context.signal.aborted)
      throw new AppError('stopped', `stopped after ${done.length} of ${plan.actions.length} changes`, {
        tryThis: ['run the same apply again: it goes on from what is there'],
      });
    try {
      await act(context, lists, action);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const category = done.length > 0 ? 'partial' : error.category;
      throw new AppError(
        category,
        `${action.action} ${action.kind} ${action.name}: ${error.message} (${done.length} of ${plan.actions.length} changes were made)`,
        {
          ...error.detail,
          tryThis: [
            ...(error.detail.tryThis ?? []),
            'fix the cause and run the same apply again: it goes on from what is there',
          ],
        },
      );
    }
    done.push(action);
    context.log.info(`${action.action}d ${action.kind}: ${action.name}`);
  }
  return done;
};

type ApplyValues = Omit<ChangeValues, 'file'> & { readonly file?: string; readonly plan?: string };

/** The plan of a file, or one that was kept. */
const planToApply = async (context: Context, values: ApplyValues): Promise<Plan> => {
  const { file: path, plan } = values;
  if ((path === undefined) === (plan === undefined))
    throw invalidArguments([problem('--file', 'required', 'or --plan must be given, and not both')]);
  if (plan !== undefined) return plannedAsSaved(context, plan);
  return (await planned(context, { ...values, file: path ?? '' })).plan;
};

const applyCommand = defineCommand({
  path: ['tracker', 'apply'],
  summary: 'Make the workspace what a file says: plan first, then the fewest changes',
  about:
    'Records are found by external_id, then by name, so a changed name with the same external_id is a rename. Fields that the file leaves out are left alone. ' +
    'Nothing is removed without --prune, and nothing in use without --force. A second apply of the same file sends nothing.',
  flags: {
    ...changeFlags,
    file: { ...file, field: str() },
    plan: {
      field: str(),
      summary: 'Carry out this plan of `tracker diff --out` instead of a file',
      value: 'file',
      complete: 'file',
    },
  },
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

export const workspaceCommands: readonly Command[] = [exportCommand, diffCommand, applyCommand];
