import { type ShowAdvice, after, next, showPlain } from '../../../core/next.ts';
import { cutToWidth, AppError, type Category } from '../../../core/problem.ts';
import type { Result } from '../../../core/result.ts';
import { drawnLine } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import type {
  MemberStatus,
  Observation,
  Plan,
  Report,
  Sink,
  Step,
  StepKind,
  UpgradeEvent,
} from '../../engine/model.ts';
import { sizeText, durationText, wrap, wrapMessage } from '../../../core/format.ts';
import {
  type CellState,
  type RunMember,
  type RunModel,
  canaryReport,
  emptyRun,
  getOwn,
  memberState,
  revertLine,
  runAfter,
  stepNames,
} from './run-model.ts';
import { eventWithHexIds } from '../../engine/journal.ts';
import { actionName, actionWay } from '../plan-kind.ts';
import { timeLeftText } from './plan-text.ts';
import { canaryText, errorWithMembers, outcomeText } from './text.ts';

export type LiveView = {
  readonly columns: number;
  readonly isColored: boolean /** Increases with each frame: animates the mark of the running step. */;
  readonly frame: number;
};
type Paint = 'green' | 'red' | 'yellow' | 'blue' | 'dim' | 'bold' | 'plain';
type Look = Pick<LiveView, 'columns' | 'isColored'>;
const codes: Readonly<Record<Exclude<Paint, 'plain'>, readonly [number, number]>> = {
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
  blue: [34, 39],
  dim: [2, 22],
  bold: [1, 22],
};
export const paint = (look: Pick<Look, 'isColored'>, color: Paint, text: string): string =>
  !look.isColored || color === 'plain' ? text : `\u001b[${codes[color][0]}m${text}\u001b[${codes[color][1]}m`;
const TURNING = ['◐', '◓', '◑', '◒'];
const mark = (state: CellState | undefined, frame: number): readonly [string, Paint] => {
  if (state === 'running') return [TURNING[frame % TURNING.length] as string, 'blue'];
  if (state === 'done') return ['✓', 'green'];
  if (state === 'failed') return ['✗', 'red'];
  return state === 'waiting' ? ['·', 'dim'] : [' ', 'plain'];
};
export type Cell = {
  readonly text: string;
  /** Absent: plain. */
  readonly color?: Paint;
  /** The text in several colors. */
  readonly painted?: string;
};
/** The rows as aligned lines. A narrow terminal loses the last columns, never lines. Pure. */
export const tableLines = (rows: readonly (readonly Cell[])[], widths: readonly number[], look: Look) => {
  let [room, shown] = [look.columns + 2, 0];
  while (shown < widths.length && room - (widths[shown] as number) - 2 >= 0) {
    room -= (widths[shown] as number) + 2;
    shown += 1;
  }
  const count = Math.max(1, shown);
  const cellText = ({ text, color = 'plain', painted }: Cell, at: number): string =>
    (painted ?? paint(look, color, cutToWidth(text, look.columns))) +
    ' '.repeat((widths[at] as number) - text.length);
  return { count, lines: rows.map((row) => row.slice(0, count).map(cellText).join('  ').trimEnd()) };
};
const stepCells = (member: RunMember, columns: readonly StepKind[], frame: number): Cell[] =>
  columns.map((kind): Cell => {
    const [text, color] = mark(member.cells[kind], frame);
    return { text, color };
  });
/** Combines all steps of a member in one narrow column with one mark each. */
const inOne = (cells: readonly Cell[], look: LiveView): Cell => ({
  text: cells.map(({ text }) => text).join(''),
  painted: cells.map(({ text, color = 'plain' }) => paint(look, color, text)).join(''),
});
const memberCells = (member: RunMember, downMs: number | undefined, steps: readonly Cell[]): Cell[] => {
  const state: Cell = member.isDown
    ? { text: 'down', color: 'red' }
    : member.isLeader
      ? { text: 'leader', color: 'bold' }
      : member.wasReverted
        ? { text: 'reverted', color: 'yellow' }
        : { text: '', color: 'plain' };
  const down: Cell = { text: downMs === undefined ? '' : durationText(downMs), color: 'dim' };
  return [
    { text: member.name, color: 'bold' },
    { text: member.version, color: 'plain' },
    state,
    ...steps,
    down,
    { text: member.sizeBytes === undefined ? '' : sizeText(member.sizeBytes), color: 'dim' },
  ];
};
const canaryLine = ({ canary }: RunModel): string =>
  canary === undefined ? '' : canaryText(canaryReport(canary, []), canary.lastMs);
