import type { CheckFinding } from '../../../core/finding.ts';
import type { Finding } from '../../engine/types.ts';

export const countsOf = (findings: readonly Finding[]) => {
  const count = (level: string): number => findings.filter((finding) => finding.level === level).length;
  return { pass: count('pass'), warn: count('warn'), unknown: count('unknown'), fail: count('fail') };
};

/** As reports of CI services show it. */
export const reportable = (
  { guard, level, member, message, hint }: Finding,
  file: string | undefined,
): CheckFinding => ({
  rule: guard,
  level,
  message,
  ...(member === undefined ? {} : { subject: member }),
  ...(hint === undefined ? {} : { hint }),
  ...(file === undefined ? {} : { file }),
});
