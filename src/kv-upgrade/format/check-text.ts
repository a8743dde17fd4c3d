import { acceptable } from '../guards/acceptable.ts';
import type { Finding } from '../types.ts';

const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** What the findings come to, and what to do next. `options`: the flags of the check, for the upgrade. */
export const closing = (findings: readonly Finding[], options: string): string[] => {
  const [failures, warns] = [
    findings.filter(({ level }) => level === 'fail'),
    findings.filter(({ level }) => level === 'warn' || level === 'unknown'),
  ];
  if (failures.length === 0)
    return [
      warns.length === 0
        ? 'Ready for an upgrade.'
        : `Ready for an upgrade, with ${some(warns.length, 'warning')}.`,
      `Next: opsctl kv upgrade${options}`,
    ];
  const failed = [...new Set(failures.map(({ guard }) => guard))];
  return [
    `${some(failures.length, 'finding')} against an upgrade now; nothing was changed.`,
    // As long as one of them can never be accepted, accepting the others leads nowhere.
    ...(failed.every((guard) => acceptable.includes(guard))
      ? [`To go on all the same, knowing why: ${failed.map((guard) => `--accept ${guard}`).join(' ')}`]
      : []),
  ];
};
