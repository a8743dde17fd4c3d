import { AppError } from '../core/problem.ts';
import type { LooseInput, Operation, Service } from '../core/operation.ts';
import { labelsService } from '../api-specs/labels/index.ts';
import type { CallOptions, Command, Context } from '../cli/command.ts';
import { asked, explainedRefusal } from './refusal.ts';
import { renewed, whyNoToken } from './token.ts';

type Session = {
  /** The token that took the place of the target's, for the rest of the command. */
  bearer?: string;
};

const call = async (
  context: Context,
  session: Session,
  operation: Operation,
  input: LooseInput,
  options: CallOptions = {},
): Promise<unknown> => {
  const to = asked(operation, input);
  const send = () => context.call(labelsService, operation, input, { ...options, ...session });
  try {
    const target = await context.target('labels');
    const hasToken = !/^(Bearer)?\s*$/i.test(target.headers.authorization ?? '');
    if (!hasToken && !(context.isDryRun && !options.evenInDryRun))
      throw await whyNoToken(context, target, to);
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof AppError) || error.detail.httpStatus !== 401) throw error;
      // One renewal and one more try, as for the data API.
      const token = await renewed(
        context,
        session.bearer ?? target.headers.authorization?.replace(/^Bearer /, '') ?? '',
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
const withLabelAccess = (context: Context): Context => {
  const session: Session = {};
  return {
    ...context,
    call: (service: Service, operation, input, options) =>
      service.name === 'labels'
        ? call(context, session, operation, input, options)
        : context.call(service, operation, input, options),
  };
};

export const labelCommand = (command: Command): Command => ({
  ...command,
  run: (context, values) => command.run(withLabelAccess(context), values),
});
