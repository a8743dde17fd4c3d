import type { Context } from '../../cli/command.ts';
import { columnsOf } from '../../core/wrap.ts';
import type { Crossing } from '../../kv/upgrade/present/crossing-text.ts';
import { crosses } from '../../kv/upgrade/plan-kind.ts';
import type { Plan } from '../../kv/engine/types.ts';
import type { CrossingValues } from './run-flags.ts';
import type { Ask } from './run.ts';

/**
 * Before the last member of the old version. --yes starts a run and no more: only a person at a terminal or the flag made for it lets it cross,
 * so that nothing that repeats a command can. The word to type is another one than the one that started the run.
 */
export const confirmCrossing = async (
  context: Context,
  values: CrossingValues,
  plan: Plan,
  crossing: Crossing,
  ask: Ask,
  withdrawn: AbortSignal,
): Promise<boolean> => {
  if (values['accept-point-of-no-return'] === true) return true;
  if (!context.isInteractive || context.isConfirmed) return false;
  const { terminal } = context.host;
  const { crossingText } = await import('../../kv/upgrade/present/crossing-text.ts');
  const text = crossingText(plan, crossing, columnsOf(terminal.stderr));
  const question = `${text}\n  Type ${plan.to} to cross it, anything else to hold:`;
  return ask(async () => (await terminal.prompts.text(question, { signal: withdrawn })).trim() === plan.to);
};

/** Better said at the start than after an hour. */
export const reportUnattended = (
  { isInteractive, isConfirmed, log }: Context,
  values: CrossingValues,
  plan: Plan,
): void => {
  const { options, from } = plan;
  if (!crosses(plan)) return;
  if ((isInteractive && !isConfirmed) || values['accept-point-of-no-return'] === true) return;
  if (options.hold_last || options.hold_after !== undefined) return;
  log.info(
    `nobody will be asked: this run holds before the last member on ${from}; --accept-point-of-no-return lets it go on`,
  );
};
