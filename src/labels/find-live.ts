import type { Context } from '../cli/command.ts';
import type { LabelJson } from './api-types.ts';
import { inParallel } from './in-parallel.ts';
import { type Asking, allDefinitions, getDefinition, held } from './read-labels.ts';
import { folded, mayBeNone, titleOf } from './resolve-label.ts';
import { rememberTitles } from './titles.ts';

/** What a definition may be called in the service. */
export type Seek = { readonly ids: readonly string[]; readonly titles: readonly string[] };
/** The labels that were looked for, read once. */
export type LiveLabels = {
  withId(id: string): LabelJson | undefined;
  withTitle(title: string): readonly LabelJson[];
  /** Labels whose titles differ from this one in case or outer spaces only. */
  similarTo(title: string): readonly LabelJson[];
};

/** So few labels whose ids are known are read by id; more of them cost less as pages of all labels. */
const fewReads = 4;

const readById = async (context: Context, id: string, asking: Asking): Promise<LabelJson | undefined> => {
  try {
    return await getDefinition(context, `labels/${id}`, asking);
  } catch (error) {
    if (mayBeNone(error)) return undefined;
    throw error;
  }
};

const indexOf = (labels: readonly LabelJson[]): LiveLabels => {
  const byId = new Map(labels.map((label) => [label.id, label]));
  return {
    withId: (id) => byId.get(id),
    withTitle: (title) => labels.filter((label) => titleOf(label) === title),
    similarTo: (title) => labels.filter((label) => folded(titleOf(label)) === folded(title)),
  };
};

/** Reads all labels and keeps those that are sought. */
const fromPages = async (context: Context, seeks: readonly Seek[], asking: Asking): Promise<LiveLabels> => {
  const ids = new Set(seeks.flatMap((seek) => seek.ids));
  const titles = new Set(seeks.flatMap((seek) => seek.titles.map(folded)));
  const kept: LabelJson[] = [];
  const all: LabelJson[] = [];
  for await (const label of held('GET /labels', allDefinitions(context, asking))) {
    all.push({ properties: { title: titleOf(label) } });
    if (ids.has(label.id ?? '') || titles.has(folded(titleOf(label)))) kept.push(label);
  }
  await rememberTitles(context, all);
  return indexOf(kept);
};

/** Everything that is sought in as few requests as possible: pages of all labels, or one read for each of a few ids. */
export const readLive = async (
  context: Context,
  seeks: readonly Seek[],
  asking: Asking,
): Promise<LiveLabels> => {
  const hasIds = seeks.every((seek) => seek.ids.length > 0);
  if (!hasIds || seeks.length > fewReads) return fromPages(context, seeks, asking);
  const found = await inParallel(seeks, async ({ ids: [id = ''] }) => readById(context, id, asking));
  // An id of another deployment: the title decides.
  if (found.includes(undefined)) return fromPages(context, seeks, asking);
  return indexOf(found.flatMap((label) => (label === undefined ? [] : [label])));
};
