import { formatRow } from '../../core/output-format.ts';
import { bool, int, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import { type Result, recordResult, rowsResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import { systemQuery } from '../../api-specs/labels/system.ts';
import type { Argument, Command, Context, Flag, Flags, Values } from '../../cli/command.ts';
import { columnsOf, commandsFrom, inputFrom, limitOf, requiredAreGiven } from '../from-table.ts';
import { labelCommand } from './access.ts';
import { adminFlag, labelArgument } from './flags.ts';
import { pathOf } from './path.ts';
import type { LabelJson } from '../../label-definitions/api-types.ts';

type Row = { readonly command: Command; readonly operation: Operation };

const revisionArgument = {
  name: 'revision',
  field: str(),
  summary: 'Number of the revision, or latest, published (default latest)',
  optional: true,
} as const satisfies Argument;
const permissionArgument = {
  name: 'permission',
  field: str(),
  summary:
    'Its id, or the e-mail address, person, group or audience that has it; not needed with a full name',
  optional: true,
} as const satisfies Argument;
const userArgument = {
  name: 'user',
  field: str(),
  summary: 'me, an id or an address (default me)',
  optional: true,
} as const satisfies Argument;

const isUnderRevision = ({ path }: Operation): boolean => path.includes('/revisions/*');
const isOnePermission = ({ path }: Operation): boolean => path.endsWith('/permissions/*}');
const isCapabilities = ({ path }: Operation): boolean => path.includes('/capabilities');

const argumentsFor = (operation: Operation): readonly Argument[] => {
  if (operation.params === undefined) return [];
  if (isCapabilities(operation)) return [userArgument];
  const revision = isUnderRevision(operation) ? [revisionArgument] : [];
  // A full permission name is one argument; label, revision and permission are three.
  return isOnePermission(operation)
    ? [labelArgument, permissionArgument, ...revision]
    : [labelArgument, ...revision];
};

const paged = (operation: Operation): boolean => operation.query?.pageToken !== undefined;
const takesAdmin = (operation: Operation): 'query' | 'body' | undefined =>
  operation.query?.useAdminAccess ? 'query' : operation.body?.useAdminAccess ? 'body' : undefined;
const takesPin = (operation: Operation): boolean =>
  operation.body?.writeControl !== undefined ||
  operation.query?.['writeControl.requiredRevisionId'] !== undefined;

const extraFlags = (operation: Operation): Record<string, Flag> => ({
  ...(takesAdmin(operation) ? { admin: adminFlag } : {}),
  ...(takesPin(operation)
    ? { revision: { field: str(), summary: 'Refuse unless this is the latest revision', value: 'number' } }
    : {}),
  ...(paged(operation)
    ? {
        all: { field: bool(), summary: 'All pages, as without --limit' },
        limit: {
          field: int({ min: 1 }),
          summary: 'Stop after so many entries (default: all of them)',
          value: 'number',
        },
      }
    : {}),
  ...(operation.method === 'GET'
    ? {
        fields: {
          field: str(),
          summary: 'Only these members of the answer: labels(id,properties/title)',
          value: 'members',
        },
      }
    : {}),
  ...(operation.bodyName === 'Label'
    ? {
        title: { field: str(), summary: 'Title; short for --properties \'{"title":…}\'', value: 'text' },
        description: { field: str(), summary: 'Description; short for --properties', value: 'text' },
      }
    : {}),
});

/** What the short view has of a label (spec/labels#parameters). */
const SHORT_VIEW: ReadonlySet<string> = new Set(['name', 'id', 'revisionId', 'labelType', 'properties']);
/** The state of a label is in the full view only: a person wants to see it, and a script may name such a column. */
const needsFullView = ({ format, columns }: Context): boolean =>
  columns === undefined
    ? formatRow(format).isForPeople === true
    : columns.some((column) => !SHORT_VIEW.has(column.split('.')[0] ?? ''));

/** `--admin`, `--revision`, `--title` as the members that the row has for them. */
const longForm = (operation: Operation, values: Values, context: Context): Values => {
  const more: Record<string, unknown> = {};
  if (needsFullView(context) && (operation.query?.view ?? operation.body?.view) && values.view === undefined)
    more.view = 'LABEL_VIEW_FULL';
  if (values.admin !== undefined) more['use-admin-access'] = values.admin;
  if (values.revision !== undefined && takesPin(operation) && !isUnderRevision(operation)) {
    if (operation.body?.writeControl) more['write-control'] = { requiredRevisionId: values.revision };
    else more['write-control.required-revision-id'] = values.revision;
  }
  if (operation.bodyName === 'Label' && (values.title ?? values.description) !== undefined) {
    const { title, description } = values;
    const given = values.properties ?? (values.body as { properties?: object } | undefined)?.properties;
    more.properties = {
      ...given,
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
    };
  }
  return { ...values, ...more };
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const permissionOf = async (
  context: Context,
  parent: string,
  who: string | undefined,
  admin: boolean,
): Promise<string> => {
  if (who === undefined)
    throw usageError('invalid arguments', [
      problem(
        '<permission>',
        'required',
        'is required',
        'or give the full name: labels/<id>/permissions/<id>',
      ),
    ]);
  const { allPermissions } = await import('../../label-definitions/read-labels.ts');
  const [label = ''] = parent.split('/revisions/');
  const found = (await allPermissions(context, label, { admin })).find(
    ({ name, email, person, group, audience }) =>
      name?.endsWith(`/permissions/${who}`) ||
      [email?.toLowerCase(), person, group, audience].includes(who.includes('@') ? who.toLowerCase() : who),
  );
  if (found === undefined && /[@/]/.test(who)) {
    throw new AppError('not-found', `${label} has no permission of ${who}`, {
      code: 'NO_SUCH_PERMISSION',
      tryThis: [`opsctl labels permissions list ${label}`],
    });
  }
  return `${parent}/permissions/${found?.name?.split('/permissions/')[1] ?? who}`;
};

/** The path parameter of a row from what a person typed; `use` may be called again with another reading of it. */
const withName = async <T>(
  context: Context,
  operation: Operation,
  values: Values,
  use: (name: string) => Promise<T>,
): Promise<T> => {
  if (isCapabilities(operation)) {
    const user = String(values.user ?? 'me');
    return use(user.startsWith('users/') ? user : `users/${user}/capabilities`);
  }
  const typed = String(values.label);
  if (
    typed.startsWith('labels/') &&
    typed !== 'labels/' &&
    (!isOnePermission(operation) || typed.includes('/permissions/')) &&
    (!isUnderRevision(operation) || typed.includes('/revisions/'))
  ) {
    return use(typed);
  }
  const { nameOfLabel, withLabel } = await import('../../label-definitions/resolve-label.ts');
  const admin = values['use-admin-access'] === true;
  // A question names what is there, and is asked once.
  const known = operation.cli?.confirm === undefined ? typed : await nameOfLabel(context, typed, { admin });
  return withLabel(context, known, { admin }, async (name) => {
    const parent = isUnderRevision(operation) ? `${name}/revisions/${values.revision ?? 'latest'}` : name;
    return use(
      isOnePermission(operation)
        ? await permissionOf(context, parent, textOf(values.permission), admin)
        : parent,
    );
  });
};

async function* limited(rows: AsyncIterable<unknown>, limit: number | undefined): AsyncGenerator<unknown> {
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

/** Every page, unless --limit says less: a list is never cut in silence (spec/labels#clients-1). */
async function* listed(context: Context, operation: Operation, values: Values): AsyncGenerator<unknown> {
  const { allPages } = await import('../../label-definitions/read-labels.ts');
  const input = inputFrom(operation, values);
  const isWhole = isOfAll(operation, input.query);
  const all: LabelJson[] = [];
  for await (const page of allPages<Record<string, unknown> & { nextPageToken?: string }>(
    context,
    operation,
    input,
  )) {
    for (const member of Object.values(page)) {
      if (!Array.isArray(member)) continue;
      if (isWhole) for (const { properties } of member as LabelJson[]) all.push({ properties });
      yield* member;
    }
  }
  if (isWhole) await (await import('../../label-definitions/titles.ts')).rememberTitles(context, all);
}

const runList = async (context: Context, operation: Operation, values: Values): Promise<Result> => {
  if (context.isDryRun)
    return recordResult(await context.call(labelsService, operation, inputFrom(operation, values)));
  const rows = limited(listed(context, operation, values), limitOf(values));
  // The first page is fetched before anything is said, so that an error is an error and not half a list.
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

/** `--fields` of a read: a member of every method that no row has, so that bodies with fields of their own keep the name. */
const selecting = (operation: Operation, values: Values): { operation: Operation; values: Values } => {
  const { fields } = values;
  if (operation.method !== 'GET' || typeof fields !== 'string') return { operation, values };
  // Without the token a list would end after its first page (spec/labels#clients-2).
  const whole =
    paged(operation) && !/(^|,)\s*(nextPageToken|\*)\s*(,|$)/.test(fields)
      ? `${fields},nextPageToken`
      : fields;
  return {
    operation: { ...operation, query: { ...operation.query, fields: systemQuery.fields } },
    values: { ...values, fields: whole },
  };
};

const read = async (context: Context, operation: Operation, values: Values): Promise<Result> =>
  recordResult(await context.call(labelsService, operation, inputFrom(operation, values)), { name: 'name' });

/** spec/labels#permissions: some services name permissions with two segments (people/1), which only a batch can delete. */
const deletedByBatch = async (context: Context, { name, ...values }: Values): Promise<Result> => {
  const parent = String(name).split('/permissions/')[0] ?? '';
  const { permissions, revisionPermissions } = labelsService.table;
  const { batchDelete } = parent.includes('/revisions/') ? revisionPermissions : permissions;
  if (!context.isDryRun) await context.confirm(`Delete ${name}?`);
  const body = {
    requests: [{ name }],
    ...(values['use-admin-access'] === true ? { useAdminAccess: true } : {}),
  };
  return recordResult(await context.call(labelsService, batchDelete, { params: { parent }, body }));
};
const hasTwoSegments = (operation: Operation, { name }: Values): boolean =>
  isOnePermission(operation) && /\/permissions\/[^/]+\/[^/]+$/.test(String(name));

const run =
  ({ command, operation: row }: Row): Command['run'] =>
  async (context, given) => {
    const { operation, values } = selecting(row, longForm(row, given, context));
    const act = async (named: Values): Promise<Result> => {
      if (paged(operation)) return runList(context, operation, named);
      if (operation !== row) return read(context, operation, named);
      const { shown } = await import('./view.ts');
      const running = hasTwoSegments(operation, named)
        ? deletedByBatch(context, named)
        : command.run(context, named);
      return shown(operation, context.format, await running);
    };
    // Judged before a title is looked up, and under the words that were typed.
    requiredAreGiven(row, inputFrom(row, values), `opsctl ${pathOf(command.path).join(' ')}`);
    if (operation.params === undefined) return act(values);
    const [param = ''] = Object.keys(operation.params);
    return withName(context, operation, values, (name) => act({ ...values, [param]: name }));
  };

/** Members that only the service sets are ignored by it, so they are no flags. */
const settable = (flags: Flags): Record<string, Flag> =>
  Object.fromEntries(Object.entries(flags).filter(([, flag]) => !flag.field.outputOnly));

/** Without a title and a type there is no label: the short flag is named, not the member that it stands for. */
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

/** The commands that come from the 26 rows; `labels publish` has one of its own. */
export const derived = (): Command[] =>
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
