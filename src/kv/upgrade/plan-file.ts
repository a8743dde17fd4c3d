import { resolve } from 'node:path';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { withCurrentFindings } from '../engine/earlier-names.ts';
import type { Plan, PlanOptions } from '../engine/types.ts';

/** What the plan is made again with; everything else of the file is compared by its digest. */
const areOptions = (given: unknown): given is PlanOptions => {
  const { accept, copy_data, hold_last, stable_seconds, to, hold_after, stable_before_last_seconds } =
    (given ?? {}) as Record<string, unknown>;
  const isAbsentOr = (type: string, value: unknown): boolean => value === undefined || typeof value === type;
  return (
    Array.isArray(accept) &&
    accept.every((name) => typeof name === 'string') &&
    typeof copy_data === 'boolean' &&
    typeof hold_last === 'boolean' &&
    typeof stable_seconds === 'number' &&
    isAbsentOr('string', to) &&
    [hold_after, stable_before_last_seconds].every((value) => isAbsentOr('number', value))
  );
};

export const readPlan = async (host: Host, path: string): Promise<Plan> => {
  const text = await host.files.read(resolve(host.cwd, path));
  if (text === undefined)
    throw new AppError('usage', `--plan: there is no file ${path}`, { code: 'NO_PLAN' });
  try {
    const plan = withCurrentFindings(JSON.parse(text) as Plan);
    if (plan.format === 1 && typeof plan.digest === 'string' && areOptions(plan.options)) return plan;
  } catch {
    // Said below: a file that is no JSON and one that is no plan are the same mistake.
  }
  throw new AppError('usage', `--plan: ${path} is not a plan`, {
    code: 'NO_PLAN',
    tryThis: ['opsctl kv plan --out plan.json'],
  });
};
