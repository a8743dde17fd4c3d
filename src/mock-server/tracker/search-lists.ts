import { candidates } from './search-candidates.ts';
import { matches, storySubject } from './search-match.ts';
import type { Term } from './search-query.ts';
import type { StoredStory } from './row.ts';
import type { Tracker } from './state.ts';

type Found = { readonly stories: StoredStory[]; readonly about: string; seen: number };

const LISTS = 16;
/** Changed stories that are remembered; behind more of them a search looks at all again. */
const CHANGES = 1000;
const MINUTE_MS = 60_000;

/** The place in a list sorted by id where an id stands or would stand. */
const placeOfId = (sorted: readonly { readonly id: number }[], id: number): number => {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Everything but stories that a term may ask about. A change of one of these may change any result. */
const versionsOf = (state: Tracker): string =>
  [
    state.labels,
    state.epics,
    state.projects,
    state.iterations,
    state.objectives,
    state.members,
    state.groups,
    state.workflows,
    state.customFields,
  ]
    .map(({ version }) => version)
    .join(' ');

/** Results of story searches, brought up to date by the stories that changed: a search after a write looks at those only. */
export class SearchLists {
  readonly #state: Tracker;
  readonly #lists = new Map<string, Found>();
  #changed: number[] = [];
  /** Number of the first change in `#changed`. */
  #first = 0;

  constructor(state: Tracker) {
    this.#state = state;
    state.stories.watch({
      isWatching: () => this.#lists.size > 0,
      changed: (before, after) => this.#note(before?.id ?? after?.id ?? 0),
    });
  }

  stories(query: string, terms: readonly Term[], now: number): readonly StoredStory[] {
    const about = `${Math.floor(now / MINUTE_MS)} ${versionsOf(this.#state)}`;
    const known = this.#lists.get(query);
    if (known?.about === about && known.seen >= this.#first) {
      this.#update(known, terms, now);
      return known.stories;
    }
    const stories = this.#found(terms, now);
    if (this.#lists.size >= LISTS && known === undefined) this.#forget();
    this.#lists.set(query, { stories, about, seen: this.#first + this.#changed.length });
    return stories;
  }

  #found(terms: readonly Term[], now: number): StoredStory[] {
    const isFound = (story: StoredStory): boolean => matches(storySubject(this.#state, story), terms, now);
    const few = candidates(this.#state, terms);
    const found = few === undefined ? this.#state.stories.filter(isFound) : [...few].filter(isFound);
    return found.sort((a, b) => a.id - b.id);
  }

  #update(known: Found, terms: readonly Term[], now: number): void {
    for (const id of new Set(this.#changed.slice(known.seen - this.#first))) {
      const story = this.#state.stories.get(id);
      const at = placeOfId(known.stories, id);
      const isListed = known.stories[at]?.id === id;
      const isFound = story !== undefined && matches(storySubject(this.#state, story), terms, now);
      known.stories.splice(at, isListed ? 1 : 0, ...(isFound ? [story] : []));
    }
    known.seen = this.#first + this.#changed.length;
  }
  #note(id: number): void {
    this.#changed.push(id);
    if (this.#changed.length > CHANGES) this.#forget();
  }
  #forget(): void {
    this.#first += this.#changed.length;
    this.#changed = [];
    this.#lists.clear();
  }
}
