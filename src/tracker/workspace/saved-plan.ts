import { resolve } from 'node:path';
import { AppError, usageError } from '../../core/problem.ts';
import type { Context } from '../../cli/command.ts';
import type { Workspace } from './kinds.ts';
import { type Action, type Plan, type PlanOptions, planWorkspace } from './plan.ts';
import { readCurrent } from './read.ts';

/** A plan as a file: what was asked for, and what that meant when somebody read it. */
export type SavedPlan = {
  readonly version: 1;
  readonly workspace: Workspace;
  readonly options: PlanOptions;
  readonly actions: readonly Action[];
};

const absolute = ({ host }: Context, path: string): string => resolve(host.cwd, path);

export const savePlan = async (context: Context, path: string, saved: SavedPlan): Promise<void> => {
  await context.host.files.replace(absolute(context, path), `${JSON.stringify(saved, null, 2)}\n`, 0o600);
  context.log.info(`the plan is in ${path}; carry it out with: opsctl tracker apply --plan ${path}`);
};

const parsed = (text: string): Partial<SavedPlan> | undefined => {
  try {
    return JSON.parse(text) as Partial<SavedPlan>;
  } catch {
    return undefined;
  }
};

const readPlan = async (context: Context, path: string): Promise<SavedPlan> => {
  const text = await context.host.files.read(absolute(context, path));
  if (text === undefined) throw usageError(`--plan names ${path}, which does not exist`);
  const saved = parsed(text);
  if (
    saved?.version !== 1 ||
    saved.workspace === undefined ||
    saved.options === undefined ||
    !Array.isArray(saved.actions)
  )
    throw usageError(`${path} is not a plan of \`opsctl tracker diff --out\``);
  return saved as SavedPlan;
};

/** Plans again from what is there now: only the very plan that was read may be carried out. */
export const plannedAsSaved = async (context: Context, path: string): Promise<Plan> => {
  const { workspace, options, actions } = await readPlan(context, path);
  const { current, lookup } = await readCurrent(context, Object.keys(workspace));
  const plan = planWorkspace(workspace, current, lookup, options);
  if (JSON.stringify(plan.actions) === JSON.stringify(actions)) return plan;
  throw new AppError(
    'unsafe',
    `the workspace is not what it was when ${path} was made; nothing was changed`,
    {
      code: 'PLAN_OUTDATED',
      tryThis: ['make the plan again: opsctl tracker diff -f FILE --out PLAN'],
    },
  );
};
