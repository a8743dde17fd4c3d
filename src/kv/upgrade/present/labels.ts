import { type ShowAdvice, showPlain } from '../../../core/next.ts';
import { dirname, join } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { wrap } from '../../../core/text.ts';
import type { Outcome, PlanKind, Report } from '../../engine/model.ts';
import { kindOf } from '../plan-kind.ts';
import { membersText } from './text.ts';

const titles: Readonly<Record<PlanKind, string>> = {
  upgrade: 'Upgrade',
  downgrade: 'Downgrade',
  restart: 'Rolling restart',
};
/** `412 ms`, `8.3 s`, `4 min 05 s`, `9 h 30 min`. */
export const durationText = (ms: number): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
};
/** `49 kB`, `1.2 MB`: powers of 1000, as the ctl program writes them. */
export const sizeText = (bytes: number): string => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [value, at] = [bytes, 0];
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value < 10 && at > 0 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
};
export const outcomeText: Readonly<Record<Outcome, string>> = {
  done: 'done',
  held: 'held',
  stopped: 'stopped part-way',
  'rolled-back': 'rolled back',
  failed: 'failed',
  aborted: 'aborted',
  refused: 'refused',
};
export const outcomeMood: Readonly<Record<Outcome, 'good' | 'warn' | 'bad'>> = {
  done: 'good',
  held: 'warn',
  stopped: 'warn',
  'rolled-back': 'warn',
  failed: 'bad',
  aborted: 'warn',
  refused: 'bad',
};
/** `12 checks passed, 1 skipped`: what could not be checked is no pass. */
export const gateText = (gate: Report['members'][number]['gate']): string => {
  const count = (wanted: boolean | null): number =>
    new Set(gate.filter(({ ok }) => ok === wanted).map(({ check }) => check)).size;
  const skipped = count(null);
  return `${count(true)} checks passed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
};
/** `Upgrade of prod`: a report says what the run was. Pure. */
export const runTitle = (report: Pick<Report, 'kind' | 'cluster'>): string =>
  `${titles[kindOf(report)]} of ${report.cluster}`;
/** `from 3.5 to 3.6`; a restart stays where it is. Pure. */
export const runWay = (report: Pick<Report, 'kind' | 'from' | 'to'>): string =>
  kindOf(report) === 'restart' ? `on ${report.from}` : `from ${report.from} to ${report.to}`;
/** The version of all members, when they agree. */
const common = (versions: readonly (string | undefined)[]): string | undefined =>
  new Set(versions).size === 1 ? versions[0] : undefined;
/** What the members ran before and after. A restart stays on its minor: there the patch versions differ, or nothing but the start. Pure. */
export const versionNames = (
  report: Pick<Report, 'kind' | 'from' | 'to' | 'members'>,
): { readonly before: string; readonly after: string } => {
  const { from, to, members } = report;
  if (kindOf(report) !== 'restart') return { before: from, after: to };
  const before = common(members.map(({ version_before }) => version_before));
  const after = common(members.map(({ version_after }) => version_after));
  return before !== undefined && after !== undefined && before !== after
    ? { before, after }
    : { before: from, after: `${to}, restarted` };
};
/** `3.5 → 3.6`, `3.5.16 → 3.5.30`; of a restart with the same program `3.5, restarted`. Pure. */
export const wayText = (report: Parameters<typeof versionNames>[0]): string => {
  const { before, after } = versionNames(report);
  return after.startsWith(`${before},`) ? after : `${before} → ${after}`;
};

const nextLines = ({ next = [] }: Report, show: ShowAdvice): string[] =>
  next.map((line, at) => `${at === 0 ? 'next:' : '  or:'} ${show(line)}`);
/** How a run ended, in a few lines: what a log keeps, and what a terminal shows under the table. */
export const endingText = (report: Report, columns: number, show: ShowAdvice = showPlain): string => {
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
    ...nextLines(report, show),
  ].join('\n');
};
/** The error of a run with how it left each member: what a script or a person asks first. */
export const errorWithMembers = (
  { category, advice, detail }: AppError,
  report: Report,
  show: ShowAdvice = showPlain,
): AppError => {
  const members = report.members.map(({ name, version_after, state }) => ({
    name,
    version: version_after ?? null,
    state: state ?? null,
  }));
  const findings = Array.isArray(detail.data) ? { findings: detail.data } : {};
  return new AppError(category, advice, {
    ...detail,
    data: { ...findings, members, next: report.next?.map(show) ?? [] },
  });
};
