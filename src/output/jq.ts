import { usageError } from '../kernel/problem.ts';

/** jq's own words without its name and the location in a file that does not exist. */
const sentence = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^Failed to execute raw query: /, '')
    .replace(/^jq: (error|1 compile error)?:? ?/gm, '')
    .trim();

/** Results of a jq program over one value: text as it is, everything else as JSON on one line each. */
export const jqText = async (data: unknown, program: string): Promise<string> => {
  const { raw } = await import('./jq-package.ts');
  try {
    const text = await raw(JSON.stringify(data ?? null), program, ['-c', '-r']);
    return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  } catch (error) {
    throw usageError(`--jq: ${sentence(error)}`, [], ["the filter sees the same JSON as -o json; rows are one array: '.[].id'"]);
  }
};
