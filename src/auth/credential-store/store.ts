import { childPath, pathPart } from '../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import type { AuthContext } from '../auth-context.ts';
import { type Account, noCredentials, secretsOf, type StoredCredentials } from './account.ts';
import { writeAccountList } from './account-list.ts';
import { numbered } from './compare-and-swap.ts';
import { serverKey } from '../endpoints.ts';
import { makePrivateDirectory, orUnwritable, readGuarded, writeGuarded } from './guarded-file.ts';
import { type Key, type KeyStore, makeKey, readKey } from './key.ts';
import { acquire, type Lock, type LockOptions } from './lock.ts';
import { type Place, placeOf } from './place.ts';
import { damaged, type KeyLocation, encrypt, parseEncrypted, decrypt } from './encryption.ts';

/** The credentials of one place. Every read is fresh: another process may have refreshed meanwhile. */
export type CredentialStore = {
  readonly path: string;
  read(): Promise<StoredCredentials>;
  /** Reads, changes and writes with no other process between. The edit sees the newest state and says what it did. */
  swap<T extends { readonly data: StoredCredentials }>(edit: (data: StoredCredentials) => T): Promise<T>;
  /** Where the key lies; undefined before the first sign-in. */
  keyLocation(): Promise<KeyLocation | undefined>;
  /** One refresh at a time per account, among all processes. */
  lockAccount(name: string, options: LockOptions): Promise<Lock | undefined>;
  /** Where a failed refresh of the account is told to those who wait for it. */
  failurePath(name: string): string;
};

type Opened = { readonly data: StoredCredentials; readonly key: Key | undefined };

const isOrigin = ({ issuer, server, endpoints }: Account): boolean =>
  issuer === undefined && URL.canParse(endpoints.authorize) && server === new URL(endpoints.authorize).origin;
/** Files of earlier versions: no generations, and realms of one host under one name. */
const complete = (stored: Account): Account => ({
  ...stored,
  server: isOrigin(stored) ? serverKey(stored.endpoints) : stored.server,
  generation: stored.generation ?? 0,
  signIn: stored.signIn ?? '',
});
const parse = (text: string, path: string): StoredCredentials => {
  const data = JSON.parse(text) as StoredCredentials;
  if (!Array.isArray(data.accounts)) throw damaged(path, 'parts are missing');
  return { ...data, accounts: data.accounts.map(complete) };
};

const open = async (host: Host, store: KeyStore, path: string): Promise<Opened> => {
  const text = await readGuarded(host, path);
  if (text === undefined) return { data: noCredentials, key: undefined };
  const encrypted = parseEncrypted(text, path);
  const key: Key = { bytes: await readKey(store, encrypted.key, path), place: encrypted.key };
  const plain = decrypt(encrypted, key.bytes);
  if (plain === undefined) throw damaged(path, 'the key does not fit, or the file was changed');
  return { data: parse(plain, path), key };
};

/** Names of accounts may hold anything; names of files may not. */
const refreshOf = (name: string): string =>
  `refresh-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;

const write = (host: Host, path: string, data: StoredCredentials, key: Key): Promise<void> =>
  writeGuarded(
    host,
    path,
    `${JSON.stringify(encrypt(JSON.stringify(data), key.bytes, host.random(12), key.place))}\n`,
  );

/** Where the key of the profile is kept, and who is told when that is not the keychain. */
const keyStoreOf = ({ host, log }: AuthContext, { profile, directory }: Place): KeyStore => ({
  host,
  directory,
  profile,
  allowsKeychain: host.env.OPSCTL_KEYCHAIN !== 'never',
  log: (text) => log.warnOnce('keychain', text),
});

/** Of the server that is given, else of the one that the settings name, else of the last sign-in. */
export const openCredentialStore = (context: AuthContext, server?: string): CredentialStore =>
  openStoreAt(context, placeOf(context, server));

export const openStoreAt = (context: AuthContext, place: Place): CredentialStore => {
  const { host, log } = context;
  const { directory } = place;
  const path = join(directory, 'credentials.json');
  const store = keyStoreOf(context, place);
  const hideAll = (data: StoredCredentials): StoredCredentials => {
    for (const account of data.accounts) for (const secret of secretsOf(account)) log.hide(secret);
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
      // What was obtained from a server must not be lost because another process is slow: a holder that died is replaced at once.
      const lock = await lockAt('credentials.lock', { waitMs: 120_000 });
      try {
        const { data, key = await makeKey(store) } = await open(host, store, path);
        const edited = edit(data);
        if (edited.data === data) return edited;
        const next = hideAll(numbered(data, edited.data));
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
