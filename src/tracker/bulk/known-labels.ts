import { heldRows } from '../../core/held-rows.ts';
import { jsonRow } from '../../core/json.ts';
import { nearest } from '../../core/nearest.ts';
import { type Problem, problem } from '../../core/problem.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../cli/command.ts';
import type { Change } from './change.ts';

/** Rows may name labels and categories that the service would make: a mistyped name in many rows makes many records. */
const lists = {
  labels: { operation: tracker.table.labels.list, query: { slim: true } },
  categories: { operation: tracker.table.categories.list, query: {} },
} as const;
type Field = keyof typeof lists;
/** New names of one file that are remembered. */
const MOST_NAMES = 200_000;
const fieldsOfRows = Object.keys(lists) as Field[];

const namesIn = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap((one) => (typeof one?.name === 'string' ? [one.name as string] : []))
    : [];

export type KnownNames = {
  /** What a row may not name: empty when all names exist, or when a row before makes them. */
  problems(change: Change): Promise<readonly Problem[]>;
};

const namesOfService = async (context: Context, field: Field): Promise<ReadonlySet<string>> => {
  const { operation, query } = lists[field];
  const found = new Set<string>();
  const held = heldRows(`GET ${operation.path}`);
  for await (const rows of await context.rows(tracker, operation, { query }, { evenInDryRun: true })) {
    held.refuseMore(rows.length);
    for (const row of rows) found.add(String((jsonRow(row) as { name?: unknown }).name));
  }
  return found;
};

/** Names that rows of the same file make, in the order of the file. */
class MadeNames {
  readonly #names = new Map<string, Set<string>>(fieldsOfRows.map((field) => [field, new Set()]));
  /** A file of that many new labels is not read for a mistyped one: memory does not grow with it. */
  isOver = false;
  readonly #most: number;
  constructor(most: number) {
    this.#most = most;
  }
  of(field: Field): ReadonlySet<string> {
    return this.#names.get(field) ?? new Set();
  }
  note({ resource, verb, input }: Change): void {
    const own = verb === 'create' ? this.#names.get(resource) : undefined;
    if (own === undefined || this.isOver || typeof input.body?.name !== 'string') return;
    own.add(input.body.name);
    this.isOver = own.size > this.#most;
  }
}

const unknownName = (field: Field, name: string, known: Iterable<string>): Problem => {
  const close = nearest(name, [...known]);
  return problem(
    field,
    'rule',
    `names ${JSON.stringify(name)}, which does not exist; --create-${field} makes it`,
    close && `did you mean ${close}?`,
  );
};

/** The names that the service has are read once for the run, when the first row needs them. */
export const makeKnownNames = (
  context: Context,
  mayCreate: readonly string[],
  mostNames = MOST_NAMES,
): KnownNames => {
  const known = new Map<Field, Promise<ReadonlySet<string>>>();
  const made = new MadeNames(mostNames);
  const namesOf = (field: Field): Promise<ReadonlySet<string>> => {
    const names = known.get(field) ?? namesOfService(context, field);
    known.set(field, names);
    return names;
  };
  const unknown = async (field: Field, change: Change): Promise<Problem[]> => {
    const wanted = namesIn(change.input.body?.[field]);
    if (wanted.length === 0 || made.isOver || mayCreate.includes(field)) return [];
    const [names, own] = [await namesOf(field), made.of(field)];
    return wanted
      .filter((name) => !names.has(name) && !own.has(name))
      .map((name) => unknownName(field, name, [...names, ...own]));
  };
  return {
    problems: async (change) => {
      made.note(change);
      return (await Promise.all(fieldsOfRows.map((field) => unknown(field, change)))).flat();
    },
  };
};
