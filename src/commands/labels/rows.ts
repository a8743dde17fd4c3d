import type { Operation } from '../../core/operation.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import type { Command, Context, Flag, Flags, Values } from '../../cli/command.ts';
import { commandsFrom } from '../../cli/derived/command.ts';
import { inputFrom } from '../../core/input.ts';
import { requiredAreGiven } from '../../core/row-checks.ts';
import { labelCommand } from '../../labels/command.ts';
import { labelProblems } from './label-problems.ts';
import { pathOf } from './path.ts';
import { deletedByBatch, hasTwoSegments } from './permission-delete.ts';
import { argumentsFor, extraFlags } from './row-flags.ts';
import { paged } from './row-kinds.ts';
import { runList } from './row-list.ts';
import { withName } from './row-name.ts';
import { longForm, selecting } from './row-values.ts';

type Row = { readonly command: Command; readonly operation: Operation };

const read = async (context: Context, operation: Operation, values: Values): Promise<Result> =>
  recordResult(await context.call(labelsService, operation, inputFrom(operation, values)), { name: 'name' });

/** The service refuses an edit without a mask: what is given is what is meant, and -v says so. */
const supplyMasks = async (context: Context, { bodyName }: Operation, values: Values): Promise<Values> => {
  if (bodyName !== 'DeltaUpdateLabelRequest' && bodyName !== 'DisableLabelRequest') return values;
  const { withMasks } = await import('../../labels/masks.ts');
  const { values: whole, added } = withMasks(bodyName, values);
  for (const line of added) context.log.debug(`${line} (the service wants it, and it was not given)`);
  return whole;
};

const run =
  ({ command, operation: row }: Row): Command['run'] =>
  async (context, given) => {
    const { operation, values: asked } = selecting(row, longForm(row, given, context));
    const values = await supplyMasks(context, operation, asked);
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
