import { confirm, input, password, select } from '@inquirer/prompts';
import type { Prompts } from '../terminal.ts';
import { askAllowed, interrupted } from './ask-allowed.ts';

/** Its own default is stdout, which belongs to the data. */
const context = () => ({ input: process.stdin, output: process.stderr });

const ask = async <T>(question: () => Promise<T>): Promise<T> => {
  askAllowed();
  try {
    return await question();
  } catch (error) {
    const { name } = error as Error;
    if (name === 'ExitPromptError' || name === 'AbortPromptError' || name === 'CancelPromptError')
      throw interrupted(error);
    throw error;
  } finally {
    process.stdin.pause();
  }
};

/** Questions drawn by @inquirer/prompts. */
export const inquirerPrompts = (): Prompts => ({
  confirm: (message, fallback) => ask(() => confirm({ message, default: fallback }, context())),
  text: (message, { secret, fallback, signal } = {}) =>
    ask(() =>
      secret
        ? password({ message, mask: '*' }, { ...context(), signal })
        : input({ message, default: fallback }, { ...context(), signal }),
    ),
  select: (message, choices) =>
    ask(() =>
      select({ message, choices: choices.map(({ value, label }) => ({ value, name: label })) }, context()),
    ),
});
