import { escapeHtml } from '../../../core/text.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Report } from '../../engine/model.ts';
import { kindOf } from '../plan-kind.ts';
import {
  type CanaryWrite,
  getOwn,
  type MemberHistory,
  type Period,
  type RunModel,
  type WholeRun,
} from './run-model.ts';
import { versionNames } from './text.ts';
import { durationText } from '../../../core/format.ts';

/** Times are milliseconds since the start of the run. */
type Lane = Pick<MemberHistory, 'snapshotsAt' | 'revertedAt'> & {
  readonly name: string;
  readonly spans: readonly (Period & { readonly kind: 'old' | 'down' | 'new' })[];
};
export type Timeline = Pick<RunModel, 'gaps' | 'pauses'> & {
  readonly durationMs: number;
  readonly lanes: readonly Lane[];
  /** The leader of each period. */
  readonly leaders: readonly (Period & { readonly name: string })[];
  readonly points: readonly CanaryWrite[];
};
const laneOf = (
  name: string,
  { changes = [], snapshotsAt = [], revertedAt = [] }: Partial<MemberHistory>,
  durationMs: number,
  isNewAtStart: boolean,
): Lane => {
  const starts = [{ to: isNewAtStart ? ('new' as const) : ('old' as const), atMs: 0 }, ...changes];
  const spans = starts.map(({ to: kind, atMs }, i) => ({
    kind,
    fromMs: atMs,
    toMs: starts[i + 1]?.atMs ?? durationMs,
  }));
  return { name, spans: spans.filter(({ fromMs, toMs }) => toMs > fromMs), snapshotsAt, revertedAt };
};
/** Collects the data for a drawing of the run. Pure. */
export const timelineFrom = (report: Report, run: WholeRun): Timeline => {
  const durationMs = Math.max(report.duration_ms, 1, run.endMs ?? 0);
  // A restart keeps the minor version, so the version does not show that a member was already replaced.
  const isNewAtStart = (version: string | undefined): boolean =>
    kindOf(report) !== 'restart' && minorOf(version) === report.to;
  return {
    durationMs,
    lanes: report.members.map(({ name, version_before }) =>
      laneOf(name, getOwn(run.histories, name) ?? {}, durationMs, isNewAtStart(version_before)),
    ),
    leaders: run.leaders.map(({ name, fromMs, toMs = durationMs }) => ({
      name,
      fromMs,
      toMs: Math.min(toMs, durationMs),
    })),
    points: run.writes,
    gaps: run.gaps,
    pauses: run.pauses,
  };
};

const WIDTH = 1040;
const LEFT = 96;
const RIGHT = 16;
const LANE = 30;
const CHART = 130;
const BUCKETS = 420;
const ticksOf = (durationMs: number): number[] => {
  const wanted = durationMs / 8;
  const size = 10 ** Math.max(0, Math.floor(Math.log10(wanted)));
  const every = [1, 2, 5].map((n) => n * size).find((n) => n >= wanted) ?? size * 10;
  return Array.from({ length: Math.floor(durationMs / every) + 1 }, (_, i) => i * every);
};
/** Returns the slowest write of each time slice, so that a long run draws as fast as a short run. */
const slowest = (points: readonly CanaryWrite[], durationMs: number): CanaryWrite[] => {
  const buckets = new Map<number, CanaryWrite>();
  for (const point of points) {
    const at = Math.floor((point.atMs / durationMs) * BUCKETS);
    const known = buckets.get(at);
    if (known === undefined || !point.ok || (known.ok && point.latencyMs > known.latencyMs))
      buckets.set(at, point);
  }
  return [...buckets].sort(([a], [b]) => a - b).map(([, point]) => point);
};
type Scale = { readonly x: (ms: number) => number };
const rect = (
  className: string,
  x: number,
  y: number,
  width: number,
  height: number,
  title: string,
  radius = 4,
): string =>
  `<rect class="${className}" x="${x.toFixed(1)}" y="${y}" width="${Math.max(width, 1.5).toFixed(1)}" height="${height}" rx="${radius}"><title>${escapeHtml(title)}</title></rect>`;
