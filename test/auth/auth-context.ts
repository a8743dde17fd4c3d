import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../src/platform/host.ts';
import type { AuthContext } from '../../src/auth/auth-context.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

/** The output of a run, and every value that the run marked as secret. */
export type Said = { readonly lines: string[]; readonly hidden: Set<string>; text(): string };
export type TestAuthContext = AuthContext & {
  readonly said: Said;
  readonly abort: AbortController;
  readonly directory: string;
  close(): Promise<void>;
};
export type AuthContextOptions = {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly settings?: Readonly<Record<string, string>>;
  /** Base URL of the server that `target` returns as the embedded mock server. */
  readonly mockUrl?: string;
  readonly host?: (host: Host) => Host;
  /** The directory of another run, to simulate another process of the same user. */
  readonly directory?: string;
};

/** Creates the AuthContext of one run on the real machine with a dedicated directory. */
export const makeAuthContext = async (options: AuthContextOptions = {}): Promise<TestAuthContext> => {
  const real: RealHost = await realHost({ OPSCTL_KEYCHAIN: 'never', ...options.env });
  const stderr: string[] = [];
  const quiet: Host = {
    ...real.host,
    hostname: real.host.hostname,
    terminal: {
      ...real.host.terminal,
      stderr: { isTty: false, columns: 80, write: async (text) => void stderr.push(String(text)) },
    },
  };
  const host = options.host?.(quiet) ?? quiet;
  const directory = options.directory ?? join(real.directory, 'state');
  mkdirSync(directory, { recursive: true });
  const hidden = new Set<string>();
  const abort = new AbortController();
  const push = (text: string): void => void stderr.push(text);
  const once = new Set<string>();
  return {
    host,
    directory,
    abort,
    signal: abort.signal,
    settings: {
      profile: { name: 'mock', origin: 'default' },
      directories: { config: directory, state: directory, cache: directory },
      get: (key) => {
        const value = options.settings?.[key];
        return value === undefined ? undefined : { value, origin: `environment ${key}` };
      },
    },
    log: {
      info: push,
      warn: push,
      debug: push,
      warnOnce: (key, text) => {
        if (!once.has(key)) push(text);
        once.add(key);
      },
      hide: (secret) => void hidden.add(secret),
    },
    target: async () => {
      if (options.mockUrl === undefined) throw new Error('no embedded server in this test');
      return { baseUrl: options.mockUrl, isMock: true, headers: {}, origin: 'test' };
    },
    said: { lines: stderr, hidden, text: () => stderr.join('\n') },
    close: () => real.close(),
  };
};

/** Creates the context of a command on a machine in memory. `lines` receives its messages. */
export const memoryAuthContext = (
  host: Host,
  { signal = new AbortController().signal, lines = [] as string[] } = {},
): AuthContext => {
  const push = (text: string): void => void lines.push(text);
  return {
    host,
    settings: {
      profile: { name: 'mock', origin: 'default' },
      directories: { config: '/state', state: '/state', cache: '/state' },
      get: () => undefined,
    },
    log: { info: push, warn: push, warnOnce: (_, text) => push(text), debug() {}, hide() {} },
    signal,
    target: () => Promise.reject(new Error('no embedded server')),
  };
};
