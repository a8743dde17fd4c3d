import { bool } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { heldBy, isHeldForWindow, resumedOptions } from '../../kv-upgrade/journal/holds.ts';
import { kindOf } from '../../kv-upgrade/plan-kind.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { clusterFlags } from './cluster.ts';
import { planFlags } from './planning.ts';
import { conducted, confirmStart, crossingFlags, endedRun, runFlags, unfinished } from './running.ts';
import type { Unfinished } from './running.ts';

const flags = {
  ...clusterFlags,
  ...runFlags,
  ...crossingFlags,
  'past-hold': { field: bool(), summary: 'With --yes: go on with a run that holds' },
  'hold-last': {
    field: bool(),
    summary: 'Stop before the last member, also when the run has held there already',
  },
  'hold-after': { ...planFlags['hold-after'], summary: 'Stop again after so many more members' },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

/** What repeats a command until it succeeds must not pass a hold: somebody put it there to look first. */
const refuseUnseenHold = (context: Context, values: Given, { found }: Unfinished): void => {
  const held = heldBy(found.entries);
  if (held === undefined || (context.isInteractive && !context.isConfirmed)) return;
  const isNamed = (['past-hold', 'accept-point-of-no-return', 'hold-after'] as const).some(
    (name) => values[name] !== undefined && values[name] !== false,
  );
  if (isNamed || (values.until !== undefined && isHeldForWindow(found.entries))) return;
  throw new AppError('stopped', `run ${found.run} holds: ${held}`, {
    code: 'HELD',
    tryThis: [
      ...(isHeldForWindow(found.entries) ? ['opsctl kv resume --yes --until TIME, in the next window'] : []),
      'opsctl kv resume --yes --past-hold, to go on up to the last member of the old version',
      'opsctl kv resume --yes --accept-point-of-no-return, to go on to the end',
      'opsctl kv rollback',
    ],
  });
};

export const resume = defineCommand({
  path: ['kv', 'resume'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Go on with an upgrade that was stopped, held, interrupted or crashed',
  about:
    'The journal says what was begun; the members say what is true. Nothing is done twice, and every guard runs again before the next member is stopped. ' +
    'A run that holds goes on when somebody confirms it at a terminal, or with --past-hold.',
  flags,
  examples: [
    { line: 'opsctl kv resume --cluster cluster.yaml', says: 'after a crash, a Ctrl-C or a hold' },
    {
      line: 'opsctl kv resume --cluster cluster.yaml --yes --accept-point-of-no-return',
      says: 'unattended, to the end',
    },
  ],
  run: async (context, values) => {
    const over = await endedRun(context, values);
    if (over) return over;
    const open = await unfinished(context, values);
    const { opened, found, plan, isRollback } = open;
    refuseUnseenHold(context, values, open);
    await confirmStart(
      context,
      opened.cluster.name,
      `Go on with the ${isRollback ? 'rollback' : kindOf(plan)} of ${opened.cluster.name}?`,
      values,
    );
    if (!isRollback) {
      const holds = { last: values['hold-last'], after: values['hold-after'] };
      const options = { ...plan.options, ...resumedOptions(plan, found.entries, holds) };
      return conducted(context, values, {
        opened,
        plan: { ...plan, options },
        run: found.run,
        action: 'resume',
      });
    }
    const unused = (['until', 'pause-while-command', 'pause-while-query'] as const).filter(
      (name) => values[name] !== undefined,
    );
    if (unused.length > 0)
      context.log.warn(
        `a rollback is never held half-way: ${unused.map((name) => `--${name}`).join(', ')} has no effect on it`,
      );
    const { rollBack } = await import('../../kv-upgrade/execute/rollback.ts');
    return conducted(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});
