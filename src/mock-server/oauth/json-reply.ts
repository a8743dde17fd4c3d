import { tokenErrors } from '../../api-specs/oauth/errors.ts';
import type { MockReply } from '../service.ts';
import type { OAuthError } from './errors.ts';

/** RFC 6749 5.1: answers that carry tokens are never cached. spec/sign-in#check-12.11: no Access-Control-Allow-Origin anywhere. */
const headers = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
};

export const jsonReply = (
  status: number,
  body: unknown,
  more: Readonly<Record<string, string>> = {},
): MockReply => ({
  status,
  headers: { ...headers, ...more },
  body: JSON.stringify(body),
});

/** spec/sign-in#errors-10: `{"error","error_description"}`; never a token, secret or verifier in it. */
export const oauthErrorReply = (refusal: OAuthError): MockReply =>
  jsonReply(
    refusal.status ?? tokenErrors[refusal.code].status,
    {
      error: refusal.code,
      error_description: refusal.message,
      ...(refusal.subtype === undefined ? {} : { error_subtype: refusal.subtype }),
    },
    refusal.headers,
  );
