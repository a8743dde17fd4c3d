import { describe, expect, it } from 'vitest';
import { claimsOf, readJwt } from '../../src/core/jwt.ts';

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
  ])('with another form is not one: %s', (text) => {
    expect(readJwt(text)).toBeUndefined();
  });
  it('shows its claims even if the rest is malformed', () => {
    expect(claimsOf(`x.${part({ iss: 'b' })}`)).toEqual({ iss: 'b' });
    expect([claimsOf('x'), claimsOf(undefined), claimsOf('x.!.y')]).toEqual([{}, {}, {}]);
  });
});
