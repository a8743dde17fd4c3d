import { labelsService } from '../../api-specs/labels/labels.ts';
import { systemQuery } from '../../api-specs/labels/wire.ts';
import type { Context } from '../../api/context.ts';
import { type Command, defineCommand, extend, isReading, withWatch } from '../../cli/command.ts';
import { columnsOf, commandsFrom, MOST_LEARNED } from '../../cli/derived/command.ts';
import {
  inputFrom,
  limitOf,
  requiredAreGiven,
  type Argument,
  type Flag,
  type Flags,
  type Values,
} from '../../core/flag.ts';
import { bool, str, type Field } from '../../core/field.ts';
import { formatRow, type OutputFormat } from '../../core/format.ts';
import type { Operation } from '../../core/operation.ts';
import { type Problem, problem, usageError } from '../../core/problem.ts';
import { recordResult, type Result, rowsResult, nothing } from '../../core/result.ts';
import { labelCommand, type LabelJson } from '../../labels/api-types.ts';
import type { Table } from '../../labels/sync-permissions.ts';
import {
  adminFlag,
  argumentsFor,
  extraFlags,
  isOnePermission,
  isUnderRevision,
  labelArgument,
  isPaged,
  pathOf,
  schema,
  takesPin,
  withName,
} from './flags.ts';
import { adopt, exportLabels, lint, locks, validate } from './adopt.ts';
import { apply, diff, plan, publish, retire } from './apply.ts';

/** A label needs a title and a type. The error names the short flag, not the key that it sets. */
const labelProblems = (values: Values): Problem[] => {
  if (values.body !== undefined) return [];
  const hasTitle = values.title !== undefined || values.properties !== undefined;
  return [
    ...(hasTitle ? [] : [problem('--title', 'required', 'is required', 'or --properties, or --body')]),
    ...(values['label-type'] === undefined
      ? [problem('--label-type', 'required', 'is required: SHARED or ADMIN')]
      : []),
  ];
};

/** spec/labels#permissions: some services name permissions with two segments (people/1), which only a batch can delete. */
const deletedByBatch = async (context: Context, { name, ...values }: Values): Promise<Result> => {
  const parent = String(name).split('/permissions/')[0] ?? '';
  const { permissions, revisionPermissions } = labelsService.table;
  const { batchDelete } = parent.includes('/revisions/') ? revisionPermissions : permissions;
  await context.confirm(`Delete ${name}?`);
  const body = {
    requests: [{ name }],
    ...(values['use-admin-access'] === true ? { useAdminAccess: true } : {}),
  };
  return recordResult(await context.call(labelsService, batchDelete, { params: { parent }, body }));
};
const hasTwoSegments = (operation: Operation, { name }: Values): boolean =>
  isOnePermission(operation) && /\/permissions\/[^/]+\/[^/]+$/.test(String(name));

async function* limitRows(rows: AsyncIterable<unknown>, limit: number | undefined): AsyncGenerator<unknown> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    count += 1;
    if (count === limit) return;
  }
}
const narrowing = ['customer', 'minimumRole', 'publishedOnly', 'pageToken', 'fields'];
/** A list of all labels there are for this caller. */
const isOfAll = (operation: Operation, query: Readonly<Record<string, unknown>> = {}): boolean =>
  operation.path === '/labels' &&
  narrowing.every((name) => query[name] === undefined || query[name] === operation.query?.[name]?.default);
