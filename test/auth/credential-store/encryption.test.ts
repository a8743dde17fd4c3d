import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { encrypt, parseEncrypted, decrypt } from '../../../src/auth/credential-store/store.ts';
import { errorWith } from '../../support/facts.ts';

const key = randomBytes(32);
const made = encrypt('{"accounts":[]} ü', key, randomBytes(12), 'file');

test('encrypted data is read back and is not readable in the file', () => {
  expect(decrypt(made, key)).toBe('{"accounts":[]} ü');
  expect(JSON.stringify(made)).not.toContain('accounts');
});

const flipped = (text: string): string => {
  const bytes = Buffer.from(text, 'base64');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64');
};
test.each([
  ['another key', made, randomBytes(32)],
  ['a changed text', { ...made, data: flipped(made.data) }, key],
  ['a changed tag', { ...made, tag: flipped(made.tag) }, key],
  ['a short tag', { ...made, tag: Buffer.from(made.tag, 'base64').subarray(0, 4).toString('base64') }, key],
  ['a changed start value', { ...made, iv: flipped(made.iv) }, key],
  ['another place of the key', { ...made, key: 'keychain' as const }, key],
])('%s is noticed', (_, encrypted, withKey) => {
  expect(decrypt(encrypted, withKey)).toBeUndefined();
});

test.each([
  ['', 'not JSON'],
  ['null', 'version'],
  ['{"version":2}', 'version'],
  ['{"version":1,"key":"file"}', 'parts'],
  ['{"version":1,"key":"x","iv":"","tag":"","data":""}', 'parts'],
])('the file %j: %s', (text, what) => {
  expect(() => parseEncrypted(text, '/v')).toThrow(
    errorWith('CREDENTIALS_UNREADABLE', '/v', what, 'credentials'),
  );
});
