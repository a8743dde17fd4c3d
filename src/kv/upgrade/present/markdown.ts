import { momentText, durationText, sizeText } from '../../../core/format.ts';
import type { Report } from '../../engine/model.ts';
import { memberTexts, outcomeText, ownerText, runTitle, runWay, stepDuration } from './text.ts';

const cell = (text: string | number | undefined): string =>
  String(text ?? '–')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ');
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
        ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
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
const section = (
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string[] => [`## ${title}`, '', ...markdownTable(head, rows)];
/** Empty if the section has no content. */
const sectionIfAny = (...[title, head, rows]: Parameters<typeof section>): string[] =>
  rows.length === 0 ? [] : section(title, head, rows);
const headLines = (report: Report): string[] => [
  `# ${runTitle(report)} ${runWay(report)}: ${outcomeText[report.outcome]}`,
  '',
  report.message,
  '',
  `- Run ${report.run}, ${momentText(report.started_at)} to ${momentText(report.finished_at)} (${durationText(report.duration_ms)} of active time)`,
  `- By ${ownerText(report.owner)}`,
  `- Cluster version ${report.cluster_version_before ?? 'unknown'} before, ${report.cluster_version_after ?? 'unknown'} after`,
  `- Plan digest ${report.plan_digest}`,
  `- Journal ${report.journal}`,
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
    ...section(
      'Members',
      ['Member', 'Before', 'After', 'Unavailable', 'Was leader', 'Health check', 'Snapshot'],
      members.map(memberRow),
    ),
    ...canaryLines(report),
    ...section('Steps', ['Step', 'What', 'Took', 'Outcome'], report.steps.map(stepRow)),
    ...section('Snapshots', ['Member', 'File', 'Size', 'Revision', 'sha256 of the file'], files),
    ...sectionIfAny('Checks that were skipped', ['Member', 'Check', 'Reason'], skippedGates),
    ...sectionIfAny('Checks that failed during the run', ['Member', 'Check', 'Detail'], failedGates),
    ...sectionIfAny('Unexpected log lines', ['Member', 'Line'], odd),
    ...section('Findings before the start', ['Level', 'Guard', 'Member', 'Finding'], said),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
