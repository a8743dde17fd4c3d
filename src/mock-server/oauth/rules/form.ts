import { OAuthError } from '../errors.ts';
import type { RequestCall, Rule } from './rule.ts';

/** doc1 Endpoints 3: "over HTTPS". A server with TLS takes no token over plain HTTP. */
export const tokenConnectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (!request.isTls && auth.env.origin().startsWith('https:'))
    throw new OAuthError('invalid_request', 'Plain HTTP is refused: use HTTPS');
};

/** doc1 Endpoints 2 to 4: POST. */
export const tokenMethodIsPost: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'POST')
    throw new OAuthError('invalid_request', `${request.method} is not supported; use POST`, 405, {
      allow: 'POST',
    });
};

export const mostBytes = 64 * 1024;
/** facts 5.27: a huge body or thousands of fields end here, before they are parsed. */
export const bodyIsSmall: Rule<RequestCall> = ({ request, params }) => {
  if (request.body.length > mostBytes)
    throw new OAuthError('invalid_request', `The body must have at most ${mostBytes} bytes`, 413);
  if (params.count > 100) throw new OAuthError('invalid_request', 'The form must have at most 100 fields');
};

/** doc1 Endpoints 2: Content-Type application/x-www-form-urlencoded; facts 5.5: JSON or no type is refused. */
export const bodyIsAForm: Rule<RequestCall> = ({ request }) => {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new OAuthError('invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
};

/** RFC 6749 3.2: "parameters … MUST NOT be included more than once"; broken percent-encoding is a malformed request. */
export const formIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new OAuthError('invalid_request', 'A field is not valid percent-encoded UTF-8');
  if (params.repeated.length > 0)
    throw new OAuthError('invalid_request', `Field given more than once: ${params.repeated[0]}`);
};

/** doc1 Endpoints 2 and 3: a form over a safe connection, read before anything in it is looked at. */
export const formRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  bodyIsAForm,
  formIsWellFormed,
];
/** doc1 Endpoints 4: the token may stand in the query; then any content type will do (facts 7.9, 7.10). */
export const revocationRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  formIsWellFormed,
];
