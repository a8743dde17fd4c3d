import { OAuthError } from '../errors.ts';
import type { RequestCall, Rule } from './rule.ts';
import { limits } from '../../../core/limits.ts';

/** spec/sign-in#refresh: "over HTTPS". A server with TLS takes no token over plain HTTP. */
const tokenConnectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (!request.isTls && auth.env.origin().startsWith('https:'))
    throw new OAuthError('invalid_request', 'Plain HTTP is refused: use HTTPS');
};

/** spec/sign-in#exchange to spec/sign-in#revoke: POST. */
const tokenMethodIsPost: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'POST')
    throw new OAuthError('invalid_request', `${request.method} is not supported; use POST`, 405, {
      allow: 'POST',
    });
};

/** spec/sign-in#check-5.27: a huge body or thousands of fields end here, before they are parsed. */
const bodyIsSmall: Rule<RequestCall> = ({ request, params }) => {
  if (request.body.length > limits.formBytes)
    throw new OAuthError('invalid_request', `The body must have at most ${limits.formBytes} bytes`, 413);
  if (params.count > 100) throw new OAuthError('invalid_request', 'The form must have at most 100 fields');
};

/** spec/sign-in#exchange: Content-Type application/x-www-form-urlencoded; spec/sign-in#check-5.5: JSON or no type is refused. */
const bodyIsAForm: Rule<RequestCall> = ({ request }) => {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new OAuthError('invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
};

/** RFC 6749 3.2: "parameters … MUST NOT be included more than once"; broken percent-encoding is a malformed request. */
const formIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new OAuthError('invalid_request', 'A field is not valid percent-encoded UTF-8');
  if (params.repeated.length > 0)
    throw new OAuthError('invalid_request', `Field given more than once: ${params.repeated[0]}`);
};

/** spec/sign-in#exchange and spec/sign-in#refresh: a form over a safe connection, read before anything in it is looked at. */
export const formRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  bodyIsAForm,
  formIsWellFormed,
];
/** spec/sign-in#revoke: the token may stand in the query; then any content type will do (spec/sign-in#check-7.9, spec/sign-in#check-7.10). */
export const revocationRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  formIsWellFormed,
];
