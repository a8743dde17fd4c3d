import { hash } from 'node:crypto';
import type { EngineContext } from '../api/context.ts';
import {
  type ChoiceDef,
  type FieldDef,
  type LabelDef,
  type LiveChoice,
  type LiveField,
  type LiveLabel,
  type PermissionDef,
  principalName,
  type Change,
} from './definition.ts';
import {
  type DeploymentRecord,
  type FieldRecord,
  type LabelRecord,
  type LockFile,
  LOCK_FILE,
  lockFrom,
} from './lock-file.ts';
import { match } from './match.ts';
import { join, relative } from 'node:path';
import { childPath, isInside, pathPart } from '../core/file-name.ts';
import { shellWord } from '../core/shell.ts';
import type { Host } from '../platform/host.ts';
import { AppError, type Problem, problem } from '../core/problem.ts';
import type { Plan } from './plan.ts';

/** Twelve hexadecimal digits distinguish the versions of one part, which is enough for a lock file. */
export const digestOf = (value: unknown): string => hash('sha256', JSON.stringify(value)).slice(0, 12);
const choiceContent = ({ name, description, badge, disabled }: LiveChoice) => [
  name,
  description ?? null,
  badge?.color ?? null,
  badge?.priority ?? null,
  disabled ?? null,
];
/** IDs are left out, because the same definition has other IDs in other deployments. */
export const fieldDigest = (field: LiveField): string =>
  digestOf([
    field.name,
    field.type,
    field.required,
    field.maxEntries ?? null,
    field.dateFormat ?? null,
    field.disabled ?? null,
    field.choices.map(choiceContent),
  ]);
/** Everything that a revision of a label holds. */
export const contentDigest = (live: LiveLabel): string =>
  digestOf([live.title, live.description ?? null, live.fields.map(fieldDigest)]);
const sortedParts = <T extends { readonly name: string }>(parts: readonly T[]): T[] =>
  parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
/** The same without the order of the parts: what a delta leads to can be known beforehand but for that. */
export const unorderedDigest = (live: LiveLabel): string =>
  digestOf([
    live.title,
    live.description ?? null,
    sortedParts(live.fields).map((field) => fieldDigest({ ...field, choices: sortedParts(field.choices) })),
  ]);

/** `Project phase` → `project-phase`. */
export const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80);
const unusedKey = (wish: string, taken: ReadonlySet<string>): string => {
  if (!taken.has(wish)) return wish;
  for (let n = 2; ; n += 1) if (!taken.has(`${wish}-${n}`)) return `${wish}-${n}`;
};
type Identified = {
  readonly key?: string;
  readonly id?: string;
  readonly was?: string;
  readonly name: string;
};
type Recorded = { readonly name: string; readonly id: string };
type RecordMap = Readonly<Record<string, Recorded>>;
/**
 * The keys that a part of a file may mean: its own `key`, else the keys under which a deployment knows its ID, else
 * its name, else the name that it had. This deployment comes before the others. Pure.
 */
const keysOf = (part: Identified, maps: readonly RecordMap[]): readonly string[] => {
  if (part.key !== undefined) return [part.key];
  const [here = {}] = maps;
  const keysIn = (entries: readonly [string, Recorded][], is: (one: Recorded) => boolean): string[] => [
    ...new Set(entries.flatMap(([key, one]) => (is(one) ? [key] : []))),
  ];
  const find = (is: (one: Recorded) => boolean): string[] => {
    const own = keysIn(Object.entries(here), is);
    return own.length > 0
      ? own
      : keysIn(
          maps.flatMap((map) => Object.entries(map)),
          is,
        );
  };
  const byId = part.id === undefined ? [] : find((one) => one.id === part.id);
  if (byId.length > 0) return byId;
  const byName = find((one) => one.name === part.name);
  if (byName.length > 0) return byName;
  return part.was === undefined ? [] : find((one) => one.name === part.was);
};
/** Of several keys none is chosen: then the name decides, and the service reports two parts with one name. Pure. */
const keyOf = (part: Identified, maps: readonly RecordMap[]): string | undefined => {
  const keys = keysOf(part, maps);
  return keys.length > 1 ? undefined : keys[0];
};
type Deployments = LabelRecord['deployments'];
const fieldMaps = (deployments: Deployments, deployment: string): Readonly<Record<string, FieldRecord>>[] => {
  const { [deployment]: here, ...others } = deployments;
  return [here?.fields ?? {}, ...Object.values(others).map((one) => one.fields)];
};
const choiceMaps = (fields: readonly Readonly<Record<string, FieldRecord>>[], key: string): RecordMap[] =>
  fields.map((map) => map[key]?.choices ?? {});
