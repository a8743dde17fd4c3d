import { randomShare } from '../core/random-share.ts';
import { dirname } from 'node:path';
import {
  type Holder,
  type Seen,
  type Try,
  thisProcess,
  tryLock,
  unlock,
  waitFor,
  waitForLock,
} from '../platform/file-lock.ts';
import type { Host } from '../platform/host.ts';
import { describeProcess, waysPast } from '../platform/process-identity.ts';
import { AppError } from '../core/problem.ts';
import { configFile } from './directories.ts';
import { type Profiles, readProfiles } from './profiles.ts';

const patienceMs = 15_000;
/** What conf refuses. */
const schema = {
  current: { type: 'string' },
  profiles: {
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  },
} as const;

type ConfModule = typeof import('conf');
/**
 * conf reads the file and checks the shape of what is to be kept. Its own way to the disk takes a short write on a full
 * disk for a whole one and does not sync the directory, so the text goes to `Files.replace` (DECISIONS 82).
 */
const checkedText = ({ default: Conf }: ConfModule, directory: string, next: Profiles): string => {
  let text: string | undefined;
  const file = new Conf<{ current?: string; profiles: Profiles['profiles'] }>({
    cwd: directory,
    configName: 'config',
    projectSuffix: '',
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
    schema,
    // An empty file is one without settings, as everywhere.
    deserialize: (text) => (text.trim() === '' ? { profiles: {} } : JSON.parse(text)),
  });
  const keep = (value: unknown): void => {
    text = `${JSON.stringify(value, undefined, '\t')}\n`;
  };
  Object.defineProperty(file, '_write', { value: keep });
  file.store = { ...next };
  if (text === undefined) throw new Error('conf wrote the configuration by itself');
  return text;
};

/** Old or new text, never a part of one, and on the disk before it is acknowledged; only its owner can read it: profiles hold tokens. */
const write = async (host: Host, conf: ConfModule, file: string, next: Profiles): Promise<void> =>
  host.files.replace(file, checkedText(conf, dirname(file), next), 0o600);

/** Its owner may still be at work: opsctl never removes the lock of a process that it cannot check. */
const lockedBy = (host: Host, path: string, by: Holder | undefined): AppError => {
  const who = by === undefined ? 'another command' : describeProcess(host, by);
  return new AppError('config', `${who} holds ${path}`, {
    code: 'CONFIG_LOCKED',
    tryThis: waysPast(host, by, path),
  });
};

/** Two commands that change settings at once must not lose one of the changes. */
const locked = async (host: Host, path: string, act: () => Promise<void>): Promise<void> => {
  const me = thisProcess(host);
  let by: Holder | undefined;
  let file = path;
  const attempt = async (): Promise<Try<true, Seen<Holder>>> => {
    const seen = await tryLock(host, path, me);
    if (seen === true) return { got: true };
    by = seen.kind === 'held' ? seen.by : undefined;
    file = (seen.kind === 'held' ? seen.claim : undefined) ?? path;
    return { busy: seen };
  };
  await waitForLock(host, attempt, {
    waitMs: (seen) => waitFor(host, patienceMs, seen.kind === 'held' ? seen.by : undefined),
    holder: (seen) => (seen.kind === 'held' ? seen.by?.nonce : undefined),
    pauseMs: () => 20 + 32 * randomShare(host),
    expired: () => lockedBy(host, file, by),
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
  await host.files.makeDirectory(dirname(file), 0o700);
  // Loading it takes longer than the change, and whoever else changes settings would wait for it.
  const conf = await import('conf');
  await locked(host, `${file}.lock`, () => write(host, conf, file, change(readProfiles(host))));
};
