import type { Report, UpgradeEvent } from '../../engine/types.ts';
import { pageStyles } from './page-styles.ts';
import { timelineFrom } from './timeline.ts';
import { escaped, timelineSvg } from './timeline-svg.ts';
import {
  durationText,
  gateText,
  momentText,
  outcomeMood,
  outcomeText,
  runTitle,
  sizeText,
  versionNames,
  wayText,
} from './labels.ts';

type Cell = string | number | undefined | { readonly html: string };
const cellHtml = (cell: Cell): string =>
  typeof cell === 'object'
    ? cell.html
    : cell === undefined || cell === ''
      ? '<span class="what">–</span>'
      : escaped(cell);
const code = (text: string): Cell => ({ html: `<code>${escaped(text)}</code>` });
const badge = (mood: 'good' | 'warn' | 'bad', text: string): Cell => ({
  html: `<span class="badge ${mood}">${escaped(text)}</span>`,
});
const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  `<div class="scroll"><table><thead><tr>${head.map((one) => `<th>${escaped(one)}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((one) => `<td>${cellHtml(one)}</td>`).join('')}</tr>`)
    .join('')}</tbody></table></div>`;
const section = (title: string, body: string): string =>
  `<section><h2>${escaped(title)}</h2>${body}</section>`;
const folded = (title: string, body: string): string =>
  `<details><summary>${escaped(title)}</summary>${body}</details>`;

const cards = (report: Report, isInParts: boolean, longestGapMs: number | undefined): string => {
  const { canary, members } = report;
  const downMs = members.flatMap((member) => member.down_ms ?? []);
  const longest = downMs.length === 0 ? undefined : durationText(Math.max(...downMs));
  const all: readonly (readonly [string | number | undefined, string])[] = [
    [wayText(report), `cluster version now ${report.cluster_version_after ?? 'unknown'}`],
    [durationText(report.duration_ms), isInParts ? 'active time, without the breaks' : 'whole run'],
    [report.snapshots.length, 'verified snapshots'],
    [longest, 'longest a member was unavailable'],
    [
      canary === undefined ? undefined : canary.failed,
      canary === undefined ? '' : `failed of ${canary.writes} canary writes`,
    ],
    [
      canary === undefined ? undefined : durationText(longestGapMs ?? canary.longest_gap_ms),
      'longest gap between writes',
    ],
  ];
  return `<div class="cards">${all.map(([value, what]) => (value === undefined ? '' : `<div class="card"><b>${escaped(value)}</b><span>${escaped(what)}</span></div>`)).join('')}</div>`;
};

const legend = (report: Report, isInParts: boolean): string => {
  const { before, after } = versionNames(report);
  const rows = [
    ['--old', before],
    ['--down', 'member unavailable, or no write'],
    ['--new', after],
    ['--lead', 'leader'],
  ];
  const marks = rows.map(
    ([color, text]) => `<span><i style="background:var(${color})"></i>${escaped(text)}</span>`,
  );
  return `<div class="legend">${marks.join('')}<span>◇ snapshot saved and verified</span>${isInParts ? '<span>┆ the run rested</span>' : ''}</div>`;
};

const membersTable = (report: Report): string =>
  table(
    ['Member', 'Before', 'After', 'Away', 'Gate', 'Snapshot', 'Copy of the data directory'],
    report.members.map((member) => {
      return [
        {
          html: `<b>${escaped(member.name)}</b>${member.was_leader ? ' <span class="badge good">led</span>' : ''}<br><code>${escaped(member.client_url)}</code>`,
        },
        member.version_before,
        member.version_after,
        member.down_ms === undefined ? undefined : durationText(member.down_ms),
        member.gate.length === 0 ? undefined : badge('good', gateText(member.gate)),
        member.snapshot === undefined
          ? undefined
          : `revision ${member.snapshot.revision}, ${sizeText(member.snapshot.size_bytes)}`,
        member.data_copy === undefined ? undefined : code(member.data_copy),
      ];
    }),
  );

