import type { LooseInput, Operation } from '../../core/operation.ts';
import type { Command, Context, Values } from '../command.ts';
import { resolveParams, resolveValues } from '../../tracker/names/naming.ts';
import { resultOf } from './answer.ts';
import { columnsOf } from './columns.ts';
import { warnOfOld } from './deprecated.ts';
import { argumentName, inputFrom, limitOf } from '../../core/input.ts';
import { listed } from './listed.ts';
import { type Row, hasOwnLimit, isList } from './row.ts';
import { requiredAreGiven, somethingChanges } from '../../core/row-checks.ts';
import { sendNamed } from './send-named.ts';

const question = (text: string, values: Values): string =>
  text.replace(/\{([^}]+)\}/g, (_, name: string) =>
    String(values[name] ?? values[argumentName(name)] ?? name),
  );

/** Lists leave the descriptions out unless they are asked for; a column of that name asks for them. */
const withColumns = ({ columns }: Context, operation: Operation, input: LooseInput): LooseInput => {
  const isMissing =
    operation.query?.includes_description !== undefined && input.query?.includes_description === undefined;
  return isMissing && columns?.includes('description')
    ? { ...input, query: { ...input.query, includes_description: true } }
    : input;
};

export const run =
  (row: Row): Command['run'] =>
  async (context, values) => {
    const { resource, verb, operation, naming } = row;
    const fields = { ...operation.query, ...operation.body };
    const known = naming ? await resolveValues(naming, context, fields, values) : values;
    const given = withColumns(context, operation, inputFrom(operation, known));
    const words = `opsctl ${row.service.name} ${resource} ${operation.cli?.verb ?? verb}`;
    requiredAreGiven(operation, given, words);
    somethingChanges(operation, given, words);
    const input = naming
      ? await resolveParams(naming, context, operation, given, operation.method !== 'GET')
      : given;
    warnOfOld(context, operation, input);
    if (operation.cli?.confirm && !context.isDryRun)
      await context.confirm(question(operation.cli.confirm, values));
    if (isList(operation) && !hasOwnLimit(operation)) {
      const view = { columns: columnsOf(operation) };
      return { ...(await listed(context, row, given, input, limitOf(values))), view };
    }
    const answer = await sendNamed(context, row, given, input, (one) =>
      context.call(row.service, operation, one),
    );
    return resultOf(row, answer, values);
  };
