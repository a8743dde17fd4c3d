import type { Context } from '../../cli/command.ts';
import { parseDuration } from '../../core/duration.ts';
import { usageError } from '../../core/problem.ts';
import { refuseLongSecret } from '../../core/secret-size.ts';
import type { ImpactProbe } from '../../kv/upgrade/window/window.ts';
import type { Until } from '../../kv/upgrade/window/until.ts';
import type { Window } from '../../kv/upgrade/window/window-types.ts';
import { earlierMs } from './shown-plan.ts';
import type { Ask } from './run.ts';
import { windowFlags, type WindowValues } from './window-flags.ts';

const defaultPause = '1h';

/** What was given for `--until` and the probes, as the run takes it. */
const given = async (
  { host, log }: Context,
  values: WindowValues,
): Promise<{ readonly until: Until | undefined; readonly probes: ImpactProbe[] }> => {
  const { probesOf, untilOf } = await import('../../kv/upgrade/window/given-window.ts');
  const token = host.env['OPSCTL_PROMETHEUS_TOKEN'];
  if (token) {
    refuseLongSecret('config', 'OPSCTL_PROMETHEUS_TOKEN', token);
    log.hide(token);
  }
  return { until: untilOf(host, values.until), probes: probesOf(values, token) };
};

const isAsked = (values: WindowValues): boolean =>
  (Object.keys(windowFlags) as (keyof typeof windowFlags)[]).some((name) => values[name] !== undefined);

const eachConfirmed =
  ({ host }: Context, ask: Ask) =>
  (member: string, withdrawn: AbortSignal): Promise<boolean> =>
    ask(async () => {
      const answer = await host.terminal.prompts.text(`Go on with ${member}? [y/N]`, { signal: withdrawn });
      return /^y(es)?$/i.test(answer.trim());
    });

/** Whatever is wrong with a flag is said before anything is planned. */
export const refuseWrongWindow = async (context: Context, values: WindowValues): Promise<void> => {
  await given(context, values);
  parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most');
  if (values['confirm-each'] !== true || context.isInteractive) return;
  throw usageError(
    '--confirm-each asks before each member, and nobody can be asked here',
    [],
    ['--until and --pause-while-query, for runs that nobody watches'],
  );
};

/** Undefined when nothing of the kind is asked for. */
export const windowOf = async (
  context: Context,
  values: WindowValues,
  cluster: string,
  ask: Ask,
): Promise<Window | undefined> => {
  if (!isAsked(values)) return undefined;
  return {
    ...(await given(context, values)),
    pauseAtMostMs: parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most'),
    earlierMs: await earlierMs(context, cluster),
    confirmEach: values['confirm-each'] === true ? eachConfirmed(context, ask) : undefined,
  };
};
