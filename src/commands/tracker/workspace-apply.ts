import { str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { trackerNaming } from '../../tracker/names/tracker-naming.ts';
import { carryOut } from '../../tracker/workspace/carry-out.ts';
import { type Plan, planText, refusal } from '../../tracker/workspace/plan.ts';
import { planned } from '../../tracker/workspace/planned.ts';
import { plannedAsSaved } from '../../tracker/workspace/saved-plan.ts';
import { changeFlags, file, optionsOf } from './workspace-flags.ts';

const flags = {
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
const planToApply = async (context: Context, values: ValuesOf<typeof flags>): Promise<Plan> => {
  const { file: path, plan } = values;
  if ((path === undefined) === (plan === undefined))
    throw invalidArguments([problem('--file', 'required', 'or --plan must be given, and not both')]);
  if (plan !== undefined) return plannedAsSaved(context, plan);
  return (await planned(context, path ?? '', optionsOf(values))).plan;
};

export const applyCommand = defineCommand({
  path: ['tracker', 'apply'],
  summary: 'Make the workspace what a file says: plan first, then the fewest changes',
  about:
    'Records are found by external_id, then by name, so a changed name with the same external_id is a rename. Fields that the file leaves out are left alone. ' +
    'Nothing is removed without --prune, and nothing in use without --force. A second apply of the same file sends nothing.',
  flags,
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
