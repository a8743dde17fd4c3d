import type { Host } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import { configFile } from './directories.ts';
import { isRecord } from '../core/shape.ts';

/** The configuration file: profiles by name, each a flat map of keys, and the one used when nothing names another. */
export type Profiles = {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

export const MOCK_PROFILE = 'mock';

const broken = (file: string, why: string): AppError =>
  new AppError('config', `${file} cannot be used: ${why}`, {
    code: 'CONFIG_FILE',
    tryThis: [`fix it, or move it away: mv ${file} ${file}.old`],
  });

/** Checks what an editor may have broken, and says where. Pure. */
const parseProfiles = (text: string, file: string): Profiles => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken(file, `it is not JSON (${(error as Error).message})`);
  }
  if (!isRecord(value)) throw broken(file, 'it must hold one JSON object');
  const { current, profiles = {} } = value;
  if (current !== undefined && typeof current !== 'string') throw broken(file, '`current` must be text');
  if (!isRecord(profiles)) throw broken(file, '`profiles` must be an object');
  for (const [name, settings] of Object.entries(profiles)) {
    if (!isRecord(settings) || !Object.values(settings).every((one) => typeof one === 'string')) {
      throw broken(file, `profile \`${name}\` must be an object whose values are text`);
    }
  }
  return { ...(current === undefined ? {} : { current }), profiles: profiles as Profiles['profiles'] };
};

/** Plain and synchronous: this is on the way of every command, and `conf` costs 100 ms to load. */
export const readProfiles = (host: Host): Profiles => {
  const file = configFile(host);
  const text = host.files.readNow(file);
  return text === undefined || text.trim() === '' ? { profiles: {} } : parseProfiles(text, file);
};

export const profileNames = (profiles: Profiles): string[] =>
  [...new Set([MOCK_PROFILE, ...Object.keys(profiles.profiles)])].sort();
