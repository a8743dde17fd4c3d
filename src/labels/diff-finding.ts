import type { CheckFinding } from '../core/result.ts';
import type { diffData } from './diff.ts';

/** A label that differs is a failure at its file. */
export const reportable = ({
  title,
  file,
  status,
  changes,
  drift,
}: ReturnType<typeof diffData>['labels'][number]): CheckFinding => ({
  rule: status === 'drifted' ? 'drift' : 'difference',
  level: status === 'same' ? 'pass' : 'fail',
  subject: title,
  file,
  message:
    status === 'same'
      ? `${title} matches the file`
      : `${title} is ${status}: ${changes.length} changes, ${drift.length} made by others`,
});
