import { mebibytes } from '../guards/guard.ts';
import type { StepKind } from '../../engine/types.ts';
import { timeLeftText } from './time-left.ts';
import type { CellState, LiveMember, LiveState } from './live-state.ts';

export type Look = {
  readonly columns: number;
  readonly isColored: boolean /** Counts up with each drawing: turns the mark of the running step. */;
  readonly frame: number;
};
type Paint = 'green' | 'red' | 'yellow' | 'blue' | 'dim' | 'bold' | 'plain';
const codes: Readonly<Record<Exclude<Paint, 'plain'>, readonly [number, number]>> = {
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
  blue: [34, 39],
  dim: [2, 22],
  bold: [1, 22],
};
const paint = (look: Look, color: Paint, text: string): string =>
  !look.isColored || color === 'plain' ? text : `\u001b[${codes[color][0]}m${text}\u001b[${codes[color][1]}m`;

const words: Readonly<Record<StepKind, string>> = {
  snapshot: 'snapshot',
  'move-leader': 'leader',
  stop: 'stop',
  'copy-data': 'copy',
  'check-data': 'data',
  configure: 'config',
  start: 'start',
  gate: 'health',
  settle: 'settle',
  hold: 'hold',
  confirm: 'confirm',
  'enable-downgrade': 'enable',
};
const TURNING = ['◐', '◓', '◑', '◒'];
const mark = (state: CellState | undefined, frame: number): readonly [string, Paint] => {
  if (state === 'running') return [TURNING[frame % TURNING.length] as string, 'blue'];
  if (state === 'done') return ['✓', 'green'];
  if (state === 'failed') return ['✗', 'red'];
  return state === 'waiting' ? ['·', 'dim'] : [' ', 'plain'];
};

type Cell = {
  readonly text: string;
  readonly color: Paint /** `text` in colours of its own. */;
  readonly painted?: string;
};
const stepCells = (member: LiveMember, columns: readonly StepKind[], frame: number): Cell[] =>
  columns.map((kind): Cell => {
    const [text, color] = mark(member.cells[kind], frame);
    return { text, color };
  });
/** All steps of a member in one narrow column: one mark each. */
const inOne = (cells: readonly Cell[], look: Look): Cell => ({
  text: cells.map(({ text }) => text).join(''),
  color: 'plain',
  painted: cells.map(({ text, color }) => paint(look, color, text)).join(''),
});

const memberCells = (member: LiveMember, steps: readonly Cell[]): Cell[] => {
  const state: Cell = member.isDown
    ? { text: 'down', color: 'red' }
    : member.isLeader
      ? { text: 'leader', color: 'bold' }
      : member.wasReverted
        ? { text: 'reverted', color: 'yellow' }
        : { text: '', color: 'plain' };
  const down: Cell = { text: member.downMs === undefined ? '' : `${member.downMs} ms`, color: 'dim' };
  return [
    { text: member.name, color: 'bold' },
    { text: member.version, color: 'plain' },
    state,
    ...steps,
    down,
    { text: member.sizeBytes === undefined ? '' : mebibytes(member.sizeBytes), color: 'dim' },
  ];
};

const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
const seconds = (ms: number): string =>
  ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${String(Math.floor((ms % 60_000) / 1000)).padStart(2, '0')} s`;

const canaryLine = ({ canary }: LiveState): string =>
  canary === undefined
    ? ''
    : `canary writes ${canary.writes}, failed ${canary.failed}, last ${canary.lastMs} ms, longest gap ${canary.longestGapMs} ms`;

const rowsOf = (state: LiveState, look: Look, isNarrow: boolean): Cell[][] => {
  const steps = isNarrow ? ['steps'] : state.columns.map((kind) => words[kind]);
  const head = ['member', 'version', '', ...steps, 'down for', 'data'].map(
    (text): Cell => ({ text, color: 'dim' }),
  );
  const members = state.members.map((member) => {
    const cells = stepCells(member, state.columns, look.frame);
    return memberCells(member, isNarrow ? [inOne(cells, look)] : cells);
  });
  return [head, ...members];
};
const widthsOf = (rows: readonly (readonly Cell[])[]): number[] =>
  (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.text.length ?? 0), i === 2 ? 8 : 0));
const sum = (widths: readonly number[]): number => widths.reduce((all, width) => all + width + 2, 0);

const table = (state: LiveState, look: Look): string[] => {
  const wide = rowsOf(state, look, false);
  const rows = sum(widthsOf(wide)) <= look.columns ? wide : rowsOf(state, look, true);
  const widths = widthsOf(rows);
  // Too narrow a terminal loses its last columns, never its lines.
  let [room, shown] = [look.columns, 0];
  while (shown < widths.length && room - (widths[shown] as number) - 2 >= 0) {
    room -= (widths[shown] as number) + 2;
    shown += 1;
  }
  return rows.map((row) =>
    `  ${row
      .slice(0, shown)
      .map(
        (cell, i) =>
          (cell.painted ?? paint(look, cell.color, cell.text)) +
          ' '.repeat((widths[i] as number) - cell.text.length),
      )
      .join('  ')}`.trimEnd(),
  );
};

/** A rollback that was asked for is no failure; a run that holds is not over. */
const outcomeMark = ({ outcome, isRollback }: LiveState, frame: number): readonly [string, Paint] => {
  if (outcome === undefined) return mark('running', frame);
  if (outcome === 'held') return ['!', 'yellow'];
  return mark(outcome === 'done' || (outcome === 'rolled-back' && isRollback) ? 'done' : 'failed', frame);
};

/** The lines of the table as they stand now. Pure. */
export const liveLines = (state: LiveState, look: Look): string[] => {
  if (state.title === '') return [];
  const [turn, color] = outcomeMark(state, look.frame);
  const confirm =
    state.confirm === 'none'
      ? []
      : [
          `  ${paint(look, 'dim', 'every member reports the new cluster version')}  ${paint(look, mark(state.confirm, look.frame)[1], mark(state.confirm, look.frame)[0])}`,
        ];
  const canary = canaryLine(state);
  const left = state.outcome === undefined ? timeLeftText(state.timing, state.elapsedMs) : undefined;
  return [
    paint(look, 'bold', cut(state.title, look.columns)),
    ...table(state, look),
    ...confirm.filter(() => look.columns >= 50),
    ...(left === undefined ? [] : [`  ${paint(look, 'dim', cut(left, look.columns - 2))}`]),
    ...(canary === ''
      ? []
      : [`  ${paint(look, state.canary?.failed === 0 ? 'dim' : 'yellow', cut(canary, look.columns - 2))}`]),
    `${paint(look, color, turn)} ${cut(state.now, look.columns - 14)}  ${paint(look, 'dim', seconds(state.elapsedMs))}`,
  ];
};
