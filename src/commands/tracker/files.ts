import { tracker } from '../../api-specs/tracker/index.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, int, list, req, str } from '../../core/field.ts';
import { AppError, usageError } from '../../core/problem.ts';
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
