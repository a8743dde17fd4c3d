import { tracker } from '../../api-specs/tracker/index.ts';
import type { EngineContext } from '../../api/context.ts';
import { type LooseInput, type Operation, type Table, fill } from '../../core/operation.ts';
import { AppError, type Problem, problem, problemText } from '../../core/problem.ts';
import { resolveParams, trackerNames } from '../names/name-resolution.ts';
import { fieldReferences } from '../../api-specs/tracker/info.ts';
import { type Change, changeFrom, changeProblems, type Defaults, type Source } from './change.ts';
import {
  type KnownNames,
  isExternal,
  type RecordKeys,
  type RecordTurns,
  scopeOf,
  type Turn,
} from './external-keys.ts';
import {
  type makeObserver,
  type Before,
  beforeOf,
  lineMark,
  type Mark,
  markRecord,
  verbsOf,
} from './previous.ts';
import type { Line } from './csv.ts';
import type { ColumnMap } from './column-map.ts';
import { decideUpsert, hasExternal, resolveExternal, upsertKey, upsertProblems } from './upsert.ts';
import type { Journal } from './journal.ts';

/** Attempts of one row with a lost connection before the run stops. */
const MOST_TRIES = 4;
/**
 * Requests of a run whose response was lost. A lookup runs alone: while it does, no row is sent and no response is
 * awaited, so that a record that is found belongs to no other row of the same content.
 */
export class Lost {
  /** Connections that were lost so far. */
  count = 0;
  #calls = 0;
  #lookup: Promise<unknown> | undefined;
  /** Resolves the wait for the end of the last call. */
  #whenNone: (() => void) | undefined;

  /** True for an error after which the row may or may not be applied, while there are tries left. */
  mayRecover(error: AppError, tries: number, signal: AbortSignal): boolean {
    if (error.detail.outcome !== 'unknown') return false;
    this.count += 1;
    return tries < MOST_TRIES && !signal.aborted;
  }
  call<T>(send: () => Promise<T>): Promise<T> {
    return this.#lookup === undefined ? this.#start(send) : this.#startLater(send);
  }
  async alone<T>(look: () => Promise<T>): Promise<T> {
    while (this.#lookup !== undefined) await this.#lookup;
    const lookup = this.#waitForCalls().then(look);
    this.#lookup = lookup.catch(() => undefined);
    try {
      return await lookup;
    } finally {
      this.#lookup = undefined;
    }
  }
  /** The last check and the start are one step: otherwise another lookup could start between them. */
  async #startLater<T>(send: () => Promise<T>): Promise<T> {
    while (this.#lookup !== undefined) await this.#lookup;
    return this.#start(send);
  }
  async #start<T>(send: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      return await send();
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) this.#whenNone?.();
    }
  }
  /** Only one lookup waits, and no call starts while it does. */
  async #waitForCalls(): Promise<void> {
    if (this.#calls === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenNone = resolve;
    });
    this.#whenNone = undefined;
  }
}

