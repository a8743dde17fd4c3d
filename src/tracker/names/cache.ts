import { childPath, pathPart } from '../../core/file-name.ts';
import { messageOf } from '../../core/error-message.ts';
import { createHash } from 'node:crypto';
import { fittingJson } from '../../core/shape.ts';
import { join } from 'node:path';
import type { Context } from '../../cli/command.ts';
import type { Named } from './kinds.ts';

/** Names older than this are asked for again. */
const MAX_AGE_MS = 5 * 60_000;

type Cached = { readonly readAt: number; readonly things: readonly Named[] };
const shape = { readAt: 'number', things: [{ names: ['text'] }] } as const;

const directoryOf = (context: Context, baseUrl: string): string =>
  childPath(
    join(context.settings.directories.cache, 'tracker'),
    pathPart(createHash('sha256').update(baseUrl).digest('hex').slice(0, 16)),
  );
const fileOf = (context: Context, baseUrl: string, kind: string): string =>
  childPath(directoryOf(context, baseUrl), pathPart(`${kind}.json`));

export const readCache = async (
  context: Context,
  baseUrl: string,
  kind: string,
): Promise<readonly Named[] | undefined> => {
  const text = await context.host.files.read(fileOf(context, baseUrl, kind)).catch(() => undefined);
  if (text === undefined) return undefined;
  const cached = fittingJson<Cached>(text, shape);
  if (cached === undefined) return undefined;
  const age = context.host.now() - cached.readAt;
  return age >= 0 && age < MAX_AGE_MS ? cached.things : undefined;
};

/** The plain list that TAB reads: a name a line, so one that has several lines is left out. */
export const writeNames = async (context: Context, kind: string, things: readonly Named[]): Promise<void> => {
  const { files } = context.host;
  const directory = join(context.settings.directories.cache, 'names');
  const lines = things
    .map(({ names: [first = ''] }) => first)
    .filter((name) => name !== '' && !/[\r\n]/.test(name));
  const text = `${lines.join('\n')}\n`;
  try {
    if ((await files.read(childPath(directory, pathPart(kind)))) === text) return;
    await files.makeDirectory(directory, 0o700);
    await files.replace(childPath(directory, pathPart(kind)), text, 0o600);
  } catch (error) {
    context.log.debug(`the names for TAB were not written: ${messageOf(error)}`);
  }
};

/** Also writes the list that TAB reads. A cache that cannot be written is no reason to fail. */
export const writeCache = async (
  context: Context,
  baseUrl: string,
  kind: string,
  things: readonly Named[],
): Promise<void> => {
  const { files } = context.host;
  const path = fileOf(context, baseUrl, kind);
  try {
    await files.makeDirectory(join(path, '..'), 0o700);
    await files.replace(path, JSON.stringify({ readAt: context.host.now(), things }), 0o600);
  } catch (error) {
    context.log.debug(`the cache of names was not written: ${messageOf(error)}`);
  }
  await writeNames(context, kind, things);
};

/** After a change nothing that was read before is trusted: a name may be gone, new, or that of another record. */
export const forgetNames = async (context: Context): Promise<void> => {
  const { baseUrl, isMock } = await context.target('tracker');
  if (!isMock) await context.host.files.remove(directoryOf(context, baseUrl)).catch(() => undefined);
};
