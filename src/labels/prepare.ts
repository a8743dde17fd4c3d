import type { EngineContext } from '../api/context.ts';
import { AppError, awaitAll, problem, usageError } from '../core/problem.ts';
import { inParallel, type LimitsJson, type PermissionJson, type UserCapabilitiesJson } from './api-types.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import { limitProblems, lockPlaceOf, lockProblems, rightProblems, type DesiredLabel } from './desired.ts';
import { type Base, baseFromRecord, baseFromRevision, type Drift, driftOf, makesRevision } from './drift.ts';
import { liveFrom } from './from-label.ts';
import {
  ambiguousFields,
  contentDigest,
  deploymentOf,
  inDeployment,
  labelKey,
  LockIndex,
  newLabelKey,
  unorderedDigest,
  protectionProblems,
} from './lock-entries.ts';
import {
  type DeploymentRecord,
  emptyLock,
  type LabelRecord,
  LOCK_FILE,
  type LockFile,
  readLock,
} from './lock-file.ts';
import { permissionPlan, type PermissionPlan } from './definition.ts';
import { isIdle, type Plan, planFrom } from './plan.ts';
import { placeProblems } from './read-files.ts';
import {
  listLocks,
  listPermissions,
  ambiguousTitle,
  type ReadOptions,
  getDefinition,
  getLimits,
  getAuthor,
  getUserCapabilities,
  type RevisionAuthor,
  type LiveLabels,
  readLive,
  titleOf,
} from './read-labels.ts';

/** An older revision that the service still has; drafts go when they are published. */
const revisionOf = async (
  context: EngineContext,
  id: string,
  revision: string,
  asking: ReadOptions,
): Promise<LiveLabel | undefined> => {
  try {
    return liveFrom(await getDefinition(context, `labels/${id}@${revision}`, asking));
  } catch (error) {
    if (error instanceof AppError && error.category === 'not-found') return undefined;
    throw error;
  }
};
const fromRecord = async (
  context: EngineContext,
  record: DeploymentRecord,
  live: LiveLabel,
  asking: ReadOptions,
): Promise<Base> => {
  const now = contentDigest(live);
  // A crash came between the write and the note of it: this is what that apply was about to bring about.
  if (record.applying === unorderedDigest(live)) return baseFromRevision(live);
  if (record.digest === now) return baseFromRevision(live, record);
  const then = await revisionOf(context, live.id, record.revision, asking);
  const isThatOne = then !== undefined && contentDigest(then) === record.digest;
  return isThatOne ? baseFromRevision(then, record) : baseFromRecord(record, live);
};
/**
 * The base of the last comparison of a definition: the lock file's record of this deployment, or, in files of
 * earlier versions, the revision that the file names. Undefined: not recorded. 'gone': the service has
 * deleted that revision.
 */
export const baseOf = async (
  context: EngineContext,
  wanted: LabelDef,
  live: LiveLabel,
  record: DeploymentRecord | undefined,
  asking: ReadOptions,
): Promise<Base | 'gone' | undefined> => {
  if (record !== undefined)
    return record.id === live.id ? fromRecord(context, record, live, asking) : undefined;
  const { revision, id } = wanted;
  // The number is valid only if the ID was found, because each deployment counts separately.
  if (revision === undefined || id !== live.id) return undefined;
  if (revision === live.revisionId) return baseFromRevision(live);
  const then = await revisionOf(context, live.id, revision, asking);
  return then === undefined ? 'gone' : baseFromRevision(then);
};

const entriesOf = (session: Session, wishes: readonly DesiredLabel[]): (LockEntry | undefined)[] => {
  const taken = new Map<string, DesiredLabel>();
  const indexes = new Map<string, LockIndex>();
  return wishes.map((wish) => {
    const { directory, file } = lockPlaceOf(session.context, wish);
    const lock = directory === undefined ? undefined : session.locks.get(directory);
    if (directory === undefined || lock === undefined) return undefined;
    const index = indexes.get(directory) ?? new LockIndex(lock, session.deployment);
    indexes.set(directory, index);
    const key = labelKey(index, wish.wanted, file) ?? newLabelKey(index, wish.wanted);
    index.reserve(key);
    const other = taken.get(`${directory}/${key}`);
    if (other !== undefined) {
      const text = `means the same label (${key} in the lock file) as ${other.source}`;
      const wrong = problem('title', 'rule', text, 'write `key:` or `was:` in both files');
      throw usageError(
        'a label is defined twice; no request was sent',
        placeProblems(wish.document, [wrong]),
      );
    }
    taken.set(`${directory}/${key}`, wish);
    return { directory, ...(file === undefined ? {} : { file }), key, record: index.entry(key) };
  });
};
type Sought = { readonly wish: DesiredLabel; readonly entry: LockEntry | undefined };
const recordHere = ({ deployment }: Session, entry: LockEntry | undefined) =>
  entry?.record?.deployments[deployment];