/** What became of one line, in the order in which they were finished. */
export type Outcome = {
  readonly line: number;
  readonly status: 'done' | 'found' | 'unchanged' | 'skipped' | 'would' | 'failed';
  readonly op?: string;
  readonly resource?: string;
  readonly id?: unknown;
  readonly request?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly problems: readonly Problem[] };
};
/** `invalid` counts the failed rows for which no request was sent. */
export type Counts = {
  done: number;
  failed: number;
  skipped: number;
  invalid: number;
  /** Of the finished rows: those without a request, and requests by their verb. */
  unchanged: number;
  created: number;
  updated: number;
  deleted: number;
};
export const createCounts = (): Counts => ({
  ...{ done: 0, failed: 0, skipped: 0, invalid: 0, unchanged: 0, created: 0, updated: 0, deleted: 0 },
});
export type Run = {
  readonly context: EngineContext;
  readonly source: Source;
  readonly defaults: Defaults;
  /** None in a dry run. */
  readonly journal?: Journal;
  readonly observe?: ReturnType<typeof makeObserver>;
  /** Connections that were lost in this run. */
  readonly lost?: Lost;
  /** Names that rows of a dry run create, by resource, and where. */
  readonly names: Map<string, Map<string, number>>;
  /** Which fields the columns of a row are read into. */
  readonly columns?: ColumnMap;
  /** Records by their external ID. */
  readonly keys: RecordKeys;
  /** A dry run sends no rows, so they have no order. */
  readonly turns?: RecordTurns;
  /** The names that rows may use without making a record. */
  readonly known: KnownNames;
  /** What sends the rows of one operation, made at its first row. */
  readonly callers: Map<Operation, ReturnType<EngineContext['caller']>>;
};
const TABLE: Table = tracker.table;
const callerFor = ({ context, callers }: Run, operation: Operation): ReturnType<EngineContext['caller']> => {
  const known = callers.get(operation);
  if (known !== undefined) return known;
  const caller = context.caller(tracker, operation, { transport: 'bulk' });
  callers.set(operation, caller);
  return caller;
};
const isText = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.some((item) => typeof item === 'string'));
/** True if a value in a row may be a name; IDs need no lookup. */
const mayHaveNames = ({ input }: Change): boolean => {
  for (const name in input.params) if (isText(input.params[name])) return true;
  for (const name in input.body)
    if (fieldReferences[name] !== undefined && isText(input.body[name])) return true;
  return false;
};
/** Names in a row's path and body as ids; ids stay what they are. */
const resolveNames = async (context: EngineContext, change: Change): Promise<Change> => {
  // A dry run keeps keys of records that earlier rows would create.
  const hasKeys = Object.values(change.input.params ?? {}).some(isExternal);
  const input = hasKeys
    ? change.input
    : await resolveParams(trackerNames, context, change.operation, change.input);
  const body: Record<string, unknown> = { ...input.body };
  for (const [name, value] of Object.entries(body)) {
    const kind = fieldReferences[name]?.kind;
    if (kind === undefined) continue;
    const one = (item: unknown) =>
      typeof item === 'string' && !isExternal(item) ? trackerNames.resolve(context, kind, item, name) : item;
    body[name] = Array.isArray(value) ? await Promise.all(value.map(one)) : await one(value);
  }
  return { ...change, input: { ...input, ...(change.operation.body ? { body } : {}) } };
};
const makeFailedOutcome = (line: number, change: Partial<Change>, error: AppError): Outcome => ({
  line,
  status: 'failed',
  ...(change.verb ? { op: change.verb, resource: change.resource } : {}),
  error: {
    code: error.detail.code ?? error.category.toUpperCase().replaceAll('-', '_'),
    message: error.message,
    problems: error.detail.problems ?? [],
  },
});
const invalid = (problems: readonly Problem[]): AppError =>
  new AppError('usage', problems.map(problemText).join('; '), { code: 'INVALID_ROW', problems });
/** A failure that also affects the next rows stops the run, which can be resumed. */
const endsRun = (error: AppError): boolean =>
  ['auth', 'network', 'config', 'interrupted', 'terminated', 'rate-limit'].includes(error.category);
/** A line with its mark. */
type Marked = { readonly line: number; readonly hash: string };
/** The record that a row is about to change or remove, for `bulk undo`. */
const readBefore = async (run: Run, change: Change): Promise<Before> => {
  const { resource, input, previous } = change;
  const fields = Object.keys(input.body ?? {});
  const isSlimEnough = previous !== undefined && fields.every((name) => name in previous);
  return beforeOf(
    change,
    isSlimEnough ? previous : await run.keys.forUndo(resource, input.params ?? {}, fields),
  );
};
/** How a row left its record, for `bulk undo`. */
const markAfter = (change: Change, answer: unknown): Mark | undefined =>
  change.verb !== 'delete' && typeof answer === 'object' && answer !== null && !Array.isArray(answer)
    ? markRecord(
        change.resource,
        answer as Readonly<Record<string, unknown>>,
        change.verb === 'update' ? Object.keys(change.input.body ?? {}) : [],
      )
    : undefined;
