import type { CheckFinding } from '../../core/finding.ts';
import type { Plan } from './plan.ts';

/** Each difference is a failure beside the file that was to be true. */
export const planFindings = ({ actions, refused, kept }: Plan, path: string): CheckFinding[] => {
  const file = path === '-' ? {} : { file: path };
  const found = [
    ...actions.map(({ action, kind, name }) => ({
      ...{ rule: 'difference', level: 'fail' as const, subject: `${kind} ${name}` },
      ...{ message: `${action} ${kind} ${name}`, ...file },
    })),
    ...refused.map((one) => ({
      ...{ rule: 'refused', level: 'fail' as const, message: `${one.path} ${one.message}`, ...file },
      ...(one.line === undefined ? {} : { line: one.line }),
    })),
  ];
  if (found.length > 0) return found;
  return [{ rule: 'difference', level: 'pass', message: `${kept} records are as the file says`, ...file }];
};
