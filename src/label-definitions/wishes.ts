import { dirname, relative } from 'node:path';
import type { Context } from '../cli/command.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import type { LabelDef } from './definition.ts';
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
      }))
    : [document];

const wishFrom = (context: Context, document: Document, problems: Problem[]): Wish => {
  const read = definitionFrom(document.value);
  problems.push(...placed(document, read.problems));
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

/** The same id, key or title twice: both would be applied to one label, one after the other. */
const repeatedProblems = (wishes: readonly Wish[]): Problem[] =>
  wishes.flatMap((wish, i) => {
    const before = wishes.slice(0, i);
    const repeats = (member: 'id' | 'key' | 'title', isSame: (other: Wish) => boolean): Problem[] => {
      const first = before.find(isSame);
      if (first === undefined || wish.wanted[member] === undefined) return [];
      const text = `repeats ${JSON.stringify(wish.wanted[member])}, which stands in ${placeText(first, member)}`;
      const hint = 'remove the file that is out of date';
      return placed(wish.document, [problem(member, 'rule', text, hint)]);
    };
    const { id, key, title } = wish.wanted;
    const byId = repeats('id', ({ wanted }) => wanted.id === id);
    const byKey = repeats('key', ({ wanted }) => wanted.key === key);
    const byTitle = repeats(
      'title',
      ({ wanted }) =>
        wanted.title === title && (wanted.id === undefined || id === undefined || wanted.id === id),
    );
    return [...byId, ...byKey, ...(byId.length + byKey.length > 0 ? [] : byTitle)];
  });

/** Every definition of the documents; all that is wrong with them is one error. */
export const wishesFrom = (context: Context, documents: readonly Document[]): Wish[] => {
  const problems: Problem[] = [];
  const wishes = documents.map((document) => wishFrom(context, document, problems));
  if (problems.length === 0) problems.push(...repeatedProblems(wishes));
  if (problems.length > 0) throw usageError('a label definition is wrong; nothing was sent', problems);
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
