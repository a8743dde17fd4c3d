import { bool, str } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import type { Command, Flag } from '../../cli/command.ts';
import { LONG, edited, givenText } from '../../tracker/long-text.ts';
import { extend } from './extend.ts';

/** `--edit` and `--description-file` on creates and updates that have a long text. */
export const withEditor = (command: Command, siblings: Iterable<Operation>): Command => {
  const row = command.operation?.operation;
  const name = row?.body && LONG.find((field) => row.body?.[field] !== undefined);
  if (row === undefined || name === undefined || row.method === 'GET') return command;
  const read =
    row.method === 'PUT'
      ? [...siblings].find(({ method, path }) => method === 'GET' && path === row.path)
      : undefined;
  const fromFile = `${name}-file`;
  return extend(command, {
    get flags() {
      const file = {
        effects: ['reads'],
        field: str(undefined, { min: 1 }),
        summary: `Read the ${name} from a file; - is standard input`,
        value: 'file|-',
        complete: 'file',
      } as const satisfies Flag;
      return {
        ...command.flags,
        [fromFile]: file,
        edit: { effects: ['runs'] as const, field: bool(), summary: `Write the ${name} in $EDITOR` },
      };
    },
    run: async (context, values) => {
      const { edit, [fromFile]: _path, [name]: _given, ...others } = values;
      const text = await givenText(context, values, name);
      if (edit === true) return edited(context, { command, row, name, read }, values, text, others);
      return command.run(context, text === undefined ? others : { ...others, [name]: text });
    },
  });
};
