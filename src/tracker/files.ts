import { parseUrl } from '../core/external-url.ts';
import { createHash, hash } from 'node:crypto';
import { basename, extname, resolve } from 'node:path';
import type { EngineContext, Target } from '../api/context.ts';
import { errorFrom } from '../api/response.ts';
import { multipart, type Part, send } from '../api/send.ts';
import { type FileName, safeFileName } from '../core/file-name.ts';
import { limits } from '../core/limits.ts';
import { cutText, AppError, invalidArguments, problem } from '../core/problem.ts';
import type { HttpReply } from '../platform/host.ts';
import { jsonReply } from './search.ts';

/** A path as the user of the command means it. */
export const absolute = (context: EngineContext, path: string): string => resolve(context.host.cwd, path);

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
const sizeOf = async (context: EngineContext, given: string): Promise<number> => {
  const info = await context.host.files.info(absolute(context, given));
  if (info?.kind !== 'file')
    throw invalidArguments([
      problem('<paths>', 'rule', `${given} ${info ? 'is not a file' : 'does not exist'}`),
    ]);
  return info.sizeBytes;
};
/** What an upload sends under the name of a file. It is read twice: for its digest, and for its request. */
type Source = { readonly path: string; readonly sizeBytes: number; read(): AsyncIterable<Uint8Array> };
const fileSource = async (context: EngineContext, given: string): Promise<Source> => {
  const path = absolute(context, given);
  return { path, sizeBytes: await sizeOf(context, given), read: () => context.host.files.stream(path) };
};
const typeOf = (path: string): string => types[extname(path).toLowerCase()] ?? 'application/octet-stream';
const partOf = ({ path, sizeBytes, read }: Source, index: number): Part => ({
  name: `file${index}`,
  filename: basename(path),
  contentType: typeOf(path),
  sizeBytes,
  bytes: read(),
});
/** Inside double quotes, curl reads a comma or a semicolon of a path as text. */
const curlFile = ({ path }: Source, index: number): string =>
  `file${index}=@"${path.replaceAll(/["\\]/g, String.raw`\$&`)}";type=${typeOf(path)}`;

/** Identifies what an upload sends, so that the same upload is recognized after a crash. The boundary of a body is random. */
const digestOf = async (sources: readonly Source[], storyId: number | undefined): Promise<string> => {
  const contents: unknown[] = [storyId ?? null];
  for (const { path, read } of sources) {
    const content = createHash('sha256');
    for await (const piece of read()) content.update(piece);
    contents.push([basename(path), content.digest('hex')]);
  }
  return hash('sha256', JSON.stringify(contents));
};
/** spec/tracker#files: file0 to file3 in one request. */
const MOST = 4;
const upload = async (
  context: EngineContext,
  sources: readonly Source[],
  storyId: number | undefined,
): Promise<unknown[]> => {
  const story = storyId === undefined ? [] : [{ name: 'story_id', value: String(storyId) }];
  const parts: Part[] = [...story, ...sources.map(partOf)];
  const { contentType, lengthBytes, body } = multipart(
    parts,
    Buffer.from(context.host.random(12)).toString('hex'),
  );
  const headers = {
    accept: 'application/json',
    'content-type': contentType,
    'content-length': String(lengthBytes),
  };
  const contentDigest = await digestOf(sources, storyId);
  const form = [...story.map(({ name, value }) => `${name}=${value}`), ...sources.map(curlFile)];
  const request = { method: 'POST', path: '/files', headers, body, contentDigest, form };
  const reply = await context.send('tracker', request);
  const answer = await jsonReply(context, reply, 'POST /files');
  const records: unknown[] = Array.isArray(answer) ? answer : [answer];
  if (records.length === parts.length - Number(storyId !== undefined) && records.every(isRecord))
    return records;
  throw new AppError('network', 'POST /files: the response does not confirm that the files arrived', {
    code: 'NOT_PROVEN',
    tryThis: ['check `opsctl tracker files list` before you upload them again'],
  });
};
const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { id?: unknown }).id === 'number';
/** Uploads a text under the name of a file, which need not exist. */
export const uploadText = (
  context: EngineContext,
  path: string,
  text: string,
  storyId: number,
): Promise<unknown[]> => {
  const bytes = Buffer.from(text);
  const read = async function* () {
    yield bytes;
  };
  return upload(context, [{ path, sizeBytes: bytes.length, read }], storyId);
};
export const uploadAll = async (
  context: EngineContext,
  paths: readonly string[],
  storyId: number | undefined,
): Promise<unknown[]> => {
  // Before the first request: a wrong path must not be found when the others are up.
  for (const path of paths) await sizeOf(context, path);
  const found: unknown[] = [];
  for (let i = 0; i < paths.length; i += MOST) {
    try {
      const sources: Source[] = [];
      for (const path of paths.slice(i, i + MOST)) sources.push(await fileSource(context, path));
      found.push(...(await upload(context, sources, storyId)));
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

/** Resolves the location of a content from a response: a web URL, relative to the URL of the response. */
export const needContentUrl = (text: string, base: string | URL, what: string): URL => {
  const url = parseUrl(text, String(base));
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new AppError('network', `${what}: ${JSON.stringify(cutText(text, 200))} is not an HTTP URL`, {
    code: 'OTHER_SHAPE',
    tryThis: ['check the base URL: another service may be answering'],
  });
};

export type FileRecord = { readonly id: number; readonly url: string | null; readonly filename: string };
/**
 * The token is sent only to the tracker's own host, never to a storage service. Redirects from TLS to plain
 * HTTP are rejected.
 */
export const contentOf = async (
  context: EngineContext,
  start: URL,
  { baseUrl, headers: own }: Target,
): Promise<HttpReply> => {
  let url = start;
  for (let hop = 0; hop <= limits.redirects; hop++) {
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
        `GET ${url.pathname}: the service responded with status ${reply.status}, which does not indicate success`,
      );
    await reply.bytes();
    const next = needContentUrl(String(location), url, `GET ${url.pathname} redirects`);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw new AppError(
        'network',
        `GET ${url.pathname}: the service redirects to ${next.origin}, which is not encrypted`,
      );
    url = next;
  }
  throw new AppError('network', `GET ${start.pathname}: more than ${limits.redirects} redirects`);
};

/** The file name of an uploaded file: its name comes from the user who uploaded it. */
export const safeName = ({ id, filename }: Pick<FileRecord, 'id' | 'filename'>): FileName =>
  safeFileName(filename, `file-${id}`);
