import { escapeHtml, escapeMarkdown } from '../../../core/text.ts';
import { momentText, durationText, sizeText } from '../../../core/format.ts';
import type { Report } from '../../engine/model.ts';
import { runWay } from '../plan-kind.ts';
import {
  memberTexts,
  outcomeStyle,
  outcomeText,
  ownerText,
  runTitle,
  stepDuration,
  versionNames,
  versionChange,
} from './text.ts';
import type { WholeRun } from './run-model.ts';
import { timelineFrom, timelineSvg } from './timeline.ts';

/**
 * Style of the report page. The page contains everything that it needs: it loads no script, font or image.
 */
const pageStyles = `
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #ffffff; --ink: #1c2330; --soft: #667085; --line: #e3e7ee;
  --good: #0b6b4b; --good-soft: #d9f2e6; --warn: #8a4e00; --warn-soft: #fdeecf; --bad: #a31d13; --bad-soft: #fde3e0;
  --old: #b9c2d0; --old-ink: #27303f; --new: #2f6fed; --new-ink: #ffffff; --down: #e5484d; --lead: #7a5af8; --lead2: #9b83fa; --area: #2f6fed; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f141c; --card: #171e29; --ink: #e8ecf3; --soft: #98a3b5; --line: #283142;
  --good: #4bd39d; --good-soft: #12352a; --warn: #f3b95f; --warn-soft: #3a2a10; --bad: #ff8a80; --bad-soft: #411b18;
  --old: #47536a; --old-ink: #e8ecf3; --new: #4d86ff; --new-ink: #ffffff; --down: #ff6369; --lead: #6d51e0; --lead2: #8a72f0; --area: #4d86ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 64px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 14px; margin-bottom: 4px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 16px; margin: 0 0 12px; }
p { margin: 0; }
.message { color: var(--soft); margin: 2px 0 20px; }
.badge { display: inline-block; border-radius: 999px; padding: 2px 12px; font-weight: 600; font-size: 14px; white-space: nowrap; }
.good { color: var(--good); background: var(--good-soft); } .warn { color: var(--warn); background: var(--warn-soft); } .bad { color: var(--bad); background: var(--bad-soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-bottom: 16px; }
.card, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.card { padding: 14px 16px; } .card b { display: block; font-size: 22px; line-height: 1.3; font-variant-numeric: tabular-nums; } .card span { color: var(--soft); font-size: 13px; }
section { padding: 18px 20px; margin-bottom: 16px; }
.scroll { overflow-x: auto; scrollbar-width: thin; background:
  linear-gradient(90deg, var(--card) 40%, transparent) 0 0 / 48px 100% no-repeat local,
  linear-gradient(270deg, var(--card) 40%, transparent) 100% 0 / 48px 100% no-repeat local,
  linear-gradient(90deg, var(--old), transparent) 0 0 / 14px 100% no-repeat scroll,
  linear-gradient(270deg, var(--old), transparent) 100% 0 / 14px 100% no-repeat scroll; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 500; font-size: 13px; padding: 4px 14px 6px 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 7px 14px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td:last-child, th:last-child { padding-right: 0; }
code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
details { margin-bottom: 16px; background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 0 20px; }
summary { cursor: pointer; font-weight: 600; padding: 14px 0; } details > :last-child { padding-bottom: 16px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; color: var(--soft); font-size: 13px; margin-top: 8px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0; font-size: 14px; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.timeline { width: 100%; min-width: 720px; height: auto; display: block; }
.timeline text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft); } .timeline .name { fill: var(--ink); font-weight: 600; font-size: 13px; }
.timeline .on { fill: var(--new-ink); font-weight: 600; } .timeline .grid { stroke: var(--line); stroke-width: 1; }
.timeline .old { fill: var(--old); } .timeline .old + .on { fill: var(--old-ink); } .timeline .new { fill: var(--new); } .timeline .down { fill: var(--down); }
.timeline .leader { fill: var(--lead); } .timeline .l1 { fill: var(--lead2); }
.timeline .snapshot { fill: var(--card); stroke: var(--ink); stroke-width: 1.5; } .timeline .reverted { fill: var(--warn); }
.timeline .area { fill: var(--area); opacity: .16; } .timeline .line { fill: none; stroke: var(--area); stroke-width: 1.6; stroke-linejoin: round; }
.timeline .pause { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 3 4; } .timeline .gap { fill: var(--down); opacity: .16; } .timeline .failed { fill: var(--bad); }
footer { color: var(--soft); font-size: 13px; }
@media print { body { background: none; } section, .card, details { break-inside: avoid; } }
`;

type Cell = string | number | undefined | { readonly html: string };
const cellHtml = (cell: Cell): string =>
  typeof cell === 'object'
    ? cell.html
    : cell === undefined || cell === ''
      ? '<span class="what">–</span>'
      : escapeHtml(cell);
