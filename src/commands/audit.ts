import { type AuditEntry, auditFiles, listWriteRecords, skipDamaged } from '../api/audit.ts';
import type { Context, Display } from '../api/context.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { bool, duration, int, oneOf, str } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';
import { momentText, parseDuration } from '../core/format.ts';
import { after } from '../core/next.ts';
import { AppError } from '../core/problem.ts';
import { rowsResult, type View } from '../core/result.ts';
import { fittingJson } from '../core/shape.ts';
import type { LabelRecord } from '../labels/record-writes.ts';
import type { UndoRun } from '../tracker/bulk/journal.ts';

const flags = {
  service: {
    effects: [],
    field: oneOf('tracker', 'labels', 'api', 'kv'),
    summary: 'Only changes of this service',
    value: 'tracker|labels|api|kv',
  },
  since: {
    effects: [],
    field: duration(),
    summary: 'Only changes of the last 2h, 30m or 7d',
    value: 'duration',
  },
  limit: { effects: [], field: int({ min: 1 }), summary: 'Only the newest changes', value: 'number' },
} as const satisfies Flags;

const entryShape = { at: 'text', command: 'text', service: 'text', outcome: 'text' } as const;
/** A line that a crash cut is not an entry. */
const entriesIn = (text: string): AuditEntry[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : (fittingJson<AuditEntry>(line, entryShape) ?? [])));

const ORIGIN = /^[a-z]+:\/\/[^/]+(?=\/)/i;
/** The time to the second and the URL without its origin, so that the record that changed fits on the line. Pure. */
const toScreenRow = (entry: AuditEntry): AuditEntry => ({
  ...entry,
  at: entry.at.replace(/\.\d+Z$/, 'Z'),
  ...(entry.url === undefined ? {} : { url: entry.url.replace(ORIGIN, '') }),
});
/**
 * The short rows are for a reader who named no format and no columns. Changes of several servers keep their origins,
 * because otherwise their entries look the same.
 */
const shortRows = ({ isFormatGiven }: Display, found: readonly AuditEntry[]): Pick<View, 'toTableRows'> => {
  const origins = new Set(found.flatMap(({ url }) => ORIGIN.exec(url ?? '')?.[0] ?? []));
  if (isFormatGiven === true || origins.size > 1) return {};
  return { toTableRows: (batch) => Promise.resolve((batch as readonly AuditEntry[]).map(toScreenRow)) };
};

const audit = defineCommand({
  path: ['audit'],
  summary: 'Show the changes that opsctl made from this machine',
  about:
    'opsctl appends one line for each change of a service to a file in the state directory of the profile: command, request without secrets, outcome and duration. The file is private, opsctl never changes its lines, and it keeps at most 8 MiB. A request of a command that was killed before its response has the outcome unknown. A command of kv is one line; opsctl kv history has its steps.',
  flags,
  examples: [
    { line: 'opsctl audit --since 1h', says: 'Show what changed in the last hour' },
    {
      line: 'opsctl audit -o json --jq \'.[] | select(.outcome == "unknown")\'',
      says: 'Find changes with an unknown outcome',
    },
  ],
  run: async ({ host, settings, log, ...display }, { service, since, limit }) => {
    const texts = await Promise.all(auditFiles(settings).map((path) => host.files.read(path)));
    const { listUnanswered } = await import('../api/sent-requests.ts');
    const unanswered = await listUnanswered(host, settings, log.warn);
    const from = since === undefined ? 0 : host.now() - parseDuration(since, '--since');
    const found = texts
      .flatMap((text) => entriesIn(text ?? ''))
      .concat(unanswered)
      .toSorted((a, b) => a.at.localeCompare(b.at))
      .filter((one) => (service === undefined || one.service === service) && Date.parse(one.at) >= from);
    const shown = limit === undefined ? found : found.slice(-limit);
    return rowsResult(shown, {
      columns: ['at', 'command', 'outcome', 'url', 'status'],
      ...shortRows(display, shown),
      wideColumns: ['method', 'profile', 'mock', 'duration_ms', 'body'],
      name: 'at',
    });
  },
});

