import { confirm, input, password, search, select } from '@inquirer/prompts';
import type { Prompts } from '../terminal.ts';
import { askAllowed, interrupted } from './ask-allowed.ts';

/** More choices than this are searched by typing. */
const LONG_LIST = 12;

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
  select: (message, choices) => {
    const all = choices.map(({ value, label }) => ({ value, name: label }));
    if (all.length <= LONG_LIST) return ask(() => select({ message, choices: all }, context()));
    // A part of the title finds a record in a long list.
    const source = (typed = '') => all.filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase()));
    return ask(() => search({ message, source: async (typed) => source(typed) }, context()));
  },
});
