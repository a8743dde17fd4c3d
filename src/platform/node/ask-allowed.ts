import { AppError } from '../../core/problem.ts';
import { builtin } from './builtin.ts';

/** Prompts need a person at both ends: the question goes to stderr, the answer comes from stdin. */
export const askAllowed = (): void => {
  if (builtin.tty.isatty(0) && builtin.tty.isatty(2)) return;
  throw new AppError('usage', 'cannot ask a question: stdin and stderr are not both terminals', {
    code: 'NOT_INTERACTIVE',
    tryThis: ['give the value with a flag', '--yes to confirm'],
  });
};

export const interrupted = (cause?: unknown): AppError =>
  new AppError('interrupted', 'cancelled at the prompt', { code: 'CANCELLED', cause });
