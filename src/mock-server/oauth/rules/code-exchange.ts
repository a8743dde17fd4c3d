import { verifierPattern } from '../../../api-specs/oauth/endpoints.ts';
import { isCodeOver } from '../codes.ts';
import { sameText, sha256 } from '../digest.ts';
import { OAuthError } from '../errors.ts';
import { type ClientCall, type ExchangeCall, type Rule, given } from './rule.ts';

/** spec/sign-in#exchange: fields of the code exchange. */
export const codeIsGiven: Rule<ClientCall> = ({ params }) => {
  for (const name of ['code', 'redirect_uri'] as const) {
    if (given(params, name) === undefined)
      throw new OAuthError('invalid_request', `Missing required field: ${name}`);
  }
};

/** spec/sign-in#limits: code_verifier has 43 to 128 characters of A-Z a-z 0-9 - . _ ~. */
export const verifierIsWellFormed: Rule<ClientCall> = ({ params }) => {
  const verifier = given(params, 'code_verifier');
  if (verifier !== undefined && !verifierPattern.test(verifier)) {
    throw new OAuthError(
      'invalid_grant',
      'Invalid code verifier: it has 43 to 128 characters of A-Z a-z 0-9 - . _ ~.',
    );
  }
};

/** RFC 6749 4.1.3: the code was issued to this client. */
export const codeIsOfTheClient: Rule<ExchangeCall> = ({ client, code }) => {
  if (code.asked.client !== client.id)
    throw new OAuthError('invalid_grant', 'The code was issued to another client.');
};

/** RFC 6749 4.1.2: a code lives ten minutes at most. */
const codeIsInTime: Rule<ExchangeCall> = ({ auth, code }) => {
  if (isCodeOver(auth, code)) throw new OAuthError('invalid_grant', 'The code has expired.');
};

/** RFC 6749 4.1.3: redirect_uri is identical to the one of the authorization request. */
export const redirectIsTheSame: Rule<ExchangeCall> = ({ code, params }) => {
  if (params.get('redirect_uri') !== code.asked.redirect_uri) {
    throw new OAuthError(
      'invalid_grant',
      'redirect_uri is not the one of the authorization request (redirect_uri_mismatch).',
    );
  }
};

/** spec/sign-in#pkce; RFC 9700 2.1.1: a verifier without a challenge is a downgrade and refused. */
export const verifierMatchesTheChallenge: Rule<ExchangeCall> = ({ code, params }) => {
  const verifier = given(params, 'code_verifier');
  const { challenge, method } = code.asked;
  if (challenge === null) {
    if (verifier !== undefined)
      throw new OAuthError('invalid_grant', 'code_verifier is not needed: no code_challenge was sent.');
    return;
  }
  if (verifier === undefined) throw new OAuthError('invalid_grant', 'Missing code verifier.');
  if (!sameText(method === 'S256' ? sha256(verifier) : verifier, challenge))
    throw new OAuthError('invalid_grant', 'Invalid code verifier.');
};

/** spec/sign-in#exchange, before the code is looked up. */
export const codeRules: readonly Rule<ClientCall>[] = [codeIsGiven, verifierIsWellFormed];
/** What holds of a code that is known. */
export const exchangeRules: readonly Rule<ExchangeCall>[] = [
  codeIsOfTheClient,
  codeIsInTime,
  redirectIsTheSame,
  verifierMatchesTheChallenge,
];