const stepsTable = (report: Report): string =>
  table(
    ['Step', 'Took', 'Outcome'],
    report.steps.map((step) => [
      { html: `${escaped(step.title)}<br><code>${escaped(step.id)}</code>` },
      step.outcome === 'skipped' ? undefined : durationText(step.duration_ms),
      step.outcome === 'skipped' ? undefined : badge(step.outcome === 'done' ? 'good' : 'bad', step.outcome),
    ]),
  );
const gatesTable = (report: Report): string =>
  table(
    ['Member', 'Check', 'Result', 'Detail'],
    report.members.flatMap((member) =>
      member.gate.map((gate) => [
        member.name,
        gate.check,
        badge(
          gate.ok === true ? 'good' : 'warn',
          gate.ok === null ? 'skipped' : gate.ok ? 'passed' : 'not yet',
        ),
        gate.detail,
      ]),
    ),
  );
const findingsTable = (report: Report): string =>
  table(
    ['Level', 'Guard', 'Member', 'Finding'],
    report.findings.map((one) => [
      badge(one.level === 'pass' ? 'good' : one.level === 'warn' ? 'warn' : 'bad', one.level),
      one.guard,
      one.member,
      one.hint === undefined ? one.message : `${one.message} (${one.hint})`,
    ]),
  );
const facts = (report: Report): string => {
  const rows = [
    ['Run', report.run],
    ['From, to', `${momentText(report.started_at)} – ${momentText(report.finished_at)}`],
    ['By', `${report.owner.user ?? 'unknown user'} on ${report.owner.host}, process ${report.owner.pid}`],
    ['Plan', report.plan_digest],
    ['Journal', report.journal],
  ];
  return `<dl>${rows.map(([name, value]) => `<dt>${escaped(name)}</dt><dd><code>${escaped(value)}</code></dd>`).join('')}</dl>`;
};

const snapshotsTable = (report: Report): string =>
  table(
    ['Member', 'Revision', 'Size', 'File and its sha256'],
    report.snapshots.map((one) => [
      one.member,
      one.revision,
      sizeText(one.size_bytes),
      { html: `<code>${escaped(one.path)}</code><br><code>${escaped(one.file_sha256)}</code>` },
    ]),
  );

const drawing = (report: Report, events: readonly UpgradeEvent[]): string => {
  if (events.length === 0) return '';
  const timeline = timelineFrom(report, events);
  return section(
    'Timeline',
    `<div class="scroll">${timelineSvg(report, timeline)}</div>${legend(report, timeline.pauses.length > 0)}`,
  );
};
const oddLines = ({ unexpected_log_lines: odd }: Report): string => {
  const rows = odd.map((one) => [one.member, code(one.line)]);
  return rows.length === 0
    ? ''
    : section('Log lines that are not expected in an upgrade', table(['Member', 'Line'], rows));
};
const pageWith = (title: string, body: readonly string[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${pageStyles}</style>
</head>
<body><main>
${body.join('\n')}
</main></body>
</html>
`;

/** The one that the drawing shows, so that both say the same. */
const longestGap = (report: Report, events: readonly UpgradeEvent[]): number | undefined => {
  const [longest] = timelineFrom(report, events).gaps;
  return longest === undefined ? undefined : longest.toMs - longest.fromMs;
};

/** The report as one page that needs nothing but itself. Without events it has no drawing. Pure. */
export const pageFrom = (report: Report, events: readonly UpgradeEvent[]): string => {
  const title = runTitle(report);
  return pageWith(`${title}: ${outcomeText[report.outcome]}`, [
    `<header><h1>${escaped(title)}</h1>${cellHtml(badge(outcomeMood[report.outcome], outcomeText[report.outcome]))}</header>`,
    `<p class="message">${escaped(report.message)}</p>`,
    cards(
      report,
      events.some((event, i) => i > 0 && event.event === 'run-started'),
      longestGap(report, events),
    ),
    drawing(report, events),
    section('Members', membersTable(report)),
    section('Snapshots', report.snapshots.length === 0 ? '<p>none</p>' : snapshotsTable(report)),
    oddLines(report),
    folded(`Steps (${report.steps.length})`, stepsTable(report)),
    folded('What each member had to show', gatesTable(report)),
    folded(`Findings before the start (${report.findings.length})`, findingsTable(report)),
    section('Record', facts(report)),
    '<footer>Made by opsctl.</footer>',
  ]);
};
