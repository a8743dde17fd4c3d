import { AppError } from '../core/problem.ts';
import { groups } from './manifest.ts';

const most = 3;
/** An unknown command may be one of another group: `config lint` is `kv config lint`, `upgrade` is `kv upgrade`. */
export const withSuggestion = async (error: AppError, words: readonly string[]): Promise<AppError> => {
  const all = (await Promise.all(groups.map((group) => group.load())))
    .flat()
    .filter(({ hidden }) => hidden !== true);
  const shortest = groups.some(({ name }) => name === words[0]) ? 2 : 1;
  for (let count = words.length; count >= shortest; count -= 1) {
    const end = words.slice(0, count).join(' ');
    const found = all.map(({ path }) => path.join(' ')).filter((path) => path.endsWith(` ${end}`));
    if (found.length > 0 && found.length <= most)
      return new AppError('usage', error.message, {
        ...error.detail,
        tryThis: found.map((path) => `opsctl ${path} --help`),
      });
  }
  return error;
};
