import { AppError } from '../../core/problem.ts';
import type { Context } from '../../cli/command.ts';
import { type Lists, act } from './apply-step.ts';
import type { Action, Plan } from './plan.ts';

/** Makes the changes of a plan one after the other. What was made before one that fails is said with it. */
export const carryOut = async (context: Context, plan: Plan): Promise<Action[]> => {
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
