import { AppError } from '../core/problem.ts';
import type { LooseInput, Operation } from '../core/operation.ts';
import { scopesFor } from '../api-specs/labels/scopes.ts';

type ErrorBody = { error?: { details?: { reason?: string; metadata?: { required_scopes?: string } }[] } };

/** What a refusal is about: the words of a hint depend on it. */
export type Asked = {
  readonly method: string;
  readonly isAdmin: boolean /** Of no single thing: it cannot be missing. */;
  readonly isOfAll?: boolean;
};

/** What a call needs when the service does not say it. */
export const scopesOf = ({ method, isAdmin }: Asked): readonly string[] => scopesFor(method, isAdmin);
const isAdminCall = ({ query, body }: LooseInput): boolean =>
  query?.useAdminAccess === true || body?.useAdminAccess === true;

export const asked = (operation: Operation, input: LooseInput): Asked => ({
  method: operation.method,
  isAdmin: isAdminCall(input),
  isOfAll: operation.params === undefined,
});

/** The scope that is enough and says least: a read needs no right to change anything. */
export const least = (scopes: readonly string[], { method }: Asked): string =>
  (method === 'GET' ? scopes.find((scope) => scope.endsWith('.readonly')) : undefined) ??
  scopes[0] ??
  'labels';

const lacksScope = async (error: AppError, to: Asked): Promise<AppError> => {
  const info = (error.detail.data as ErrorBody | undefined)?.error?.details?.find(
    (d) => d.reason === 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
  );
  if (info === undefined) return error;
  const named = info.metadata?.required_scopes?.split(' ').filter((s) => s !== '') ?? [];
  const scopes = named.length > 0 ? named : scopesOf(to);
  const { addScopeLine } = await import('../auth/scopes.ts');
  return new AppError('auth', `the access token lacks the scope: one of ${scopes.join(', ')} is needed`, {
    ...error.detail,
    code: 'MISSING_SCOPE',
    tryThis: [addScopeLine([least(scopes, to)])],
    data: { missing: scopes },
  });
};

/** Not the token but who has it: a role on the label is missing, or the rights of an admin were not asked for. */
const lacksRole = (error: AppError, { isAdmin }: Asked): AppError => {
  if ((error.detail.tryThis ?? []).length > 0) return error;
  const ask = 'ask somebody with the role EDITOR: `opsctl labels permissions list <label>` shows who that is';
  return new AppError(error.category, error.message, {
    ...error.detail,
    tryThis: isAdmin ? [ask] : [ask, '--admin, if you administer the labels'],
  });
};

/** A list of labels is never missing: the address is wrong. */
const lostPath = (error: AppError): AppError =>
  new AppError(error.category, error.message, {
    ...error.detail,
    tryThis: ['check the base URL (OPSCTL_LABELS_URL or the setting labels.url): what stands before /v2beta'],
  });

/** A refusal for want of a scope names the scope and the exact line that fixes it; a refused token says how to get one. */
export const explainedRefusal = async (error: AppError, to: Asked): Promise<AppError> => {
  if (error.detail.httpStatus === 403) return lacksRole(await lacksScope(error, to), to);
  if (error.detail.httpStatus === 404 && to.isOfAll === true && (error.detail.tryThis ?? []).length === 0)
    return lostPath(error);
  if (error.detail.httpStatus !== 401 || (error.detail.tryThis ?? []).length > 0) return error;
  const tryThis = [`opsctl login --add-scope ${least(scopesOf(to), to)}`, 'OPSCTL_LABELS_TOKEN=…'];
  return new AppError('auth', error.message, { ...error.detail, tryThis });
};
