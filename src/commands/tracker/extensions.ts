import type { Command } from '../../cli/command.ts';
import { externalUrl } from '../../core/external-url.ts';
import { bare, bool, str } from '../../core/field.ts';
import type { Flag } from '../../core/flag.ts';
import type { Operation } from '../../core/operation.ts';
import { openEditor, givenText, LONG } from '../../tracker/long-text.ts';

/** A command with some parts replaced. Parts that are made on demand stay so: nothing is read here. */
export const extend = (base: Command, more: Partial<Command>): Command =>
  Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(base), ...Object.getOwnPropertyDescriptors(more) },
  ) as Command;

const hasAppUrl = (command: Command): boolean => {
  const returns = command.operation?.operation.returns;
  const record = returns && bare(returns);
  return record?.type === 'object' && record.fields.app_url !== undefined;
};
const webFlag = {
  effects: ['runs'],
  field: bool(),
  summary: "Open the record's page in the browser",
} as const satisfies Flag;
/** `--web` on every command that answers with one record that has a page of its own. */
export const withWeb = (command: Command): Command => {
  if (!hasAppUrl(command)) return command;
  return extend(command, {
    get flags() {
      return { ...command.flags, web: webFlag };
    },
    run: async (context, values) => {
      const result = await command.run(context, values);
      const given = result.kind === 'record' ? (result.data as { app_url?: unknown }).app_url : undefined;
      if (values.web !== true || typeof given !== 'string') return result;
      const url = externalUrl(given);
      if (url === undefined) {
        context.log.warn(
          `cannot open the browser: app_url must be an http or https URL, but the service returned ${JSON.stringify(given)}`,
        );
        return result;
      }
      context.log.info(url);
      if (!(await context.host.openBrowser(url)))
        context.log.warn('cannot open the browser; open the URL above manually');
      return result;
    },
  });
};

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
        summary: `Read the ${name} from a file; - reads standard input`,
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
      if (edit === true) return openEditor(context, { command, row, name, read }, values, text, others);
      return command.run(context, text === undefined ? others : { ...others, [name]: text });
    },
  });
};

/** Rows that a hand-written command covers better, as `resource verb`. */
export const byHand: ReadonlySet<string> = new Set([
  'epics page',
  'files download',
  'files upload',
  'groups stories',
  'search run',
]);
