import { bool, int, req, str } from '../../core/field.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { defineCommand } from '../../cli/command.ts';
import { containedPath } from '../../platform/contained-path.ts';
import { absolute } from '../../tracker/absolute-path.ts';
import { needContentUrl } from '../../tracker/content-url.ts';
import { type FileRecord, contentOf } from '../../tracker/download.ts';
import { safeName } from '../../tracker/safe-name.ts';

export const downloadCommand = defineCommand({
  path: ['tracker', 'files', 'download'],
  summary: 'Download the content of an uploaded file',
  effects: ['writes'],
  args: [{ name: 'file', effects: [], field: req(int()), summary: 'The file' }],
  flags: {
    to: {
      effects: ['writes'],
      field: str(),
      summary: 'Where to write it (default: its own name in this directory), - is standard output',
      value: 'path|-',
      complete: 'file',
    },
    force: { effects: ['writes'], field: bool(), summary: 'Write over a file that exists' },
  },
  operation: { service: tracker, operation: tracker.table.files.download },
  examples: [{ line: 'opsctl tracker files download 7 --to - | tar tz', says: 'Into a pipe' }],
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
      throw usageError(`${path} exists`, [], ['--force writes over it', '--to gives another name']);
    }
    const size = await context.host.files.replaceStream(path, reply.stream());
    return recordResult({ id: record.id, path, size }, { message: `${path}: ${size} bytes` });
  },
});
