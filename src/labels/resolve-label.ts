import { nearest } from '../core/nearest.ts';
import { AppError, problem, usageError } from '../core/problem.ts';
import type { Context } from '../cli/command.ts';
import type { LabelJson } from './api-types.ts';
import { type Asking, allTitles, getLabel } from './read-labels.ts';
import { rememberTitles } from './titles.ts';

export const folded = (text: string): string => text.trim().toLowerCase();
export const titleOf = (label: LabelJson): string => label.properties?.title ?? '';

/** `labels/x@2` and `x@published` keep their revision; a title keeps its @ as it is. */
const parts = (text: string): { bare: string; revision: string } => {
  const match = /^(.+)(@(?:latest|published|\d+))$/.exec(text);
  return { bare: match?.[1] ?? text, revision: match?.[2] ?? '' };
};

/** Labels of this title: equal first, else those that differ in upper and lower case only. Pure. */
export const titled = (labels: readonly LabelJson[], title: string): LabelJson[] => {
  const exact = labels.filter((label) => titleOf(label) === title);
  return exact.length > 0 ? exact : labels.filter((label) => folded(titleOf(label)) === folded(title));
};

/** Where a title was given, and how to say which label is meant. */
type Given = { readonly path: string; readonly hint: string };
const argument: Given = { path: '<label>', hint: 'give the id' };

export const ambiguousTitle = (title: string, found: readonly LabelJson[], { path, hint }: Given): AppError =>
  usageError(
    `${found.length} labels have the title ${JSON.stringify(title)}: ${found.map((l) => `labels/${l.id} (${l.labelType})`).join(', ')}`,
    [problem(path, 'rule', 'is ambiguous', hint)],
    found.slice(0, 3).map((l) => (path === argument.path ? `labels/${l.id}` : `id: ${l.id}`)),
  );

/** The label of a title; undefined when there is none. Two of the same title are an error that lists both. */
const findByTitle = async (
  context: Context,
  title: string,
  asking: Asking = {},
  given: Given = argument,
): Promise<{ label?: LabelJson; titles: string[]; ids: string[] }> => {
  const all: LabelJson[] = [];
  for await (const label of allTitles(context, asking)) all.push(label);
  await rememberTitles(context, all);
  const found = titled(all, title);
  if (found.length > 1) throw ambiguousTitle(title, found, given);
  return { label: found[0], titles: all.map(titleOf), ids: all.map(({ id = '' }) => id) };
};

const noSuchLabel = (text: string, titles: readonly string[]): AppError => {
  const close = nearest(text, titles);
  return new AppError('not-found', `there is no label with the id or title ${JSON.stringify(text)}`, {
    code: 'NO_SUCH_LABEL',
    problems: [
      problem(
        '<label>',
        'rule',
        'names a label that does not exist',
        close && `did you mean ${JSON.stringify(close)}?`,
      ),
    ],
    tryThis: ['opsctl labels list'],
  });
};

/** An id of the service: letters and digits only. A one-word title looks the same, so the service decides. */
const looksLikeId = (text: string): boolean => /^[A-Za-z0-9]{8,}$/.test(text);

/** The name of the label that a person typed, once it is known to be there: for what asks a question before it acts. */
export const nameOfLabel = (context: Context, typed: string, asking: Asking): Promise<string> =>
  withLabel(context, typed, asking, async (name) => {
    await getLabel(context, name, asking);
    return name;
  });

/** Services that judge rights first say 403 for an id that is none (spec/labels#errors). */
export const mayBeNone = (error: unknown): error is AppError =>
  error instanceof AppError &&
  error.detail.code !== 'MISSING_SCOPE' &&
  (error.category === 'not-found' || error.detail.httpStatus === 403);

/** What looks like an id is tried as one first, which spares a look at all titles. */
const withId = async <T>(
  context: Context,
  typed: string,
  asking: Asking,
  use: (name: string) => Promise<T>,
): Promise<T> => {
  const { bare, revision } = parts(typed);
  try {
    return await use(`labels/${bare}${revision}`);
  } catch (error) {
    if (!mayBeNone(error)) throw error;
    const { label, titles, ids } = await findByTitle(context, bare, asking);
    if (label !== undefined) return use(`labels/${label.id}${revision}`);
    // What was not found may be a part of a label that there is: a revision, a permission.
    throw error.category === 'not-found' && !ids.includes(bare) ? noSuchLabel(typed, titles) : error;
  }
};

/** Runs `use` with the name (labels/<id>, revision kept) of the label that a person typed: an id, labels/<id> or a title. */
export const withLabel = async <T>(
  context: Context,
  typed: string,
  asking: Asking,
  use: (name: string) => Promise<T>,
): Promise<T> => {
  // An unset variable of a script must not stand for some label.
  if (/^(labels\/)?\s*$/.test(typed))
    throw usageError('no label was named', [problem('<label>', 'required', `is ${JSON.stringify(typed)}`)]);
  if (typed.startsWith('labels/')) return use(typed);
  const { bare, revision } = parts(typed);
  // A dry run ends at its first request, so what looks like an id must not be mistaken for one there.
  if (looksLikeId(bare) && !context.isDryRun) return withId(context, typed, asking, use);
  const whole = await findByTitle(context, typed, asking);
  if (whole.label !== undefined) return use(`labels/${whole.label.id}`);
  const { label, titles } = revision === '' ? whole : await findByTitle(context, bare, asking);
  if (label !== undefined) return use(`labels/${label.id}${revision}`);
  if (context.isDryRun && looksLikeId(bare)) return use(`labels/${typed}`);
  throw noSuchLabel(typed, titles);
};