const label = (y: number, text: string, className = 'name'): string =>
  `<text class="${className}" x="${LEFT - 12}" y="${y}" text-anchor="end">${escapeHtml(text)}</text>`;
const leaderLane = ({ leaders }: Timeline, { x }: Scale, y: number): string[] => [
  label(y + 15, 'leader', 'what'),
  ...leaders.flatMap(({ name, fromMs, toMs }, i) => {
    const width = x(toMs) - x(fromMs);
    const text =
      width > 26
        ? [
            `<text class="on" x="${(x(fromMs) + width / 2).toFixed(1)}" y="${y + 15}" text-anchor="middle">${escapeHtml(name)}</text>`,
          ]
        : [];
    return [
      rect(`leader l${i % 2}`, x(fromMs), y, width - 1, 21, `${name} led for ${durationText(toMs - fromMs)}`),
      ...text,
    ];
  }),
];
/** Places that a version takes on a bar, and half a mark with its margin. */
const [VERSION_WIDTH, MARK_WIDTH] = [22, 9];
/** Where the version of a bar starts: next to the marks that would cover it. Undefined if no place is left. Pure. */
const versionPlace = (from: number, to: number, marks: readonly number[]): number | undefined => {
  let at = from + 8;
  for (const mark of marks.toSorted((a, b) => a - b))
    if (mark > at - MARK_WIDTH && mark < at + VERSION_WIDTH + MARK_WIDTH) at = mark + MARK_WIDTH;
  return at + VERSION_WIDTH + 4 < to ? at : undefined;
};
const memberLane = (lane: Timeline['lanes'][number], report: Report, { x }: Scale, y: number): string[] => {
  const { before, after } = versionNames(report);
  const words = { old: before, new: after, down: 'unavailable' };
  const covering = [...lane.snapshotsAt, ...lane.revertedAt].map((ms) => x(ms));
  const spans = lane.spans.flatMap(({ kind, fromMs, toMs }) => {
    const width = x(toMs) - x(fromMs);
    const at = kind === 'down' ? undefined : versionPlace(x(fromMs), x(toMs), covering);
    const text =
      at === undefined
        ? []
        : [`<text class="on" x="${at.toFixed(1)}" y="${y + 15}">${escapeHtml(words[kind])}</text>`];
    const title =
      kind === 'down'
        ? `${lane.name} was unavailable for ${durationText(toMs - fromMs)}`
        : `${lane.name} ran ${words[kind]} for ${durationText(toMs - fromMs)}`;
    return [rect(kind, x(fromMs), y, width, 21, title), ...text];
  });
  const marks = [
    ...lane.snapshotsAt.map((at) => ({
      at,
      className: 'snapshot',
      title: `snapshot of ${lane.name} saved and verified`,
    })),
    ...lane.revertedAt.map((at) => ({
      at,
      className: 'reverted',
      title: `${lane.name} was rolled back to the old version`,
    })),
  ].map(
    ({ at, className, title }) =>
      `<path class="${className}" d="M${x(at).toFixed(1)} ${y + 4}l6.5 6.5-6.5 6.5-6.5-6.5z"><title>${escapeHtml(title)}</title></path>`,
  );
  return [label(y + 15, lane.name), ...spans, ...marks];
};
const niceTop = (ms: number): number =>
  [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000].find((top) => top >= ms) ?? ms;
const gapMarks = (gaps: Timeline['gaps'], { x }: Scale, top: number): string[] =>
  gaps.map(({ fromMs, toMs }) =>
    rect(
      'gap',
      x(fromMs),
      top,
      x(toMs) - x(fromMs),
      CHART,
      `no acknowledged write for ${durationText(toMs - fromMs)}`,
      2,
    ),
  );
const failedMarks = (points: readonly CanaryWrite[], { x }: Scale, top: number): string[] =>
  points
    .filter((point) => !point.ok)
    .map(
      (point) =>
        `<circle class="failed" cx="${x(point.atMs).toFixed(1)}" cy="${top + 8}" r="4"><title>a write failed</title></circle>`,
    );
