import type { Keychain } from '../host.ts';

type Env = Readonly<Record<string, string | undefined>>;
const LIMIT_MS = 3000;

const within = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${LIMIT_MS / 1000} s`));
      stop.abort();
    }, LIMIT_MS);
  });
  try {
    return await Promise.race([work(stop.signal), limit]);
  } finally {
    clearTimeout(timer);
  }
};

/** Asking a Linux keychain without a session bus would start one with every command; then there is none. Pure. */
export const hasKeychain = (env: Env, platform: string): boolean =>
  platform === 'darwin' || platform === 'win32' || !!env['DBUS_SESSION_BUS_ADDRESS'];

/**
 * The package is optional: a platform without its native part has no keychain here. Left to itself it falls back to the
 * kernel's keyring, which forgets everything at a restart; a keychain that is away must be an error instead.
 */
const entry = async (service: string, account: string) => {
  const { AsyncEntry } = await import('@napi-rs/keyring');
  return new AsyncEntry(service, account, { linux: { store: 'secret-service' } });
};

export const nodeKeychain = (env: Env, platform: string): Keychain | undefined =>
  hasKeychain(env, platform)
    ? {
        get: async (service, account) =>
          (await within(async (signal) => (await entry(service, account)).getPassword(signal))) ?? undefined,
        set: (service, account, secret) =>
          within(async (signal) => (await entry(service, account)).setPassword(secret, signal)),
        remove: async (service, account) => {
          await within(async (signal) => (await entry(service, account)).deletePassword(signal));
        },
      }
    : undefined;
