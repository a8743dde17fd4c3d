import { parseUrl } from '../../core/external-url.ts';
import { createCipheriv, createDecipheriv, hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { AuthContext } from '../auth-context.ts';
import { isLoopback, serverKey } from '../protocol/token-client.ts';
import { configuredServer, mockKey } from '../settings.ts';
import {
  type Account,
  emptyCredentials,
  numberGenerations,
  secretsOf,
  type StoredCredentials,
  writeAccountList,
} from './account.ts';
import {
  acquire,
  explainForbidden,
  type Lock,
  type LockOptions,
  makePrivateDirectory,
  orUnwritable,
  readGuarded,
  writeGuarded,
} from './guarded-file.ts';

/**
 * The location of the key of a credential store. It is recorded in the file, so that a store with a lost
 * keychain is not mistaken for a new store.
 */
export type KeyLocation = 'keychain' | 'file';
export type EncryptedCredentials = {
  readonly version: 1;
  readonly key: KeyLocation;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
};
export const keyBytes = 32;
const purpose = (place: KeyLocation): Buffer => Buffer.from(`opsctl credentials 1 ${place}`);
/** AES-256-GCM: reading returns exactly the written data, or an error. */
export const encrypt = (
  text: string,
  key: Uint8Array,
  iv: Uint8Array,
  place: KeyLocation,
): EncryptedCredentials => {
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(purpose(place));
  const data = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return {
    version: 1,
    key: place,
    iv: Buffer.from(iv).toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    data: data.toString('base64'),
  };
};
export const decrypt = (encrypted: EncryptedCredentials, key: Uint8Array): string | undefined => {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(encrypted.iv, 'base64'), {
      authTagLength: 16,
    });
    decipher.setAAD(purpose(encrypted.key));
    decipher.setAuthTag(Buffer.from(encrypted.tag, 'base64'));
    return Buffer.concat([decipher.update(Buffer.from(encrypted.data, 'base64')), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    return undefined;
  }
};
const makeDamagedError = (path: string, why: string, first: readonly string[] = []): AppError =>
  new AppError('config', `the stored credentials ${path} cannot be read: ${why}`, {
    code: 'CREDENTIALS_UNREADABLE',
    tryThis: [...first, `remove ${path} and run opsctl login`, 'opsctl doctor auth'],
  });
export const parseEncrypted = (text: string, path: string): EncryptedCredentials => {
  let value: Partial<EncryptedCredentials>;
  try {
    value = JSON.parse(text) as Partial<EncryptedCredentials>;
  } catch {
    throw makeDamagedError(path, 'it is not JSON');
  }
  if (value === null || value.version !== 1)
    throw makeDamagedError(path, 'another version of opsctl wrote it');
  const isWhole =
    [value.iv, value.tag, value.data].every((part) => typeof part === 'string') &&
    (value.key === 'keychain' || value.key === 'file');
  if (!isWhole) throw makeDamagedError(path, 'parts are missing');
  return value as EncryptedCredentials;
};

export type Key = { readonly bytes: Uint8Array; readonly place: KeyLocation };
export type KeyStore = {
  readonly host: Host;
  readonly directory: string;
  readonly profile: string;
  readonly allowsKeychain: boolean;
  log(text: string): void;
};
const keyFile = (directory: string): string => join(directory, 'credentials.key');
const service = 'opsctl';
/** Two directories (OPSCTL_HOME) with the same profile name are two credential stores. */
const entry = (store: KeyStore): string => `${store.profile} ${store.directory}`;
const isKey = (text: string): boolean => Buffer.from(text.trim(), 'base64').length === keyBytes;
const bytesFrom = (text: string, path: string): Uint8Array => {
  const bytes = Buffer.from(text.trim(), 'base64');
  if (bytes.length !== keyBytes) throw makeDamagedError(path, 'the key has the wrong length');
  return bytes;
};
/**
 * No credentials are lost while the keychain is locked. The error states this before it describes how to
 * discard them.
 */
const unlockFirst = [
  'unlock the keychain, in a session that has one, and run the command again',
  'OPSCTL_ACCESS_TOKEN needs no stored credentials',
];
/**
 * Returns the key that an existing credential store names. An unresponsive keychain is an error, not an empty
 * store.
 */
export const readKey = async (
  store: KeyStore,
  place: KeyLocation,
  credentialsPath: string,
): Promise<Uint8Array> => {
  if (place === 'file') {
    const path = keyFile(store.directory);
    const text = await readGuarded(store.host, path);
    if (text === undefined) throw makeDamagedError(credentialsPath, `its key ${path} is missing`);
    return bytesFrom(text, path);
  }
  const keychain = store.host.keychain;
  if (keychain === undefined)
    throw makeDamagedError(
      credentialsPath,
      'its key is in the keychain, which is not available here',
      unlockFirst,
    );
  const text = await keychain.get(service, entry(store)).catch((error: unknown) => {
    throw makeDamagedError(
      credentialsPath,
      `its key is in the keychain, which does not respond (${error instanceof Error ? error.message : 'unknown cause'})`,
      unlockFirst,
    );
  });
  if (text === undefined) throw makeDamagedError(credentialsPath, 'its key is no longer in the keychain');
  return bytesFrom(text, 'keychain');
};
/** Called with the lock of the credential store held, when there are no credentials yet. */
const fileKey = async (store: KeyStore): Promise<Key> => {
  const path = keyFile(store.directory);
  const found = await readGuarded(store.host, path);
  if (found !== undefined && isKey(found)) return { bytes: bytesFrom(found, path), place: 'file' };
  // A partially written key of a killed command has encrypted no data, so it is replaced.
  const text = Buffer.from(store.host.random(keyBytes)).toString('base64');
  await store.host.files.replace(path, text, 0o600);
  return { bytes: bytesFrom(text, path), place: 'file' };
};
/**
 * Creates a key for a new credential store: in the system keychain if it responds within 3 s, otherwise in a
 * file next to the credential store, with a warning.
 */
export const makeKey = async (store: KeyStore): Promise<Key> => {
  const keychain = store.allowsKeychain ? store.host.keychain : undefined;
  if (keychain === undefined) return fileKey(store);
  const text = Buffer.from(store.host.random(keyBytes)).toString('base64');
  try {
    await keychain.set(service, entry(store), text);
    if ((await keychain.get(service, entry(store))) === text)
      return { bytes: bytesFrom(text, 'keychain'), place: 'keychain' };
  } catch {
    store.log(
      `The keychain of this system does not respond; credentials are stored in an encrypted file in ${store.directory}.`,
    );
  }
  return fileKey(store);
};

/**
 * The location of the credentials of a sign-in. A named profile contains all its sign-ins. If no profile was
 * named, each server has a separate profile, named after it: data of a real service is never stored under
 * `mock`.
 */
export type CredentialLocation = { readonly profile: string; readonly directory: string };
/** Which of these profiles there are, and the one of the last sign-in. Without the file everything is in the run's own profile, as earlier versions kept it. */
export type PlaceIndex = { readonly current: string; readonly profiles: readonly string[] };
type Run = Pick<AuthContext, 'host' | 'settings'>;
const rootOf = ({ settings }: Run): string => dirname(settings.directories.state);
export const indexPath = (context: Run): string => join(rootOf(context), 'sign-ins.json');
const isIndex = (value: Partial<PlaceIndex> | null): value is PlaceIndex =>
  Array.isArray(value?.profiles) &&
  [value.current, ...value.profiles].every(
    (name) => typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name),
  );
