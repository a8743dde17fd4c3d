import { AppError } from '../core/problem.ts';
import { type Part, multipart } from '../api/upload.ts';
import type { Context } from '../cli/command.ts';
import { filePart, sizeOf } from './file-part.ts';
import { jsonReply } from './json-reply.ts';

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

export const uploadAll = async (
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
