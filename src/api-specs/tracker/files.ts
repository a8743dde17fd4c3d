import { file, help, int, list, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { createdAt, externalId, updatedAt } from './fields.ts';
import { uploadedFile } from './file-records.ts';

const id = { 'file-public-id': req(help(int(), 'The file')) } as const;
const columns = ['id', 'name', 'content_type', 'size'] as const;

export const files = {
  list: op({
    method: 'GET',
    path: '/files',
    summary: 'List uploaded files',
    cites: 'spec/tracker#files',
    ok: 200,
    returns: list(uploadedFile),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/files',
    summary: 'Upload one to four files',
    cites: 'spec/tracker#files',
    encoding: 'multipart',
    body: {
      story_id: help(int(), 'Story to attach them to'),
      file0: req(help(file(), 'First file')),
      file1: help(file(), 'Second file'),
      file2: help(file(), 'Third file'),
      file3: help(file(), 'Fourth file'),
    },
    ok: 201,
    returns: list(uploadedFile),
    cli: { verb: 'upload', columns },
  }),
  get: op({
    method: 'GET',
    path: '/files/{file-public-id}',
    summary: 'Show an uploaded file',
    cites: 'spec/tracker#files',
    params: id,
    ok: 200,
    returns: uploadedFile,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/files/{file-public-id}',
    summary: 'Change what is known about a file, not its content',
    cites: 'spec/tracker#files',
    params: id,
    body: {
      created_at: createdAt,
      description: help(str(4096), 'Description'),
      external_id: externalId,
      name: help(str(1024, { min: 1 }), 'Name'),
      updated_at: updatedAt,
      uploader_id: help(uuid(), 'Member who uploaded it'),
    },
    ok: 200,
    returns: uploadedFile,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/files/{file-public-id}',
    summary: 'Delete an uploaded file',
    cites: 'spec/tracker#files',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete file {file} and its content?' },
  }),
  download: op({
    method: 'GET',
    path: '/files/{file-public-id}/download',
    summary: 'Fetch the content of an uploaded file',
    cites: 'spec/tracker#files-1',
    params: id,
    ok: 200,
    extension: true,
    cli: { hidden: true },
  }),
} as const satisfies Resource;
