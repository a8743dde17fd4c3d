import type { Context } from '../../api/context.ts';
import { type Command, extend, isReading } from '../../cli/command.ts';
import { externalUrl } from '../../core/external-url.ts';
import { bare, bool, str } from '../../core/field.ts';
import type { Flag } from '../../core/flag.ts';
import type { Operation } from '../../core/operation.ts';
import { openEditor, givenText, LONG } from '../../tracker/long-text.ts';

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
/**
 * Opens the page of a record in the browser. The embedded server of one command stops with the command, so it waits until
 * the person has seen the page.
 */
export const openPage = async (context: Context, given: unknown): Promise<void> => {
  const url = typeof given === 'string' ? externalUrl(given) : undefined;
  if (url === undefined)
    return context.log.warn(
      `no browser was started: app_url must be an http or https URL, the service returned ${JSON.stringify(given)}`,
    );
  const { isPassing } = await context.target('tracker');
  if (isPassing === true && !context.isInteractive)
    return context.log.warn(
      'no browser was started: the page is on the embedded mock server, which stops with this command; run `opsctl mock start` first',
    );
  context.log.info(url);
  if (!(await context.host.openBrowser(url)))
    context.log.warn('no browser could be started; open the URL above in a browser');
  if (isPassing === true)
    await context.host.terminal.prompts.text('Press Enter to stop the embedded mock server');
};
/** `--web` for every command that returns one record with a web page. */
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
      await openPage(context, given);
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

/** Records what the command replaces, so that `opsctl undo` can revert it. */
export const withUndo = (command: Command): Command => {
  if (isReading(command)) return command;
  return extend(command, {
    run: async (context, values) => {
      const { withWriteRecord } = await import('../../tracker/bulk/journal.ts');
      return command.run(withWriteRecord(context, command.path.join(' ')), values);
    },
  });
};
