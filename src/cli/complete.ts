import type { Root, Tree, TreeFlag } from './list-commands.ts';

export type Candidate = { readonly word: string; readonly about?: string };
/** Completions that the shell itself may add; none by default. */
export type CompletionResult = {
  readonly candidates: readonly Candidate[];
  readonly files?: 'file' | 'directory';
};
/** What completion may read in addition to the tree. Completion never uses the network. */
export type Sources = {
  cached(source: string): readonly Candidate[];
  /** The commands below these words, if they are in a separate file. */
  tree(path: readonly string[]): Tree;
};

const starting = (all: Iterable<Candidate>, start: string): Candidate[] =>
  [...all].filter(({ word }) => word.startsWith(start));
const plain = (words: Iterable<string>): Candidate[] => [...words].map((word) => ({ word }));

/** Records that TAB knows; people write `@ana` for members and teams as often as `ana`. */
const findKnown = (sources: Sources, source: string, start: string): CompletionResult => {
  if (source === 'file' || source === 'directory') return { candidates: [], files: source };
  // Names are text from services and files: on a command line a leading dash makes a name a flag.
  const all = sources.cached(source).filter(({ word }) => !word.startsWith('-'));
  const isCalledAt = start.startsWith('@') && (source === 'member' || source === 'group');
  const named = isCalledAt
    ? all.map(({ word, about }) => ({ word: `@${word}`, ...(about ? { about } : {}) }))
    : all;
  return { candidates: starting(named, start) };
};

const flagValues = (flag: TreeFlag, start: string, prefix: string, sources: Sources): CompletionResult => {
  const comma = start.lastIndexOf(',') + 1;
  const kept = prefix + start.slice(0, comma);
  const typed = start.slice(comma);
  const found: CompletionResult = flag.v
    ? { candidates: starting(plain(flag.v), typed) }
    : flag.c
      ? findKnown(sources, flag.c, typed)
      : { candidates: [] };
  // A list does not offer a value twice.
  const given = new Set(start.slice(0, comma).split(','));
  const open = found.candidates.filter(({ word }) => !given.has(word));
  return { ...found, candidates: open.map((one) => ({ ...one, word: kept + one.word })) };
};

/** The command's own flags come first, and win over a global one of the same name. */
const own = (root: Root, at: Tree): Record<string, TreeFlag> => ({
  ...at.flags,
  ...root.global,
  ...at.flags,
});

type Walked = {
  readonly at: Tree;
  readonly args: number;
  readonly flags: Record<string, TreeFlag>;
  readonly pending?: TreeFlag;
  readonly isOver: boolean;
};
/** The flag of a word like `--name` or `-n`, when the next word is its value. */
const awaiting = (flags: Record<string, TreeFlag>, word: string): TreeFlag | undefined => {
  const flag = word.startsWith('--')
    ? flags[word.slice(2)]
    : Object.values(flags).find((f) => f.s === word.slice(1));
  return flag && !flag.t && !word.includes('=') ? flag : undefined;
};

/** Walks the words that are complete; flags and their values are stepped over. */
const walk = (root: Root, words: readonly string[], sources: Sources): Walked => {
  let at: Tree = { sub: root.sub };
  const path: string[] = [];
  let args = 0;
  let isOver = false;
  let pending: TreeFlag | undefined;
  const step = (word: string): void => {
    const below = args === 0 ? at.sub?.[word] : undefined;
    if (word === '--') isOver = true;
    else if (!isOver && word.startsWith('-')) pending = awaiting(own(root, at), word);
    else if (below !== undefined) {
      path.push(word);
      at = below.more ? sources.tree(path) : below;
    } else args += 1;
  };
  for (const word of words) {
    if (pending === undefined) step(word);
    else pending = undefined;
  }
  return { at, args, flags: own(root, at), isOver, ...(pending ? { pending } : {}) };
};

const flagNames = (flags: Record<string, TreeFlag>, start: string): Candidate[] =>
  starting(
    Object.entries(flags).map(([name, { d }]) => ({ word: `--${name}`, ...(d ? { about: d } : {}) })),
    start,
  );
const words = (sub: { [word: string]: Tree }): Candidate[] =>
  Object.entries(sub).map(([word, { summary }]) => ({ word, ...(summary ? { about: summary } : {}) }));

/** `help` takes the words of commands, and names of topics. */
const helpWords = (root: Root, given: readonly string[], sources: Sources): CompletionResult => {
  const current = given.at(-1) ?? '';
  const { at, args } = walk(root, given.slice(0, -1), sources);
  if (at.sub === undefined || args > 0) return { candidates: [] };
  const topics =
    given.length > 1 ? [] : Object.entries(root.topics).map(([word, about]) => ({ word, about }));
  return { candidates: starting([...topics, ...words(at.sub)], current) };
};

const argumentValues = ({ at, args }: Walked, current: string, sources: Sources): CompletionResult => {
  const places = at.args ?? [];
  if (args >= places.length && at.rest !== true) return { candidates: [] };
  const source = places[Math.min(args, places.length - 1)];
  if (source === undefined) return { candidates: [] };
  return typeof source === 'string'
    ? findKnown(sources, source, current)
    : { candidates: starting(plain(source), current) };
};

/**
 * Returns the candidates for the last word of a line. `line` ends with the word under the cursor, which may
 * be empty. Pure.
 */
export const completions = (root: Root, line: readonly string[], sources: Sources): CompletionResult => {
  const current = line.at(-1) ?? '';
  if (line[0] === 'help' && line.length > 1) return helpWords(root, line.slice(1), sources);
  const walked = walk(root, line.slice(0, -1), sources);
  const { at, args, flags, pending, isOver } = walked;
  if (pending) return flagValues(pending, current, '', sources);
  if (isOver) return { candidates: [], files: 'file' };
  const assigned = /^--([^=]+)=(.*)$/s.exec(current);
  if (assigned) {
    const flag = flags[assigned[1] ?? ''];
    return flag ? flagValues(flag, assigned[2] ?? '', `--${assigned[1]}=`, sources) : { candidates: [] };
  }
  if (current.startsWith('-')) return { candidates: flagNames(flags, current) };
  if (at.sub && args === 0) {
    const more = at.sub === root.sub ? [{ word: 'help', about: 'Help about commands and topics' }] : [];
    const values = argumentValues(walked, current, sources);
    return {
      ...values,
      candidates: [...starting([...words(at.sub), ...more], current), ...values.candidates],
    };
  }
  return argumentValues(walked, current, sources);
};
