import type { Operation } from '../../core/operation.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { Context, Values } from '../../cli/command.ts';
import { isCapabilities, isOnePermission, isUnderRevision } from './row-kinds.ts';

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
        'or give the full name: labels/<id>/permissions/<id>',
      ),
    ]);
  const { allPermissions } = await import('../../labels/read-labels.ts');
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
  const { nameOfLabel, withLabel } = await import('../../labels/resolve-label.ts');
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
