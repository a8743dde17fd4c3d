import { type ErrorExplanation, type Explanation, exitCodes } from '../../core/problem.ts';
import { clusterErrors } from './cluster-errors.ts';
import { operationErrors } from './operation-errors.ts';
import { programErrors } from './program-errors.ts';
import { guardExplanations } from './guards.ts';
import { serviceErrors } from './service-errors.ts';
import { exitExplanations } from './settings.ts';
import { signInErrors } from './sign-in-errors.ts';

/** One row for each error code, in the order of the codes. */
export const errorExplanations: Readonly<Record<string, ErrorExplanation>> = Object.fromEntries(
  Object.entries({
    ...signInErrors,
    ...serviceErrors,
    ...clusterErrors,
    ...operationErrors,
    ...programErrors,
  }).sort(([a], [b]) => (a < b ? -1 : 1)),
);

const list = (rows: readonly string[]): string => rows.map((row) => `- ${row}`).join('\n');
const body = ({ causes, fix, example }: Explanation): string =>
  [`Possible causes:`, list(causes), `Fix: ${fix}`, ['```text', example, '```'].join('\n')].join('\n\n');
const section = (title: string, ...paragraphs: readonly string[]): string =>
  [`### ${title}`, ...paragraphs].join('\n\n');

/** Returns `docs/reference/errors.md`: the pages of `opsctl explain` for exit codes, preflight checks and error codes. */
export const errorsMarkdown = (): string =>
  `${[
    '# Errors',
    'This page is generated. `opsctl explain NAME` prints one entry. [Exit codes](exit-codes.md) describes errors as JSON.',
    '## Exit codes',
    ...Object.entries(exitExplanations).map(([category, row]) => {
      const { code, meaning } = exitCodes[category as keyof typeof exitCodes];
      return section(
        `Exit code ${code}`,
        `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`,
        body(row),
      );
    }),
    '## Preflight checks',
    ...Object.entries(guardExplanations).map(([id, row]) => section(id, row.meaning, row.reason, body(row))),
    '## Error codes',
    ...Object.entries(errorExplanations).map(([code, row]) =>
      section(code, row.meaning, `Exit code ${exitCodes[row.category].code} (${row.category}).`, body(row)),
    ),
  ].join('\n\n')}\n`;
