import { labelsService } from '../api-specs/labels/labels.ts';
import { scopesFor } from '../api-specs/labels/wire.ts';
import {
  type CallOptions,
  type EngineContext,
  type RunCommand,
  type Target,
  withCalls,
} from '../api/context.ts';
import type { LooseInput, Operation, Service } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';

/** The parts of the service's JSON that the commands read. Any member may be absent (spec/labels#errors). */
type PolicyJson = { hideInSearch?: boolean; showInApply?: boolean };
export type LifecycleJson = { state?: string; hasUnpublishedChanges?: boolean; disabledPolicy?: PolicyJson };
export type ColorJson = { red?: number; green?: number; blue?: number; alpha?: number };
export type ChoiceJson = {
  id?: string;
  properties?: {
    displayName?: string;
    description?: string;
    badgeConfig?: { color?: ColorJson; priorityOverride?: string | number };
  };
  lifecycle?: LifecycleJson;
};
type ListOptionsJson = { maxEntries?: number };
export type FieldJson = {
  id?: string;
  properties?: { displayName?: string; required?: boolean };
  lifecycle?: LifecycleJson;
  textOptions?: object;
  integerOptions?: object;
  dateOptions?: { dateFormatType?: string };
  selectionOptions?: { listOptions?: ListOptionsJson; choices?: ChoiceJson[] };
  userOptions?: { listOptions?: ListOptionsJson };
};
type CapabilitiesJson = {
  canUpdate?: boolean;
  canDelete?: boolean;
  canDisable?: boolean;
  canEnable?: boolean;
};
export type LabelJson = {
  name?: string;
  id?: string;
  revisionId?: string;
  labelType?: string;
  properties?: { title?: string; description?: string };
  learnMoreUri?: string;
  createTime?: string;
  revisionCreateTime?: string;
  revisionCreator?: { person?: string };
  lifecycle?: LifecycleJson;
  fields?: FieldJson[];
  appliedLabelPolicy?: { copyMode?: string };
  enabledAppSettings?: { enabledApps?: { app?: string }[] };
  schemaCapabilities?: CapabilitiesJson;
};
export type LockJson = {
  name?: string;
  fieldId?: string;
  choiceId?: string;
  state?: string;
  creator?: { person?: string };
  createTime?: string;
};
export type PermissionJson = {
  name?: string;
  role?: string;
  email?: string;
  person?: string;
  group?: string;
  audience?: string;
};
export type LimitsJson = {
  maxTitleLength?: number;
  maxDescriptionLength?: number;
  maxFields?: number;
  fieldLimits?: {
    maxDisplayNameLength?: number;
    maxDescriptionLength?: number;
    selectionLimits?: {
      maxChoices?: number;
      maxDisplayNameLength?: number;
      maxIdLength?: number;
      listLimits?: ListOptionsJson;
    };
    userLimits?: { listLimits?: ListOptionsJson };
  };
};
export type UserCapabilitiesJson = { canCreateAdminLabels?: boolean; canCreateSharedLabels?: boolean };
/** One of the twelve kinds of edits (spec/labels#edits). */
export type EditJson = { readonly [kind: string]: { readonly [member: string]: unknown } };

/** How many reads are under way at a time. */
const parallelReads = 8;
/**
 * Calls `use` for every item, several at a time, and returns the results in the order of the items. After an error no further
 * item starts. Throws the error of the first failed item in the list when the items in progress have finished.
 */
export const inParallel = async <T, R>(
  items: readonly T[],
  use: (item: T, i: number) => Promise<R>,
  atMost = parallelReads,
): Promise<R[]> => {
  const results: R[] = new Array(items.length);
  let next = 0;
  const failures = new Map<number, unknown>();
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.size === 0) {
      const i = next;
      next += 1;
      const item = items[i];
      if (item === undefined) continue;
      try {
        results[i] = await use(item, i);
      } catch (error) {
        failures.set(i, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atMost, items.length) }, worker));
  if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
  return results;
};

type ErrorBody = { error?: { details?: { reason?: string; metadata?: { required_scopes?: string } }[] } };
/** What a refusal is about: the words of a hint depend on it. */
export type LabelQuery = {
  readonly method: string;
  readonly isAdmin: boolean /** Of no single thing: it cannot be missing. */;
  readonly isOfAll?: boolean;
};
/** The hint for a call if the service returns no details. */
const scopesOf = ({ method, isAdmin }: LabelQuery): readonly string[] => scopesFor(method, isAdmin);
const isAdminCall = ({ query, body }: LooseInput): boolean =>
  query?.useAdminAccess === true || body?.useAdminAccess === true;
const toRequest = (operation: Operation, input: LooseInput): LabelQuery => ({
  method: operation.method,
  isAdmin: isAdminCall(input),
  isOfAll: operation.params === undefined,
});
/** The sufficient scope with the fewest rights: a read needs no write access. */
const least = (scopes: readonly string[], { method }: LabelQuery): string =>
  (method === 'GET' ? scopes.find((scope) => scope.endsWith('.readonly')) : undefined) ??
  scopes[0] ??
  'labels';
