import { dirname } from 'node:path';
import { type Try, thisProcess, tryLock, unlock, waitForLock } from '../platform/file-lock.ts';
import type { Host } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import { configFile } from './directories.ts';
import { type Profiles, readProfiles } from './profiles.ts';

const patienceMs = 15_000;
/** A change takes milliseconds: a lock of another machine this old was left behind. */
const foreignAgeMs = 10_000;

/** What conf refuses to write. */
const schema = {
  current: { type: 'string' },
  profiles: {
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  },
} as const;

/** conf writes atomically, checks the shape, and keeps the file to its owner: profiles hold tokens. */
const write = async (directory: string, next: Profiles): Promise<void> => {
  const { default: Conf } = await import('conf');
  const file = new Conf<{ current?: string; profiles: Profiles['profiles'] }>({
    cwd: directory,
    configName: 'config',
    projectSuffix: '',
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
    schema,
  });
  file.store = { ...next };
};

/** Two commands that change settings at once must not lose one of the changes. */
const locked = async (host: Host, path: string, act: () => Promise<void>): Promise<void> => {
  const me = thisProcess(host);
  const attempt = async (): Promise<Try<true, undefined>> =>
    (await tryLock(host, path, me, foreignAgeMs)) === true ? { got: true } : { busy: undefined };
  await waitForLock(host, attempt, {
    waitMs: patienceMs,
    pauseMs: () => 20 + (host.random(1)[0] ?? 0) / 8,
    expired: () =>
      new AppError('config', `another command holds ${path}`, {
        code: 'CONFIG_LOCKED',
        tryThis: [`rm ${path}`],
      }),
  });
  try {
    await act();
  } finally {
    await unlock(host, path, me);
  }
};

/** Reads, changes and writes the configuration file. */
export const changeProfiles = async (host: Host, change: (stored: Profiles) => Profiles): Promise<void> => {
  const file = configFile(host);
  const directory = dirname(file);
  await host.files.makeDirectory(directory, 0o700);
  await locked(host, `${file}.lock`, () => write(directory, change(readProfiles(host))));
};