/** Records the current state of the record that a lost request created. */
const noteFound = async (run: Run, { line, hash }: Marked, change: Change, id: unknown): Promise<void> => {
  const own = Object.keys(verbsOf(change.resource).get?.params ?? {}).at(-1);
  const record =
    own === undefined || run.journal === undefined
      ? undefined
      : await run.keys.forUndo(change.resource, { ...change.input.params, [own]: id }, [], true);
  run.journal?.noteDone(line, hash, id, markAfter(change, record));
  await run.keys.note(change.resource, record);
};
/** A row of an earlier run that was sent without a response but did arrive. */
const findExisting = async (
  run: Run,
  { line, hash }: Marked,
  change: Change,
): Promise<Outcome | undefined> => {
  const id = await run.observe?.(change);
  if (id === undefined) return undefined;
  await noteFound(run, { line, hash }, change, id);
  return { line, status: 'found', op: change.verb, resource: change.resource, id };
};
/** After a lost connection: the record that the row made, or undefined when the row is to be sent again. */
const recoverRecord = async (
  run: Run,
  marked: Marked,
  change: Change,
  error: AppError,
  tries: number,
): Promise<Outcome | undefined> => {
  const { context, lost = new Lost(), observe } = run;
  context.log.info(`row ${marked.line}: ${error.message}; checking whether the service applied the row`);
  await context.host.sleep(PAUSE_MS * 4 ** (tries - 1), context.signal);
  if (change.verb !== 'create' || observe === undefined) return undefined;
  const id = await lost.alone(() => observe(change, 'fresh'));
  if (id === undefined) return undefined;
  await noteFound(run, marked, change, id);
  return { line: marked.line, status: 'found', op: change.verb, resource: change.resource, id };
};
/** A proxy that drops a connection mostly takes the next one. */
const PAUSE_MS = 100;
const idOf = (answer: unknown, { params = {} }: LooseInput): unknown =>
  (answer as { id?: unknown } | undefined)?.id ?? Object.values(params)[0];
/** Sends a row once and notes its record. */
const sendOnce = async (
  run: Run,
  journal: Journal,
  { line, hash }: Marked,
  sent: Change,
): Promise<Outcome> => {
  const { verb: op, resource, input, operation, update, afterwards } = sent;
  const { lost = new Lost() } = run;
  const call = await callerFor(run, operation);
  let answer = await lost.call(() => call(input));
  const id = idOf(answer, input);
  run.observe?.take(id);
  const key = input.body?.external_id;
  if (op === 'create' && typeof key === 'string' && operation.params === undefined)
    run.keys.learn(resource, key, id);
  if (update !== undefined && afterwards !== undefined) {
    const own = Object.keys(update.params ?? {}).at(-1) ?? 'id';
    const change = await callerFor(run, update);
    answer = await lost.call(() => change({ params: { ...input.params, [own]: id }, body: afterwards }));
  }
  // The note may wait for a list. A row whose response arrived must not look unanswered to a resumed run in that time.
  journal.noteDone(line, hash, id, markAfter(sent, answer));
  const noted = run.keys.note(resource, answer);
  if (noted !== undefined) await noted;
  if (op === 'update' && input.body?.name !== undefined) await trackerNames.forget(run.context);
  return { line, status: 'done', op, resource, id };
};
/** Returns the outcome of a row that the service rejected. Throws errors that stop the run. */
const refusedRow = (
  journal: Journal,
  { line, hash }: Marked,
  change: Change,
  error: AppError,
  isRepeated: boolean,
): Outcome => {
  const { verb: op, resource } = change;
  if (endsRun(error)) throw error;
  const wasSent = isRepeated || journal.past.lines.get(line)?.state === 'sent';
  if (op === 'delete' && error.category === 'not-found' && wasSent) {
    const id = Object.values(change.input.params ?? {}).at(-1);
    journal.noteDone(line, hash, id);
    return { line, status: 'found', op, resource };
  }
  journal.noteFailed(line, hash);
  return makeFailedOutcome(line, change, error);
};
/**
 * Sends a row. After a lost connection it is looked up, and repeated only if the service does not have it.
 */
