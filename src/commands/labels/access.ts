import { AppError } from '../../kernel/problem.ts';
import type { LooseInput, Operation, Service } from '../../kernel/operation.ts';
import { labelsService } from '../../services/labels/index.ts';
import type { CallOptions, Command, Context } from '../command.ts';

type ErrorBody = { error?: { details?: { reason?: string; metadata?: { required_scopes?: string } }[] } };

/** facts labels 8: what a call needs when the service does not say it. */
const scopesOf = (operation: Operation, isAdminCall: boolean): string[] => {
  const all = operation.method === 'GET' ? ['labels.readonly', 'labels', 'admin.labels.readonly', 'admin.labels'] : ['labels', 'admin.labels'];
  return isAdminCall ? all.filter((scope) => scope.startsWith('admin.')) : all;
};
const isAdminCall = ({ query, body }: LooseInput): boolean => query?.useAdminAccess === true || body?.useAdminAccess === true;

/** A refusal for want of a scope names the scope and the exact line that mends it; a refused token says how to get one. */
const explained = async (error: AppError, operation: Operation, input: LooseInput): Promise<AppError> => {
  if (error.detail.httpStatus === 401 && (error.detail.tryThis ?? []).length === 0) {
    return new AppError('auth', error.message, {
      ...error.detail,
      tryThis: [`opsctl login --add-scope ${scopesOf(operation, isAdminCall(input))[0]}`, 'OPSCTL_LABELS_TOKEN=…'],
    });
  }
  if (error.detail.httpStatus !== 403) return error;
  const info = (error.detail.data as ErrorBody | undefined)?.error?.details?.find((d) => d.reason === 'ACCESS_TOKEN_SCOPE_INSUFFICIENT');
  if (info === undefined) return error;
  const named = info.metadata?.required_scopes?.split(' ').filter((s) => s !== '') ?? [];
  const scopes = named.length > 0 ? named : scopesOf(operation, isAdminCall(input));
  const { addScopeLine } = await import('../../login/scopes.ts');
  return new AppError('auth', `the access token lacks the scope: one of ${scopes.join(', ')} is needed`, {
    ...error.detail,
    code: 'MISSING_SCOPE',
    tryThis: [addScopeLine(scopes.slice(0, 1))],
    data: { missing: scopes },
  });
};

/** The service is configured without a token of its own: the account of `opsctl login` answers for it. */
const callSignedIn = async (context: Context, operation: Operation, input: LooseInput): Promise<unknown> => {
  const [{ accessToken }, { requestFrom }, { send }, { answerFrom }] = await Promise.all([
    import('../../login/token.ts'),
    import('../../client/request.ts'),
    import('../../client/send.ts'),
    import('../../client/reply.ts'),
  ]);
  const { baseUrl } = await context.target('labels');
  const scopes = scopesOf(operation, isAdminCall(input));
  const ask = async (refused?: string) => {
    const { token } = await accessToken(context, { scopes, ...(refused === undefined ? {} : { refused }) });
    context.say.hide(token);
    const request = requestFrom(labelsService, operation, input, { baseUrl, headers: { authorization: `Bearer ${token}` } });
    return { token, reply: await send(context.host, request, { signal: context.signal }) };
  };
  let { token, reply } = await ask();
  if (reply.status === 401) ({ reply } = await ask(token));
  return answerFrom(operation, { status: reply.status, headers: reply.headers, text: await reply.text() });
};

const call = async (context: Context, operation: Operation, input: LooseInput, options: CallOptions | undefined): Promise<unknown> => {
  try {
    const target = await context.target('labels');
    const hasToken = !/^(Bearer)?\s*$/i.test(target.headers.authorization ?? '');
    const mustSignIn = !hasToken && !(context.isDryRun && !options?.evenInDryRun);
    if (!mustSignIn) return await context.call(labelsService, operation, input, options);
    return await callSignedIn(context, operation, input);
  } catch (error) {
    throw error instanceof AppError ? await explained(error, operation, input) : error;
  }
};

/** The context with calls that carry the label service's token (issue: `opsctl login`, OPSCTL_LABELS_TOKEN, or the mock's). */
const withLabelAccess = (context: Context): Context => ({
  ...context,
  call: (service: Service, operation, input, options) =>
    service.name === 'labels' ? call(context, operation, input, options) : context.call(service, operation, input, options),
});

export const labelCommand = (command: Command): Command => ({ ...command, run: (context, values) => command.run(withLabelAccess(context), values) });
