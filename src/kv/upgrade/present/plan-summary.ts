import { cutToWidth } from '../../../core/problem.ts';
import { type ShowAdvice, next, showPlain } from '../../../core/next.ts';
import { pathLines, kindOf } from '../plan-kind.ts';
import type { Plan, StepKind } from '../../engine/model.ts';
import { wrap } from '../../../core/text.ts';
import { estimateLines } from './live-state.ts';
import { findingsText } from './text.ts';

export type SummaryLook = {
  readonly columns: number;
  /** Number of available lines, without the lines of the question. */
  readonly rows: number;
  /** Durations of the members in earlier runs of this cluster. */
  readonly tookMs?: readonly number[];
  readonly show?: ShowAdvice;
};

/** Short descriptions of steps; steps without a description are omitted. */
const words: Readonly<Partial<Record<StepKind, string>>> = {
  'move-leader': 'move the leadership',
  snapshot: 'snapshot',
  stop: 'stop',
  'copy-data': 'copy the data',
  'check-data': 'read the data',
  configure: 'configuration',
  start: 'start',
  gate: 'health check',
  settle: 'wait',
};

/** The first lines, and the number of the omitted lines. */
const clipLines = (lines: readonly string[], count: number, what: string): string[] =>
  lines.length <= count
    ? [...lines]
    : [...lines.slice(0, count - 1), `  … and ${lines.length - count + 1} more ${what}`];

const memberLines = (plan: Plan): string[] => {
  const { order, steps, observation } = plan;
  const width = Math.max(...order.map((name) => name.length));
  const crossing = steps.find(({ is_point_of_no_return: isCrossing }) => isCrossing === true)?.member;
  return order.map((name) => {
    const done = steps.flatMap(({ kind, member }) => (member === name ? (words[kind] ?? []) : []));
    const version = observation.members.find((seen) => seen.name === name)?.server_version ?? '?';
    const marks = [
      ...(name === observation.leader ? ['leader'] : []),
      ...(name === crossing ? ['point of no return'] : []),
    ];
    const mark = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
    return `  ${name.padEnd(width)}  ${version}${mark}: ${[...new Set(done)].join(', ')}`;
  });
};

const warningLines = (plan: Plan, columns: number, most: number, show: ShowAdvice): string[] => {
  const warnings = plan.findings.filter(({ level }) => level === 'warn');
  if (warnings.length === 0) return [];
  const whole = findingsText(warnings, columns, show).split('\n');
  if (whole.length <= most) return whole;
  const short = warnings.map((one) => findingsText([one]).replace(/\n.*/s, ''));
  return clipLines(short, most, `warnings: ${show(next(['kv', 'check']))}`);
};

const wayOf = (plan: Plan): string =>
  kindOf(plan) === 'restart' ? `restart on ${plan.from}` : `${plan.from} → ${plan.to}`;

/**
 * Summarizes the facts for the decision in the lines that fit above the question: each member with its steps,
 * the point of no return, the duration, and the warnings. Pure.
 */
export const planSummary = (
  plan: Plan,
  { columns, rows, tookMs = [], show = showPlain }: SummaryLook,
): string => {
  const { cluster, order, observation, steps, digest } = plan;
  const head = `Plan for ${cluster}: ${wayOf(plan)}, ${order.length} of ${observation.members.length} members, ${steps.length} steps`;
  const estimate = estimateLines(plan, tookMs);
  const foot = [`-v shows every step and command; digest ${digest.slice(0, 12)}`];
  const path = pathLines(plan);
  const room = Math.max(6, rows - 1 - path.length - estimate.length - foot.length);
  const members = clipLines(memberLines(plan), Math.ceil(room / 2), 'members, with the same steps');
  const warnings = warningLines(plan, columns, room - members.length, show);
  return [head, ...path, ...estimate, ...members, ...warnings, ...foot]
    .map((line) => cutToWidth(line, columns))
    .join('\n');
};

/** Lines that a question and its prompt need on a terminal. Pure. */
export const questionRows = (question: string, columns: number): number =>
  wrap(question, columns - 2, '  ').split('\n').length + 2;