const send = async (run: Run, journal: Journal, marked: Marked, change: Change): Promise<Outcome> => {
  const replaces = change.verb === 'update' || change.verb === 'delete';
  const earlier = replaces ? await readBefore(run, change) : beforeOf(change);
  await journal.noteSent(marked.line, marked.hash, earlier);
  for (let tries = 1; ; tries += 1) {
    try {
      return await sendOnce(run, journal, marked, change);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (run.lost?.mayRecover(error, tries, run.context.signal) !== true)
        return refusedRow(journal, marked, change, error, tries > 1);
      const arrived = await recoverRecord(run, marked, change, error, tries);
      if (arrived !== undefined) return arrived;
    }
  }
};
/** spec/tracker: the service requires unique names for these. */
const UNIQUE_NAMES: ReadonlySet<string> = new Set(['labels', 'categories']);
/** Names of one resource that a dry run remembers: memory does not grow with the file. */
const MOST_NAMES = 200_000;
/** A name that another row of the same file creates as well: the service would refuse the second. */
const twice = ({ names }: Run, line: number, change: Change): Outcome | undefined => {
  const name = change.input.body?.name;
  if (change.verb !== 'create' || !UNIQUE_NAMES.has(change.resource) || typeof name !== 'string')
    return undefined;
  // A map for each resource: a key made of the resource and the name would be a second copy of each name.
  const lines = names.get(change.resource) ?? new Map<string, number>();
  names.set(change.resource, lines);
  const before = lines.get(name);
  if (before === undefined && lines.size < MOST_NAMES) lines.set(name, line);
  return before === undefined
    ? undefined
    : makeFailedOutcome(
        line,
        change,
        invalid([problem('name', 'rule', `is created by line ${before} as well`)]),
      );
};
/** What a row would send, in a dry run. */
const would = (line: number, { operation, input, verb: op, resource }: Change): Outcome => {
  const path = tracker.basePath + fill(operation.path, input.params ?? {});
  const { method, body } = operation;
  return {
    line,
    status: 'would',
    op,
    resource,
    request: body === undefined ? { method, path } : { method, path, body: input.body ?? {} },
  };
};
const NO_FIELDS: ReadonlySet<string> = new Set();
type Decided =
  | { readonly change: Change }
  | { readonly outcome: (marked: Marked) => Outcome; readonly record?: string };
const recordMark = (resource: string, params: Readonly<Record<string, unknown>>): string =>
  `${resource} ${Object.values(params).map(String).join(' ')}`;
/** A record that has the values of the row already. */
const leaveUnchanged = (run: Run, line: number, { verb, resource, input }: Change, id: unknown): Decided => ({
  record: recordMark(resource, { ...input.params, id }),
  outcome: ({ hash }) => {
    run.journal?.noteDone(line, hash, id);
    return { line, status: 'unchanged', op: verb, resource, id };
  },
});
/**
 * A row with IDs instead of names and keys, and the request that an upsert needs; or the outcome of a row
 * without a request.
 */
