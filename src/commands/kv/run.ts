import type { Context } from '../../cli/command.ts';
import { isAccessible } from '../../core/accessible.ts';
import { isJsonStream } from '../../core/output-format.ts';
import { rawResult, type Result } from '../../core/result.ts';
import { columnsOf } from '../../core/wrap.ts';
import type { SessionResult } from '../../kv/upgrade/execute/session.ts';
import type { Sink } from '../../kv/engine/types.ts';

const finished = async (context: Context, { ending, report }: SessionResult): Promise<Result> => {
  const { host, isFormatGiven } = context;
  const [{ membersText }, { endingText, errorWithMembers }] = await Promise.all([
    import('../../kv/upgrade/present/members-text.ts'),
    import('../../kv/upgrade/present/ending.ts'),
  ]);
  const text = endingText(report, columnsOf(host.terminal.stdout));
  if (ending.error !== undefined) {
    context.log.info(`members: ${membersText(report.members)}`);
    throw errorWithMembers(ending.error, report);
  }
  const exit = ending.category === undefined ? {} : { exit: ending.category };
  // A job's log ends with the outcome and where the report is, not with three hundred lines of it.
  if (isFormatGiven !== true && !host.terminal.stdout.isTty)
    return { ...rawResult(`${text}\n`), view: { namesCommands: true }, ...exit };
  return {
    kind: 'record',
    data: report,
    view: { text, name: 'run', namesCommands: true },
    ...exit,
  };
};

export type Ask = <T>(question: () => Promise<T>) => Promise<T>;

export type Conduct = (sink: Sink, ask: Ask, signal: AbortSignal) => Promise<SessionResult>;

const atOnce: Ask = (question) => question();

/** spec/program#output: a moving table only where stderr is a terminal that can move, CI is unset, and nobody asked for silence. */
const hasLiveTable = ({ host, isQuiet }: Context): boolean =>
  host.terminal.stderr.isTty &&
  !host.env['CI'] &&
  host.env['TERM'] !== 'dumb' &&
  !isAccessible(host.env) &&
  isQuiet !== true;

const onTable = async (context: Context, conduct: Conduct): Promise<SessionResult> => {
  const [{ liveScreen }, { isColored }, { printable }] = await Promise.all([
    import('../../kv/upgrade/present/screen.ts'),
    import('../../output/color.ts'),
    import('../../output/printable.ts'),
  ]);
  const screen = liveScreen(context.host, {
    isColored: isColored(context.color, context.host.env, true),
    clean: printable,
  });
  return conduct(screen.take, screen.pause, context.signal).finally(screen.finish);
};

const inLines = async (context: Context, conduct: Conduct): Promise<SessionResult> => {
  const { lineOf } = await import('../../kv/upgrade/present/plain-lines.ts');
  const sink: Sink = (event) => {
    const line = lineOf(event);
    if (line !== undefined && event.event !== 'run-finished')
      context.log.info(`${event.at.slice(11, 19)}Z ${line}`);
  };
  return conduct(sink, atOnce, context.signal);
};

/** Runs with the sink that fits the place: a live table on a terminal, plain lines elsewhere, events on stdout with `-o ndjson`. */
export const watched = async (context: Context, conduct: Conduct): Promise<Result> => {
  if (!isJsonStream(context.format))
    return finished(context, await (hasLiveTable(context) ? onTable : inLines)(context, conduct));
  const { followed } = await import('../../kv/upgrade/present/followed.ts');
  return followed(context.signal, (sink, signal) => conduct(sink, atOnce, signal));
};