/** Reads every page, unless --limit is lower: a list is never truncated silently (spec/labels#clients-1). */
async function* listPages(context: Context, operation: Operation, values: Values): AsyncGenerator<unknown> {
  const { streamPages } = await import('../../labels/read-labels.ts');
  const input = inputFrom(operation, values);
  let isWhole = isOfAll(operation, input.query);
  const all: LabelJson[] = [];
  for await (const page of streamPages<Record<string, unknown> & { nextPageToken?: string }>(
    context,
    operation,
    input,
  )) {
    for (const member of Object.values(page)) {
      if (!Array.isArray(member)) continue;
      isWhole &&= all.length + member.length <= MOST_LEARNED;
      if (isWhole) for (const { properties } of member as LabelJson[]) all.push({ properties });
      yield* member;
    }
  }
  if (isWhole) await (await import('../../labels/read-labels.ts')).rememberTitles(context, all);
}
const runList = async (context: Context, operation: Operation, values: Values): Promise<Result> => {
  if (context.isDryRun)
    return recordResult(await context.call(labelsService, operation, inputFrom(operation, values)));
  const rows = limitRows(listPages(context, operation, values), limitOf(values));
  // The first page is fetched before any output, so that an error does not follow a partial list.
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  const all = (async function* () {
    if (first.done) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  return rowsResult(all, {
    ...(values.fields === undefined ? { columns: columnsOf(operation) } : {}),
    name: 'name',
  });
};

/** What the short view has of a label (spec/labels#parameters). */
const SHORT_VIEW: ReadonlySet<string> = new Set(['name', 'id', 'revisionId', 'labelType', 'properties']);
/** The state of a label is in the full view only: a person wants to see it, and a script may name such a column. */
const needsFullView = ({ format, columns }: Context): boolean =>
  columns === undefined
    ? formatRow(format).isForPeople === true
    : columns.some((column) => !SHORT_VIEW.has(column.split('.')[0] ?? ''));
const pinFor = (operation: Operation, values: Values): Record<string, unknown> => {
  const { revision } = values;
  if (revision === undefined || !takesPin(operation) || isUnderRevision(operation)) return {};
  return operation.body?.writeControl
    ? { 'write-control': { requiredRevisionId: revision } }
    : { 'write-control.required-revision-id': revision };
};
const propertiesFor = ({ bodyName }: Operation, values: Values): Record<string, unknown> => {
  const { title, description } = values;
  if (bodyName !== 'Label' || (title ?? description) === undefined) return {};
  const given = values.properties ?? (values.body as { properties?: object } | undefined)?.properties;
  const short = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
  return { properties: { ...(given as object | undefined), ...short } };
};
/** `--admin`, `--revision`, `--title` as the members that the row has for them. */
const longForm = (operation: Operation, values: Values, context: Context): Values => {
  const hasView = (operation.query?.view ?? operation.body?.view) !== undefined;
  return {
    ...values,
    ...(hasView && values.view === undefined && needsFullView(context) ? { view: 'LABEL_VIEW_FULL' } : {}),
    ...(values.admin === undefined ? {} : { 'use-admin-access': values.admin }),
    ...pinFor(operation, values),
    ...propertiesFor(operation, values),
  };
};
/**
 * `--fields` of a read: a system parameter of every method that no row lists, so that a body with a key of
 * that name keeps the flag.
 */
const selecting = (operation: Operation, values: Values): { operation: Operation; values: Values } => {
  const { fields } = values;
  if (operation.method !== 'GET' || typeof fields !== 'string') return { operation, values };
  // Without the token a list would end after its first page (spec/labels#clients-2).
  const whole =
    isPaged(operation) && !/(^|,)\s*(nextPageToken|\*)\s*(,|$)/.test(fields)
      ? `${fields},nextPageToken`
      : fields;
  return {
    operation: { ...operation, query: { ...operation.query, fields: systemQuery.fields } },
    values: { ...values, fields: whole },
  };
};

type Row = { readonly command: Command; readonly operation: Operation };
const read = async (context: Context, operation: Operation, values: Values): Promise<Result> =>
  recordResult(await context.call(labelsService, operation, inputFrom(operation, values)), { name: 'name' });
/** The service rejects an edit without a mask. The mask is derived from the body, and -v reports it. */
const supplyMasks = async (context: Context, { bodyName }: Operation, values: Values): Promise<Values> => {
  if (bodyName !== 'DeltaUpdateLabelRequest' && bodyName !== 'DisableLabelRequest') return values;
  const { withMasks } = await import('../../labels/send.ts');
  const { values: whole, added } = withMasks(bodyName, values);
  for (const line of added) context.log.debug(`${line} (required by the service, but missing)`);
  return whole;
};
const run =
  ({ command, operation: row }: Row): Command['run'] =>
  async (context, given) => {
    const { operation, values: asked } = selecting(row, longForm(row, given, context));
    const values = await supplyMasks(context, operation, asked);
    const act = async (named: Values): Promise<Result> => {
      if (isPaged(operation)) return runList(context, operation, named);
      if (operation !== row) return read(context, operation, named);
      const running = hasTwoSegments(operation, named)
        ? deletedByBatch(context, named)
        : command.run(context, named);
      return viewAnswer(operation, context.format, await running);
    };
    // Checked under the typed names, before a title is resolved.
    requiredAreGiven(row, inputFrom(row, values), `opsctl ${pathOf(command.path).join(' ')}`);
    if (operation.params === undefined) return act(values);
    const [param = ''] = Object.keys(operation.params);
    return withName(context, operation, values, (name) => act({ ...values, [param]: name }));
  };
/** The service ignores keys that only it sets, so they have no flags. */
const settable = (flags: Flags): Record<string, Flag> =>
  Object.fromEntries(Object.entries(flags).filter(([, flag]) => !flag.field.outputOnly));
/** The commands for the 26 rows; `labels publish` has a hand-written command. */
const deriveCommands = (): Command[] =>
  commandsFrom(labelsService).map((command) => {
    const operation = command.operation?.operation as Operation;
    return labelCommand({
      ...command,
      path: pathOf(command.path),
      args: argumentsFor(operation),
      flags: { ...settable(command.flags ?? {}), ...extraFlags(operation) },
      ...(operation.bodyName === 'Label' ? { check: labelProblems } : {}),
      run: run({ command, operation }),
    });
  });

const flags = {
  file: {
    effects: ['reads'],
    field: str(),
    short: 'f',
    required: true,
    summary: 'Permission list; - reads standard input',
    value: 'file',
    complete: 'file',
  },
  keep: { field: bool(), summary: 'Keep permissions that the file does not contain' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
/** Reads a table, and reports rows without values: a cut row could look like one. */
const csvRows = async ({ log }: Context, source: string, text: string): Promise<Table> => {
  const { formulaProblem, readRows } = await import('../../tracker/bulk/csv.ts');
  const { EmptyRows } = await import('../../tracker/bulk/outcomes.ts');
  const empty = new EmptyRows();
  const onEmptyRow = (line: number): void => empty.note(line);
  const bytes = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  const emptyRemedy = 'to remove every permission, sync a YAML or JSON file that contains []';
  const [rows, lineNumbers, problems]: [unknown[], number[], Problem[]] = [[], [], []];
  let headerLine = 1;
  const checkHeader = (_: readonly string[], line: number): [] => {
    headerLine = line;
    return [];
  };
  for await (const lines of readRows(bytes, 'csv', { name: source, emptyRemedy, checkHeader, onEmptyRow })) {
    for (const { line, row = {}, problem: wrong } of lines) {
      const cells = Object.entries(row).flatMap(
        ([name, cell]) =>
          formulaProblem(name, cell, ', or write the table as YAML or JSON if this text is meant') ?? [],
      );
      for (const one of [wrong ?? [], cells].flat()) problems.push({ ...one, file: source, line });
      rows.push(row);
      lineNumbers.push(line);
    }
  }
  if (problems.length > 0) throw usageError(`${source} has invalid cells; no request was sent`, problems);
  if (rows.length === 0)
    throw usageError(`${source} has a header but no rows; no request was sent`, [], [emptyRemedy]);
  for (const one of empty.report()) log.warn(`${source}: ${one}`);
  return { rows, lines: lineNumbers, headerLine };
};
const permissionsSync = labelCommand(
  defineCommand({
    path: ['labels', 'permissions', 'sync'],
    summary: "Replace a label's permissions with those in a file",
    about: [
      'The file (YAML, JSON or CSV) is a list of {role, email | person | group | audience}; `labels permissions list` writes it with -o yaml, json or csv.',
      'Shows the difference, then sends one atomic batch of changes and one batch of deletions. A second run sends no changes.',
    ].join('\n'),
    args,
    flags,
    examples: [
      {
        line: 'opsctl labels permissions sync Contract -f readers.yaml --dry-run',
        says: 'Show the changes without applying them',
      },
    ],
    run: async (context, values) => {
      const { syncPermissions } = await import('../../labels/sync-permissions.ts');
      const { file, keep = false, admin = false } = values;
      return syncPermissions(context, values.label, { file, keep, admin }, (...given) =>
        csvRows(context, ...given),
      );
    },
  }),
);

const permissionsExport = labelCommand(
  defineCommand({
    path: ['labels', 'permissions', 'export'],
    summary: 'Export the permissions of all labels as one table',
    about:
      'Prints one row for each permission: label, title, role and principal. `labels permissions import` reads the table, also in another deployment, where the titles find the labels.',
    flags: { admin: adminFlag },
    examples: [
      {
        line: 'opsctl labels permissions export -o csv > permissions.csv',
        says: 'Save the table for a review',
      },
    ],
    run: async (context, { admin = false }) => {
      const { exportPermissions } = await import('../../labels/sync-permissions.ts');
      return exportPermissions(context, { admin });
    },
  }),
);
const permissionsImport = labelCommand(
  defineCommand({
    path: ['labels', 'permissions', 'import'],
    summary: 'Apply the permissions of many labels from one table',
    about: [
      'The table (CSV, TSV, YAML or JSON) has the columns of `labels permissions export`. The column label or title names the label; if both are given and the ID is unknown, the title decides.',
      'The permissions of each label in the table become those of its rows; labels without a row are not changed. Each label gets one atomic batch. A second run sends no changes.',
    ].join('\n'),
    flags,
    examples: [
      {
        line: 'opsctl labels permissions import -f permissions.csv --dry-run',
        says: 'Show the changes of all labels',
      },
    ],
    run: async (context, { file, keep = false, admin = false }) => {
      const { importPermissions } = await import('../../labels/sync-permissions.ts');
      return importPermissions(context, { file, keep, admin }, (...given) => csvRows(context, ...given));
    },
  }),
);

const nameOf = (field: Field | undefined): string | undefined =>
  field?.type === 'object' ? field.name : undefined;
type Delta = { readonly responses?: readonly object[]; readonly updatedLabel?: LabelJson };

const withText = async (label: LabelJson | undefined, before = ''): Promise<string> => {
  const { labelText } = await import('../../labels/from-label.ts');
  return before + (label === undefined ? '' : labelText(label));
};

/** What an edit made, with the ids that later edits need: `createField: Wk3xPq9Zab, position 2`. */
const madeBy = ({ responses = [] }: Delta): string =>
  responses
    .map((response) => {
      const [[kind = 'edit', answer = {}] = []] = Object.entries(response) as [
        string,
        { id?: string; priority?: number },
      ][];
      const parts = [
        answer.id ?? '',
        answer.priority === undefined ? '' : `position ${answer.priority}`,
      ].filter((part) => part !== '');
      return `  ${kind}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}\n`;
    })
    .join('');

/**
 * Shows a result for people and pipes: a label is drawn on a terminal (a table of its keys would be pages of
 * JSON), -o name prints resource names, and an empty result prints only as JSON.
 */
const viewAnswer = async (operation: Operation, format: OutputFormat, result: Result): Promise<Result> => {
  if (result.kind !== 'record') return result;
  const { data } = result;
  const view = { ...result.view, isProse: true as const, name: 'name' };
  switch (nameOf(operation.returns)) {
    case 'Label':
      return { ...result, view: { ...view, text: await withText(data as LabelJson) } };
    case 'DeltaUpdateLabelResponse':
      return {
        ...result,
        view: {
          ...view,
          name: 'updatedLabel.name',
          text: await withText((data as Delta).updatedLabel, madeBy(data as Delta)),
        },
      };
    case 'BatchUpdateLabelPermissionsResponse':
      if (!formatRow(format).isByRow) return result;
      return {
        kind: 'rows',
        rows: (data as { permissions?: unknown[] }).permissions ?? [],
        view: { ...view, columns: permissionColumns },
      };
    case 'Empty':
      return formatRow(format).isNested ? result : nothing(result.view?.message?.toString());
    default:
      return { ...result, view };
  }
};

const permissionColumns = ['name', 'role', 'email', 'person', 'group', 'audience'];

/** Saves the labels that the command changes, so that `opsctl undo` can revert it. */
const withUndo = (command: Command): Command => {
  if (isReading(command)) return command;
  return extend(command, {
    run: async (context, values) => {
      const { withLabelRecord } = await import('../../labels/record-writes.ts');
      return command.run(withLabelRecord(context, command.path.join(' ')), values);
    },
  });
};
const changing: ReadonlySet<Command> = new Set([apply, publish, retire, permissionsSync, permissionsImport]);
const own: readonly Command[] = [
  apply,
  plan,
  diff,
  exportLabels,
  adopt,
  validate,
  lint,
  schema,
  publish,
  retire,
  locks,
  permissionsSync,
  permissionsExport,
  permissionsImport,
];
const words = (command: Command): string => command.path.join(' ');

/**
 * The 26 commands of the table, and additional commands for users; `publish` replaces the command of its row.
 */
export const commands: readonly Command[] = [
  ...own.map((command) => (changing.has(command) ? withUndo(command) : command)),
  ...deriveCommands()
    .filter((row) => !own.some((command) => words(command) === words(row)))
    .map(withUndo),
].map(withWatch);
