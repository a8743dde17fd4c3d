import { shellLine, wordsOf } from '../cluster/command-line.ts';
import type { Step } from '../../engine/types.ts';

/** A command that ssh or a shell gets as one word is shown by its own words. Pure. */
const inner = (words: readonly string[]): string[] => {
  const last = words.at(-1) ?? '';
  const isWrapped = words[0] === 'ssh' || words.at(-2) === '-c';
  return isWrapped && /\s/.test(last) ? inner(wordsOf(last) ?? [last]) : [...words];
};

/** A flag and its value are one part: which word belongs to which flag is what the reader wants to see. Pure. */
const partsOf = (line: string): string[] => {
  const words = inner(wordsOf(line) ?? line.split(' ')).map((word) => shellLine([word]));
  const parts: string[] = [];
  for (const word of words) {
    const last = parts.at(-1) ?? '';
    const isValue = /^--?[a-z][a-z-]*$/.test(last) && !word.startsWith('-');
    if (isValue) parts[parts.length - 1] = `${last} ${word}`;
    else parts.push(word);
  }
  return parts;
};

/** Parts of the first that the second lacks. One that is there twice counts twice. Pure. */
const without = (all: readonly string[], others: readonly string[]): string[] => {
  const left = [...others];
  return all.filter((part) => {
    const at = left.indexOf(part);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
};

/** What another version is started with, beside what ran before. Pure. */
const differenceText = (before: string, now: string): string[] => {
  const [old, fresh] = [partsOf(before), partsOf(now)];
  const [gone, added] = [without(old, fresh), without(fresh, old)];
  const same = fresh.length - added.length;
  const unchanged = same === 1 ? '1 flag or word is' : `${same} flags and words are`;
  return [
    ...gone.map((part) => `  - ${part}`),
    ...added.map((part) => `  + ${part}`),
    ...(same > 0 ? [`    ${unchanged} unchanged; -v shows the whole command`] : []),
  ];
};

/** The commands of a step as lines to copy; of one that replaces another only the difference, unless the whole is asked for. Pure. */
export const commandLines = (
  { commands, replaces }: Pick<Step, 'commands' | 'replaces'>,
  isWhole: boolean,
): string[] => {
  const isSameCount = replaces !== undefined && replaces.length === commands.length;
  return commands.flatMap((command, i) => {
    const before = isSameCount ? replaces[i] : undefined;
    return isWhole || before === undefined || before === command
      ? [`  $ ${command}`]
      : differenceText(before, command);
  });
};