const seekOf = (session: Session, { wish, entry }: Sought) => {
  const { wanted } = wish;
  const own = recordHere(session, entry)?.id;
  const known = Object.values(entry?.record?.deployments ?? {});
  // The file may name the label of another deployment of its lock entry.
  const isElsewhere = own !== undefined && known.some(({ id }) => id === wanted.id);
  const ids = new Set([own, isElsewhere ? undefined : wanted.id].flatMap((id) => id ?? []));
  return { ids: [...ids], titles: [wanted.title, ...(wanted.was === undefined ? [] : [wanted.was])] };
};
/**
 * Labels to which definitions are bound. A definition must not claim a bound label because of an equal title.
 */
const ownedBy = (session: Session, sought: readonly Sought[]): ReadonlySet<string> =>
  new Set(
    sought.flatMap((one) => {
      const id = recordHere(session, one.entry)?.id;
      return id === undefined ? [] : [id];
    }),
  );
/** A person who types a title means the one label that reads like it; a file may also mean a new label. */
const refuseSimilar = (
  { wanted: { title, id }, document }: DesiredLabel,
  labels: LiveLabels,
  owned: ReadonlySet<string>,
): void => {
  const [similar] = labels.similarTo(title).filter((label) => !owned.has(label.id ?? ''));
  if (similar === undefined || id !== undefined) return;
  const other = titleOf(similar);
  const text = `differs only in case from the title ${JSON.stringify(other)} of labels/${similar.id}`;
  const wrong = problem('title', 'rule', text, `add \`was: ${JSON.stringify(other)}\` to rename that label`);
  throw new AppError(
    'unsafe',
    `no label has the exact title ${JSON.stringify(title)}; no changes were made`,
    {
      code: 'SIMILAR_TITLE',
      problems: placeProblems(document, [wrong]),
      tryThis: [
        `to create a second label, run \`opsctl labels create --title ${JSON.stringify(title)}\` and apply the file again`,
      ],
    },
  );
};
/** The file and the lock file may name two labels of one deployment: neither is more right than the other. */
const refuseTwoIds = ({ wish }: Sought, found: readonly LiveLabel[]): void => {
  const [first, second] = found;
  if (first === undefined || second === undefined || first.id === second.id) return;
  const text = `is labels/${second.id}, and ${LOCK_FILE} names labels/${first.id} for this definition`;
  const hint = `remove \`id:\`, or run opsctl labels adopt --forget with the lock entry`;
  throw usageError(
    'a definition means two labels; no request was sent',
    placeProblems(wish.document, [problem('id', 'rule', text, hint)]),
  );
};
/** By the lock file's id, by the file's, else by title or by the old title in `was`. */
const liveOf = (
  session: Session,
  sought: Sought,
  labels: LiveLabels,
  owned: ReadonlySet<string>,
): LiveLabel | undefined => {
  const { ids, titles } = seekOf(session, sought);
  const own = recordHere(session, sought.entry)?.id;
  const known = ids.flatMap((id) => labels.withId(id) ?? []).map(liveFrom);
  refuseTwoIds(sought, known);
  if (known[0] !== undefined) return known[0];
  for (const title of titles) {
    const found = labels.withTitle(title).filter(({ id = '' }) => id === own || !owned.has(id));
    if (found.length > 1) {
      const { line, column } = sought.wish.document.placeOf('title');
      const path = `${sought.wish.source}:${line}:${column}: title`;
      throw ambiguousTitle(title, found, { path, hint: 'add the id: of the one that is meant' });
    }
    if (found[0] !== undefined) return liveFrom(found[0]);
  }
  refuseSimilar(sought.wish, labels, owned);
  return undefined;
};
/** What freezes at publish is the published revision's, which differs from a newer draft. */
const withPublished = async (
  context: EngineContext,
  live: LiveLabel,
  asking: ReadOptions,
): Promise<LiveLabel> => {
  if (!live.hasUnpublishedChanges || !live.fields.some((field) => field.maxEntries !== undefined))
    return live;
  const then = await revisionOf(context, live.id, 'published', asking);
  const fields = live.fields.map((field) => {
    const publishedEntries = then?.fields.find(({ id }) => id === field.id)?.maxEntries;
    return publishedEntries === undefined ? field : { ...field, publishedEntries };
  });
  return { ...live, fields };
};
const deletedDrift = (live: LiveLabel | undefined, id: string | undefined): Drift[] =>
  live === undefined && id !== undefined ? [{ what: `labels/${id} (deleted)`, isLost: true, at: {} }] : [];
