import { type Sources, completions } from './cli/complete.ts';

const fs = process.getBuiltinModule('node:fs');

/** Names seen by earlier commands, a line each; missing or unreadable is simply nothing to offer. */
const cached = (): Sources => {
  const home = process.env.OPSCTL_HOME ?? '';
  const cache = home !== '' ? `${home}/cache` : `${process.env.XDG_CACHE_HOME ?? `${process.env.HOME ?? ''}/.cache`}/opsctl`;
  return {
    cached: (source) => {
      try {
        return fs
          .readFileSync(`${cache}/names/${source.replace(/[^a-z-]/g, '')}`, 'utf8')
          .split('\n')
          .filter(Boolean);
      } catch {
        return [];
      }
    },
  };
};

/** `opsctl __complete <words…>`: one candidate a line. Loads nothing but the command tree. */
export const complete = (words: readonly string[]): void => {
  const tree = JSON.parse(fs.readFileSync(new URL('./tree.json', import.meta.url), 'utf8'));
  const found = completions(tree, words.length === 0 ? [''] : words, cached());
  try {
    fs.writeSync(1, found.map((word) => `${word}\n`).join(''));
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error;
  }
};
