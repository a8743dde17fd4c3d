import { isAccessible } from '../../core/accessible.ts';
import { isJsonStream } from '../../core/output-format.ts';
import { dirname, join } from 'node:path';
import { rawResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import { membersText } from '../../kv-upgrade/format/members-text.ts';
import { columnsOf, wrap } from '../../core/wrap.ts';
import type { Report, Sink, UpgradeEvent } from '../../kv-upgrade/types.ts';
import type { SessionResult } from '../../kv-upgrade/execute/session.ts';
import { AppError } from '../../core/problem.ts';
import type { Category } from '../../core/problem.ts';
import type { Context } from '../../cli/command.ts';

/** Events as they happen, for `-o ndjson`: the run goes on while the reader is slow. */
const queue = () => {
  const waiting: UpgradeEvent[] = [];
  let [isOver, wake] = [false, () => {}];
  return {
    push: (event: UpgradeEvent): void => {
      waiting.push(event);
      wake();
    },
    end: (): void => {
      isOver = true;
      wake();
    },
    async *rows(): AsyncGenerator<UpgradeEvent> {
      for (;;) {
        const event = waiting.shift();
        if (event !== undefined) yield event;
        else if (isOver) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
};

const nextLines = ({ next = [] }: Report): string[] =>
  next.map((line, at) => `${at === 0 ? 'next:' : '  or:'} ${line}`);

const summary = (report: Report, columns: number): string => {
  const { canary, members, snapshots, duration_ms } = report;
  const downs = members.flatMap(({ name, down_ms }) =>
    down_ms === undefined ? [] : [`${name} ${down_ms} ms`],
  );
  return [
    wrap(
      `${report.message} (${(duration_ms / 1000).toFixed(1)} s, ${snapshots.length} verified snapshot${snapshots.length === 1 ? '' : 's'})`,
      columns,
      '  ',
    ),
    ...(downs.length === 0 ? [] : [`members unavailable: ${downs.join(', ')}`]),
    ...(canary === undefined
      ? []
      : [
          `canary writes: ${canary.writes}, failed ${canary.failed}, longest gap ${canary.longest_gap_ms} ms`,
        ]),
    `members: ${membersText(members)}`,
    `report ${join(dirname(report.journal), 'report.html')}`,
    `journal ${report.journal}`,
    ...nextLines(report),
  ].join('\n');
};

/** The error of a run with how it left each member: what a script or a person asks first. */
const withMembers = ({ category, message, detail }: AppError, report: Report): AppError => {
  const members = report.members.map(({ name, version_after, state }) => ({
    name,
    version: version_after ?? null,
    state: state ?? null,
  }));
  const findings = Array.isArray(detail.data) ? { findings: detail.data } : {};
  return new AppError(category, message, {
    ...detail,
    data: { ...findings, members, next: report.next ?? [] },
  });
};

const finished = (context: Context, { ending, report }: SessionResult): Result => {
  const { host, isFormatGiven } = context;
  const text = summary(report, columnsOf(host.terminal.stdout));
  if (ending.error !== undefined) {
    context.log.info(`members: ${membersText(report.members)}`);
    throw withMembers(ending.error, report);
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
    import('../../kv-upgrade/live/screen.ts'),
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
  const { lineOf } = await import('../../kv-upgrade/format/plain-lines.ts');
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
  return followed(context, conduct);
};

/** The run does not end with its reader: a member may be down. It is brought to its end, and then the run stops as by Ctrl-C. */
const followed = (context: Context, conduct: Conduct): Result => {
  const [events, gone] = [queue(), new AbortController()];
  let category: Category | 'done' = 'done';
  const running = conduct(events.push, atOnce, AbortSignal.any([context.signal, gone.signal])).finally(
    events.end,
  );
  running.catch(() => {});
  const rows = async function* (): AsyncGenerator<UpgradeEvent> {
    try {
      yield* events.rows();
      const { ending, report } = await running;
      category = ending.category ?? 'done';
      if (ending.error !== undefined) throw withMembers(ending.error, report);
    } finally {
      gone.abort(new AppError('stopped', 'nobody reads the events any more', { code: 'READER_GONE' }));
      const over = await running.catch(() => undefined);
      category = over?.ending.category ?? category;
    }
  };
  return { kind: 'rows', rows: rows(), exit: () => category, unread: () => category };
};
