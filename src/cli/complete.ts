import type { Tree, TreeFlag } from './tree.ts';

type Root = { readonly global: Record<string, TreeFlag>; readonly sub: { [word: string]: Tree } };
/** What TAB may read besides the tree: nothing here ever touches the network. */
export type Sources = { cached(source: string): readonly string[] };

const starting = (words: Iterable<string>, start: string): string[] =>
  [...words].filter((word) => word.startsWith(start));

/** Names that TAB knows; people write `@ana` for members and teams as often as `ana`. */
const known = (sources: Sources, source: string, start: string): string[] => {
  const names = sources.cached(source);
  const isCalledAt = start.startsWith('@') && (source === 'member' || source === 'group');
  return starting(isCalledAt ? names.map((name) => `@${name}`) : names, start);
};

const flagValues = (flag: TreeFlag, start: string, prefix: string, sources: Sources): string[] => {
  const comma = start.lastIndexOf(',') + 1;
  const kept = prefix + start.slice(0, comma);
  const typed = start.slice(comma);
  const values = flag.v ? starting(flag.v, typed) : flag.c ? known(sources, flag.c, typed) : [];
  return values.map((value) => kept + value);
};

/** The command's own flags come first, and win over a global one of the same name. */
const own = (root: Root, at: Tree): Record<string, TreeFlag> => ({
  ...at.flags,
  ...root.global,
  ...at.flags,
});

/** Walks the words that are complete; flags and their values are stepped over. */
const walk = (
  root: Root,
  words: readonly string[],
): { at: Tree; args: number; flags: Record<string, TreeFlag>; pending?: TreeFlag } => {
  let at: Tree = { sub: root.sub };
  let args = 0;
  let pending: TreeFlag | undefined;
  for (const word of words) {
    const flags: Record<string, TreeFlag> = own(root, at);
    if (pending !== undefined) pending = undefined;
    else if (word.startsWith('-')) {
      const flag = word.startsWith('--')
        ? flags[word.slice(2)]
        : Object.values(flags).find((f) => f.s === word.slice(1));
      if (flag && !flag.t && !word.includes('=')) pending = flag;
    } else if (at.sub?.[word] && args === 0) at = at.sub[word] as Tree;
    else args += 1;
  }
  return { at, args, flags: own(root, at), ...(pending ? { pending } : {}) };
};

/** The words that may stand at the end of a line. `words` ends with the one under the cursor, maybe empty. Pure. */
export const completions = (root: Root, words: readonly string[], sources: Sources): string[] => {
  const current = words.at(-1) ?? '';
  const { at, args, flags, pending } = walk(root, words.slice(0, -1));
  if (pending) return flagValues(pending, current, '', sources);
  const assigned = /^--([^=]+)=(.*)$/s.exec(current);
  if (assigned) {
    const flag = flags[assigned[1] ?? ''];
    return flag ? flagValues(flag, assigned[2] ?? '', `--${assigned[1]}=`, sources) : [];
  }
  if (current.startsWith('-'))
    return starting(
      Object.keys(flags).map((name) => `--${name}`),
      current,
    );
  if (at.sub && args === 0) return starting(Object.keys(at.sub), current);
  const source = at.args?.[Math.min(args, at.args.length - 1)];
  if (source === undefined) return [];
  return typeof source === 'string' ? known(sources, source, current) : starting(source, current);
};