/** Successful writes as a line and the area below it. A single write has no line. */
const areaOf = (
  good: readonly CanaryWrite[],
  { x, y, bottom }: Scale & { readonly y: (ms: number) => number; readonly bottom: number },
): string[] => {
  const [first, ...rest] = good;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return [];
  const line = `M${good.map((point) => `${x(point.atMs).toFixed(1)} ${y(point.latencyMs).toFixed(1)}`).join('L')}`;
  return [
    `<path class="area" d="${line}L${x(last.atMs).toFixed(1)} ${bottom}L${x(first.atMs).toFixed(1)} ${bottom}z"/>`,
    `<path class="line" d="${line}"/>`,
  ];
};
const chart = (timeline: Timeline, scale: Scale, top: number): string[] => {
  const { x } = scale;
  const { points, gaps, durationMs } = timeline;
  if (points.length === 0) return [];
  const shown = slowest(points, durationMs);
  const most = niceTop(Math.max(...shown.map((point) => point.latencyMs)));
  const bottom = top + CHART;
  // Uses the square root, so that a few slow writes do not flatten the usual writes.
  const y = (ms: number): number => bottom - Math.sqrt(Math.min(ms, most) / most) * (CHART - 10);
  const levels = [most, most / 4, most / 25].flatMap((ms) => [
    `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(ms).toFixed(1)}" y2="${y(ms).toFixed(1)}"/>`,
    `<text class="what" x="${LEFT - 12}" y="${(y(ms) + 4).toFixed(1)}" text-anchor="end">${durationText(ms)}</text>`,
  ]);
  const area = areaOf(
    shown.filter((point) => point.ok),
    { x, y, bottom },
  );
  return [...levels, ...gapMarks(gaps, scale, top), ...area, ...failedMarks(shown, scale, top)];
};
const pauseLine =
  ({ x }: Scale, bottom: number) =>
  ({ atMs, forMs }: Timeline['pauses'][number]): string => {
    const at = x(atMs).toFixed(1);
    return `<line class="pause" x1="${at}" x2="${at}" y1="8" y2="${bottom}"><title>${escapeHtml(`the run was paused here for ${durationText(forMs)}`)}</title></line>`;
  };
/**
 * Draws the run: the leader, the version of each member, and the writes of the canary. The page's style
 * defines the colors. Pure.
 */
export const timelineSvg = (report: Report, timeline: Timeline): string => {
  const scale: Scale = {
    x: (ms) => LEFT + (Math.min(ms, timeline.durationMs) / timeline.durationMs) * (WIDTH - LEFT - RIGHT),
  };
  const lanesTop = 12 + LANE;
  const chartTop = lanesTop + timeline.lanes.length * LANE + 34;
  const hasChart = timeline.points.length > 0;
  const bottom = hasChart ? chartTop + CHART : chartTop - 26;
  const ticks = ticksOf(timeline.durationMs).flatMap((ms) => [
    `<line class="grid" x1="${scale.x(ms).toFixed(1)}" x2="${scale.x(ms).toFixed(1)}" y1="8" y2="${bottom}"/>`,
    `<text class="what" x="${scale.x(ms).toFixed(1)}" y="${bottom + 18}" text-anchor="middle">${durationText(ms)}</text>`,
  ]);
  return [
    `<svg class="timeline" viewBox="0 0 ${WIDTH} ${bottom + 28}" role="img" aria-label="Timeline of the upgrade">`,
    ...ticks,
    ...leaderLane(timeline, scale, 12),
    ...timeline.lanes.flatMap((lane, i) => memberLane(lane, report, scale, lanesTop + i * LANE)),
    ...(hasChart
      ? [`<text class="what" x="${LEFT}" y="${chartTop - 8}">slowest write of each moment</text>`]
      : []),
    ...chart(timeline, scale, chartTop),
    ...timeline.pauses.map(pauseLine(scale, bottom)),
    '</svg>',
  ].join('\n');
};
