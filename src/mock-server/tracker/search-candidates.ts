import type { Index } from '../indexed.ts';
import type { StoredStory } from './row.ts';
import type { Term } from './search-query.ts';
import type { Tracker } from './state.ts';
import { byEpic } from './counters.ts';
import { groupOfStory, iterationOfStory, labelsOfStory, projectOfStory } from './story-view.ts';

type Id = number | string;
/** The stories that a term can mean, by an index of the store: which index, and under which ids. */
type Narrowed = { readonly index: Index<StoredStory>; readonly ids: readonly Id[] };
type Records<T> = { values(): Iterable<T> };

const ownersOfStory = (story: StoredStory): readonly string[] => story.owner_ids;
const requesterOfStory = (story: StoredStory): string => story.requested_by_id;

/** Records of another kind that are called so; they are few beside the stories. */
const idsOf = <T extends { readonly id: Id }>(
  records: Records<T>,
  wanted: string,
  names: (record: T) => readonly string[],
): Id[] => {
  const found: Id[] = [];
  for (const record of records.values())
    if (
      String(record.id).toLowerCase() === wanted ||
      names(record).some((name) => name.toLowerCase() === wanted)
    )
      found.push(record.id);
  return found;
};
const byName = ({ name }: { readonly name: string }): readonly string[] => [name];

/** An operator that asks for one record of another kind, as an index; undefined for all others. */
const narrowed: Readonly<Record<string, (state: Tracker, wanted: string) => Narrowed>> = {
  label: (state, wanted) => ({
    index: state.stories.index('label', labelsOfStory),
    ids: idsOf(state.labels, wanted, byName),
  }),
  epic: (state, wanted) => ({
    index: state.stories.index('epic', byEpic),
    ids: idsOf(state.epics, wanted, byName),
  }),
  project: (state, wanted) => ({
    index: state.stories.index('project', projectOfStory),
    ids: idsOf(state.projects, wanted, byName),
  }),
  iteration: (state, wanted) => ({
    index: state.stories.index('iteration', iterationOfStory),
    ids: idsOf(state.iterations, wanted, byName),
  }),
  team: (state, wanted) => ({
    index: state.stories.index('group', groupOfStory),
    ids: idsOf(state.groups, wanted, ({ name, mention_name: mention }) => [name, mention]),
  }),
  owner: (state, wanted) => ({
    index: state.stories.index('owner', ownersOfStory),
    ids: memberIds(state, wanted),
  }),
  requester: (state, wanted) => ({
    index: state.stories.index('requester', requesterOfStory),
    ids: memberIds(state, wanted),
  }),
};
/** A member that is gone is meant by the id that stories still have. */
const memberIds = (state: Tracker, wanted: string): Id[] => {
  const found = idsOf(state.members, wanted, ({ profile }) => [profile.mention_name, profile.name]);
  return found.includes(wanted) ? found : [...found, wanted];
};
const alias: Readonly<Record<string, string>> = { group: 'team' };

const sizeOf = ({ index, ids }: Narrowed): number =>
  ids.reduce<number>((sum, id) => sum + index.count(id), 0);

/**
 * The stories that a search has to look at: those of its narrowest operator. Undefined when no operator names a record, so
 * that every story has to be asked. What is given is still matched against all terms.
 */
export const candidates = (state: Tracker, terms: readonly Term[]): Iterable<StoredStory> | undefined => {
  const ids = terms.filter(({ operator, not }) => operator === 'id' && !not);
  if (ids[0] !== undefined) {
    const story = /^\d{1,16}$/.test(ids[0].value) ? state.stories.get(Number(ids[0].value)) : undefined;
    return story === undefined ? [] : [story];
  }
  const found = terms.flatMap(({ operator, value, not }) => {
    const narrow = not ? undefined : narrowed[alias[operator] ?? operator];
    return narrow === undefined ? [] : [narrow(state, value.toLowerCase().replace(/^@/, ''))];
  });
  const [first, ...rest] = found;
  if (first === undefined) return undefined;
  const best = rest.reduce((least, one) => (sizeOf(one) < sizeOf(least) ? one : least), first);
  return new Set(best.ids.flatMap((id) => [...best.index.get(id)]));
};