/** A command whose changes can be undone: a bulk run, or another command. */
type Undoable = {
  readonly id: string;
  readonly path: string;
  readonly service: 'tracker' | 'labels';
  readonly started_at: string;
  readonly command: string;
  readonly changes: number;
  readonly is_undone: boolean;
};
const undoableOf = (
  { path, startedAt }: { readonly path: string; readonly startedAt: number },
  more: Pick<Undoable, 'service' | 'command' | 'changes' | 'is_undone'>,
): Undoable => ({
  id: Math.floor(startedAt).toString(36),
  path,
  started_at: new Date(startedAt).toISOString(),
  ...more,
});
const readLabelRecord = async ({ host }: Context, path: string): Promise<LabelRecord | undefined> => {
  const { parseLabelRecord } = await import('../labels/record-writes.ts');
  return parseLabelRecord((await host.files.read(path)) ?? '', path);
};
type WriteRecordFile = Awaited<ReturnType<typeof listWriteRecords>>[number];
const readLabelsUndoable = async (context: Context, file: WriteRecordFile): Promise<Undoable | undefined> => {
  const record = await readLabelRecord(context, file.path);
  if (record === undefined || record.labels.length === 0) return undefined;
  const { command, labels, isUndone = false } = record;
  return undoableOf(file, { service: 'labels', command, changes: labels.length, is_undone: isUndone });
};
const undoableRun = (file: WriteRecordFile | UndoRun, run: UndoRun, command: string): Undoable => {
  const changes = run.effects.length + run.undone;
  return undoableOf(file, { service: 'tracker', command, changes, is_undone: run.effects.length === 0 });
};
const readTrackerUndoable = async (
  { host }: Context,
  file: WriteRecordFile,
): Promise<Undoable | undefined> => {
  const { readRun } = await import('../tracker/bulk/journal.ts');
  const run = await readRun(host, file.path);
  return run.effects.length + run.undone === 0
    ? undefined
    : undoableRun(file, run, run.about?.file ?? 'tracker');
};
type Undoables = {
  /** The commands that can be undone, the newest first. */
  readonly found: readonly Undoable[];
  /** The newest record that cannot be read. */
  readonly damaged: WriteRecordFile | undefined;
};
const readUndoables = async (context: Context): Promise<Undoables> => {
  const { listRuns } = await import('../tracker/bulk/journal.ts');
  const found: Undoable[] = [];
  let damaged: WriteRecordFile | undefined;
  for (const file of await listWriteRecords(context)) {
    const read = file.service === 'labels' ? readLabelsUndoable : readTrackerUndoable;
    let isRead = false;
    const one = await skipDamaged(context, file.path, async () => {
      const undoable = await read(context, file);
      isRead = true;
      return undoable;
    });
    if (one !== undefined) found.push(one);
    if (!isRead) damaged ??= file;
  }
  for (const run of await listRuns(context))
    found.push(undoableRun(run, run, `tracker bulk ${run.about?.file ?? ''}`.trim()));
  return { found: found.toSorted((a, b) => b.started_at.localeCompare(a.started_at)), damaged };
};
/** The last change is unknown if its record cannot be read, and an older change must not be undone in its place. */
const refuseOlderChange = ({ found, damaged }: Undoables): void => {
  const last = found.find((one) => !one.is_undone);
  if (damaged === undefined || (last !== undefined && Date.parse(last.started_at) > damaged.startedAt))
    return;
  throw new AppError(
    'config',
    `the record of a later change is damaged (${damaged.path}), so the last change is unknown; no changes were made`,
    {
      code: 'FILE_DAMAGED',
      tryThis: [
        after('choose a change:', ['undo', '--list']),
        `remove ${damaged.path}: opsctl cannot undo its change then`,
      ],
    },
  );
};
const chooseUndoable = async (context: Context, id: string | undefined): Promise<Undoable> => {
  const undoables = await readUndoables(context);
  if (id === undefined) refuseOlderChange(undoables);
  const { found: all } = undoables;
  const found = id === undefined ? all.find((one) => !one.is_undone) : all.find((one) => one.id === id);
  if (found !== undefined) return found;
  throw id === undefined
    ? new AppError('not-found', 'no change of this machine can be undone; no changes were made', {
        code: 'RUN_NOT_FOUND',
        tryThis: ['opsctl audit'],
      })
    : new AppError('not-found', `change not found: ${JSON.stringify(id)}`, {
        code: 'RUN_NOT_FOUND',
        tryThis: ['opsctl undo --list'],
      });
};
const undo = defineCommand({
  path: ['undo'],
  readsBeforeWrites: true,
  summary: 'Undo the last change of the tracker or of labels',
  about:
    'Before each change, opsctl records what the command replaces, in a private file on this machine. This command shows a plan that restores the earlier values and asks before it sends the plan; --dry-run shows only the plan. ' +
    'Records that changed in the meantime are refused and named, unless --force is given. A record that a command created is deleted, and a deleted record needs --recreate. ' +
    'Labels get their earlier definition; fields that the command added are disabled, and permissions stay. ' +
    'The last 50 commands can be undone. Exits with code 9 if a part was not undone, and with code 10 if nothing was.',
  args: [
    {
      name: 'change',
      optional: true,
      effects: [],
      field: str(),
      summary: 'ID of an earlier change (default: the last change that is not undone)',
    },
  ],
  flags: {
    list: { effects: [], field: bool(), summary: 'List the changes that can be undone' },
    force: { effects: [], field: bool(), summary: 'Undo even if the records changed in the meantime' },
    recreate: { effects: [], field: bool(), summary: 'Create deleted records again, with new IDs' },
  },
  examples: [
    { line: 'opsctl undo --dry-run', says: 'Review the plan that reverts the last change' },
    { line: 'opsctl undo --list', says: 'Find an earlier change' },
    { line: 'opsctl undo mhx2k9p1 --yes', says: 'Undo one change in a script' },
  ],
  run: async (context, { change, list, force = false, recreate = false }) => {
    if (list === true)
      return rowsResult((await readUndoables(context)).found, {
        columns: ['id', 'started_at', 'command', 'changes', 'is_undone'],
        wideColumns: ['service', 'path'],
        name: 'id',
      });
    const { path, service, command, started_at: at } = await chooseUndoable(context, change);
    const title = `${command} of ${momentText(at)}`;
    context.log.info(`undoing ${title}`);
    if (service === 'tracker') {
      const { undoBulk } = await import('../tracker/bulk/undo.ts');
      return undoBulk(context, { run: path, force, recreate, title });
    }
    const [{ undoLabels }, { withLabelAccess }] = await Promise.all([
      import('../labels/record-writes.ts'),
      import('../labels/api-types.ts'),
    ]);
    const record = await readLabelRecord(context, path);
    if (record === undefined) throw new AppError('config', `${path} is damaged`, { code: 'FILE_DAMAGED' });
    return undoLabels(withLabelAccess(context), path, record, force);
  },
});
export const commands: readonly Command[] = [audit];
export const undoCommands: readonly Command[] = [undo];