const withId = <T extends { readonly id?: string }>(part: T, id: string | undefined): T =>
  id === undefined || id === part.id ? part : { ...part, id };
const choicesHere = (
  field: FieldDef,
  key: string,
  maps: readonly Readonly<Record<string, FieldRecord>>[],
  here: DeploymentRecord,
): readonly ChoiceDef[] | undefined => {
  const known = here.fields[key]?.choices ?? {};
  return field.choices?.map((choice) => {
    const choiceKey = keyOf(choice, choiceMaps(maps, key));
    return withId(choice, choiceKey === undefined ? undefined : known[choiceKey]?.id);
  });
};
/** A definition with the ids that one deployment has for its parts. Pure. */
export const inDeployment = (
  wanted: LabelDef,
  record: LabelRecord | undefined,
  deployment: string,
): LabelDef => {
  const here = record?.deployments[deployment];
  if (record === undefined || here === undefined) return wanted;
  const maps = fieldMaps(record.deployments, deployment);
  const fields = wanted.fields?.map((field): FieldDef => {
    const key = keyOf(field, maps);
    if (key === undefined) return field;
    const choices = choicesHere(field, key, maps, here);
    return withId(choices === undefined ? field : { ...field, choices }, here.fields[key]?.id);
  });
  return { ...wanted, id: here.id, ...(fields === undefined ? {} : { fields }) };
};
/**
 * Fields that the lock file knows under several keys, and the label under no unique name: an apply would add a field
 * and disable the field that was meant. Pure.
 */
export const ambiguousFields = (
  wanted: LabelDef,
  live: LiveLabel,
  record: LabelRecord | undefined,
  deployment: string,
): Problem[] => {
  const maps = fieldMaps(record?.deployments ?? {}, deployment);
  return (wanted.fields ?? []).flatMap((field, i) => {
    const keys = keysOf(field, maps);
    const isNamed = live.fields.some(({ id, name }) => id === field.id || name === field.name);
    if (keys.length < 2 || isNamed) return [];
    const text = `fits ${keys.length} entries of ${LOCK_FILE}: ${keys.join(', ')}`;
    return [problem(`fields[${i}].name`, 'rule', text, `add \`key: ${keys[0]}\` to the field`)];
  });
};
type Keyed = Pick<LabelDef, 'key' | 'id' | 'title' | 'was'>;
type KeysByValue = Map<string, Set<string>>;
/** The keys of the entries whose records have an ID or a title. */
type KeysOfRecords = { readonly id: KeysByValue; readonly title: KeysByValue };
const addKey = (index: KeysByValue, value: string, key: string): void => {
  const keys = index.get(value);
  if (keys === undefined) index.set(value, new Set([key]));
  else keys.add(key);
};
/**
 * A lock file that a command searches for each of its labels. All lists of keys are in the order of the lock file.
 * A search costs as much as it finds, so that a run over all labels grows with their number.
 */
