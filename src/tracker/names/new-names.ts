import { type Fields, bool } from '../../core/field.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import type { Context, Flag, Values } from '../../cli/command.ts';
import { flagName } from '../../core/field-flags.ts';

/** Which fields take inputs that the service makes records of, and who finds a name. */
type Resolving = {
  readonly inputs: Readonly<Record<string, { readonly kind: string }>>;
  readonly resolve: (context: Context, kind: string, text: string, path: string) => Promise<unknown>;
};

/** The flag that lets a name make a record: `--create-labels`. */
const createFlag = (field: string): string => `create-${flagName(field)}`;
const inputsOf = ({ inputs }: Resolving, fields: Fields): string[] =>
  Object.keys(fields).filter((name) => inputs[name] !== undefined);

export const createFlags = (naming: Resolving, fields: Fields): Record<string, Flag> =>
  Object.fromEntries(
    inputsOf(naming, fields).map((name) => [
      createFlag(name),
      {
        field: bool(),
        summary: `Make ${name} that do not exist yet; without it an unknown name is an error`,
      },
    ]),
  );

const namesOf = (inputs: unknown): string[] =>
  Array.isArray(inputs)
    ? inputs.flatMap((one) => (typeof one?.name === 'string' ? [one.name as string] : []))
    : [];

/** What is wrong with a name, when nothing is called so. */
const newName = async (
  { resolve }: Resolving,
  context: Context,
  kind: string,
  name: string,
): Promise<Problem | undefined> => {
  try {
    await resolve(context, kind, `name:${name}`, `--${kind}`);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'NO_SUCH_NAME') throw error;
    const close = error.detail.problems?.[0]?.hint;
    return problem(`--${kind}`, 'rule', `no ${kind} is called ${JSON.stringify(name)}`, close);
  }
};

/** The service makes what it does not know, so a mistyped name would make a record: that has to be asked for. */
export const withoutNewNames = async (
  naming: Resolving,
  context: Context,
  fields: Fields,
  values: Values,
): Promise<Values> => {
  const out: Record<string, unknown> = { ...values };
  for (const field of inputsOf(naming, fields)) {
    const kind = naming.inputs[field]?.kind ?? field;
    const mayCreate = out[createFlag(field)] === true;
    delete out[createFlag(field)];
    const problems: Problem[] = [];
    for (const name of mayCreate ? [] : namesOf(out[flagName(field)])) {
      const found = await newName(naming, context, kind, name);
      if (found !== undefined) problems.push(found);
    }
    if (problems.length > 0)
      throw usageError(`there is no such ${kind}, and the service would make it`, problems, [
        `--${createFlag(field)} makes what is not there yet`,
      ]);
  }
  return out;
};
