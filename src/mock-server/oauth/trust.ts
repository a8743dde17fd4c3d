import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { OAuthError } from './errors.ts';
import { audiencesOf, type Jwk, type Jwt } from './jwt.ts';
import type { Signer } from './keys.ts';
import type { Auth, Trust } from './state.ts';

/** `repo:acme/*` as in the trust policies of cloud providers; everything else stands for itself. */
const fitsPattern = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
    's',
  ).test(text);

/** The embedded CI under the name by which this request came. */
export const embeddedIssuer = (origin: string): string => origin + authPaths.ci;
const issuerOf = (trust: Trust, origin: string): string =>
  trust.issuer === 'embedded' ? embeddedIssuer(origin) : trust.issuer;

const keysIn = (text: string): readonly Jwk[] => {
  const { keys } = JSON.parse(text) as { keys?: unknown };
  return Array.isArray(keys) ? (keys as Jwk[]) : [];
};

/** OpenID Connect Discovery: metadata of the issuer, then its keys. A failure is the issuer's, not the token's. */
const fetchedKeys = async (auth: Auth, issuer: string): Promise<readonly Jwk[]> => {
  const read = async (url: string): Promise<string> => {
    const reply = await auth.env.host.network.request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      timeoutMs: 5000,
      maxReplyBytes: 256 * 1024,
    });
    if (reply.status !== 200) throw new Error(`HTTP ${reply.status}`);
    return reply.text();
  };
  try {
    const metadata = JSON.parse(await read(`${issuer}/.well-known/openid-configuration`)) as {
      issuer?: unknown;
      jwks_uri?: unknown;
    };
    if (metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string')
      throw new Error('its metadata name another issuer or no keys');
    return keysIn(await read(metadata.jwks_uri));
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown cause';
    throw new OAuthError('invalid_request', `The keys of ${issuer} cannot be read: ${why}`.slice(0, 400));
  }
};

const keysOf = (auth: Auth, trust: Trust, signer: Signer): readonly Jwk[] | Promise<readonly Jwk[]> => {
  if (trust.jwks !== null) return keysIn(trust.jwks);
  return trust.issuer === 'embedded' ? signer.publicKeys() : fetchedKeys(auth, trust.issuer);
};

/** The trust that an identity token fits, and the keys that must have signed it. The refusal says which of the three parts did not fit. */
export const trustFor = async (
  auth: Auth,
  jwt: Jwt | undefined,
  origin: string,
  signer: Signer,
): Promise<{ readonly trust: Trust; readonly keys: readonly Jwk[] }> => {
  const refuse = (text: string): OAuthError => new OAuthError('invalid_grant', text.slice(0, 400));
  if (jwt === undefined) throw refuse('The subject token is not a signed JWT.');
  const [issuer, subject] = [String(jwt.claims.iss ?? ''), String(jwt.claims.sub ?? '')];
  const audiences = audiencesOf(jwt);
  const ofIssuer = [...auth.trusts.values()].filter((trust) => issuerOf(trust, origin) === issuer);
  if (ofIssuer.length === 0) throw refuse(`No trust names the issuer ${issuer || '(none)'}.`);
  const ofAudience = ofIssuer.filter((trust) => audiences.includes(trust.audience));
  if (ofAudience.length === 0)
    throw new OAuthError(
      'invalid_target',
      `The audience ${audiences.join(' ') || '(none)'} is not the one of the trust in ${issuer}.`.slice(
        0,
        400,
      ),
    );
  const trust = ofAudience.find((each) => fitsPattern(each.subject, subject));
  if (trust === undefined) throw refuse(`The subject ${subject || '(none)'} is not trusted.`);
  return { trust, keys: await keysOf(auth, trust, signer) };
};
