import { createHash } from 'node:crypto';
import type { CheckFinding } from '../core/finding.ts';

const severities = { fail: 'major', warn: 'minor', unknown: 'info', pass: 'info' } as const;

/** The same finding has the same fingerprint in the next run, wherever its line has moved to. */
const fingerprintOf = ({ rule, file, subject, message }: CheckFinding): string =>
  createHash('sha256')
    .update(JSON.stringify([rule, file ?? '', subject ?? '', message]))
    .digest('hex');

/** Findings in the changes of a merge request. What passed is no finding there. Pure. */
export const codeQualityText = (findings: readonly CheckFinding[]): string => {
  const rows = findings
    .filter(({ level }) => level !== 'pass')
    .map((one) => ({
      description: one.hint === undefined ? one.message : `${one.message} (${one.hint})`,
      check_name: one.rule,
      fingerprint: fingerprintOf(one),
      severity: severities[one.level],
      location: { path: one.file ?? '.', lines: { begin: one.line ?? 1 } },
    }));
  return `${JSON.stringify(rows, null, 2)}\n`;
};
