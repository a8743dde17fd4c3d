import { basename, extname, isAbsolute, join } from 'node:path';
import { bool, int, list, req, str } from '../../core/field.ts';
import { AppError, invalidArguments, problem, usageError } from '../../core/problem.ts';
import { rawResult, recordResult, rowsResult } from '../../core/result.ts';
import { errorFrom } from '../../api-client/response.ts';
import { send } from '../../api-client/send.ts';
import { type Part, multipart } from '../../api-client/upload.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { HttpReply } from '../../platform/host.ts';
import { defineCommand, type Command, type Context, type Target } from '../../cli/command.ts';
import { jsonReply } from './json-reply.ts';

const types: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.zip': 'application/zip',
};

const absolute = (context: Context, path: string): string =>
  isAbsolute(path) ? path : join(context.host.cwd, path);

const sizeOf = async (context: Context, given: string): Promise<number> => {
  const info = await context.host.files.info(absolute(context, given));
  if (info?.kind !== 'file')
    throw invalidArguments([
      problem('<paths>', 'rule', `${given} ${info ? 'is not a file' : 'does not exist'}`),
    ]);
  return info.sizeBytes;
};

const filePart = async (context: Context, given: string, index: number): Promise<Part> => {
  const path = absolute(context, given);
  const sizeBytes = await sizeOf(context, given);
  const contentType = types[extname(path).toLowerCase()] ?? 'application/octet-stream';
  return {
    name: `file${index}`,
    filename: basename(path),
    contentType,
    sizeBytes,
    bytes: context.host.files.stream(path),
  };
};

/** spec/tracker#files: file0 to file3 in one request. */
const MOST = 4;

const upload = async (
  context: Context,
  paths: readonly string[],
  storyId: number | undefined,
): Promise<unknown[]> => {
  const parts: Part[] = storyId === undefined ? [] : [{ name: 'story_id', value: String(storyId) }];
  for (const [i, path] of paths.entries()) parts.push(await filePart(context, path, i));
  const { contentType, lengthBytes, body } = multipart(
    parts,
    Buffer.from(context.host.random(12)).toString('hex'),
  );
  const headers = {
    accept: 'application/json',
    'content-type': contentType,
    'content-length': String(lengthBytes),
  };
  const answer = await jsonReply(
    context,
    await context.send('tracker', { method: 'POST', path: '/files', headers, body }),
    'POST /files',
  );
  const records: unknown[] = Array.isArray(answer) ? answer : [answer];
  if (records.length === parts.length - Number(storyId !== undefined) && records.every(isRecord))
    return records;
  throw new AppError('network', 'POST /files: the answer does not prove that the files arrived', {
    code: 'NOT_PROVEN',
    tryThis: ['look at `opsctl tracker files list` before you upload them again'],
  });
};

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { id?: unknown }).id === 'number';

const uploadAll = async (
  context: Context,
  paths: readonly string[],
  storyId: number | undefined,
): Promise<unknown[]> => {
  // Before the first request: a wrong path must not be found when the others are up.
  for (const path of paths) await sizeOf(context, path);
  const found: unknown[] = [];
  for (let i = 0; i < paths.length; i += MOST) {
    try {
      found.push(...(await upload(context, paths.slice(i, i + MOST), storyId)));
    } catch (error) {
      if (!(error instanceof AppError) || i === 0) throw error;
      const tryThis = [...(error.detail.tryThis ?? []), `upload the rest, from ${paths[i]} on`];
      throw new AppError('partial', `${i} of ${paths.length} files are up, then: ${error.message}`, {
        ...error.detail,
        tryThis,
        data: { files: found },
      });
    }
  }
  return found;
};

const uploadCommand = defineCommand({
  path: ['tracker', 'files', 'upload'],
  summary: 'Upload files, up to four in a request',
  args: [
    {
      name: 'paths',
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

/**
 * The name comes from whoever uploaded the file: only its last part, so that it cannot point outside this directory, no leading
 * dot or dash, so that it is no settings file and no flag, and nothing that a terminal obeys.
 */
export const safeName = ({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): string => {
  const last = basename(filename.replaceAll('\\', '/'));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
  const plain = last.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '_');
  const safe = plain.replace(/^[.-]+/, (start) => '_'.repeat(start.length));
  return safe.replaceAll('_', '') === '' ? `file-${id}` : safe;
};

type FileRecord = { readonly id: number; readonly url: string | null; readonly filename: string };

/** Hops of a download: services keep contents elsewhere and point there. */
const MOST_HOPS = 5;

/** The token goes to the tracker's own host only, never to a storage service; nothing leads from TLS to plain HTTP. */
const contentOf = async (
  context: Context,
  start: URL,
  { baseUrl, headers: own }: Target,
): Promise<HttpReply> => {
  let url = start;
  for (let hop = 0; hop <= MOST_HOPS; hop++) {
    const headers = url.origin === new URL(baseUrl).origin ? own : {};
    const reply = await send(
      context.host,
      { method: 'GET', url: url.href, headers },
      { signal: context.signal },
    );
    if (reply.status >= 400)
      throw errorFrom(
        { status: reply.status, headers: reply.headers, text: await reply.text() },
        `GET ${url.pathname}`,
      );
    const { location } = reply.headers;
    if (reply.status < 300) return reply;
    if (location === undefined)
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service answered ${reply.status}, which is no success`,
      );
    await reply.bytes();
    const next = new URL(String(location), url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service redirects to ${next.origin}, which is not encrypted`,
      );
    url = next;
  }
  throw new AppError('network', `GET ${start.pathname}: more than ${MOST_HOPS} redirects`);
};

const downloadCommand = defineCommand({
  path: ['tracker', 'files', 'download'],
  summary: 'Download the content of an uploaded file',
  args: [{ name: 'file', field: req(int()), summary: 'The file' }],
  flags: {
    to: {
      field: str(),
      summary: 'Where to write it (default: its own name in this directory), - is standard output',
      value: 'path|-',
      complete: 'file',
    },
    force: { field: bool(), summary: 'Write over a file that exists' },
  },
  operation: { service: tracker, operation: tracker.table.files.download },
  examples: [{ line: 'opsctl tracker files download 7 --to - | tar tz', says: 'Into a pipe' }],
  run: async (context, values) => {
    const { get } = tracker.table.files;
    const record = (await context.call(tracker, get, {
      params: { 'file-public-id': values.file },
    })) as FileRecord;
    if (record.url === null) throw new AppError('not-found', `file ${record.id} has no content to download`);
    const target = await context.target('tracker');
    const reply = await contentOf(context, new URL(record.url, target.baseUrl), target);
    if (values.to === '-') return { ...rawResult(), chunks: reply.stream() };
    const path = absolute(context, values.to ?? safeName(record));
    if (!values.force && (await context.host.files.info(path))) {
      throw usageError(`${path} exists`, [], ['--force writes over it', '--to gives another name']);
    }
    const size = await context.host.files.replaceStream(path, reply.stream());
    return recordResult({ id: record.id, path, size }, { message: `${path}: ${size} bytes` });
  },
});

export const fileCommands: readonly Command[] = [uploadCommand, downloadCommand];