export class LockIndex {
  readonly deployment: string;
  readonly #entries = new Map<string, LabelRecord>();
  readonly #positions = new Map<string, number>();
  readonly #byFile: KeysByValue = new Map();
  readonly #here: KeysOfRecords = { id: new Map(), title: new Map() };
  readonly #elsewhere: KeysOfRecords = { id: new Map(), title: new Map() };
  /** Keys that the lock file does not contain yet. */
  readonly #reserved = new Set<string>();
  /** The first number that may still be free, by the key that it follows. Keys are never removed. */
  readonly #numbers = new Map<string, number>();
  constructor({ labels }: LockFile, deployment: string) {
    this.deployment = deployment;
    for (const [key, entry] of Object.entries(labels)) this.#add(key, entry);
  }
  #add(key: string, entry: LabelRecord): void {
    this.#entries.set(key, entry);
    if (!this.#positions.has(key)) this.#positions.set(key, this.#positions.size);
    if (entry.file !== undefined) addKey(this.#byFile, entry.file, key);
    for (const [deployment, { id, title }] of Object.entries(entry.deployments)) {
      const index = deployment === this.deployment ? this.#here : this.#elsewhere;
      addKey(index.id, id, key);
      addKey(index.title, title, key);
    }
  }
  /** Objects list keys that are whole numbers first. */
  #sort(keys: ReadonlySet<string> | undefined): readonly string[] {
    if (keys === undefined || keys.size < 2) return [...(keys ?? [])];
    const positionOf = (key: string): number => this.#positions.get(key) ?? 0;
    const sorted = [...keys].sort((a, b) => positionOf(a) - positionOf(b));
    return Object.keys(Object.fromEntries(sorted.map((key) => [key, true])));
  }
  entry(key: string): LabelRecord | undefined {
    return this.#entries.get(key);
  }
  record(key: string): DeploymentRecord | undefined {
    const deployments = this.#entries.get(key)?.deployments ?? {};
    return Object.hasOwn(deployments, this.deployment) ? deployments[this.deployment] : undefined;
  }
  keysHere(member: keyof KeysOfRecords, value: string): readonly string[] {
    return this.#sort(this.#here[member].get(value));
  }
  keysElsewhere(member: keyof KeysOfRecords, value: string): readonly string[] {
    return this.#sort(this.#elsewhere[member].get(value));
  }
  keysOfFile(file: string): readonly string[] {
    return this.#sort(this.#byFile.get(file));
  }
  reserve(key: string): void {
    this.#reserved.add(key);
  }
  /** The wish, or the wish with the first free number. */
  unusedKey(wish: string): string {
    const isTaken = (key: string): boolean => this.#entries.has(key) || this.#reserved.has(key);
    if (!isTaken(wish)) return wish;
    let n = this.#numbers.get(wish) ?? 2;
    while (isTaken(`${wish}-${n}`)) n += 1;
    this.#numbers.set(wish, n);
    return `${wish}-${n}`;
  }
  /** Puts the record of one label for this deployment into its entry. The records of other deployments stay. */
  put(key: string, file: string | undefined, record: DeploymentRecord): void {
    const known = this.#entries.get(key);
    const here = this.record(key);
    if (here !== undefined) {
      this.#here.id.get(here.id)?.delete(key);
      this.#here.title.get(here.title)?.delete(key);
    }
    if (file !== undefined && known?.file !== undefined) this.#byFile.get(known.file)?.delete(key);
    const where = file ?? known?.file;
    this.#add(key, {
      ...(where === undefined ? {} : { file: where }),
      deployments: { ...known?.deployments, [this.deployment]: record },
    });
  }
  toLock(): LockFile {
    return { labels: Object.fromEntries(this.#entries) };
  }
}
/** Of several entries, the one that records the file is meant. */
const preferFile = (
  index: LockIndex,
  found: readonly string[],
  file: string | undefined,
): readonly string[] => {
  const own = file === undefined ? [] : found.filter((key) => index.entry(key)?.file === file);
  return own.length === 1 ? own : found;
};
/**
 * The keys that a definition may mean in a lock file: its own, else those with its ID, its title, its old title, or its
 * file. Entries of this deployment come before entries of others.
 */
export const labelKeys = (index: LockIndex, wanted: Keyed, file: string | undefined): readonly string[] => {
  if (wanted.key !== undefined) return [wanted.key];
  const find = (member: keyof KeysOfRecords, value: string | undefined): readonly string[] => {
    if (value === undefined) return [];
    const here = index.keysHere(member, value);
    return preferFile(index, here.length > 0 ? here : index.keysElsewhere(member, value), file);
  };
  const byId = find('id', wanted.id);
  if (byId.length > 0) return byId;
  const byTitle = find('title', wanted.title);
  if (byTitle.length > 0) return byTitle;
  const byOldTitle = find('title', wanted.was);
  if (byOldTitle.length > 0) return byOldTitle;
  return file === undefined ? [] : index.keysOfFile(file);
};
/**
 * The keys that an exported label may mean. Its ID is of this deployment, so an entry with another ID here is another
 * label.
 */
const exportedKeys = (
  index: LockIndex,
  wanted: Pick<Keyed, 'key' | 'id' | 'title'>,
  file: string,
): readonly string[] => {
  if (wanted.key !== undefined) return [wanted.key];
  const here = wanted.id === undefined ? [] : index.keysHere('id', wanted.id);
  if (here.length > 0) return preferFile(index, here, file);
  const isNotHere = (key: string): boolean => index.record(key) === undefined;
  const find = (member: keyof KeysOfRecords, value: string | undefined): readonly string[] =>
    value === undefined ? [] : preferFile(index, index.keysElsewhere(member, value).filter(isNotHere), file);
  const byId = find('id', wanted.id);
  if (byId.length > 0) return byId;
  const byTitle = find('title', wanted.title);
  return byTitle.length > 0 ? byTitle : index.keysOfFile(file).filter(isNotHere);
};
/** The command that removes an entry. A pipeline prints it for a person who has another checkout: the path is relative. */
export const forgetCommand = ({ cwd }: Pick<Host, 'cwd'>, directory: string, key: string): string => {
  const inside = relative(cwd, directory);
  const path = isInside(cwd, directory) ? inside || '.' : directory;
  return `opsctl labels adopt -f ${shellWord(path)} --forget ${shellWord(key)}`;
};
/** Two entries that fit one definition equally well: which of them it means, only its author knows. */
export const ambiguousEntry = (keys: readonly string[]): Problem =>
  problem(
    'title',
    'rule',
    `fits ${keys.length} entries of ${LOCK_FILE}: ${keys.join(', ')}`,
    `write \`key: ${keys[0]}\` in the definition, or run opsctl labels adopt --forget with the entry that is out of date`,
  );
const onlyKey = (keys: readonly string[], title: string, file: string | undefined): string | undefined => {
  if (keys.length < 2) return keys[0];
  throw new AppError('usage', `${JSON.stringify(title)}: a lock entry is ambiguous; no request was sent`, {
    code: 'AMBIGUOUS_LOCK_ENTRY',
    problems: [{ ...ambiguousEntry(keys), ...(file === undefined ? {} : { file }) }],
  });
};
/** The one key of `labelKeys`. Undefined: the definition is new in this lock file. Several entries are refused. Pure. */
export const labelKey = (index: LockIndex, wanted: Keyed, file: string | undefined): string | undefined =>
  onlyKey(labelKeys(index, wanted, file), wanted.title, file);
/** The one key of an exported label. Undefined: the label is new in this lock file. Several entries are refused. Pure. */
export const exportedKey = (
  index: LockIndex,
  wanted: Pick<Keyed, 'key' | 'id' | 'title'>,
  file: string,
): string | undefined => onlyKey(exportedKeys(index, wanted, file), wanted.title, file);
export const newLabelKey = (index: LockIndex, wanted: Pick<LabelDef, 'id' | 'title'>): string =>
  index.unusedKey(slugOf(wanted.title) || (wanted.id ?? 'label'));
const choiceRecords = (
  field: FieldDef | undefined,
  live: LiveField,
  maps: readonly RecordMap[],
): FieldRecord['choices'] | undefined => {
  const taken = new Set<string>();
  const records: Record<string, Recorded> = {};
  for (const { wanted, live: known } of match(field?.choices ?? [], live.choices, '').pairs) {
    if (known === undefined) continue;
    const key = unusedKey(keyOf(wanted, maps) ?? wanted.id ?? (slugOf(known.name) || known.id), taken);
    taken.add(key);
    // An ID in the file that exists in the deployment is itself the link.
    if (wanted.id === known.id && key === known.id) continue;
    records[key] = { name: known.name, id: known.id };
  }
  return Object.keys(records).length === 0 ? undefined : records;
};
const fieldRecords = (
  wanted: LabelDef,
  live: LiveLabel,
  record: LabelRecord | undefined,
  deployment: string,
) => {
  const maps = fieldMaps(record?.deployments ?? {}, deployment);
  const pairs = match(wanted.fields ?? [], live.fields, '').pairs;
  const taken = new Set<string>();
  const records: Record<string, FieldRecord> = {};
  for (const field of live.fields) {
    const said = pairs.find((pair) => pair.live === field)?.wanted;
    const wish = keyOf(said ?? { id: field.id, name: field.name }, maps) ?? (slugOf(field.name) || field.id);
    const key = unusedKey(wish, taken);
    taken.add(key);
    const choices = choiceRecords(said, field, choiceMaps(maps, key));
    const isProtected = said?.protect ?? record?.deployments[deployment]?.fields[key]?.protect ?? false;
    records[key] = {
      name: field.name,
      id: field.id,
      digest: fieldDigest(field),
      ...(choices === undefined ? {} : { choices }),
      ...(isProtected ? { protect: true } : {}),
    };
  }
  return records;
};
/** What a lock file keeps of a label as one deployment has it after an apply, an export or an adoption. Pure. */
export const recordFrom = (
  wanted: LabelDef,
  live: LiveLabel,
  record: LabelRecord | undefined,
  deployment: string,
  permissions?: readonly PermissionDef[],
): DeploymentRecord => ({
  id: live.id,
  title: live.title,
  revision: live.revisionId,
  state: live.state,
  copyMode: live.copyMode,
  enabledApps: live.enabledApps,
  digest: contentDigest(live),
  ...(permissions === undefined
    ? {}
    : { permissions: Object.fromEntries(permissions.map((one) => [principalName(one), one.role])) }),
  ...((wanted.protect ?? record?.deployments[deployment]?.protect) ? { protect: true } : {}),
  fields: fieldRecords(wanted, live, record, deployment),
});

/**
 * The name of the service in a lock file: its base URL, so that every clone uses the same name, or the name
 * from --deployment if the URL changes. Embedded servers have no fixed URL, so they are identified by their
 * state directory.
 */
export const deploymentOf = async (context: EngineContext, given: string | undefined): Promise<string> => {
  if (given !== undefined) return given;
  const target = await context.target('labels');
  if (target.isMock) return `embedded-${digestOf(context.settings.directories.state)}`;
  return target.baseUrl.replace(/\/+$/, '');
};

const takesAway = ({ kind }: Change): boolean => kind === 'disabled' || kind === 'deleted';
/** The field that a change removes. A change of one of its choices leaves the field. */
const goneField = (change: Change): string | undefined =>
  takesAway(change) && change.part.choiceId === undefined ? change.part.fieldId : undefined;
const waysOut = (part: string): string =>
  `write ${part} with protect: false and apply it first, or keep the part as it is`;
/**
 * Refuses changes that disable or delete a protected part. A part that the file no longer contains is protected by the
 * lock file; a definition lifts the protection with `protect: false`.
 */
export const protectionProblems = (
  plan: Plan,
  wanted: LabelDef,
  live: LiveLabel | undefined,
  record: DeploymentRecord | undefined,
): Problem[] => {
  if (live === undefined) return [];
  const fields = wanted.fields ?? [];
  const found = plan.changes.flatMap((change): Problem[] => {
    const id = goneField(change);
    if (id === undefined) return [];
    const name = live.fields.find((field) => field.id === id)?.name ?? id;
    const at = fields.findIndex((field) => field.id === id || field.name === name || field.was === name);
    const known = Object.values(record?.fields ?? {}).find((field) => field.id === id);
    if (!(fields[at]?.protect ?? known?.protect ?? false)) return [];
    const text = `would be ${change.kind}: field ${JSON.stringify(name)} is protected`;
    return [problem(at < 0 ? 'fields' : `fields[${at}]`, 'rule', text, waysOut('the field'))];
  });
  const isLabel = (wanted.protect ?? record?.protect ?? false) && plan.transitions.includes('disable');
  const own = problem('state', 'rule', 'would be disabled: the label is protected', waysOut('the label'));
  return isLabel && live.state !== 'DISABLED' ? [own, ...found] : found;
};

type Protection = {
  readonly path: string;
  readonly lines: readonly string[];
  readonly file: string | undefined;
  readonly record: DeploymentRecord;
};
/** Records of a label in the lock files of the current directory and of the directories in it. */
const recordsFor = async (context: EngineContext, id: string): Promise<Protection[]> => {
  const { host } = context;
  const names = await host.files.list(host.cwd).catch(() => []);
  const directories = [host.cwd, ...names.map((name) => childPath(host.cwd, pathPart(name)))];
  const found: Protection[] = [];
  for (const directory of directories) {
    const path = join(directory, LOCK_FILE);
    if ((await host.files.info(path).catch(() => undefined))?.kind !== 'file') continue;
    const text = (await host.files.read(path)) ?? '';
    for (const { file, deployments } of Object.values(lockFrom(path, text).labels))
      for (const record of Object.values(deployments))
        if (record.id === id) found.push({ path, lines: text.split('\n'), file, record });
  }
  return found;
};
const placeIn = ({ path, lines }: Protection, id: string): string =>
  `${path}:${lines.findIndex((line) => line.includes(JSON.stringify(id))) + 1}`;
const makeProtectedError = (seen: Protection, what: string, id: string): AppError => {
  const file = seen.file === undefined ? '' : `, defined in ${seen.file}`;
  return new AppError('unsafe', `${what} is protected (${placeIn(seen, id)}${file}); no changes were made`, {
    code: 'PROTECTED',
    tryThis: [`write protect: false in ${seen.file ?? 'its definition'}, then run opsctl labels apply`],
  });
};
/** Refuses to disable, delete or publish the removal of parts that a lock file of this directory protects. */
export const refuseProtected = async (
  context: EngineContext,
  live: LiveLabel,
  changes: readonly Change[] | 'all',
): Promise<void> => {
  for (const seen of await recordsFor(context, live.id)) {
    if (changes === 'all' && seen.record.protect === true)
      throw makeProtectedError(seen, `label ${JSON.stringify(live.title)}`, live.id);
    for (const field of Object.values(seen.record.fields)) {
      const isGone = changes === 'all' || changes.some((change) => goneField(change) === field.id);
      if (field.protect === true && isGone)
        throw makeProtectedError(seen, `field ${JSON.stringify(field.name)} of ${live.title}`, field.id);
    }
  }
};