const decideChange = async (
  run: Run,
  line: number,
  change: Change,
  key: string | undefined,
): Promise<Decided> => {
  const failRow = (problems: readonly Problem[]): Decided => ({
    outcome: () => makeFailedOutcome(line, change, invalid(problems)),
  });
  const isDryRun = run.journal === undefined;
  const {
    change: keyed,
    waiting,
    missing,
  } = hasExternal(change)
    ? await resolveExternal(run.keys, change, line, isDryRun)
    : { change, waiting: NO_FIELDS, missing: [] };
  if (missing.length > 0) return failRow(missing);
  const fitted = run.columns?.mayFit === true ? await run.columns.fit(run.context, keyed) : keyed;
  const ready = mayHaveNames(fitted) ? await resolveNames(run.context, fitted) : fitted;
  const decision =
    ready.verb === 'upsert' ? await decideUpsert(run.keys, ready, key, line) : { change: ready };
  if ('unchanged' in decision) return leaveUnchanged(run, line, ready, decision.unchanged);
  const wrong = changeProblems(decision.change).filter(({ path }) => !waiting.has(path));
  const unknown = run.known.problems(decision.change);
  const problems = [...wrong, ...(unknown instanceof Promise ? await unknown : unknown)];
  return problems.length > 0 ? failRow(problems) : decision;
};
/** The record that a row changes or deletes. A new record has no other rows yet. */
const recordOf = (decided: Decided): string | undefined => {
  if ('outcome' in decided) return decided.record;
  const { verb, resource, input } = decided.change;
  return verb === 'create' ? undefined : recordMark(resource, input.params ?? {});
};
/** Decides a row when the earlier rows of its record are finished. */
const decideInTurn = async (turn: Turn | undefined, decide: () => Promise<Decided>): Promise<Decided> => {
  const decided = await decide();
  const record = turn === undefined ? undefined : recordOf(decided);
  if (turn === undefined || record === undefined) return decided;
  return (await turn.wait(record)) ? decide() : decided;
};
/** Carries out one row in its turn. An error that ends the run also ends the later rows of the record. */
const inTurn = async (turn: Turn | undefined, work: () => Promise<Outcome>): Promise<Outcome> => {
  try {
    return await work();
  } catch (error) {
    turn?.stop(error);
    throw error;
  } finally {
    turn?.leave();
  }
};
const processChange = async (
  run: Run,
  marked: Marked,
  change: Change,
  key: string | undefined,
  turn: Turn | undefined,
): Promise<Outcome> => {
  const { line } = marked;
  try {
    const decided = await decideInTurn(turn, () => decideChange(run, line, change, key));
    if ('outcome' in decided) return decided.outcome(marked);
    const ready = decided.change;
    if (run.journal === undefined) return twice(run, line, ready) ?? would(line, ready);
    const isInDoubt = ready.verb === 'create' && run.journal.past.lines.get(line)?.state === 'sent';
    return (
      (isInDoubt ? await findExisting(run, marked, ready) : undefined) ??
      (await send(run, run.journal, marked, ready))
    );
  } catch (error) {
    if (error instanceof AppError && !endsRun(error) && error.category !== 'unsafe')
      return makeFailedOutcome(line, change, error);
    throw error;
  }
};
/** A line that has changed since the start of its run stops the run. */
const refuseChanged = ({ journal }: Run, { line, hash }: Marked): void => {
  const known = journal?.past.lines.get(line);
  if (known === undefined || known.hash === hash) return;
  throw new AppError(
    'unsafe',
    `line ${line} is not what it was when this run was started; no changes were made`,
    {
      code: 'INPUT_CHANGED',
      tryThis: ['run the unchanged file with --resume, or send every row again with --restart'],
    },
  );
};
/** Processes one line from text to outcome. Throws only errors that stop the whole run. */
export const runLine = (
  run: Run,
  { line, text, row, done, problem: wrong }: Line,
): Outcome | Promise<Outcome> => {
  if (done !== undefined) return skipDone(run, line, row, done.id);
  if (row === undefined) return makeFailedOutcome(line, {}, invalid(wrong ? [wrong] : []));
  const marked = { line, hash: run.journal === undefined ? '' : lineMark(text) };
  refuseChanged(run, marked);
  const clashes = run.columns?.clashes(row) ?? [];
  if (clashes.length > 0) return makeFailedOutcome(line, {}, invalid(clashes));
  const read = run.columns === undefined ? row : run.columns.apply(row);
  const change = changeFrom(TABLE, read, run.source, run.defaults);
  return 'operation' in change
    ? runChange(run, marked, change, read)
    : makeFailedOutcome(line, {}, invalid(change));
};
type Row = Readonly<Record<string, unknown>>;
/** A row that an earlier run completed still has its key: a later row with this key is refused in each run. */
const skipDone = (run: Run, line: number, row: Row | undefined, id: unknown): Outcome => {
  const read = row === undefined ? {} : (run.columns?.apply(row) ?? row);
  const change = changeFrom(TABLE, read, run.source, run.defaults);
  if ('operation' in change) claimRecord(run, line, change, keyOf(change, read), Promise.resolve());
  return { line, status: 'skipped', id };
};
const keyOf = (change: Change, row: Row): string | undefined => {
  const given = change.input.body?.external_id;
  if (change.verb === 'upsert') return upsertKey(change, row);
  return typeof given === 'string' && given !== '' ? given : undefined;
};
/** The earlier row that makes or changes the record of this row. `isSame` is true for a row with the same values. */
type Claimed = {
  readonly scope: string;
  readonly field: string;
  readonly value: string;
  readonly by: number;
  readonly isSame: boolean;
};
/** Notes the key of a row, or the name of an upsert without a key. Two rows cannot decide the values of one record. */
const claimRecord = (
  { keys }: Run,
  line: number,
  change: Change,
  key: string | undefined,
  finished: Promise<unknown>,
): Claimed | undefined => {
  const { verb, resource, input } = change;
  const isUpsert = verb === 'upsert';
  const value = key ?? (isUpsert ? input.body?.name : undefined);
  if (typeof value !== 'string' || verb === 'delete') return undefined;
  const owner = verb === 'update' ? resource : scopeOf(resource, input.params);
  const scope = key === undefined ? `${owner} by name` : owner;
  const content = key === undefined ? lineMark(JSON.stringify(input)) : undefined;
  const before = keys.claim(scope, value, line, finished, content);
  if (before === undefined || verb === 'update') return undefined;
  const field = key === undefined ? 'name' : 'external_id';
  return {
    scope,
    field,
    value,
    by: before,
    isSame: content !== undefined && keys.contentOf(before) === content,
  };
};
const refuseClaimed = (line: number, change: Change, { field, value, by }: Claimed): Outcome => {
  const what = `is ${JSON.stringify(value)}, which line ${by} has as well`;
  return makeFailedOutcome(line, change, invalid([problem(field, 'rule', what, 'merge the two rows')]));
};
/** Claims the record of a row before anything waits, so that later rows find the record and no key is used twice. */
const runChange = (run: Run, marked: Marked, change: Change, row: Row): Outcome | Promise<Outcome> => {
  const { line } = marked;
  const key = keyOf(change, row);
  const wrong = change.verb === 'upsert' ? upsertProblems(change, key) : [];
  if (wrong.length > 0) return makeFailedOutcome(line, change, invalid(wrong));
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const claimed = claimRecord(run, line, change, key, finished);
  if (claimed !== undefined && !claimed.isSame) return refuseClaimed(line, change, claimed);
  if (claimed !== undefined && run.journal === undefined)
    return { line, status: 'unchanged', op: change.verb, resource: change.resource };
  const turn = change.verb === 'create' || run.journal === undefined ? undefined : run.turns?.enter();
  return inTurn(turn, async () => {
    if (claimed !== undefined) await run.keys.whenFinished(claimed.scope, claimed.value);
    return processChange(run, marked, change, key, turn);
  }).finally(finish);
};
/** Adds an outcome to the tally that decides the exit code. */
export const count = (counts: Counts, outcome: Outcome): void => {
  if (outcome.status === 'failed') {
    counts.failed += 1;
    if (outcome.error?.code === 'INVALID_ROW') counts.invalid += 1;
  } else if (outcome.status === 'skipped') counts.skipped += 1;
  else {
    counts.done += 1;
    const { status, op } = outcome;
    if (status === 'unchanged') counts.unchanged += 1;
    else if (op === 'create') counts.created += 1;
    else if (op === 'update') counts.updated += 1;
    else if (op === 'delete') counts.deleted += 1;
  }
};
