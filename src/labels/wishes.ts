import { dirname, relative } from 'node:path';
import type { Context } from '../cli/command.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import type { LabelDef } from './definition.ts';
import { noShownTexts, shownBelow } from '../core/yaml-shown.ts';
import { definitionFrom } from './parse.ts';
import { type Document, absolute, placed, readDocuments } from './read-files.ts';

/** One definition, and where it stands. */
export type Wish = {
  readonly document: Document;
  readonly source: string;
  readonly wanted: LabelDef;
  /** Absolute path of the file when it holds this definition alone. */
  readonly path?: string;
};

/** `labels export -o json` is one list of all definitions. */
const eachOf = (document: Document): Document[] =>
  Array.isArray(document.value)
    ? document.value.map((value: unknown, i) => ({
        ...document,
        source: `${document.source}: [${i}]`,
        value,
        isOnly: false,
        placeOf: (path) => document.placeOf(`[${i}].${path}`),
        shown: shownBelow(document.shown ?? noShownTexts, `[${i}].`),
        empty: (document.empty ?? []).flatMap((path) =>
          path.startsWith(`[${i}].`) ? [path.slice(`[${i}].`.length)] : [],
        ),
      }))
    : [document];

/** A key without a value may be a list whose rows are comments. It never removes anything. */
const emptyKey = (path: string): Problem =>
  problem(
    path,
    'null',
    'has no value',
    'write [] or null to remove what the service has, or remove the key to leave it unchanged',
  );

const wishFrom = (context: Context, document: Document, problems: Problem[]): Wish => {
  const read = definitionFrom(document.value, document.shown);
  // There may be more of them than a call takes arguments.
  const empty = (document.empty ?? []).map(emptyKey);
  for (const one of placed(document, [...read.problems, ...empty])) problems.push(one);
  const path = document.file !== undefined && document.isOnly ? absolute(context, document.file) : undefined;
  return {
    document,
    source: document.source,
    wanted: read.definition,
    ...(path === undefined ? {} : { path }),
  };
};

const placeText = ({ source, document }: Wish, path: string): string => {
  const { line, column } = document.placeOf(path);
  return `${source}:${line}:${column}`;
};

type Named = 'id' | 'key' | 'title';

/** Definitions by what they say, in their order. */
const indexBy = (wishes: readonly Wish[], member: Named): ReadonlyMap<string, readonly Wish[]> => {
  const index = new Map<string, Wish[]>();
  for (const wish of wishes) {
    const said = wish.wanted[member];
    if (said === undefined) continue;
    const group = index.get(said);
    if (group === undefined) index.set(said, [wish]);
    else group.push(wish);
  }
  return index;
};

/** The same id, key or title twice: both would be applied to one label, one after the other. */
const repeatedProblems = (wishes: readonly Wish[]): Problem[] => {
  const index = { id: indexBy(wishes, 'id'), key: indexBy(wishes, 'key'), title: indexBy(wishes, 'title') };
  return wishes.flatMap((wish) => {
    const repeats = (member: Named, isSame: (other: Wish) => boolean = () => true): Problem[] => {
      const alike = index[member].get(wish.wanted[member] ?? '') ?? [];
      const first = alike.slice(0, alike.indexOf(wish)).find(isSame);
      if (first === undefined) return [];
      const text = `repeats ${JSON.stringify(wish.wanted[member])}, which stands in ${placeText(first, member)}`;
      const hint = 'remove the file that is out of date';
      return placed(wish.document, [problem(member, 'rule', text, hint)]);
    };
    const { id } = wish.wanted;
    const found = [...repeats('id'), ...repeats('key')];
    if (found.length > 0) return found;
    return repeats('title', ({ wanted }) => wanted.id === undefined || id === undefined || wanted.id === id);
  });
};

/** Every definition of the documents; all that is wrong with them is one error. */
export const wishesFrom = (context: Context, documents: readonly Document[]): Wish[] => {
  const problems: Problem[] = [];
  const wishes = documents.map((document) => wishFrom(context, document, problems));
  const found = problems.length === 0 ? repeatedProblems(wishes) : problems;
  if (found.length > 0) throw usageError('a label definition is wrong; nothing was sent', found);
  return wishes;
};

export const readWishes = async (context: Context, files: readonly string[]): Promise<Wish[]> =>
  wishesFrom(context, (await readDocuments(context, files)).flatMap(eachOf));

/** The directory whose lock file counts, and the file's name in it. */
export const lockPlaceOf = (
  context: Context,
  { document, path }: Wish,
): { readonly directory?: string; readonly file?: string } => {
  if (document.file === undefined) return {};
  const directory = dirname(absolute(context, document.file));
  return { directory, ...(path === undefined ? {} : { file: relative(directory, path) }) };
};
