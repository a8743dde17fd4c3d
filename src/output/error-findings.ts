/** The findings of a check that ended with an error. */
import type { CheckFinding } from '../core/finding.ts';
import type { AppError, Problem } from '../core/problem.ts';

const isPlaced = ({ file }: Problem): boolean => file !== undefined;

const problemFinding = ({ detail, message }: AppError, one: Problem): CheckFinding => ({
  rule: detail.code ?? one.rule,
  level: 'fail',
  message: one.path === '' ? `${message}: ${one.message}` : `${one.path} ${one.message}`,
  ...(one.hint === undefined ? {} : { hint: one.hint }),
  ...(one.file === undefined ? {} : { file: one.file }),
  ...(one.line === undefined ? {} : { line: one.line }),
  ...(one.column === undefined ? {} : { column: one.column }),
});

/** Returns the problems that belong to a line of a file. */
export const placedFindings = (error: AppError): CheckFinding[] =>
  (error.detail.problems ?? []).filter(isPlaced).map((one) => problemFinding(error, one));

/** Returns one failed finding for each problem of the error, or one for the error itself: a report never shows an error as a success. */
export const errorFindings = (error: AppError): CheckFinding[] => {
  const { problems = [], code, tryThis = [] } = error.detail;
  if (problems.length > 0) return problems.map((one) => problemFinding(error, one));
  const [hint] = tryThis;
  return [
    {
      ...{ rule: code ?? error.category, level: 'fail', message: error.message },
      ...(hint === undefined ? {} : { hint }),
    },
  ];
};
