import { problem, usageError } from '../core/problem.ts';

export type Seed = { readonly kind: 'demo' | 'empty' } | { readonly kind: 'file'; readonly path: string };
export const seedOf = (text: string | undefined): Seed =>
  text === undefined || text === 'demo' || text === 'empty'
    ? { kind: text ?? 'demo' }
    : { kind: 'file', path: text };

/** The text of a seed file, or a usage error that names the flag or argument. */
export const seedText = (found: string | undefined, path: string, name: string): string => {
  if (found !== undefined) return found;
  throw usageError(
    'there is no such seed',
    [problem(name, 'rule', `must be demo, empty or a file; there is no file ${path}`)],
    ['opsctl mock state > FILE writes one'],
  );
};
