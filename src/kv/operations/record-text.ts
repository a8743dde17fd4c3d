import { durationText, momentText, sizeText } from '../upgrade/present/labels.ts';
import { markdownTable } from '../upgrade/present/markdown.ts';
import type { OperationRecord, StepRecord } from './record.ts';
import { operationTitle } from './text.ts';

const valueText = (name: string, value: unknown): string => {
  if (typeof value === 'number' && name.endsWith('_ms')) return durationText(value);
  if (typeof value === 'number' && name.endsWith('_bytes')) return sizeText(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
};
/** `blocked 38 ms, before 1.2 MB, after 49 kB`: the unit stands in the value. */
const resultText = ({ detail, reason }: StepRecord): string | undefined =>
  reason ??
  (detail &&
    Object.entries(detail)
      .map(
        ([name, value]) =>
          `${name.replace(/_(ms|bytes)$/, '').replaceAll('_', ' ')} ${valueText(name, value)}`,
      )
      .join(', '));

const headLines = (record: OperationRecord): string[] => {
  const ended = record.ended_at === null ? 'no end' : momentText(record.ended_at);
  const subject = record.subject === null ? '' : ` (${record.subject})`;
  return [
    `# ${operationTitle(record.operation)} ${record.cluster}${subject}: ${record.outcome}`,
    '',
    ...(record.message === '' ? [] : [record.message, '']),
    `- Operation ${record.run}, ${momentText(record.started_at)} to ${ended} (${durationText(record.duration_ms)} of active time)`,
    `- By ${record.by.join(', ')}${record.resumes === 0 ? '' : `, resumed ${record.resumes} times`}`,
    `- Cluster version ${record.version}`,
    `- Plan digest ${record.plan_digest}`,
    `- Journal ${record.journal}`,
    ...record.next.map((command) => `- Goes on with \`${command}\``),
    '',
  ];
};

/** The record of an operation for an issue or a change record. Pure. */
export const recordMarkdown = (record: OperationRecord): string => {
  const said = record.findings
    .filter(({ level }) => level !== 'pass')
    .map(({ level, guard, member, message }) => [level, guard, member, message]);
  const steps = record.steps.map((step) => [
    step.id,
    step.title,
    step.started_at === null ? undefined : durationText(step.duration_ms),
    step.outcome,
    resultText(step),
  ]);
  const lines = [
    ...headLines(record),
    ...['## Steps', '', ...markdownTable(['Step', 'What', 'Took', 'Outcome', 'Result'], steps)],
    ...(said.length === 0
      ? []
      : [
          '## Findings before the start',
          '',
          ...markdownTable(['Level', 'Guard', 'Member', 'Finding'], said),
        ]),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};
