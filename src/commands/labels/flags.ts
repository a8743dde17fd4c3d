import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, str } from '../../core/field.ts';
import type { Argument, Flag, Flags, Values } from '../../core/flag.ts';
import type { Operation } from '../../core/operation.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { rawResult } from '../../core/result.ts';
import { TITLES } from '../../labels/read-labels.ts';

export const labelArgument = {
  name: 'label',
  effects: [],
  field: str(),
  summary: 'Title, title:<title>, ID or labels/<id>',
  complete: TITLES,
} as const satisfies Argument;
export const adminFlag = {
  effects: [],
  field: bool(),
  summary: 'Act with admin rights (useAdminAccess)',
} as const satisfies Flag;
export const filesFlag = {
  effects: ['reads'],
  field: list(str()),
  short: 'f',
  repeat: true,
  summary: 'File or directory; - reads standard input',
  value: 'file',
  complete: 'file',
} as const satisfies Flag;
export const deploymentFlag = {
  effects: [],
  field: str(),
  summary: 'Name of the service in labels.lock.yaml (default: its base URL)',
  value: 'name',
} as const satisfies Flag;
export const valuesFlag = {
  effects: ['reads'],
  field: str(),
  summary: 'File with the values of ${name} (default: values/DEPLOYMENT.yaml next to the files)',
  value: 'file',
  complete: 'file',
} as const satisfies Flag;
/** What `apply`, `plan` and `diff -f` share: how files are compared with the service. */
export const comparingFlags = {
  publish: { effects: [], field: bool(), summary: 'Publish labels whose file does not define a state' },
  prune: {
    effects: [],
    field: bool(),
    summary: 'Delete components that the file no longer contains (default: disable them)',
  },
  deployment: deploymentFlag,
  values: valuesFlag,
  admin: adminFlag,
} as const satisfies Flags;
type Comparing = {
  readonly publish?: boolean | undefined;
  readonly prune?: boolean | undefined;
  readonly deployment?: string | undefined;
  readonly values?: string | undefined;
  readonly admin?: boolean | undefined;
};
export const comparingOptions = ({ publish, prune, deployment, values, admin }: Comparing) => ({
  publish: publish ?? false,
  prune: prune ?? false,
  admin: admin ?? false,
  ...(deployment === undefined ? {} : { deployment }),
  ...(values === undefined ? {} : { values }),
});

/** `labels labels create` becomes `labels create`. Commands with a revision are below `labels revisions`. */
export const pathOf = (path: readonly string[]): readonly string[] => {
  const [service = '', resource = '', verb = ''] = path;
  if (resource === 'labels') return [service, verb];
  const under = /^revision-(.+)$/.exec(resource)?.[1];
  return under === undefined ? [service, resource, verb] : [service, 'revisions', under, verb];
};

export const schema = defineCommand({
  path: ['labels', 'schema'],
  summary: 'Print the JSON Schema of label definitions',
  about:
    'Editors with a YAML language server use it to complete and check definition files. `labels export --directory` writes the schema next to the files and references it in their first line.',
  examples: [{ line: 'opsctl labels schema > labels.schema.json', says: 'Save the schema for an editor' }],
  run: async () => rawResult((await import('../../labels/read-files.ts')).schemaText()),
});

/** What the 26 rows have in common, read from the rows. */
export const isUnderRevision = ({ path }: Operation): boolean => path.includes('/revisions/*');
export const isOnePermission = ({ path }: Operation): boolean => path.endsWith('/permissions/*}');
const isCapabilities = ({ path }: Operation): boolean => path.includes('/capabilities');
export const isPaged = (operation: Operation): boolean => operation.query?.pageToken !== undefined;
const takesAdmin = (operation: Operation): 'query' | 'body' | undefined =>
  operation.query?.useAdminAccess ? 'query' : operation.body?.useAdminAccess ? 'body' : undefined;
export const takesPin = (operation: Operation): boolean =>
  operation.body?.writeControl !== undefined ||
  operation.query?.['writeControl.requiredRevisionId'] !== undefined;

const revisionArgument = {
  name: 'revision',
  effects: [],
  field: str(),
  summary: 'Revision number, latest or published (default latest)',
  optional: true,
} as const satisfies Argument;
const permissionArgument = {
  name: 'permission',
  effects: [],
  field: str(),
  summary:
    'Permission ID, or the email address, person, group or audience that has it; not needed with a full name',
  optional: true,
} as const satisfies Argument;
const userArgument = {
  name: 'user',
  effects: [],
  field: str(),
  summary: 'User: me, an ID or an email address (default me)',
  optional: true,
} as const satisfies Argument;
export const argumentsFor = (operation: Operation): readonly Argument[] => {
  if (operation.params === undefined) return [];
  if (isCapabilities(operation)) return [userArgument];
  const revision = isUnderRevision(operation) ? [revisionArgument] : [];
  // A full permission name is one argument; label, revision and permission are three.
  return isOnePermission(operation)
    ? [labelArgument, permissionArgument, ...revision]
    : [labelArgument, ...revision];
};
export const extraFlags = (operation: Operation): Record<string, Flag> => ({
  ...(takesAdmin(operation) ? { admin: adminFlag } : {}),
  ...(takesPin(operation)
    ? { revision: { field: str(), summary: 'Fail unless this is the latest revision', value: 'number' } }
    : {}),
  ...(isPaged(operation)
    ? {
        all: { effects: [], field: bool(), summary: 'Read all pages, as without --limit' },
        limit: {
          field: int({ min: 1 }),
          summary: 'Stop after N entries (default: all entries)',
          value: 'number',
        },
      }
    : {}),
  ...(operation.method === 'GET'
    ? {
        fields: {
          effects: [],
          field: str(),
          summary: 'Include only these fields of the response: labels(id,properties/title)',
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

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const permissionOf = async (
  context: Context,
  parent: string,
  who: string | undefined,
  admin: boolean,
): Promise<string> => {
  if (who === undefined)
    throw invalidArguments([
      problem(
        '<permission>',
        'required',
        'is required',
        'or use the full name: labels/<id>/permissions/<id>',
      ),
    ]);
  const { listPermissions } = await import('../../labels/read-labels.ts');
  const [label = ''] = parent.split('/revisions/');
  const matches = (await listPermissions(context, label, { admin })).filter(
    ({ name, email, person, group, audience }) =>
      name?.endsWith(`/permissions/${who}`) ||
      [email?.toLowerCase(), person, group, audience].includes(who.includes('@') ? who.toLowerCase() : who),
  );
  if (matches.length > 1) {
    const names = matches.map(({ name = '', role }) => `${name} (${role})`).join(', ');
    const text = `names ${matches.length} permissions: ${names}`;
    throw invalidArguments([problem('<permission>', 'rule', text, 'give the full name of one of them')]);
  }
  const [found] = matches;
  if (found === undefined && /[@/]/.test(who)) {
    throw new AppError('not-found', `${label} has no permission for ${who}`, {
      code: 'NO_SUCH_PERMISSION',
      tryThis: [`opsctl labels permissions list ${label}`],
    });
  }
  return `${parent}/permissions/${found?.name?.split('/permissions/')[1] ?? who}`;
};
/** The path parameter of a row from what a person typed; `use` may be called again with another reading of it. */
export const withName = async <T>(
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
  const { nameOfLabel, withLabel } = await import('../../labels/read-labels.ts');
  const admin = values['use-admin-access'] === true;
  // A prompt names the label, and is shown once.
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
