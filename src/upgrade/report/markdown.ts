import type { Report } from '../types.ts';
import { durationText, outcomeText, sizeText } from './words.ts';

const cell = (text: string | number | undefined): string =>
  String(text ?? '–')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ');
const table = (head: readonly string[], rows: readonly (readonly (string | number | undefined)[])[]): string[] =>
  rows.length === 0
    ? ['none', '']
    : [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`), ''];

const canaryLines = ({ canary }: Report): string[] =>
  canary === undefined
    ? []
    : [
        '## What clients saw',
        '',
        ...table(
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

/** The report for an issue or a change record. Pure. */
export const markdownFrom = (report: Report): string => {
  const who = `${report.owner.user ?? 'unknown user'} on ${report.owner.host}, process ${report.owner.pid}`;
  const failedGates = report.members.flatMap((member) =>
    member.gate.filter((gate) => !gate.ok).map((gate) => [member.name, gate.check, gate.detail]),
  );
  const lines = [
    `# Upgrade of ${report.cluster} from ${report.from} to ${report.to}: ${outcomeText[report.outcome]}`,
    '',
    report.message,
    '',
    `- Run ${report.run}, ${report.started_at} to ${report.finished_at} (${durationText(report.duration_ms)})`,
    `- By ${who}`,
    `- Cluster version ${report.cluster_version_before ?? 'unknown'} before, ${report.cluster_version_after ?? 'unknown'} after`,
    `- Plan digest ${report.plan_digest}`,
    `- Journal ${report.journal}`,
    '',
    '## Members',
    '',
    ...table(
      ['Member', 'Before', 'After', 'Away', 'Led', 'Gate', 'Snapshot'],
      report.members.map((member) => [
        member.name,
        member.version_before,
        member.version_after,
        member.down_ms === undefined ? undefined : durationText(member.down_ms),
        member.was_leader ? 'yes' : '',
        `${new Set(member.gate.filter((gate) => gate.ok).map((gate) => gate.check)).size} checks passed`,
        member.snapshot === undefined ? undefined : `revision ${member.snapshot.revision}, ${sizeText(member.snapshot.size_bytes)}`,
      ]),
    ),
    ...canaryLines(report),
    '## Steps',
    '',
    ...table(
      ['Step', 'What', 'Took', 'Outcome'],
      report.steps.map((step) => [step.id, step.title, step.outcome === 'skipped' ? undefined : durationText(step.duration_ms), step.outcome]),
    ),
    '## Snapshots',
    '',
    ...table(
      ['Member', 'File', 'Size', 'Revision', 'sha256 of the file'],
      report.snapshots.map((one) => [one.member, one.path, sizeText(one.size_bytes), one.revision, one.file_sha256]),
    ),
    ...(failedGates.length === 0 ? [] : ['## Checks that failed on the way', '', ...table(['Member', 'Check', 'Detail'], failedGates)]),
    ...(report.unexpected_log_lines.length === 0
      ? []
      : [
          '## Log lines that are not expected in an upgrade',
          '',
          ...table(
            ['Member', 'Line'],
            report.unexpected_log_lines.map((one) => [one.member, one.line]),
          ),
        ]),
    '## Findings before the start',
    '',
    ...table(
      ['Level', 'Guard', 'Member', 'Finding'],
      report.findings.filter((one) => one.level !== 'pass').map((one) => [one.level, one.guard, one.member, one.message]),
    ),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