const code = (text: string): Cell => ({ html: `<code>${escapeHtml(text)}</code>` });
const badge = (mood: 'good' | 'warn' | 'bad', text: string): Cell => ({
  html: `<span class="badge ${mood}">${escapeHtml(text)}</span>`,
});
const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  `<div class="scroll"><table><thead><tr>${head.map((one) => `<th>${escapeHtml(one)}</th>`).join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((one) => `<td>${cellHtml(one)}</td>`).join('')}</tr>`)
    .join('')}</tbody></table></div>`;
const section = (title: string, body: string): string =>
  `<section><h2>${escapeHtml(title)}</h2>${body}</section>`;
const foldSection = (title: string, body: string): string =>
  `<details><summary>${escapeHtml(title)}</summary>${body}</details>`;
const cards = (report: Report, { pauses }: WholeRun): string => {
  const { canary, members } = report;
  const downMs = members.flatMap((member) => member.down_ms ?? []);
  const longest = downMs.length === 0 ? undefined : durationText(Math.max(...downMs));
  const all: readonly (readonly [string | number | undefined, string])[] = [
    [versionChange(report), `cluster version now ${report.cluster_version_after ?? 'unknown'}`],
    [durationText(report.duration_ms), pauses.length > 0 ? 'active time without pauses' : 'whole run'],
    [report.snapshots.length, 'verified snapshots'],
    [longest, 'longest unavailability of a member'],
    [
      canary === undefined ? undefined : canary.failed,
      canary === undefined ? '' : `failed of ${canary.writes} canary writes`,
    ],
    [canary === undefined ? undefined : durationText(canary.longest_gap_ms), 'longest gap between writes'],
  ];
  return `<div class="cards">${all.map(([value, what]) => (value === undefined ? '' : `<div class="card"><b>${escapeHtml(value)}</b><span>${escapeHtml(what)}</span></div>`)).join('')}</div>`;
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
    ([color, text]) => `<span><i style="background:var(${color})"></i>${escapeHtml(text)}</span>`,
  );
  return `<div class="legend">${marks.join('')}<span>◇ snapshot saved and verified</span>${isInParts ? '<span>┆ the run was paused</span>' : ''}</div>`;
};
const membersTable = (report: Report): string =>
  table(
    ['Member', 'Before', 'After', 'Unavailable', 'Health check', 'Snapshot', 'Copy of the data directory'],
    report.members.map((member) => {
      const { unavailable, health, snapshot } = memberTexts(member);
      return [
        {
          html: `<b>${escapeHtml(member.name)}</b>${member.was_leader ? ' <span class="badge good">was leader</span>' : ''}<br><code>${escapeHtml(member.client_url)}</code>`,
        },
        member.version_before,
        member.version_after,
        unavailable,
        member.gate.length === 0 ? undefined : badge('good', health),
        snapshot,
        member.data_copy === undefined ? undefined : code(member.data_copy),
      ];
    }),
  );
const stepsTable = (report: Report): string =>
  table(
    ['Step', 'Took', 'Outcome'],
    report.steps.map((step) => [
      { html: `${escapeHtml(step.title)}<br><code>${escapeHtml(step.id)}</code>` },
      stepDuration(step),
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
    ['By', ownerText(report.owner)],
    ['Plan', report.plan_digest],
    ['Journal', report.journal],
  ];
  return `<dl>${rows.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd><code>${escapeHtml(value)}</code></dd>`).join('')}</dl>`;
};
const snapshotsTable = (report: Report): string =>
  table(
    ['Member', 'Revision', 'Size', 'File and its sha256'],
    report.snapshots.map((one) => [
      one.member,
      one.revision,
      sizeText(one.size_bytes),
      { html: `<code>${escapeHtml(one.path)}</code><br><code>${escapeHtml(one.file_sha256)}</code>` },
    ]),
  );
