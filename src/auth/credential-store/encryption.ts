import { createCipheriv, createDecipheriv } from 'node:crypto';
import { AppError } from '../../core/problem.ts';

/** Where the key of a credential store lies. It is written into the file, so that a lost keychain is not taken for a new credential store. */
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

/** AES-256-GCM: what is read back is what was written, or an error. */
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

export const damaged = (path: string, why: string, first: readonly string[] = []): AppError =>
  new AppError('config', `the stored credentials ${path} cannot be read: ${why}`, {
    code: 'CREDENTIALS_UNREADABLE',
    tryThis: [...first, `remove ${path} and run opsctl login`, 'opsctl doctor auth'],
  });

export const parseEncrypted = (text: string, path: string): EncryptedCredentials => {
  let value: Partial<EncryptedCredentials>;
  try {
    value = JSON.parse(text) as Partial<EncryptedCredentials>;
  } catch {
    throw damaged(path, 'it is not JSON');
  }
  if (value === null || value.version !== 1) throw damaged(path, 'another version of opsctl wrote it');
  const isWhole =
    [value.iv, value.tag, value.data].every((part) => typeof part === 'string') &&
    (value.key === 'keychain' || value.key === 'file');
  if (!isWhole) throw damaged(path, 'parts are missing');
  return value as EncryptedCredentials;
};