const rowsOf = (state: RunModel, look: LiveView, isNarrow: boolean): Cell[][] => {
  const steps = isNarrow ? ['steps'] : state.columns.map((kind) => stepNames[kind].column);
  const head = ['member', 'version', '', ...steps, 'down for', 'data'].map(
    (text): Cell => ({ text, color: 'dim' }),
  );
  const members = state.members.map((member) => {
    const cells = stepCells(member, state.columns, look.frame);
    const { downMs } = getOwn(state.histories, member.name) ?? {};
    return memberCells(member, downMs, isNarrow ? [inOne(cells, look)] : cells);
  });
  return [head, ...members];
};
const widthsOf = (rows: readonly (readonly Cell[])[]): number[] =>
  (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.text.length ?? 0), i === 2 ? 8 : 0));
const sum = (widths: readonly number[]): number => widths.reduce((all, width) => all + width + 2, 0);
const table = (state: RunModel, look: LiveView): string[] => {
  const wide = rowsOf(state, look, false);
  const rows = sum(widthsOf(wide)) <= look.columns ? wide : rowsOf(state, look, true);
  const widths = widthsOf(rows);
  const { lines } = tableLines(rows, widths, { ...look, columns: look.columns - 2 });
  return lines.map((line) => `  ${line}`.trimEnd());
};
/** A requested rollback is not a failure; a run that holds is not finished. */
const outcomeMark = ({ outcome, isRollback }: RunModel, frame: number): readonly [string, Paint] => {
  if (outcome === undefined) return mark('running', frame);
  if (outcome === 'held') return ['!', 'yellow'];
  return mark(outcome === 'done' || (outcome === 'rolled-back' && isRollback) ? 'done' : 'failed', frame);
};
/** The text below the table has the reason of a run that failed or holds. */
const statusText = ({ now, outcome, isRollback }: RunModel): string =>
  outcome === undefined || outcome === 'done' || (outcome === 'rolled-back' && isRollback)
    ? now
    : outcomeText[outcome];
/** What the run does now, on one line. A closing statement stays on the screen, so it is shown whole. */
const statusLines = (state: RunModel, look: LiveView): string[] => {
  const [turn, color] = outcomeMark(state, look.frame);
  const columns = look.columns - 14;
  const lines =
    state.outcome === undefined
      ? [cutToWidth(state.now, columns)]
      : wrapMessage(statusText(state), columns, '').split('\n');
  const time = paint(look, 'dim', durationText(state.elapsedMs));
  return lines.map((line, at) => {
    const start = at === 0 ? paint(look, color, turn) : ' ';
    return `${start} ${line}${at === lines.length - 1 ? `  ${time}` : ''}`;
  });
};
/** The current lines of the table. Pure. */
export const liveLines = (state: RunModel, look: LiveView): string[] => {
  if (state.title === '') return [];
  const confirm =
    state.confirm === 'none'
      ? []
      : [
          `  ${paint(look, 'dim', 'every member reports the new cluster version')}  ${paint(look, mark(state.confirm, look.frame)[1], mark(state.confirm, look.frame)[0])}`,
        ];
  const canary = canaryLine(state);
  const left = state.outcome === undefined ? timeLeftText(state.timing, state.elapsedMs) : undefined;
  return [
    paint(look, 'bold', cutToWidth(state.title, look.columns)),
    ...table(state, look),
    ...confirm.filter(() => look.columns >= 50),
    ...(left === undefined ? [] : [`  ${paint(look, 'dim', cutToWidth(left, look.columns - 2))}`]),
    ...(canary === ''
      ? []
      : [
          `  ${paint(look, state.canary?.failed === 0 ? 'dim' : 'yellow', cutToWidth(canary, look.columns - 2))}`,
        ]),
    ...statusLines(state, look),
  ];
};

/**
 * Formats one event as a plain line; undefined for events that only a table or a report shows. `run`: the model
 * after this event. Steps overlap, so each line of a step names its place in the plan.
 */
