import { storyReferences } from './template-fields.ts';

type Row = Readonly<Record<string, unknown>>;

/** What must be known to turn the ids of a template into names and back. */
export type TemplateLookup = {
  readonly epics: readonly Row[];
  readonly iterations: readonly Row[];
  readonly projects: readonly Row[];
  readonly groups: readonly Row[];
  readonly custom_fields: readonly Row[];
  readonly linked_files: readonly Row[];
  readonly workflowStates: readonly Row[];
};

type Given = { readonly [name: string]: any };
const PLAIN = [
  'name',
  'description',
  'story_type',
  'deadline',
  'estimate',
  'external_links',
  'owner_ids',
  'follower_ids',
] as const;

const nameOf = (rows: readonly Row[], id: unknown, key = 'name'): unknown =>
  rows.find((row) => row.id === id)?.[key] ?? id;
const idOf = (rows: readonly Row[], name: unknown, key = 'name'): unknown =>
  name === null ? null : (rows.find((row) => row[key] === name)?.id ?? name);

const taskShown = ({ description, complete, external_id: externalId, owner_ids: owners }: Given): Row => ({
  description,
  complete: complete ?? false,
  ...(externalId ? { external_id: externalId } : {}),
  owner_ids: owners ?? [],
});

const valueShown = (fields: readonly Row[], { field_id: id, value }: Given): Row => ({
  field: nameOf(fields, id),
  value,
});

/** The contents of a template as the file has them: only what the template sets. */
export const contentsShown = (contents: Given, lookup: TemplateLookup): Row => {
  const out: Record<string, unknown> = {};
  for (const key of PLAIN) if (contents[key] !== undefined) out[key] = contents[key];
  for (const [key, { body, kind, key: by }] of Object.entries(storyReferences))
    if (contents[body] !== undefined) out[key] = nameOf(lookup[kind], contents[body], by);
  if (contents.workflow_state_id !== undefined)
    out.state = nameOf(lookup.workflowStates, contents.workflow_state_id);
  for (const key of ['labels', 'linked_files'])
    if (contents[key] !== undefined) out[key] = contents[key].map(({ name }: Given) => name);
  if (contents.custom_fields !== undefined)
    out.custom_fields = contents.custom_fields.map((one: Given) => valueShown(lookup.custom_fields, one));
  if (contents.tasks !== undefined) out.tasks = contents.tasks.map(taskShown);
  return out;
};

const comparable = (key: string, value: any): string => {
  if (key === 'tasks') return JSON.stringify(value.map(taskShown));
  if (key === 'deadline' && typeof value === 'string') return String(Date.parse(value));
  if (Array.isArray(value)) return JSON.stringify(value.map((one) => JSON.stringify(one)).sort());
  return JSON.stringify(value ?? '');
};

/** What the file says and the template does not have; a key that the file leaves out stays as it is. */
export const contentsDiffer = (wanted: Given, now: Given): boolean =>
  Object.entries(wanted).some(
    ([key, value]) =>
      comparable(key, value ?? '') !== comparable(key, now[key] ?? (key === 'tasks' ? [] : '')),
  );

/** The contents as the endpoint wants them. A create has no null: what is not there yet cannot be unset. */
export const contentsBody = (wanted: Given, lookup: TemplateLookup, isNew: boolean): Row => {
  const out: Record<string, unknown> = {};
  for (const key of PLAIN) if (wanted[key] !== undefined) out[key] = wanted[key];
  for (const [key, { body, kind, key: by }] of Object.entries(storyReferences))
    if (wanted[key] !== undefined) out[body] = idOf(lookup[kind], wanted[key], by);
  if (wanted.state !== undefined) out.workflow_state_id = idOf(lookup.workflowStates, wanted.state);
  if (wanted.labels !== undefined) out.labels = wanted.labels.map((name: string) => ({ name }));
  if (wanted.linked_files !== undefined)
    out.linked_file_ids = wanted.linked_files.map((name: string) => idOf(lookup.linked_files, name));
  if (wanted.custom_fields !== undefined)
    out.custom_fields = wanted.custom_fields.map(({ field, value }: Given) => ({
      field_id: idOf(lookup.custom_fields, field),
      value,
    }));
  if (wanted.tasks !== undefined) out.tasks = wanted.tasks;
  return isNew ? Object.fromEntries(Object.entries(out).filter(([, value]) => value !== null)) : out;
};
