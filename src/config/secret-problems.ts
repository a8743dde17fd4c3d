import { type Problem, problem } from '../core/problem.ts';
import { keys } from './keys.ts';

type Given = {
  readonly key: string;
  readonly value?: string | undefined;
  readonly stdin?: boolean | undefined;
};

/** A secret on the command line could be read by every user of the machine, and stays in the shell's history. */
export const secretProblems = (values: Given): Problem[] => {
  if (values.stdin && values.value !== undefined)
    return [problem('<value>', 'exclusive', 'cannot be given together with --stdin')];
  const key = keys.find((one) => one.key === values.key);
  if (values.value !== undefined && key?.secret)
    return [
      problem(
        '<value>',
        'rule',
        `of ${key.key} is a secret and is not taken from the command line`,
        'use --stdin',
      ),
    ];
  return [];
};
