import { jsonOfAnyDepth } from '../core/json.ts';
import { usageError } from '../core/problem.ts';

/** jq's own words without its name and the location in a file that does not exist. */
const sentence = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^Failed to execute raw query: /, '')
    .replace(/^jq: (error|1 compile error)?:? ?/gm, '')
    .trim();

const run = async (json: string, program: string, flags: string[]): Promise<string> => {
  const { raw } = await import('./jq-package.ts');
  return raw(json, program, flags);
};

const failed = (error: unknown): Error =>
  usageError(
    `--jq: ${sentence(error)}`,
    [],
    ["the filter sees the same JSON as -o json; rows are one array: '.[].id'"],
  );

/** Compiles the program without running it: nothing flows out of `empty`. */
export const checkJq = async (program: string): Promise<void> => {
  try {
    await run('null', `empty | ${program}`, []);
  } catch {
    // The message quotes the wrapped program: let the plain one fail in its own words.
    await run('null', program, []).catch((error: unknown) => {
      throw failed(error);
    });
  }
};

/** Results of a jq program over one value: text as it is, everything else as JSON on one line each. */
export const jqText = async (data: unknown, program: string): Promise<string> => {
  try {
    const text = await run(jsonOfAnyDepth(data ?? null), program, ['-c', '-r']);
    return text === '' || text.endsWith('\n') ? text : `${text}\n`;
  } catch (error) {
    throw failed(error);
  }
};
