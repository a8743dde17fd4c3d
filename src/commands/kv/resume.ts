import { resumedOptions } from '../../kv/engine/holds.ts';
import { refuseUnseenHold } from '../../kv/engine/unseen-hold.ts';
import { kindOf } from '../../kv/upgrade/plan-kind.ts';
import { defineCommand } from '../../cli/command.ts';
import { conducted } from './conducted.ts';
import { confirmStart } from './confirm-start.ts';
import { namesHold, resumeFlags } from './resume-flags.ts';
import { endedRun } from './ended-run.ts';
import { unfinished } from './unfinished.ts';

export const resume = defineCommand({
  path: ['kv', 'resume'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Go on with an upgrade that was stopped, held, interrupted or crashed',
  about:
    'The journal says what was begun; the members say what is true. Nothing is done twice, and every guard runs again before the next member is stopped. ' +
    'A run that holds goes on when somebody confirms it at a terminal, or with --past-hold.',
  flags: resumeFlags,
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
    const { opened, found, plan, isRollback } = await unfinished(context, values);
    // Who is asked at a terminal sees the hold.
    if (!context.isInteractive || context.isConfirmed)
      refuseUnseenHold(found, { isNamed: namesHold(values), hasWindow: values.until !== undefined });
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
    const { rollBack } = await import('../../kv/upgrade/execute/rollback.ts');
    return conducted(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});