const drawing = (report: Report, run: WholeRun): string => {
  if (run.endMs === undefined) return '';
  const timeline = timelineFrom(report, run);
  return section(
    'Timeline',
    `<div class="scroll">${timelineSvg(report, timeline)}</div>${legend(report, timeline.pauses.length > 0)}`,
  );
};
const oddLines = ({ unexpected_log_lines: odd }: Report): string => {
  const rows = odd.map((one) => [one.member, code(one.line)]);
  return rows.length === 0 ? '' : section('Unexpected log lines', table(['Member', 'Line'], rows));
};
const pageWith = (title: string, body: readonly string[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${pageStyles}</style>
</head>
<body><main>
${body.join('\n')}
</main></body>
</html>
`;
/** Creates the report as one page without external files. Without events the page has no drawing. Pure. */
export const pageFrom = (report: Report, run: WholeRun): string => {
  const title = runTitle(report);
  return pageWith(`${title}: ${outcomeText[report.outcome]}`, [
    `<header><h1>${escapeHtml(title)}</h1>${cellHtml(badge(outcomeStyle[report.outcome], outcomeText[report.outcome]))}</header>`,
    `<p class="message">${escapeHtml(report.message)}</p>`,
    cards(report, run),
    drawing(report, run),
    section('Members', membersTable(report)),
    section('Snapshots', report.snapshots.length === 0 ? '<p>none</p>' : snapshotsTable(report)),
    oddLines(report),
    foldSection(`Steps (${report.steps.length})`, stepsTable(report)),
    foldSection('Health checks of each member', gatesTable(report)),
    foldSection(`Findings before the start (${report.findings.length})`, findingsTable(report)),
    section('Record', facts(report)),
    '<footer>Created by opsctl.</footer>',
  ]);
};

const markdownCell = (text: string | number | undefined): string => escapeMarkdown(String(text ?? '–'));
/** Formats a Markdown table with an empty line after it. Pure. */
export const markdownTable = (
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string[] =>
  rows.length === 0
    ? ['none', '']
    : [
        `| ${head.join(' | ')} |`,
        `|${head.map(() => '---').join('|')}|`,
        ...rows.map((row) => `| ${row.map(markdownCell).join(' | ')} |`),
        '',
      ];
const canaryLines = ({ canary }: Report): string[] =>
  canary === undefined
    ? []
    : [
        '## What clients saw',
        '',
        ...markdownTable(
          ['Writes', 'Failed', 'Longest gap', 'Median', '99th percentile'],
          [
            [
              canary.writes,
              canary.failed,
              durationText(canary.longest_gap_ms),
              canary.median_ms === undefined ? undefined : `${canary.median_ms} ms`,
              canary.p99_ms === undefined ? undefined : `${canary.p99_ms} ms`,
            ],
          ],
        ),
      ];
const markdownSection = (
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string[] => [`## ${title}`, '', ...markdownTable(head, rows)];
/** Empty if the section has no content. */
const sectionIfAny = (...[title, head, rows]: Parameters<typeof markdownSection>): string[] =>
  rows.length === 0 ? [] : markdownSection(title, head, rows);
const headLines = (report: Report): string[] => [
  `# ${markdownCell(runTitle(report))} ${runWay(report)}: ${outcomeText[report.outcome]}`,
  '',
  markdownCell(report.message),
  '',
  `- Run ${report.run}, ${momentText(report.started_at)} to ${momentText(report.finished_at)} (${durationText(report.duration_ms)} of active time)`,
  `- By ${markdownCell(ownerText(report.owner))}`,
  `- Cluster version ${report.cluster_version_before ?? 'unknown'} before, ${report.cluster_version_after ?? 'unknown'} after`,
  `- Plan digest ${report.plan_digest}`,
  `- Journal ${markdownCell(report.journal)}`,
  '',
];
const memberRow = (member: Report['members'][number]): (string | undefined)[] => {
  const { name, version_before, version_after, was_leader } = member;
  const { unavailable, health, snapshot } = memberTexts(member);
  return [name, version_before, version_after, unavailable, was_leader ? 'yes' : '', health, snapshot];
};
const stepRow = (step: Report['steps'][number]): (string | undefined)[] => [
  step.id,
  step.title,
  stepDuration(step),
  step.outcome,
];
/** Formats the report for an issue or a change record. Pure. */
export const markdownFrom = (report: Report): string => {
  const { members, snapshots, findings } = report;
  const failedGates = members.flatMap(({ name, gate }) =>
    gate.filter(({ ok }) => ok === false).map(({ check, detail }) => [name, check, detail]),
  );
  const skippedGates = members.flatMap(({ name, gate }) =>
    gate.filter(({ ok }) => ok === null).map(({ check, detail }) => [name, check, detail]),
  );
  const odd = report.unexpected_log_lines.map(({ member, line }) => [member, line]);
  const files = snapshots.map((one) => [
    one.member,
    one.path,
    sizeText(one.size_bytes),
    one.revision,
    one.file_sha256,
  ]);
  const said = findings
    .filter(({ level }) => level !== 'pass')
    .map((one) => [one.level, one.guard, one.member, one.message]);
  const lines = [
    ...headLines(report),
    ...markdownSection(
      'Members',
      ['Member', 'Before', 'After', 'Unavailable', 'Was leader', 'Health check', 'Snapshot'],
      members.map(memberRow),
    ),
    ...canaryLines(report),
    ...markdownSection('Steps', ['Step', 'What', 'Took', 'Outcome'], report.steps.map(stepRow)),
    ...markdownSection('Snapshots', ['Member', 'File', 'Size', 'Revision', 'sha256 of the file'], files),
    ...sectionIfAny('Checks that were skipped', ['Member', 'Check', 'Reason'], skippedGates),
    ...sectionIfAny('Checks that failed during the run', ['Member', 'Check', 'Detail'], failedGates),
    ...sectionIfAny('Unexpected log lines', ['Member', 'Line'], odd),
    ...markdownSection('Findings before the start', ['Level', 'Guard', 'Member', 'Finding'], said),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
