import { AppError } from '../core/problem.ts';
import { type Formatter, project, type Row } from './types.ts';

/** A thread of some thousand replies: YAML would indent its last one by as many steps. */
const tooDeep = (): AppError =>
  new AppError('usage', 'the data is nested too deeply for YAML', {
    code: 'TOO_DEEP',
    tryThis: ['-o json has no such limit'],
  });

const load = async (): Promise<(data: unknown) => string> => {
  const { stringify } = await import('../platform/yaml.ts');
  // Words that YAML 1.1 readers treat as booleans or dates are quoted. Long texts stay on one line. There are
  // no aliases.
  return (data) => {
    try {
      return stringify(data, { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false });
    } catch (error) {
      throw error instanceof RangeError ? tooDeep() : error;
    }
  };
};

export const yamlText = async (data: unknown): Promise<string> => (await load())(data ?? null);

/** One sequence, one entry at a time. */
export const yamlRows = (columns?: readonly string[]): Formatter => {
  let count = 0;
  return {
    async rows(burst: readonly Row[]) {
      const text = await load();
      count += burst.length;
      return burst.map((row) => text([project(row, columns) ?? null])).join('');
    },
    close: () => (count === 0 ? '[]\n' : ''),
  };
};
