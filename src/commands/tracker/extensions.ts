import type { Context } from '../../api/context.ts';
import { type Command, extend, isReading, defineCommand } from '../../cli/command.ts';
import { externalUrl } from '../../core/external-url.ts';
import { bare, bool, str, int, list, req } from '../../core/field.ts';
import type { Flag } from '../../core/flag.ts';
import type { Operation } from '../../core/operation.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { openEditor, givenText, LONG } from '../../tracker/long-text.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { containedPath } from '../../platform/trust.ts';
import {
  absolute,
  contentOf,
  type FileRecord,
  needContentUrl,
  safeName,
  uploadAll,
} from '../../tracker/files.ts';

export const downloadCommand = defineCommand({
  path: ['tracker', 'files', 'download'],
  summary: 'Download the content of an uploaded file',
  effects: ['writes'],
  args: [{ name: 'file', effects: [], field: req(int()), summary: 'File ID or name' }],
  flags: {
    to: {
      effects: ['writes'],
      field: str(),
      summary: 'File to write (default: its own name in this directory); - writes to standard output',
      value: 'path|-',
      complete: 'file',
    },
    force: { effects: ['writes'], field: bool(), summary: 'Overwrite an existing file' },
  },
  operation: { service: tracker, operation: tracker.table.files.download },
  examples: [{ line: 'opsctl tracker files download 7 --to - | tar tz', says: 'Write into a pipe' }],
  run: async (context, values) => {
    const { get } = tracker.table.files;
    const record = (await context.call(tracker, get, {
      params: { 'file-public-id': values.file },
    })) as FileRecord;
    if (record.url === null || record.url === undefined)
      throw new AppError('not-found', `file ${record.id} has no content to download`);
    const target = await context.target('tracker');
    const from = needContentUrl(String(record.url), target.baseUrl, `the url of file ${record.id}`);
    const reply = await contentOf(context, from, target);
    if (values.to === '-') return { ...rawResult(), chunks: reply.stream() };
    const name = safeName({ id: record.id, filename: String(record.filename ?? '') });
    const path =
      values.to === undefined
        ? await containedPath(context.host.files, context.host.cwd, name)
        : absolute(context, values.to);
    if (!values.force && (await context.host.files.info(path))) {
      throw usageError(`${path} exists`, [], ['--force overwrites it', '--to selects another name']);
    }
    const size = await context.host.files.replaceStream(path, reply.stream());
    return recordResult({ id: record.id, path, size }, { message: `${path}: ${size} bytes` });
  },
});

export const uploadCommand = defineCommand({
  path: ['tracker', 'files', 'upload'],
  summary: 'Upload files, up to four per request',
  args: [
    {
      name: 'paths',
      effects: ['reads'],
      field: req(list(str(), { min: 1 })),
      summary: 'Files to upload',
      rest: true,
      complete: 'file',
    },
  ],
  flags: { 'story-id': { field: int(), summary: 'Story to attach them to', value: 'number' } },
  examples: [
    {
      line: 'opsctl tracker files upload trace.log screenshot.png --story-id 42',
      says: 'Attach two files to a story',
    },
  ],
  operation: { service: tracker, operation: tracker.table.files.create },
  run: async (context, values) => {
    const found = await uploadAll(context, values.paths, values['story-id']);
    return rowsResult(found, { columns: ['id', 'name', 'content_type', 'size'] });
  },
});

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
/** Rejects a command that needs a server for longer than itself: the embedded server belongs to this command alone. */
export const assertServerStays = async (context: Context, why: string): Promise<void> => {
  const { isPassing } = await context.target('tracker');
  if (isPassing === true)
    throw new AppError('config', `${why}: the embedded mock server stops with this command`, {
      code: 'MOCK_STOPS',
      tryThis: ['opsctl mock start'],
    });
};
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
      const { withWriteRecord } = await import('../../tracker/bulk/record-writes.ts');
      return command.run(withWriteRecord(context, command.path.join(' ')), values);
    },
  });
};
