import type { CheckFinding } from '../core/finding.ts';

/** XML has no way to write most control characters; a replacement says that there was one. */
const escaped = (text: string): string =>
  text
    .replaceAll(/[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;');

const outcomeOf = ({ level, message, hint, rule }: CheckFinding): string => {
  const text = escaped(hint === undefined ? message : `${message} (${hint})`);
  if (level === 'fail')
    return `<failure message="${escaped(message)}" type="${escaped(rule)}">${text}</failure>`;
  // Not looked at is neither passed nor failed.
  if (level === 'unknown') return `<skipped message="${escaped(message)}"/>`;
  return level === 'warn' ? `<system-out>warning: ${text}</system-out>` : '';
};

const caseOf = (suite: string, one: CheckFinding): string => {
  const name = one.subject === undefined ? one.rule : `${one.rule}: ${one.subject}`;
  const file = one.file === undefined ? '' : ` file="${escaped(one.file)}"`;
  const line = one.line === undefined ? '' : ` line="${one.line}"`;
  return `    <testcase classname="${escaped(suite)}" name="${escaped(name)}"${file}${line}>${outcomeOf(one)}</testcase>`;
};

/** Test results: a finding is a test case, and what could not be looked at was skipped. Pure. */
export const junitText = (suite: string, findings: readonly CheckFinding[]): string => {
  const count = (level: CheckFinding['level']): number =>
    findings.filter((one) => one.level === level).length;
  const counts = `tests="${findings.length}" failures="${count('fail')}" errors="0" skipped="${count('unknown')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="opsctl" ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts}>`,
    ...findings.map((one) => caseOf(suite, one)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
};
