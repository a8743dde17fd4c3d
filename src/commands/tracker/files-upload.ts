import { int, list, req, str } from '../../core/field.ts';
import { rowsResult } from '../../core/result.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { defineCommand } from '../../cli/command.ts';
import { uploadAll } from '../../tracker/files.ts';

export const uploadCommand = defineCommand({
  path: ['tracker', 'files', 'upload'],
  summary: 'Upload files, up to four in a request',
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
