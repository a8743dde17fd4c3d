import type { CheckFinding } from '../core/finding.ts';

const cell = (text: string): string =>
  text
    .replaceAll(/[\r\n]+/g, ' ')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('`', '&#96;');
const levels = ['fail', 'warn', 'unknown', 'pass'] as const;

const placeOf = ({ file, line, subject }: CheckFinding): string =>
  file === undefined ? (subject ?? '') : line === undefined ? file : `${file}:${line}`;

const rowOf = (one: CheckFinding): string => {
  const text = one.hint === undefined ? one.message : `${one.message} (${one.hint})`;
  return `| ${one.level} | ${cell(one.rule)} | ${cell(placeOf(one))} | ${cell(text)} |`;
};

/** A table for a job summary or a comment; what passed is only counted. Pure. */
export const markdownText = (title: string, findings: readonly CheckFinding[]): string => {
  const counts = levels
    .map((level) => [level, findings.filter((one) => one.level === level).length] as const)
    .filter(([, count]) => count > 0)
    .map(([level, count]) => `${count} ${level}`);
  const shown = levels
    .filter((level) => level !== 'pass')
    .flatMap((level) => findings.filter((one) => one.level === level));
  const table = ['', '| level | rule | where | finding |', '|---|---|---|---|', ...shown.map(rowOf)];
  return [
    `### ${title}: ${counts.join(', ') || 'nothing was checked'}`,
    ...(shown.length > 0 ? table : []),
    '',
  ].join('\n');
};
