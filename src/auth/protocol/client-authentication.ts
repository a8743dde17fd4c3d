import { clientAssertionType } from '../../api-specs/oauth/grant-types.ts';
import type { HttpRequest } from '../../platform/host.ts';
import type { AuthContext } from '../auth-context.ts';
import { privateKeyFrom, signJwt } from '../sign-jwt.ts';
import { type ClientAuthentication, clientAuthentications } from '../../core/sign-in-words.ts';
import { formRequest, type TokenClient } from './token-client.ts';

export const isClientAuthentication = (text: string): text is ClientAuthentication =>
  (clientAuthentications as readonly string[]).includes(text);

/** A key of the client, in PEM form. */
export type ClientKey = { readonly pem: string; readonly origin: string; readonly keyId?: string };

const assertionLifeS = 300;

/** A signature for one request: it names the token endpoint, ends soon and is never used again. */
export const clientAssertion = (
  { host, log }: Pick<AuthContext, 'host' | 'log'>,
  client: { readonly clientId: string; readonly tokenEndpoint: string },
  key: ClientKey,
): string => {
  const now = Math.floor(host.now() / 1000);
  const claims = {
    iss: client.clientId,
    sub: client.clientId,
    aud: client.tokenEndpoint,
    iat: now,
    exp: now + assertionLifeS,
    jti: Buffer.from(host.random(16)).toString('base64url'),
  };
  const assertion = signJwt(privateKeyFrom(key.pem, key.origin), key.origin, claims, key.keyId);
  log.hide(assertion);
  return assertion;
};

/** RFC 6749 2.3.1: form-encoded before it is joined, so that a colon or a blank in a secret survives. */
const encoded = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2);

/** A form with the client's proof, by the method of this server. */
export const clientRequest = (
  client: Pick<TokenClient, 'clientId' | 'clientSecret' | 'clientAuth' | 'assertion'>,
  url: string,
  fields: Readonly<Record<string, string | undefined>>,
): HttpRequest => {
  const { clientId, clientSecret, clientAuth, assertion } = client;
  const id = clientId === '' ? undefined : clientId;
  if (assertion !== undefined)
    return formRequest(url, {
      client_id: id,
      client_assertion_type: clientAssertionType,
      client_assertion: assertion,
      ...fields,
    });
  if (clientAuth !== 'basic' || clientSecret === undefined)
    return formRequest(url, { client_id: id, client_secret: clientSecret, ...fields });
  const request = formRequest(url, fields);
  const basic = Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString('base64');
  return { ...request, headers: { ...request.headers, authorization: `Basic ${basic}` } };
};
