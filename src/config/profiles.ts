import { join } from 'node:path';
import { AppError } from '../kernel/problem.ts';
import type { Host } from '../host/host.ts';
import type { Folders } from './folders.ts';

/** The configuration file: profiles by name, each a flat map of keys, and the one used when nothing names another. */
export type ProfilesFile = { readonly current?: string; readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>> };
export const MOCK_PROFILE = 'mock';

export const configFile = (folders: Folders): string => join(folders.config, 'config.json');

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads the file by a plain JSON parse: it is on the way of every command. A broken file is an error, never overwritten. */
export const readProfiles = (host: Pick<Host, 'files'>, folders: Folders): ProfilesFile => {
  const path = configFile(folders);
  const text = host.files.readNow(path);
  if (text === undefined) return { profiles: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AppError('config', `${path} is not valid JSON: ${error instanceof Error ? error.message : error}`, {
      tryThis: [`mend or remove ${path}`],
    });
  }
  if (!isRecord(value) || !isRecord(value.profiles ?? {}))
    throw new AppError('config', `${path} must hold {"profiles": {…}}`, { tryThis: [`mend or remove ${path}`] });
  const profiles = Object.fromEntries(
    Object.entries((value.profiles ?? {}) as Record<string, unknown>).map(([name, map]) => [
      name,
      Object.fromEntries(Object.entries(isRecord(map) ? map : {}).map(([key, v]) => [key, String(v)])),
    ]),
  );
  return { profiles, ...(typeof value.current === 'string' ? { current: value.current } : {}) };
};