const parseIndex = (text: string, path: string): PlaceIndex => {
  try {
    const value = JSON.parse(text) as Partial<PlaceIndex> | null;
    if (isIndex(value)) return value;
  } catch {
    // Defined below.
  }
  throw new AppError('config', `${path}, the list of sign-ins, cannot be read`, {
    code: 'SIGN_INS_UNREADABLE',
    tryThis: [`remove ${path} and run opsctl login`],
  });
};
const readIndex = (context: Run): PlaceIndex | undefined => {
  const path = indexPath(context);
  let text: string | undefined;
  try {
    text = context.host.files.readNow(path);
  } catch (error) {
    return explainForbidden(path)(error);
  }
  return text === undefined ? undefined : parseIndex(text, path);
};
/** Undefined for a named profile, and before the first sign-in of this version. */
export const placeIndex = (context: Run): PlaceIndex | undefined =>
  context.settings.profile.origin === 'default' ? readIndex(context) : undefined;
const maxName = 64;
/** A name that a directory may have: host, port and path of the server. Servers on this machine change their ports and share one. */
export const profileOfServer = (server: string, own: string): string => {
  if (server === mockKey) return own;
  const url = parseUrl(server);
  if (url === undefined) return 'server';
  if (isLoopback(url)) return 'localhost';
  const name = `${url.host}${url.pathname}`
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  if (name.length <= maxName) return name;
  const mark = hash('sha256', server).slice(0, 12);
  return `${name.slice(0, maxName - mark.length - 1)}-${mark}`;
};
export const ownPlace = ({ settings }: Run): CredentialLocation => ({
  profile: settings.profile.name,
  directory: settings.directories.state,
});
export const credentialLocation = (context: Run, name: string): CredentialLocation =>
  name === context.settings.profile.name
    ? ownPlace(context)
    : { profile: name, directory: childPath(rootOf(context), pathPart(name)) };
