import type { Collection } from '../store.ts';
import { trackerHandlers } from './handlers.ts';
import type { Tracker } from './state.ts';

type Row = Readonly<Record<string, unknown>>;
type Kind = {
  readonly title: string;
  readonly resource: keyof typeof trackerHandlers;
  readonly param: string;
  readonly records: (state: Tracker) => Collection<any>;
  readonly isUuid?: true;
};

/** What has an `app_url`, by the word that stands in it, and the endpoint that shows it. */
const kinds: Readonly<Record<string, Kind>> = {
  story: {
    title: 'Stories',
    resource: 'stories',
    param: 'story-public-id',
    records: ({ stories }) => stories,
  },
  epic: { title: 'Epics', resource: 'epics', param: 'epic-public-id', records: ({ epics }) => epics },
  objective: {
    title: 'Objectives',
    resource: 'objectives',
    param: 'objective-public-id',
    records: ({ objectives }) => objectives,
  },
  iteration: {
    title: 'Iterations',
    resource: 'iterations',
    param: 'iteration-public-id',
    records: ({ iterations }) => iterations,
  },
  label: { title: 'Labels', resource: 'labels', param: 'label-public-id', records: ({ labels }) => labels },
  project: {
    title: 'Projects',
    resource: 'projects',
    param: 'project-public-id',
    records: ({ projects }) => projects,
  },
  team: {
    title: 'Groups',
    resource: 'groups',
    param: 'group-public-id',
    records: ({ groups }) => groups,
    isUuid: true,
  },
  document: {
    title: 'Documents',
    resource: 'documents',
    param: 'doc-public-id',
    records: ({ documents }) => documents,
    isUuid: true,
  },
};
/** Records that one list of the workspace's page holds. */
const LISTED = 50;

type Getter = (call: unknown) => Row;
const nameOf = (record: Row): string => String(record.name ?? record.title ?? record.id);

/** A record as its endpoint gives it, or undefined when there is no such kind; the endpoint says when it does not exist. */
export const recordShown = (
  state: Tracker,
  kind: string,
  id: string,
): { title: string; about: string; record: Row } | undefined => {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found === undefined || !/^[\w-]{1,40}$/.test(id)) return undefined;
  const get = (trackerHandlers[found.resource] as unknown as { get: Getter }).get;
  const params = { [found.param]: found.isUuid ? id : Number(id) };
  const record = get({ state, params, query: {}, body: {}, env: state.env, headers: {} });
  return { title: nameOf(record), about: `${kind} ${id}`, record };
};

/** The workspace's page: the newest of each kind. */
export const recordsListed = (state: Tracker) =>
  Object.entries(kinds).map(([kind, { title, records }]) => {
    const all = records(state);
    const newest = [...all.values()].slice(-LISTED).reverse() as Row[];
    return {
      title,
      count: all.size,
      rows: newest.map((record) => ({
        path: `${kind}/${record.id}`,
        name: nameOf(record),
        about: `${record.archived === true ? 'archived ' : ''}${record.id}`,
      })),
    };
  });

/** The page of a record that another one names by its id. */
export const pathOf = (
  state: Tracker,
  kind: string,
  id: unknown,
): { path: string; name: string } | undefined => {
  const record = kinds[kind]?.records(state).get(id as never) as Row | undefined;
  return record === undefined ? undefined : { path: `${kind}/${id}`, name: nameOf(record) };
};
