import { file, help, int, list, oneOf, req, str, url, uuid } from '../../core/field.ts';
import { op, type Resource } from '../../core/operation.ts';
import { createdAt, externalId, linkedFile, linkedFileType, updatedAt, uploadedFile } from './fields.ts';
import { docSlim } from './records.ts';

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
    summary: 'Update file metadata',
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

const linkedFilesId = { 'linked-file-public-id': req(help(int(), 'The linked file')) } as const;
const linkedFilesColumns = ['id', 'name', 'type', 'url'] as const;
const shared = {
  description: help(str(512), 'Description'),
  size: help(int({ min: 0 }), 'Size in bytes'),
  story_id: help(int(), 'Story to attach it to'),
  thumbnail_url: help(url(2048), 'URL of a thumbnail'),
  uploader_id: help(uuid(), 'Member who linked it (default: the owner of the token)'),
} as const;
const type = help(linkedFileType, 'Storage provider');
const address = help(url(2048), 'URL');
export const linkedFiles = {
  list: op({
    method: 'GET',
    path: '/linked-files',
    summary: 'List linked files',
    cites: 'spec/tracker#linked-files',
    ok: 200,
    returns: list(linkedFile),
    cli: { columns: linkedFilesColumns },
  }),
  create: op({
    method: 'POST',
    path: '/linked-files',
    summary: 'Link an external file',
    cites: 'spec/tracker#linked-files',
    body: {
      name: req(help(str(256, { min: 1 }), 'Name')),
      type: req(type),
      url: req(address),
      ...shared,
      content_type: help(str(128), 'Media type'),
    },
    ok: 201,
    returns: linkedFile,
    cli: {
      columns: linkedFilesColumns,
      examples: [
        'opsctl tracker linked-files create --name Plan --type url --url https://files.example/plan.pdf',
      ],
    },
  }),
  get: op({
    method: 'GET',
    path: '/linked-files/{linked-file-public-id}',
    summary: 'Show a linked file',
    cites: 'spec/tracker#linked-files',
    params: linkedFilesId,
    ok: 200,
    returns: linkedFile,
    cli: { columns: linkedFilesColumns },
  }),
  update: op({
    method: 'PUT',
    path: '/linked-files/{linked-file-public-id}',
    summary: 'Change a linked file',
    cites: 'spec/tracker#linked-files',
    params: linkedFilesId,
    body: { name: help(str(undefined, { min: 1 }), 'Name'), type, url: address, ...shared },
    ok: 200,
    returns: linkedFile,
    cli: { columns: linkedFilesColumns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/linked-files/{linked-file-public-id}',
    summary: 'Delete a linked file',
    cites: 'spec/tracker#linked-files',
    params: linkedFilesId,
    ok: 204,
    cli: { confirm: 'Delete linked file {linked-file}? The external file is not deleted.' },
  }),
} as const satisfies Resource;

const documentsColumns = ['id', 'title', 'app_url'] as const;
export const documents = {
  list: op({
    method: 'GET',
    path: '/documents',
    summary: 'List documents',
    cites: 'spec/tracker#documents',
    ok: 200,
    returns: list(docSlim),
    errors: ['DisabledFeatureError'],
    cli: { columns: documentsColumns },
  }),
  create: op({
    method: 'POST',
    path: '/documents',
    summary: 'Create a document',
    cites: 'spec/tracker#documents',
    body: {
      title: req(help(str(256, { min: 1 }), 'Title')),
      content: req(help(str(), 'Text')),
      // spec/tracker#documents-3: not in the document, and what the vendor's own tools send.
      content_format: help(oneOf('markdown', 'html'), 'Format of the text (default markdown)'),
    },
    ok: 201,
    returns: docSlim,
    errors: ['DisabledFeatureError'],
    cli: {
      columns: documentsColumns,
      examples: ["opsctl tracker documents create --title Runbook --content '# Start'"],
    },
  }),
} as const satisfies Resource;
