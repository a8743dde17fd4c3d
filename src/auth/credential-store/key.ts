import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import { readGuarded } from './guarded-file.ts';
import { damaged, keyBytes, type KeyLocation } from './encryption.ts';

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
  if (bytes.length !== keyBytes) throw damaged(path, 'the key has the wrong length');
  return bytes;
};

/** Nothing is lost while the keychain is closed: that is said before the way that gives the credentials up. */
const unlockFirst = [
  'unlock the keychain, in a session that has one, and run the command again',
  'OPSCTL_ACCESS_TOKEN needs no stored credentials',
];

/** The key that an existing credential store names. A keychain that does not answer is an error, not an empty credential store. */
export const readKey = async (
  store: KeyStore,
  place: KeyLocation,
  credentialsPath: string,
): Promise<Uint8Array> => {
  if (place === 'file') {
    const path = keyFile(store.directory);
    const text = await readGuarded(store.host, path);
    if (text === undefined) throw damaged(credentialsPath, `its key ${path} is missing`);
    return bytesFrom(text, path);
  }
  const keychain = store.host.keychain;
  if (keychain === undefined)
    throw damaged(credentialsPath, 'its key is in the keychain, which is not available here', unlockFirst);
  const text = await keychain.get(service, entry(store)).catch((error: unknown) => {
    throw damaged(
      credentialsPath,
      `its key is in the keychain, which does not answer (${error instanceof Error ? error.message : 'unknown cause'})`,
      unlockFirst,
    );
  });
  if (text === undefined) throw damaged(credentialsPath, 'its key is no longer in the keychain');
  return bytesFrom(text, 'keychain');
};

/** Called with the lock of the credential store held, when there are no credentials yet. */
const fileKey = async (store: KeyStore): Promise<Key> => {
  const path = keyFile(store.directory);
  const found = await readGuarded(store.host, path);
  if (found !== undefined && isKey(found)) return { bytes: bytesFrom(found, path), place: 'file' };
  // Nothing is encrypted with a key that a killed command wrote half of: it is replaced.
  const text = Buffer.from(store.host.random(keyBytes)).toString('base64');
  await store.host.files.replace(path, text, 0o600);
  return { bytes: bytesFrom(text, path), place: 'file' };
};

/** A key for a new credential store: in the keychain of the system when it answers within its 3 s, else beside the credential store, and said so. */
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
      `The keychain of this system does not answer; credentials go to an encrypted file in ${store.directory}.`,
    );
  }
  return fileKey(store);
};