const lacksScope = async (error: AppError, to: LabelQuery): Promise<AppError> => {
  const info = (error.detail.data as ErrorBody | undefined)?.error?.details?.find(
    (d) => d.reason === 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
  );
  if (info === undefined) return error;
  const named = info.metadata?.required_scopes?.split(' ').filter((s) => s !== '') ?? [];
  const scopes = named.length > 0 ? named : scopesOf(to);
  const { addScopeLine } = await import('../auth/auth-context.ts');
  return new AppError('auth', `the access token lacks the scope: one of ${scopes.join(', ')} is needed`, {
    ...error.detail,
    code: 'MISSING_SCOPE',
    tryThis: [addScopeLine([least(scopes, to)])],
    data: { missing: scopes },
  });
};
/**
 * The cause is the caller, not the token: a role on the label is missing, or administrator rights were not
 * requested.
 */
const lacksRole = (error: AppError, { isAdmin }: LabelQuery): AppError => {
  if ((error.detail.tryThis ?? []).length > 0) return error;
  const ask =
    'request access from a user with the role EDITOR: `opsctl labels permissions list <label>` lists these users';
  return new AppError(error.category, error.message, {
    ...error.detail,
    tryThis: isAdmin ? [ask] : [ask, '--admin, if you administer the labels'],
  });
};
/** A list of labels is never missing: the address is wrong. */
const lostPath = (error: AppError): AppError =>
  new AppError(error.category, error.message, {
    ...error.detail,
    tryThis: ['check the base URL (OPSCTL_LABELS_URL or the setting labels.url): the path before /v2beta'],
  });
/**
 * An error about a missing scope names the scope and the command that requests it. An error about a rejected
 * token names the command that gets a new one.
 */
export const explainedRefusal = async (error: AppError, to: LabelQuery): Promise<AppError> => {
  if (error.detail.httpStatus === 403) return lacksRole(await lacksScope(error, to), to);
  if (error.detail.httpStatus === 404 && to.isOfAll === true && (error.detail.tryThis ?? []).length === 0)
    return lostPath(error);
  if (error.detail.httpStatus !== 401 || (error.detail.tryThis ?? []).length > 0) return error;
  const tryThis = [`opsctl login --add-scope ${least(scopesOf(to), to)}`, 'OPSCTL_LABELS_TOKEN=…'];
  return new AppError('auth', error.message, { ...error.detail, tryThis });
};

/**
 * The target has no token: the user is not signed in, or is signed in to another server, whose token must not
 * be sent here.
 */
const whyNoToken = async (context: EngineContext, target: Target, to: LabelQuery): Promise<AppError> => {
  const [{ accessToken }, { checkPlace }] = await Promise.all([
    import('../auth/token.ts'),
    import('../auth/token.ts'),
  ]);
  try {
    checkPlace(target, await accessToken(context, { scopes: scopesOf(to) }), 'labels');
  } catch (error) {
    if (
      !(error instanceof AppError) ||
      error.detail.code !== 'NOT_SIGNED_IN' ||
      error.detail.tryThis?.[0] !== 'opsctl login'
    )
      throw error;
    return new AppError('auth', error.message, {
      ...error.detail,
      tryThis: [`opsctl login --add-scope ${least(scopesOf(to), to)}`],
    });
  }
  return new AppError('auth', 'the label service has no access token', {
    code: 'NOT_SIGNED_IN',
    tryThis: ['OPSCTL_LABELS_TOKEN=…'],
  });
};
/** A token of `opsctl login` that looked good from here and was refused: revoked early, or the clocks differ. */
const renewToken = async (context: EngineContext, refused: string): Promise<string | undefined> => {
  if (context.settings.get('labels.token') !== undefined) return undefined;
  const { replaceToken } = await import('../auth/token.ts');
  return (await replaceToken(context, await context.target('labels'), refused))?.token;
};

type Session = {
  /** The token that replaced the token of the target, for the rest of the command. */
  bearer?: string;
};
type Access = {
  readonly context: EngineContext;
  readonly session: Session;
  /** Sends an operation with the token of the target. */
  readonly given: EngineContext['call'];
};
const call = async (
  { context, session, given }: Access,
  operation: Operation,
  input: LooseInput,
  options: CallOptions = {},
): Promise<unknown> => {
  const to = toRequest(operation, input);
  const send = () => given(labelsService, operation, input, { ...options, ...session });
  try {
    const target = await context.target('labels');
    const hasToken = !/^(Bearer|DPoP)?\s*$/i.test(target.headers.authorization ?? '');
    // A request that is only recorded needs no token.
    const isRecorded = context.isDryRun && given === context.call;
    if (!hasToken && !isRecorded) throw await whyNoToken(context, target, to);
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof AppError) || error.detail.httpStatus !== 401) throw error;
      // One renewal and one more try, as for the data API.
      const token = await renewToken(
        context,
        session.bearer ?? target.headers.authorization?.replace(/^(Bearer|DPoP) /, '') ?? '',
      );
      if (token === undefined) throw error;
      session.bearer = token;
      return await send();
    }
  } catch (error) {
    throw error instanceof AppError ? await explainedRefusal(error, to) : error;
  }
};
/** The context with calls that carry the label service's token (issue: `opsctl login`, OPSCTL_LABELS_TOKEN, or the mock's). */
export const withLabelAccess = <C extends EngineContext>(context: C): C => {
  const session: Session = {};
  return withCalls(
    context,
    (given) => (service: Service, operation, input, options) =>
      service.name === 'labels'
        ? call({ context, session, given }, operation, input, options)
        : given(service, operation, input, options),
  );
};
export const labelCommand = <C extends { readonly run: RunCommand }>(command: C): C => ({
  ...command,
  run: (context, values) => command.run(withLabelAccess(context), values),
});
