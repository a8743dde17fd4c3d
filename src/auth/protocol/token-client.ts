import type { HttpRequest } from '../../platform/host.ts';
import type { ClientAuthentication } from '../../core/sign-in-words.ts';
import type { Endpoints } from '../endpoints.ts';
import type { Tolerance } from './tolerances.ts';

/** Both sides of a token request. `issuer` and `jwksUri` are there after discovery. */
export type TokenClient = {
  readonly endpoints: Endpoints;
  readonly clientId: string;
  /** spec/sign-in#client: only some types have one. */
  readonly clientSecret?: string;
  /** How the secret is sent (default: in the body). */
  readonly clientAuth?: ClientAuthentication;
  /** A signature for one request, where the client has a key in place of a secret. */
  readonly assertion?: string;
  readonly issuer?: string;
  readonly jwksUri?: string;
};

/** An answer read to its end; the checks need no network any more. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How the transfer deviated from the standards. */
  readonly deviations?: readonly Tolerance[];
};

/** spec/sign-in#exchange to spec/sign-in#revoke: form-encoded, the client named in the body, the secret sent by clients that have one. */
export const formRequest = (
  url: string,
  fields: Readonly<Record<string, string | undefined>>,
): HttpRequest => {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value);
  return {
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'accept-encoding': 'identity',
    },
    body: form.toString(),
    maxReplyBytes: 1024 * 1024,
  };
};
