import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readKeyFile } from '../../src/auth/read-secret.ts';
import { privateKeyFrom } from '../../src/auth/sign-jwt.ts';
import { isKeyContent } from '../../src/core/field.ts';
import { makeAuthContext } from './auth-context.ts';
import { naming } from '../support/facts.ts';
import { makeDirectory } from '../support/directory.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const body = { type: 'service_account', client_email: 'ci@demo.example', private_key: pem };
const json = JSON.stringify(body, null, 2);
const base64 = Buffer.from(json).toString('base64');

describe('forms in which CI systems hold a key file', () => {
  test.each([
    ['as it was downloaded', json],
    ['with a BOM', `\uFEFF${json}`],
    ['in single quotes', `'${json}'`],
    ['as a JSON string', JSON.stringify(json)],
    ['with escaped quotes', JSON.stringify(body).replaceAll('"', '\\"')],
    ['with line ends inside the key', json.replaceAll('\\n', '\n')],
    ['with CRLF inside the key', json.replaceAll('\\n', '\r\n')],
    [
      'with line ends that are escaped twice',
      JSON.stringify({ ...body, private_key: pem.replaceAll('\n', '\\n') }),
    ],
    ['in base64', base64],
    ['in base64 with line ends', base64.replace(/.{76}/g, '$&\n')],
    ['in base64url', Buffer.from(json).toString('base64url')],
  ])('%s', async (_, value) => {
    const context = await makeAuthContext();
    expect(isKeyContent(value)).toBe(true);
    const key = await readKeyFile(context, value, 'the test');
    expect(key.email).toBe('ci@demo.example');
    expect(privateKeyFrom(key.privateKey, 'the test').equals(privateKey)).toBe(true);
    await context.close();
  });
  test('a key file may be an absolute or relative path', async () => {
    const path = join(makeDirectory(), 'key.json');
    writeFileSync(path, base64);
    const context = await makeAuthContext();
    expect(await readKeyFile(context, path, 'the test')).toMatchObject({ email: 'ci@demo.example' });
    await context.close();
  });
  test.each([
    ['escaped line ends', pem.replaceAll('\n', '\\n')],
    ['spaces in place of line ends', pem.replaceAll('\n', ' ')],
    ['no line ends at all', pem.replaceAll('\n', '')],
    ['in base64 as a whole', Buffer.from(pem).toString('base64')],
    ['in quotes', `"${pem}"`],
    ['PKCS#1', privateKey.export({ type: 'pkcs1', format: 'pem' }) as string],
  ])('a bare private key is rejected: %s', (_, value) => {
    expect(privateKeyFrom(value, 'the test').equals(privateKey)).toBe(true);
  });
});

describe('the error names what the user gave', () => {
  const publicPem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  test.each([
    ['external_account', JSON.stringify({ type: 'external_account' }), 'external_account', 'token-exchange'],
    ['authorized_user', JSON.stringify({ type: 'authorized_user' }), 'authorized_user', 'opsctl login'],
    [
      'a client of a desktop',
      JSON.stringify({ installed: { client_id: 'x' } }),
      'installed',
      'OPSCTL_CLIENT_ID',
    ],
    ['a client of a web site', JSON.stringify({ web: { client_id: 'x' } }), 'web', 'OPSCTL_CLIENT_ID'],
    ['an unknown type', JSON.stringify({ type: 'moon_account' }), 'moon_account', 'service account'],
    ['no e-mail', JSON.stringify({ private_key: pem }), ['client_email', 'missing'], 'service account'],
    [
      'an empty key',
      JSON.stringify({ client_email: 'a', private_key: '' }),
      ['private_key', 'empty'],
      'service',
    ],
    [
      'a number',
      JSON.stringify({ client_email: 7, private_key: pem }),
      ['client_email', 'not', 'text'],
      'service',
    ],
    ['a key alone', pem, 'client_email', 'service account'],
    ['a certificate', publicPem, 'certificate', 'service account'],
    ['a missing file', '/no/such/key.json', '/no/such/key.json', 'path'],
  ])('%s', async (_, value, says, help) => {
    const context = await makeAuthContext();
    const error = await readKeyFile(context, value, 'the test').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ category: 'config', message: naming(...([says].flat() as [string])) });
    expect((error as { detail: { tryThis: string[] } }).detail.tryThis.join()).toContain(help);
    await context.close();
  });
  test.each([
    [
      'a password',
      '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----',
      'password',
    ],
    ['a public key', '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----', 'public key'],
    ['a cut key', pem.slice(0, 300), 'cut off'],
    ['something else', 'hello', 'PEM'],
  ])('a private key with %s', (_, value, says) => {
    expect(() => privateKeyFrom(value, 'the test')).toThrow(says);
  });
});