/** At most this many revisions are read to name their authors. */
const MOST_AUTHORS = 10;
/** Revision IDs are consecutive numbers. If they are not, only the current revision is known. */
const revisionsSince = (base: string, now: string): string[] => {
  if (base === now) return [];
  const [first, last] = [Number(base) + 1, Number(now)];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last) || first > last) return [now];
  const count = Math.min(MOST_AUTHORS, last - first + 1);
  return Array.from({ length: count }, (_, i) => String(last - count + 1 + i));
};
const listAuthors = async (
  { context, options }: Session,
  base: string,
  live: LiveLabel,
): Promise<readonly RevisionAuthor[]> => {
  const found = await inParallel(revisionsSince(base, live.revisionId), (revision) =>
    getAuthor(context, `labels/${live.id}@${revision}`, options),
  );
  return found.flatMap((one) => one ?? []);
};
const withDrift = async (
  session: Session,
  { wish, entry }: Sought,
  wanted: LabelDef,
  live: LiveLabel | undefined,
  permissions: PlannedLabel['permissions'],
): Promise<Pick<PlannedLabel, 'base' | 'drift' | 'authors'>> => {
  const record = recordHere(session, entry);
  if (live === undefined) return { base: undefined, drift: deletedDrift(live, record?.id) };
  const base = await baseOf(session.context, wish.wanted, live, record, session.options);
  if (base === 'gone') {
    const what = 'the changes are unknown, because that revision was deleted';
    return { base: undefined, drift: [{ what, isLost: true, at: {} }] };
  }
  const said = permissions?.live.map((one) => ({ ...one, role: one.role ?? '' }));
  if (base === undefined) return { base, drift: [] };
  const drift = driftOf(wanted, base, live, said);
  const authors = drift.some(makesRevision) ? await listAuthors(session, base.revision, live) : [];
  return { base, drift, ...(authors.length === 0 ? {} : { authors }) };
};
type Known = { readonly limits: LimitsJson; readonly user: () => Promise<UserCapabilitiesJson> };
/** What the service would refuse, found before anything is sent; asked only about labels that change. */
const problemsOf = async (
  { context, deployment }: Session,
  wanted: LabelDef,
  live: LiveLabel | undefined,
  plan: PlannedLabel['plan'],
  known: Known,
  record: LabelRecord | undefined,
) => {
  if (isIdle(plan) && plan.problems.length === 0) return [];
  const locks = live === undefined ? [] : await listLocks(context, `labels/${live.id}`);
  const user = plan.action === 'create' ? await known.user() : undefined;
  return [
    ...plan.problems,
    ...limitProblems(wanted, live, known.limits),
    ...lockProblems(plan, locks),
    ...rightProblems(plan, live, user),
    ...protectionProblems(plan, wanted, live, record?.deployments[deployment]),
    ...(live === undefined ? [] : ambiguousFields(wanted, live, record, deployment)),
  ];
};
const permissionsOf = async (
  { context, options }: Session,
  { permissions: wanted }: LabelDef,
  live: LiveLabel | undefined,
): Promise<PlannedLabel['permissions']> => {
  if (wanted === undefined) return undefined;
  const now = live === undefined ? [] : await listPermissions(context, `labels/${live.id}`, options);
  return { live: now, plan: permissionPlan(wanted, now, false) };
};
const prepareOne = async (
  session: Session,
  sought: Sought,
  found: LiveLabel | undefined,
  known: Known,
): Promise<PlannedLabel> => {
  const { context, options, deployment } = session;
  const { wish, entry } = sought;
  const wanted = inDeployment(wish.wanted, entry?.record, deployment);
  const live = found && (await withPublished(context, found, options));
  const made = planFrom(wanted, live, { prune: options.prune, publish: options.publish });
  const planned = await permissionsOf(session, wanted, live);
  const drift = await withDrift(session, sought, wanted, live, planned);
  const problems = await problemsOf(session, wanted, live, made, known, entry?.record);
  return {
    wish,
    wanted,
    entry,
    live,
    ...drift,
    plan: { ...made, problems },
    ...(planned === undefined ? {} : { permissions: planned }),
  };
};
const once = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let value: Promise<T> | undefined;
  return () => (value ??= read());
};
/**
 * Yields all definitions with their labels in the service: pages of labels once, then only changed labels,
 * with several reads in parallel.
 */
