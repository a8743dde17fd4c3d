import { describe, expect, it } from 'vitest';
import { claimsOf, keysFor, readJwt } from '../../src/core/json.ts';

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = `${part({ alg: 'RS256' })}.${part({ iss: 'a' })}.AQID`;

describe('a JWT', () => {
  it('has a header, claims, the signed text and a signature', () => {
    expect(readJwt(` ${token}\n`)).toEqual({
      header: { alg: 'RS256' },
      claims: { iss: 'a' },
      text: token.slice(0, token.lastIndexOf('.')),
      signature: Buffer.from([1, 2, 3]),
    });
    expect(readJwt(`${part({ alg: 'none' })}.${part({})}.`)?.signature).toHaveLength(0);
  });
  it.each([
    'opaque',
    '',
    `${part({})}.${part({})}`,
    `${token}.x`,
    `${part([])}.${part({})}.AQ`,
    `${part({})}.${part('claims')}.AQ`,
    `${part({})}.e30x!.AQ`,
    `${part({})}.${part({})}.AQ=`,
    `${part({})}.${part({})}.A=Q=`,
    `${part({})}.${part({})}.AQ====`,
  ])('with another form is not one: %s', (text) => {
    expect(readJwt(text)).toBeUndefined();
  });
  it('may have padding, which client libraries write', () => {
    const padded = Buffer.from('{"iss":"a"}').toString('base64').replace(/\+/g, '-').replace(/\//g, '_');
    expect(padded).toMatch(/=$/);
    expect(readJwt(`${part({})}.${padded}.AQ==`)).toMatchObject({ claims: { iss: 'a' } });
  });
  it('shows its claims even if the rest is malformed', () => {
    expect(claimsOf(`x.${part({ iss: 'b' })}`)).toEqual({ iss: 'b' });
    expect([claimsOf('x'), claimsOf(undefined), claimsOf('x.!.y')]).toEqual([{}, {}, {}]);
  });
});

describe('the keys for a token', () => {
  const rsa = { kid: 'r', kty: 'RSA' };
  const ec = { kid: 'e', kty: 'EC', crv: 'P-256' };
  const encrypts = { kty: 'RSA', use: 'enc' };
  const edwards = { kid: 'o', kty: 'OKP', crv: 'Ed25519' };
  it.each([
    ['the key that it names', { alg: 'ES256', kid: 'e' }, [rsa, ec], [ec]],
    [
      'every key of its type if it names none',
      { alg: 'RS256' },
      [ec, rsa, { kty: 'RSA' }],
      [rsa, { kty: 'RSA' }],
    ],
    ['no key if it names an unknown one', { alg: 'RS256', kid: 'x' }, [rsa, ec], 'unknown'],
    ['no key if it names none and no key is for it', { alg: 'RS256' }, [ec, encrypts], 'unknown'],
    ['no key of an empty set', { alg: 'RS256' }, [], 'unknown'],
    ['no key if the one that it names is for something else', { alg: 'RS256', kid: 'e' }, [rsa, ec], 'unfit'],
  ])('are %s', (_, header, keys, expected) => {
    expect(keysFor(header, keys)).toEqual(expected);
  });
  it.each([
    ['EdDSA', 'Ed25519'],
    ['Ed25519', 'EdDSA'],
    ['EdDSA', 'EdDSA'],
    ['Ed25519', 'Ed25519'],
  ])('may be for %s if the token has the algorithm %s', (own, alg) => {
    const key = { ...edwards, alg: own };
    expect(keysFor({ alg, kid: 'o' }, [key])).toEqual([key]);
    expect(keysFor({ alg: 'RS256', kid: 'o' }, [key])).toBe('unfit');
  });
});