export const lineOf = (event: UpgradeEvent, run: RunModel = emptyRun): string | undefined => {
  const start = ({ id }: Step): string => {
    const place = run.steps[id]?.place;
    return place === undefined ? '     ' : `[${place}]`;
  };
  switch (event.event) {
    case 'run-started': {
      const { from, to } = actionWay(event.action, event.plan);
      return `${actionName(event)} ${from} → ${to}, run ${event.run}, journal ${event.journal}`;
    }
    case 'step-started':
      return `${start(event.step)} ${event.step.title}`;
    case 'step-finished':
      if (event.was_done_before === true) return undefined;
      return `${start(event.step)} ${event.step.title}: done in ${durationText(event.duration_ms)}${event.detail === undefined || event.detail === '' ? '' : ` (${event.detail})`}`;
    case 'step-failed':
      return `${start(event.step)} ${event.step.title}: failed: ${event.reason}`;
    case 'member-up':
      return `      ${event.member} is healthy again after ${durationText(event.down_ms)}`;
    case 'leader-changed':
      return `      elected leader: ${event.to}`;
    case 'gate-check':
      return event.ok === true ? undefined : `      ${event.member}: ${event.check}: ${event.detail}`;
    case 'log-line':
      return event.expected ? undefined : `      log of ${event.member}: ${event.line}`;
    case 'waiting':
      return `${start(event.step)} ${event.step.title}: ${durationText(event.remaining_ms)} left`;
    case 'reverting':
      return revertLine(run, event);
    case 'reverted':
      return `${event.member} runs its old version again after ${durationText(event.duration_ms)}`;
    case 'note':
      return event.text;
    case 'run-finished':
      return `${event.outcome}: ${event.message}`;
    default:
      return undefined;
  }
};

/** Formats the events of a run in their order, with the model of the run. */
export const makeLineFormatter = (): ((event: UpgradeEvent) => string | undefined) => {
  let run = emptyRun;
  return (event) => {
    run = runAfter(run, event);
    return lineOf(event, run);
  };
};

const FRAME_MS = 100;
/**
 * Moves the cursor to the top of the drawing, writes the permanent lines, and draws the table again. Pure.
 */
export const redraw = (drawn: number, above: readonly string[], lines: readonly string[]): string => {
  // A terminal that prints ^C moves the cursor, so the drawing starts at the edge.
  const back = drawn === 0 ? '' : `\u001b[${drawn}A`;
  const rows = [...above, ...lines].flatMap((line) => line.split('\n'));
  return `\r${back}\u001b[J${rows.map((row) => `${drawnLine(row)}\n`).join('')}`;
};
const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
/**
 * Rows of the terminal that these lines need at this width: after the terminal became narrower, a line has
 * wrapped. Pure.
 */
export const rowsAt = (lines: readonly string[], columns: number): number =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(line.replace(escapes, '').length / columns)), 0);
export type Screen = {
  take(event: UpgradeEvent): void /** Draws the last state and leaves it on the screen. */;
  finish(): Promise<void> /** Clears the table for a question and draws it again afterwards. */;
  pause<T>(ask: () => Promise<T>): Promise<T>;
};
type ScreenLook = {
  readonly isColored: boolean /** Makes control characters visible. */;
  clean(text: string): string;
};
/** Permanent lines above the table. */
const linesAbove = (texts: readonly string[], columns: number, look: ScreenLook): string[] =>
  texts.map((text) => wrap(cutToWidth(look.clean(text), columns * 3), columns - 2, '  '));
const widthOf = ({ columns }: { readonly columns: number }): number => Math.max(20, columns || 80);
/** The member × step table on a terminal. */
export const liveScreen = (host: Host, look: ScreenLook): Screen => {
  const { stderr } = host.terminal;
  let state: RunModel = emptyRun;
  let drawn: readonly string[] = [];
  let [frame, saidBefore, isPaused, startedAt] = [0, 0, false, host.elapsed()];
  const over = new AbortController();
  const draw = (): void => {
    if (isPaused) return;
    const columns = widthOf(stderr);
    const above = linesAbove(state.said.slice(saidBefore), columns, look);
    saidBefore = state.said.length;
    const shown = state.outcome === undefined ? { ...state, elapsedMs: host.elapsed() - startedAt } : state;
    const { isColored } = look;
    const lines = liveLines({ ...shown, now: look.clean(shown.now) }, { columns, isColored, frame });
    stderr.write(redraw(rowsAt(drawn, columns), above, lines)).catch(() => {});
    [drawn, frame] = [lines, frame + 1];
  };
  const drawing = repeat(host, over.signal, draw);
  return {
    take: (event) => {
      if (event.event === 'run-started') startedAt = host.elapsed() - event.elapsed_ms;
      state = runAfter(state, event);
    },
    finish: async () => {
      over.abort();
      await drawing;
      draw();
    },
    pause: async (ask) => {
      draw();
      [isPaused, drawn] = [true, []];
      try {
        return await ask();
      } finally {
        isPaused = false;
      }
    },
  };
};
const repeat = async (host: Host, signal: AbortSignal, draw: () => void): Promise<void> => {
  while (!signal.aborted) {
    draw();
    await host.sleep(FRAME_MS, signal).catch(() => {});
  }
};

