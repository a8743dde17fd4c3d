import { after } from '../../../core/next.ts';
import { join } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { momentText } from '../../../core/format.ts';
import { shapeBy } from '../../../core/shape.ts';
import { storedLines, storedObject } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { currentEvent, withCurrentFindings } from '../../engine/journal.ts';
import type { Report, UpgradeEvent } from '../../engine/model.ts';
import { durationText, gateText, outcomeText, runTitle, runWay, sizeText } from './text.ts';
import { pageFrom } from './page.ts';

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
  `- By ${report.owner.user ?? 'unknown user'} on ${report.owner.host}, process ${report.owner.pid}`,
  `- Cluster version ${report.cluster_version_before ?? 'unknown'} before, ${report.cluster_version_after ?? 'unknown'} after`,
  `- Plan digest ${report.plan_digest}`,
  `- Journal ${report.journal}`,
  '',
];
const memberRow = (member: Report['members'][number]): (string | undefined)[] => [
  member.name,
  member.version_before,
  member.version_after,
  member.down_ms === undefined ? undefined : durationText(member.down_ms),
  member.was_leader ? 'yes' : '',
  gateText(member.gate),
  member.snapshot === undefined
    ? undefined
    : `revision ${member.snapshot.revision}, ${sizeText(member.snapshot.size_bytes)}`,
];
const stepRow = (step: Report['steps'][number]): (string | undefined)[] => [
  step.id,
  step.title,
  step.outcome === 'skipped' ? undefined : durationText(step.duration_ms),
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

/** Writes report.json, report.md, report.html and their events to the directory of the run. */
export const writeReports = async (
  host: Host,
  directory: string,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  // The last event contains the report, which has a separate file.
  const lines = events
    .filter((event) => event.event !== 'run-finished')
    .map((event) => `${JSON.stringify(event)}\n`);
  const texts = {
    'events.ndjson': lines.join(''),
    'report.json': `${JSON.stringify(report, null, 2)}\n`,
    'report.md': markdownFrom(report),
    'report.html': pageFrom(report, events),
  };
  for (const [name, text] of Object.entries(texts))
    await host.files.replace(childPath(directory, pathPart(name)), text, 0o600);
};
export type StoredReport = {
  readonly report: Report;
  readonly events: readonly UpgradeEvent[];
  /** The last line of the events was cut off. */
  readonly isTorn?: true;
};
/** The fields that every page needs. */
const shape = {
  run: 'text',
  cluster: 'text',
  from: 'text',
  to: 'text',
  outcome: 'text',
  message: 'text',
  started_at: 'text',
  finished_at: 'text',
  owner: { host: 'text' },
  members: [{ name: 'text', gate: ['record'] }],
  steps: ['record'],
  snapshots: ['record'],
  unexpected_log_lines: ['record'],
  findings: ['record'],
} as const;
const ofStep = { step: { id: 'text' } } as const;
const eventShape = shapeBy('event', {
  'run-started': { plan: { observation: 'record' } },
  observed: { observation: 'record' },
  'step-started': ofStep,
  'step-finished': ofStep,
  'step-failed': ofStep,
  'snapshot-saved': { snapshot: 'record' },
});
const anotherWay = [after('move it away:', ['kv', 'report'], 'then makes the report from the journal')];
/**
 * Reads the report of a finished run; undefined if it does not exist. A run of an earlier version may have no
 * events.
 */
export const readReport = async (host: Host, directory: string): Promise<StoredReport | undefined> => {
  const paths = [join(directory, 'report.json'), join(directory, 'events.ndjson')] as const;
  const [text, lines] = await Promise.all(paths.map((path) => host.files.read(path)));
  if (text === undefined) return undefined;
  const report = storedObject<Report>(paths[0], text, shape, anotherWay);
  const { values, isTorn } = storedLines(paths[1], lines ?? '', anotherWay, eventShape);
  return {
    report: withCurrentFindings(report),
    events: values.map((value) => currentEvent(value) as UpgradeEvent),
    ...(isTorn ? { isTorn } : {}),
  };
};
