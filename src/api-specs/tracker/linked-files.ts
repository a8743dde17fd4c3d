import { help, int, list, req, str, url, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { linkedFile, linkedFileType } from './file-records.ts';

const id = { 'linked-file-public-id': req(help(int(), 'The linked file')) } as const;
const columns = ['id', 'name', 'type', 'url'] as const;
const shared = {
  description: help(str(512), 'Description'),
  size: help(int({ min: 0 }), 'Size in bytes'),
  story_id: help(int(), 'Story to attach it to'),
  thumbnail_url: help(url(2048), 'Address of a small picture'),
  uploader_id: help(uuid(), 'Member who linked it (default: the owner of the token)'),
} as const;
const type = help(linkedFileType, 'Where it lies');
const address = help(url(2048), 'Address');

export const linkedFiles = {
  list: op({
    method: 'GET',
    path: '/linked-files',
    summary: 'List linked files',
    cites: 'spec/tracker#linked-files',
    ok: 200,
    returns: list(linkedFile),
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/linked-files',
    summary: 'Link a file that lies elsewhere',
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
      columns,
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
    params: id,
    ok: 200,
    returns: linkedFile,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/linked-files/{linked-file-public-id}',
    summary: 'Change a linked file',
    cites: 'spec/tracker#linked-files',
    params: id,
    body: { name: help(str(undefined, { min: 1 }), 'Name'), type, url: address, ...shared },
    ok: 200,
    returns: linkedFile,
    cli: { columns },
  }),
  delete: op({
    method: 'DELETE',
    path: '/linked-files/{linked-file-public-id}',
    summary: 'Delete a linked file',
    cites: 'spec/tracker#linked-files',
    params: id,
    ok: 204,
    cli: { confirm: 'Delete linked file {linked-file}? The file itself stays where it is.' },
  }),
} as const satisfies Resource;