/** Queues events for `-o ndjson`: the run continues while the reader is slow. */
export const eventQueue = () => {
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

type Ended = {
  readonly ending: { readonly category?: Category | undefined; readonly error?: AppError | undefined };
  readonly report: Report;
};
/**
 * If the reader exits, the run does not stop immediately, because a member may be down. The run finishes the
 * member, then stops as after Ctrl-C.
 */
export const followRun = (
  signal: AbortSignal,
  conduct: (sink: Sink, signal: AbortSignal) => Promise<Ended>,
  show: ShowAdvice = showPlain,
): Result => {
  const [events, gone] = [eventQueue(), new AbortController()];
  let category: Category | 'done' = 'done';
  const running = conduct(events.push, AbortSignal.any([signal, gone.signal])).finally(events.end);
  running.catch(() => {});
  const rows = async function* (): AsyncGenerator<UpgradeEvent> {
    try {
      for await (const event of events.rows()) yield eventWithHexIds(event);
      const { ending, report } = await running;
      category = ending.category ?? 'done';
      if (ending.error !== undefined) throw errorWithMembers(ending.error, report, show);
    } finally {
      gone.abort(new AppError('stopped', 'no program reads the events any longer', { code: 'READER_GONE' }));
      const over = await running.catch(() => undefined);
      category = over?.ending.category ?? category;
    }
  };
  return { kind: 'rows', rows: rows(), exit: () => category, unread: () => category };
};

const ESCAPE = String.fromCharCode(27);
/** Uses the alternate screen of a terminal and restores the previous content afterwards. */
export const fullScreen = ({ terminal: { stdout } }: Host) => {
  let before = '';
  const write = (text: string): Promise<void> => stdout.write(text).catch(() => {});
  return {
    open: () => {
      before = '';
      return write(`${ESCAPE}[?1049h${ESCAPE}[?25l`);
    },
    close: () => write(`${ESCAPE}[?25h${ESCAPE}[?1049l`),
    /**
     * Draws from the top and clears every line, so a resize leaves no old text. An unchanged frame is not
     * sent again.
     */
    draw: (lines: readonly string[], columns: number, rows: number): Promise<void> => {
      const frame = `${lines.map((line) => `${drawnLine(line)}${ESCAPE}[K`).join('\r\n')}${ESCAPE}[J`;
      const key = `${columns} ${rows} ${frame}`;
      if (key === before) return Promise.resolve();
      before = key;
      return write(`${ESCAPE}[H${frame}`);
    },
  };
};

/** Shown with the question before the last member of the old version. */
export type PointOfNoReturn = {
  readonly member: string;
  readonly upgraded: readonly string[];
  /** How long all of them have been healthy together. */
  readonly goodForMs: number;
  readonly observation: Observation;
};
const memberText = (member: MemberStatus): string => {
  const state = memberState(member);
  return `${member.name} ${member.server_version ?? 'no response'}${member.is_leader ? ', leader' : ''}${state === 'up' ? '' : `, ${state}`}`;
};
/** The question with the current state of the members and the consequences of yes and no. Pure. */
export const crossingText = (
  { from, to, cluster }: Pick<Plan, 'from' | 'to' | 'cluster'>,
  { member, upgraded, goodForMs, observation }: PointOfNoReturn,
  show: ShowAdvice = showPlain,
): string => {
  const good =
    upgraded.length === 0
      ? `${member} is the only member of ${cluster}`
      : `${upgraded.join(', ')} on ${to}, all healthy for ${durationText(goodForMs)}`;
  return [
    `Point of no return: ${member} is the last member on ${from}.`,
    `  Now:  ${observation.members.map(memberText).join(' · ')}; ${good}.`,
    `  Yes:  ${member} is replaced and the cluster becomes ${to}; after that, only kv restore can return to ${from}.`,
    `  No:   the run holds here without any loss: ${show(next(['kv', 'resume'], after('continues it,', ['kv', 'rollback'], 'reverts it.')), true)}`,
  ].join('\n');
};
