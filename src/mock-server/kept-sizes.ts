import { childPath, pathPart } from '../core/file-name.ts';
import { join } from 'node:path';
import type { AppError } from '../core/problem.ts';
import { misfit } from '../core/shape.ts';
import type { Files } from '../platform/host.ts';
import { stateDamaged } from './state-damaged.ts';

/** Beside the state: the sizes that its files had on the disk when a server closed it. */
export const SIZES = 'sizes.json';
export type Sizes = Readonly<Record<string, number>>;

const shorter = (path: string, bytes: number, noted: number): AppError =>
  stateDamaged(path, `${path} has ${bytes} bytes, and had ${noted} when the server was last stopped`);
const unreadable = (path: string, why: string): AppError =>
  stateDamaged(path, `${path}: ${why}`, [
    `delete ${path} (then it is not checked whether the other files are whole)`,
  ]);

const notedIn = async (files: Files, path: string): Promise<Sizes> => {
  const text = await files.read(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(path, 'it is not JSON');
  }
  const names = Object.keys(value ?? {});
  const wrong = misfit(value, Object.fromEntries(names.map((name) => [name, 'number'])));
  if (wrong !== undefined) throw unreadable(path, wrong);
  return value as Sizes;
};

/**
 * Files of the state only grow, until a later snapshot stands for them: one that is shorter than it was has lost what
 * was kept, even where the cut looks like the end of a line. Where a server was killed there is no newer size, and
 * a piece that nobody noted may be missing (DECISIONS 23). Resolves with what is noted.
 */
export const refuseShorter = async (
  files: Files,
  directory: string,
  found: { readonly sizes: Sizes; readonly snapshot: number },
): Promise<Sizes> => {
  const noted = await notedIn(files, join(directory, SIZES));
  for (const [name, bytes] of Object.entries(noted)) {
    const isReplaced = Number(name.split('-')[1]) < found.snapshot;
    const now = found.sizes[name] ?? 0;
    if (!isReplaced && now < bytes) throw shorter(childPath(directory, pathPart(name)), now, bytes);
  }
  return noted;
};

/** Only of files that are on the disk with this size whatever happens: synced, and up to the last acknowledged line. */
export const noteSizes = (files: Files, directory: string, sizes: Sizes): Promise<void> =>
  files.replace(join(directory, SIZES), `${JSON.stringify(sizes)}\n`, 0o600);