/** Of the server that is given, else of the one that the settings name, else of the last sign-in. */
export const placeOf = (context: AuthContext, server?: string): CredentialLocation => {
  const index = placeIndex(context);
  if (index === undefined) return ownPlace(context);
  const wanted = server ?? configuredServer(context);
  const name = wanted === undefined ? index.current : profileOfServer(wanted, context.settings.profile.name);
  return credentialLocation(context, name);
};
/** All places of this run, the one of the last sign-in first. */
export const listLocations = (context: Run): CredentialLocation[] => {
  const index = placeIndex(context);
  if (index === undefined) return [ownPlace(context)];
  const names = [index.current, ...index.profiles, context.settings.profile.name];
  return [...new Set(names)].map((name) => credentialLocation(context, name));
};
/** The credentials of every profile, named by a user or after a server. */
export const placesOfAllProfiles = (context: Run, profiles: readonly string[]): CredentialLocation[] =>
  [...new Set([...profiles, ...(readIndex(context)?.profiles ?? [])])].map((name) =>
    credentialLocation(context, name),
  );

/** The credentials of one location. Every read is fresh, because another process may have refreshed them. */
export type CredentialStore = {
  readonly path: string;
  read(): Promise<StoredCredentials>;
  /**
   * Reads, changes and writes in an exclusive section. The edit receives the newest state and returns the
   * change.
   */
  swap<T extends { readonly data: StoredCredentials }>(edit: (data: StoredCredentials) => T): Promise<T>;
  /** The location of the key; undefined before the first sign-in. */
  keyLocation(): Promise<KeyLocation | undefined>;
  /** One refresh at a time per account, among all processes. */
  lockAccount(name: string, options: LockOptions): Promise<Lock | undefined>;
  /** The file that informs waiting processes about a failed refresh of the account. */
  failurePath(name: string): string;
};
type Opened = { readonly data: StoredCredentials; readonly key: Key | undefined };
const isOrigin = ({ issuer, server, endpoints }: Account): boolean =>
  issuer === undefined &&
  endpoints.authorize !== undefined &&
  server === parseUrl(endpoints.authorize)?.origin;
