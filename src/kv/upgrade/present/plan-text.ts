import { type Minor, rowOf } from '../../../api-specs/etcd/versions.ts';
import { durationText, sizeText, wrap, wrapDrawing, wrapQuestion } from '../../../core/format.ts';
import { cutToWidth } from '../../../core/problem.ts';
import { type ShowAdvice, next, showPlain } from '../../../core/next.ts';
import { shellLine, wordsOf } from '../../../core/shell.ts';
import { crosses, downgradeLimits, kindOf, pathLines } from '../plan-kind.ts';
import type { Plan, Step } from '../../engine/model.ts';
import { type Timing, getOwn, stepNames } from './run-model.ts';
import { findingsText } from './text.ts';

/** Splits a command that is one argument of ssh or a shell into its arguments. Pure. */
const inner = (words: readonly string[]): string[] => {
  const last = words.at(-1) ?? '';
  const isWrapped = words[0] === 'ssh' || words.at(-2) === '-c';
  return isWrapped && /\s/.test(last) ? inner(wordsOf(last) ?? [last]) : [...words];
};
/** Keeps a flag and its value together, so that the reader sees which value belongs to which flag. Pure. */
const partsOf = (line: string): string[] => {
  const words = inner(wordsOf(line) ?? line.split(' ')).map((word) => shellLine([word]));
  const parts: string[] = [];
  for (const word of words) {
    const last = parts.at(-1) ?? '';
    const isValue = /^--?[a-z][a-z-]*$/.test(last) && !word.startsWith('-');
    if (isValue) parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  return parts;
};
/** Parts of the first list that the second list lacks. A duplicate counts twice. Pure. */
const without = (all: readonly string[], others: readonly string[]): string[] => {
  const left = [...others];
  return all.filter((part) => {
    const at = left.indexOf(part);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
};
/** The differences between the start of the old version and the start of the new version. Pure. */
const differenceText = (before: string, now: string): string[] => {
  const [old, fresh] = [partsOf(before), partsOf(now)];
  const [gone, added] = [without(old, fresh), without(fresh, old)];
  const same = fresh.length - added.length;
  const unchanged = same === 1 ? '1 flag or argument is' : `${same} flags and arguments are`;
  return [
    ...gone.map((part) => `  - ${part}`),
    ...added.map((part) => `  + ${part}`),
    ...(same > 0 ? [`    ${unchanged} unchanged; -v shows the complete command`] : []),
  ];
};
/**
 * The commands of a step as lines to copy. A command that replaces another command is shown as a difference,
 * unless the user requests whole commands. Pure.
 */
export const commandLines = (
  { commands, replaces }: Pick<Step, 'commands' | 'replaces'>,
  isWhole: boolean,
): string[] => {
  const isSameCount = replaces !== undefined && replaces.length === commands.length;
  return commands.flatMap((command, i) => {
    const before = isSameCount ? replaces[i] : undefined;
    return isWhole || before === undefined || before === command
      ? [`  $ ${command}`]
      : differenceText(before, command);
  });
};

/** Returns the total time of the plan's waits for these members. Pure. */
export const waitsMs = (plan: Plan, members: readonly string[]): number => {
  const settles = plan.steps.filter(
    ({ kind, member }) => kind === 'settle' && members.includes(member ?? ''),
  );
  const settleSeconds = settles.reduce((sum, { wait_seconds = 0 }) => sum + wait_seconds, 0);
  const isWhole = crosses(plan) && members.length > 0;
  const lastSeconds = isWhole
    ? (plan.options.stable_before_last_seconds ?? 0) + (rowOf(plan.to)?.monitorSeconds ?? 5)
    : 0;
  return (settleSeconds + lastSeconds) * 1000;
};
const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
/** Estimates the time for these members from the known durations; undefined if none is known. Pure. */
export const estimateMs = (
  plan: Plan,
  members: readonly string[],
  tookMs: readonly number[],
): number | undefined =>
  tookMs.length === 0 ? undefined : members.length * mean(tookMs) + waitsMs(plan, members);
const sizesText = ({ observation, order, steps }: Plan): string | undefined => {
  const sizes = order.flatMap((name) => {
    const bytes = observation.members.find((seen) => seen.name === name)?.db_size_bytes;
    return bytes === undefined ? [] : [{ name, bytes }];
  });
  if (sizes.length === 0) return undefined;
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const each = sizes.map(({ name, bytes }) => `${name} ${sizeText(bytes)}`).join(', ');
  const saved = steps.some(({ kind }) => kind === 'snapshot')
    ? `; ${sizeText(all)} of snapshots in total`
    : '';
  return `Databases: ${each}${saved}`;
};
/** Size and duration of a plan, for the user only: no decision depends on these lines. Pure. */
export const estimateLines = (plan: Plan, tookMs: readonly number[]): string[] => {
  const sizes = sizesText(plan);
  const all = estimateMs(plan, plan.order, tookMs);
  const waits = waitsMs(plan, plan.order);
  const duration =
    all === undefined
      ? `Duration: known after the first member; ${durationText(waits)} of it is waiting time`
      : `Duration: about ${durationText(all)}, based on ${durationText(mean(tookMs))} per member in earlier runs; ${durationText(waits)} of it is waiting time`;
  return plan.order.length === 0 ? [] : [...(sizes === undefined ? [] : [sizes]), duration];
};

/** Undefined until one member has passed its health check, and if no member remains. Pure. */
export const timeLeftText = (timing: Timing | undefined, elapsedMs: number): string | undefined => {
  if (timing === undefined || timing.left.length === 0) return undefined;
  const all = estimateMs(timing.plan, timing.left, timing.tookMs);
  if (all === undefined) return undefined;
  const begun = timing.left.flatMap((name) => getOwn(timing.begunAt, name) ?? []);
  const spent = begun.length === 0 ? 0 : elapsedMs - Math.min(...begun);
  const members = timing.left.length === 1 ? '1 member' : `${timing.left.length} members`;
  return `about ${durationText(Math.max(0, all - spent))} left for ${members}, based on ${durationText(Math.max(...timing.tookMs))} per member so far`;
};

const wayOf = (plan: Plan): string =>
  kindOf(plan) === 'restart' ? `restart on ${plan.from}` : `${plan.from} → ${plan.to}`;

const stepText = (step: Step, number: string, columns: number, isWhole: boolean): string[] => {
  const { title, why } = step;
  const indent = ' '.repeat(number.length + 2);
  const line = `${number}. ${title}  (${why})`;
  const lines =
    line.length <= columns
      ? [line]
      : [
          `${number}. ${wrap(title, columns - indent.length, indent)}`,
          `${indent}${wrap(`(${why})`, columns - indent.length, indent)}`,
        ];
  // A command must stay on one line, so that the user can copy it.
  return [...lines, ...commandLines(step, isWhole).map((line) => wrapDrawing(indent + line, columns))];
};
export type PlanLook = {
  readonly columns?: number;
  /** Whether to show whole commands. */
  readonly isWhole?: boolean;
  /** Durations of the members in earlier runs of this cluster. */
  readonly tookMs?: readonly number[];
  readonly show?: ShowAdvice;
};
const wrapLines = (lines: readonly string[], columns: number): string[] =>
  lines.flatMap((line) => wrap(line, columns - 2, '  ').split('\n'));
/** The limits of a downgrade; no other plan has such lines. */
const limitLines = (plan: Plan, columns: number): string[] =>
  kindOf(plan) === 'downgrade'
    ? wrapLines(['Limits of a downgrade:', ...downgradeLimits.map((one) => `- ${one}`)], columns)
    : [];
/** The numbered plan, with the commands that will run and the point of no return. */
export const planText = (
  plan: Plan,
  { columns = Number.POSITIVE_INFINITY, isWhole = false, tookMs = [], show = showPlain }: PlanLook = {},
): string => {
  const width = String(plan.steps.length).length;
  const lines = plan.steps.flatMap((step, i) => [
    ...(step.is_point_of_no_return === true
      ? [`${' '.repeat(width)}  ── point of no return: after it the cluster stays on ${plan.to} ──`]
      : []),
    ...stepText(step, String(i + 1).padStart(width), columns, isWhole),
  ]);
  const warnings = plan.findings.filter(({ level }) => level === 'warn');
  const names = plan.order
    .map((name) => (name === plan.observation.leader ? `${name} (leader)` : name))
    .join(', ');
  const head = `Plan for ${plan.cluster}: ${wayOf(plan)}, ${plan.order.length} of ${plan.observation.members.length} members, in the order ${names}`;
  const limits = limitLines(plan, columns);
  const warned = warnings.length === 0 ? [] : [findingsText(warnings, columns, show), ''];
  return [
    ...wrapLines([head, ...pathLines(plan), ...estimateLines(plan, tookMs)], columns),
    '',
    ...(limits.length === 0 ? [] : [...limits, '']),
    ...lines,
    '',
    ...warned,
    `digest ${plan.digest}`,
  ].join('\n');
};
export type SummaryLook = {
  readonly columns: number;
  /** Number of available lines, without the lines of the question. */
  readonly rows: number;
  /** Durations of the members in earlier runs of this cluster. */
  readonly tookMs?: readonly number[];
  readonly show?: ShowAdvice;
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
    const done = steps.flatMap(({ kind, member }) => (member === name ? (stepNames[kind].phrase ?? []) : []));
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
  // The sizes grow with the number of members, so they are truncated; the duration is read as a whole.
  const estimate = estimateLines(plan, tookMs).flatMap((line) =>
    line.startsWith('Duration') ? wrapLines([line], columns) : [line],
  );
  const foot = [`-v shows every step and command; digest ${digest.slice(0, 12)}`];
  const path = pathLines(plan);
  const left = rows - 1 - path.length - estimate.length - foot.length;
  const whole = limitLines(plan, columns);
  const limits =
    left - whole.length >= 6 || whole.length === 0
      ? whole
      : [`Limits of a downgrade: ${show(next(['kv', 'downgrade', '--help'], 'lists them'))}`];
  const room = Math.max(6, left - limits.length);
  const members = clipLines(memberLines(plan), Math.ceil(room / 2), 'members, with the same steps');
  const warnings = warningLines(plan, columns, room - members.length, show);
  return [head, ...path, ...estimate, ...limits, ...members, ...warnings, ...foot]
    .map((line) => cutToWidth(line, columns))
    .join('\n');
};

/** Lines that a question and its prompt need on a terminal. Pure. */
export const questionRows = (question: string, columns: number): number =>
  wrapQuestion(question, columns).split('\n').length + 2;

const notesOfVersion: Readonly<Partial<Record<Minor, readonly string[]>>> = {
  '3.3': [
    'gRPC server logs are off by default; the debug setting turns them on',
    'container images of 3.3 are published in another registry: check new_image',
  ],
  '3.4': ['clients that call the gateway under /v3beta keep working; /v3alpha returns 404'],
  '3.5': ['the logger is zap: log lines are JSON, so filters for the old text format no longer match'],
  '3.6': ['3.6 has no v2 interface and does not start with v2 data'],
  '3.7': ['3.7 has no setting whose name starts with experimental-; 3.6 knows the new names too'],
};
/** The text of the warnings is known for 3.2 and 3.3. Later versions write the same facts in other words. */
const newerMemberLines = (to: Minor): string =>
  to === '3.3'
    ? 'warnings "the local etcd version … is not up-to-date" and "member … has a higher version"'
    : 'warnings that other members have another version';
/** Notes for operators about an upgrade that no check of a member can cover (spec/store#procedure-1, spec/store#states-2). */
export const upgradeNotes = (to: Minor): readonly string[] => [
  'test services that depend on the store against the new version in a staging environment first',
  `until all members run ${to}, members log ${newerMemberLines(to)}; these lines are expected`,
  ...(notesOfVersion[to] ?? []),
];