export const prepareAll = async (
  session: Session,
  wishes: readonly DesiredLabel[],
): Promise<PlannedLabel[]> => {
  const { context, options } = session;
  const entries = entriesOf(session, wishes);
  const sought = wishes.map((wish, i): Sought => ({ wish, entry: entries[i] }));
  const [limits, labels] = await awaitAll([
    getLimits(context),
    readLive(
      context,
      sought.map((one) => seekOf(session, one)),
      options,
    ),
  ]);
  const owned = ownedBy(session, sought);
  const lives = sought.map((one) => liveOf(session, one, labels, owned));
  refuseShared(sought, lives);
  const known: Known = { limits, user: once(() => getUserCapabilities(context)) };
  return inParallel(sought, (one, i) => prepareOne(session, one, lives[i], known));
};
/** Two definitions that lead to one label would undo each other. */
const refuseShared = (sought: readonly Sought[], lives: readonly (LiveLabel | undefined)[]): void => {
  const first = new Map<string, Sought>();
  for (const [i, live] of lives.entries()) {
    const one = sought[i];
    if (live === undefined || one === undefined) continue;
    const other = first.get(live.id);
    if (other === undefined) {
      first.set(live.id, one);
      continue;
    }
    const text = `matches labels/${live.id}, which ${other.wish.source} matches as well`;
    throw new AppError('usage', 'a label is defined twice; no request was sent', {
      problems: placeProblems(one.wish.document, [problem('title', 'rule', text, 'remove one of the files')]),
    });
  }
};

/** The location of the record of a definition; absent without a lock file. */
type LockEntry = {
  readonly directory: string;
  readonly file?: string;
  readonly key: string;
  readonly record: LabelRecord | undefined;
};
/** A definition with what the service has, before anything is sent. */
export type PlannedLabel = {
  readonly wish: DesiredLabel;
  /** The definition with this deployment's ids. */
  readonly wanted: LabelDef;
  readonly entry: LockEntry | undefined;
  readonly live: LiveLabel | undefined;
  readonly base: Base | undefined;
  /** The remote changes since the label was applied. */
  readonly drift: readonly Drift[];
  /**
   * The revisions since the label was applied that the service still has, the oldest first; only with drift of a
   * revision.
   */
  readonly authors?: readonly RevisionAuthor[];
  readonly plan: Plan;
  /** Only if the file defines the permissions. */
  readonly permissions?: { readonly live: readonly PermissionJson[]; readonly plan: PermissionPlan };
};
export const listLostDrift = ({ drift }: PlannedLabel): readonly Drift[] =>
  drift.filter(({ isLost }) => isLost);
export const changesPermissions = ({ permissions }: PlannedLabel): boolean => {
  if (permissions === undefined) return false;
  const { added, changed, removed } = permissions.plan;
  return added.length + changed.length + removed.length > 0;
};

/** What the flags of `labels apply`, `plan` and `diff -f` ask for. */
export type Options = {
  readonly publish: boolean;
  readonly prune: boolean;
  readonly admin: boolean;
  /** Which side wins if others changed values that the file defines. */
  readonly take?: 'ours' | 'theirs';
  readonly deployment?: string;
  /** File with the values of `${name}` in the definitions. */
  readonly values?: string;
};
/** One run over definition files: the deployment, and the lock files of their directories. */
export type Session = {
  readonly context: EngineContext;
  readonly options: Options;
  readonly deployment: string;
  /** By directory; undefined for single files without a lock file. */
  readonly locks: ReadonlyMap<string, LockFile | undefined>;
  /** Directories whose lock file does not exist yet: the first apply creates it. */
  readonly withoutLock: ReadonlySet<string>;
};
export const openSession = async (
  context: EngineContext,
  options: Options,
  wishes: readonly DesiredLabel[],
): Promise<Session> => {
  const locks = new Map<string, LockFile | undefined>();
  const withoutLock = new Set<string>();
  for (const wish of wishes) {
    const { directory } = lockPlaceOf(context, wish);
    if (directory === undefined || locks.get(directory) !== undefined) continue;
    const lock = await readLock(context, directory);
    const isNew = lock === undefined && wish.document.isInDirectory === true;
    if (isNew) withoutLock.add(directory);
    locks.set(directory, isNew ? emptyLock : lock);
  }
  const deployment = await deploymentOf(context, options.deployment);
  return { context, options, deployment, locks, withoutLock };
};
export const adminBody = ({ options }: Session): { useAdminAccess?: boolean } =>
  options.admin ? { useAdminAccess: true } : {};