/** Files of earlier versions: no generations, and realms of one host under one name. */
const complete = (stored: Account): Account => ({
  ...stored,
  server: isOrigin(stored) ? serverKey(stored.endpoints) : stored.server,
  generation: stored.generation ?? 0,
  signIn: stored.signIn ?? '',
});
const parse = (text: string, path: string): StoredCredentials => {
  const data = JSON.parse(text) as StoredCredentials;
  if (!Array.isArray(data.accounts)) throw makeDamagedError(path, 'parts are missing');
  return { ...data, accounts: data.accounts.map(complete) };
};
const open = async (host: Host, store: KeyStore, path: string): Promise<Opened> => {
  const text = await readGuarded(host, path);
  if (text === undefined) return { data: emptyCredentials, key: undefined };
  const encrypted = parseEncrypted(text, path);
  const key: Key = { bytes: await readKey(store, encrypted.key, path), place: encrypted.key };
  const plain = decrypt(encrypted, key.bytes);
  if (plain === undefined) throw makeDamagedError(path, 'the key does not fit, or the file was changed');
  return { data: parse(plain, path), key };
};
/** Names of accounts may hold anything; names of files may not. */
const refreshOf = (name: string): string => `refresh-${hash('sha256', name).slice(0, 16)}`;
const write = (host: Host, path: string, data: StoredCredentials, key: Key): Promise<void> =>
  writeGuarded(
    host,
    path,
    `${JSON.stringify(encrypt(JSON.stringify(data), key.bytes, host.random(12), key.place))}\n`,
  );
/**
 * The location of the key of the profile, and the callback that reports a location other than the keychain.
 */
const keyStoreOf = ({ host, log }: AuthContext, { profile, directory }: CredentialLocation): KeyStore => ({
  host,
  directory,
  profile,
  allowsKeychain: host.env.OPSCTL_KEYCHAIN !== 'never',
  log: (text) => log.warnOnce('keychain', text),
});
/** Of the server that is given, else of the one that the settings name, else of the last sign-in. */
export const openCredentialStore = (context: AuthContext, server?: string): CredentialStore =>
  openStoreAt(context, placeOf(context, server));
const allSecrets = ({ accounts, kept = [] }: StoredCredentials): string[] => [
  ...accounts.flatMap(secretsOf),
  ...kept.flatMap(({ token, dpopKey }) => (dpopKey === undefined ? [token] : [token, dpopKey])),
];
export const openStoreAt = (context: AuthContext, place: CredentialLocation): CredentialStore => {
  const { host, log } = context;
  const { directory } = place;
  const path = join(directory, 'credentials.json');
  const store = keyStoreOf(context, place);
  const hideAll = (data: StoredCredentials): StoredCredentials => {
    for (const secret of allSecrets(data)) log.hide(secret);
    return data;
  };
  const lockAt = async (name: string, options: LockOptions): Promise<Lock | undefined> => {
    await makePrivateDirectory(host, directory);
    return acquire(host, childPath(directory, pathPart(name)), options).catch(orUnwritable(directory));
  };
  return {
    path,
    read: async () => hideAll((await open(host, store, path)).data),
    swap: async (edit) => {
      // Tokens from a server must not be lost because another process is slow: the lock of an exited process
      // is replaced immediately.
      const lock = await lockAt('credentials.lock', { waitMs: 120_000 });
      try {
        const { data, key = await makeKey(store) } = await open(host, store, path);
        const edited = edit(data);
        if (edited.data === data) return edited;
        const next = hideAll(numberGenerations(data, edited.data));
        await write(host, path, next, key);
        await writeAccountList(host, directory, next);
        return { ...edited, data: next };
      } finally {
        await lock?.release();
      }
    },
    keyLocation: async () => {
      const text = await readGuarded(host, path);
      return text === undefined ? undefined : parseEncrypted(text, path).key;
    },
    lockAccount: (name, options) => lockAt(`${refreshOf(name)}.lock`, options),
    failurePath: (name) => childPath(directory, pathPart(`${refreshOf(name)}.failed`)),
  };
};
