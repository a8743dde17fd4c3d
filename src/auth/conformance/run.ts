import { cutText } from '../../core/problem.ts';
import {
  errorInLocation,
  open,
  type Probe,
  requestTo,
  type Check,
  leadsTo,
  outcome,
  type Row,
  goodVerifier,
  errorOf,
  type Outcome,
} from '../probe.ts';
import type { HttpResponse } from '../protocol/token-client.ts';

type Fields = Readonly<Record<string, string | undefined>>;
const secretCode = 'opsctl-conformance-code-7f3a';

const exchangeFields = (probe: Probe): Fields => ({
  client_id: probe.server.clientId,
  client_secret: probe.server.clientSecret,
  code: secretCode,
  code_verifier: goodVerifier,
  grant_type: 'authorization_code',
  redirect_uri: probe.redirectUri,
});
const refreshFields = (probe: Probe): Fields => ({
  client_id: probe.server.clientId,
  client_secret: probe.server.clientSecret,
  grant_type: 'refresh_token',
  refresh_token: 'opsctl-conformance-refresh-token-7f3a',
});

const form = (fields: Fields): string =>
  new URLSearchParams(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  ).toString();

const post = (
  probe: Probe,
  body: string,
  type = 'application/x-www-form-urlencoded',
): Promise<HttpResponse> =>
  probe.send({
    method: 'POST',
    url: probe.server.endpoints.token,
    headers: { 'content-type': type, accept: 'application/json' },
    body,
  });

const refusedWith =
  (...errors: string[]) =>
  (read: HttpResponse): Outcome =>
    outcome((read.status === 400 || read.status === 401) && errors.includes(errorOf(read) ?? ''), read);

const check = (
  id: string,
  says: string,
  source: string,
  body: (probe: Probe) => string,
  judge: (read: HttpResponse) => Outcome,
): Check => ({
  id,
  says,
  source,
  run: async (probe) => judge(await post(probe, body(probe))),
});
const exchange =
  (changes: Fields = {}) =>
  (probe: Probe) =>
    form({ ...exchangeFields(probe), ...changes });
const refresh =
  (changes: Fields = {}) =>
  (probe: Probe) =>
    form({ ...refreshFields(probe), ...changes });

const tokenChecks: readonly Check[] = [
  check(
    'T1',
    'an unknown code: invalid_grant',
    'spec/sign-in#errors-6',
    exchange(),
    refusedWith('invalid_grant'),
  ),
  check(
    'T2',
    'an unknown refresh token: invalid_grant',
    'spec/sign-in#errors-6',
    refresh(),
    refusedWith('invalid_grant'),
  ),
  check(
    'T3',
    'no grant_type: invalid_request',
    'RFC 6749 5.2',
    exchange({ grant_type: undefined }),
    refusedWith('invalid_request', 'unsupported_grant_type'),
  ),
  check(
    'T4',
    'an unknown grant_type: unsupported_grant_type',
    'RFC 6749 5.2',
    exchange({ grant_type: 'opsctl' }),
    refusedWith('unsupported_grant_type'),
  ),
  check(
    'T5',
    'no code: invalid_request',
    'RFC 6749 5.2',
    exchange({ code: undefined }),
    refusedWith('invalid_request', 'invalid_grant'),
  ),
  check(
    'T6',
    'no refresh token: invalid_request',
    'RFC 6749 5.2',
    refresh({ refresh_token: undefined }),
    refusedWith('invalid_request'),
  ),
  check(
    'T7',
    'an unknown client: invalid_client',
    'RFC 6749 5.2',
    exchange({ client_id: 'opsctl-conformance-no-such-client' }),
    refusedWith('invalid_client'),
  ),
  check(
    'T8',
    'a field given twice: invalid_request',
    'RFC 6749 3.2',
    (probe) => `${exchange()(probe)}&code=other`,
    refusedWith('invalid_request'),
  ),
  {
    id: 'T9',
    says: 'JSON in place of a form is refused',
    source: 'spec/sign-in#exchange',
    run: async (probe) => {
      const read = await post(probe, JSON.stringify(exchangeFields(probe)), 'application/json');
      return outcome(read.status >= 400 && read.status < 500, read);
    },
  },
  {
    id: 'T10',
    says: 'GET is refused',
    source: 'spec/sign-in#exchange',
    run: async (probe) => {
      const read = await probe.send({
        method: 'GET',
        url: `${probe.server.endpoints.token}?${exchange()(probe)}`,
        headers: { accept: 'application/json' },
      });
      return outcome(read.status >= 400 && read.status < 500, read);
    },
  },
  check('T11', 'errors are JSON', 'RFC 6749 5.2', exchange(), (read) => ({
    holds: /^application\/json\b/i.test(read.headers['content-type'] ?? '') && errorOf(read) !== undefined,
    saw: cutText(read.headers['content-type'] ?? 'no content type', 60),
  })),
  check('T12', 'responses are not cached', 'RFC 6749 5.1', exchange(), (read) => ({
    holds: /no-store/.test(read.headers['cache-control'] ?? ''),
    saw: read.headers['cache-control'] ?? 'no cache-control',
  })),
  check('T13', 'errors do not repeat the code', 'RFC 9700 4.2', exchange(), (read) => ({
    holds: !read.text.includes(secretCode),
    saw: `HTTP ${read.status}`,
  })),
];

const revoke = (probe: Probe, query: string, body = ''): Promise<HttpResponse> =>
  probe.send({
    method: 'POST',
    url: `${probe.server.endpoints.revoke}${query}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  });

const revokeChecks: readonly Check[] = [
  {
    id: 'V1',
    says: 'an unknown token: 400 with an error code',
    source: 'spec/sign-in#revoke',
    run: async (probe) => {
      const read = await revoke(probe, '?token=opsctl-conformance-token');
      return outcome(read.status === 400 && errorOf(read) !== undefined, read);
    },
  },
  {
    id: 'V2',
    says: 'no token: 400',
    source: 'RFC 7009 2.2.1',
    run: async (probe) => {
      const read = await revoke(probe, '', form({ client_id: probe.server.clientId }));
      return outcome(read.status === 400, read);
    },
  },
  {
    id: 'V3',
    says: 'GET is refused',
    source: 'spec/sign-in#revoke',
    run: async (probe) => {
      const read = await probe.send({
        method: 'GET',
        url: `${probe.server.endpoints.revoke}?token=opsctl-conformance-token`,
      });
      return outcome(read.status >= 400, read);
    },
  },
];

type Changes = Readonly<Record<string, string | undefined>>;
/**
 * Accepted: a page for the user, a redirect to such a page, or an error at the redirect URI that only
 * requires a user.
 */
const isWelcome = (error: string | undefined): boolean =>
  error === undefined ||
  ['login_required', 'interaction_required', 'consent_required', 'account_selection_required'].includes(
    error,
  );
const accepts = (id: string, says: string, source: string, changes: Changes = {}): Check => ({
  id,
  says,
  source,
  run: async (probe) => {
    const read = await open(probe, requestTo(probe, changes));
    return outcome(read.status < 400 && isWelcome(errorInLocation(read.headers.location)), read);
  },
});
/** Refused with a page, never by sending the browser to an address that was not checked. */
const refusesWithPage = (
  id: string,
  says: string,
  source: string,
  url: (probe: Probe) => string,
  strange?: string,
): Check => ({
  id,
  says,
  source,
  run: async (probe) => {
    const read = await open(probe, url(probe));
    const isSent = strange !== undefined && leadsTo(read, strange);
    return outcome(read.status >= 400 && !isSent && !leadsTo(read, probe.redirectUri), read);
  },
});
/** Refused with a page or by an error at the redirect URI. */
const refuses = (id: string, says: string, source: string, url: (probe: Probe) => string): Check => ({
  id,
  says,
  source,
  run: async (probe) => {
    const read = await open(probe, url(probe));
    const error = errorInLocation(read.headers.location);
    return outcome(read.status >= 400 || (error !== undefined && !isWelcome(error)), read);
  },
});
const but = (changes: Changes) => (probe: Probe) => requestTo(probe, changes);
const authorizationChecks: readonly Check[] = [
  accepts('A1', 'a right request is accepted', 'spec/sign-in#authorize'),
  accepts('A2', 'login_hint of an unknown user does no harm', 'spec/sign-in#authorize', {
    login_hint: 'nobody@unknown.example',
  }),
  accepts('A3', 'unknown parameters are ignored', 'RFC 6749 3.1', { opsctl_unknown: '1' }),
  accepts('A4', 'a state of every printable character is accepted', 'spec/sign-in#authorize', {
    state: '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~ AZaz09',
  }),
  refusesWithPage('A5', 'no client_id', 'RFC 6749 4.1.2.1', but({ client_id: undefined })),
  refusesWithPage(
    'A6',
    'an unknown client',
    'RFC 6749 4.1.2.1',
    but({ client_id: 'opsctl-conformance-no-such-client' }),
  ),
  refusesWithPage(
    'A7',
    'a redirect URI of a stranger',
    'spec/sign-in#errors-7',
    but({ redirect_uri: 'https://stranger.example/cb' }),
    'https://stranger.example',
  ),
  refusesWithPage(
    'A8',
    'a host that only starts like a loopback host',
    'spec/sign-in#redirect',
    but({ redirect_uri: 'http://127.0.0.1.stranger.example/' }),
    'http://127.0.0.1.stranger',
  ),
  refusesWithPage(
    'A9',
    'a user name in the redirect URI',
    'spec/sign-in#authorize',
    but({ redirect_uri: 'http://127.0.0.1@stranger.example/' }),
    'http://127.0.0.1@',
  ),
  refusesWithPage(
    'A10',
    'the retired out-of-band redirect',
    'spec/sign-in#versions-2',
    but({ redirect_uri: 'urn:ietf:wg:oauth:2.0:oob' }),
    'urn:',
  ),
  refuses('A11', 'response_type token', 'spec/sign-in#authorize', but({ response_type: 'token' })),
  refuses('A12', 'no response_type', 'RFC 6749 3.1.1', but({ response_type: undefined })),
  refuses(
    'A13',
    'a parameter given twice',
    'RFC 6749 3.1',
    (probe) => `${requestTo(probe)}&client_id=${encodeURIComponent(probe.server.clientId)}`,
  ),
  refuses(
    'A14',
    'a S256 challenge of the wrong length',
    'spec/sign-in#pkce-2',
    but({ code_challenge: 'abc' }),
  ),
  refuses('A15', 'an unknown challenge method', 'RFC 7636 4.4.1', but({ code_challenge_method: 'S512' })),
  refuses('A16', 'no scope', 'spec/sign-in#authorize', but({ scope: undefined })),
  refuses(
    'A17',
    'an unknown scope',
    'spec/sign-in#scope',
    but({ scope: 'opsctl-conformance-no-such-scope' }),
  ),
  {
    id: 'A18',
    says: 'the pages cannot be framed',
    source: 'RFC 6749 10.13',
    run: async (probe) => {
      const read = await open(probe, requestTo(probe, { client_id: undefined }));
      const framed =
        /frame-ancestors '(none|self)'/.test(read.headers['content-security-policy'] ?? '') ||
        /deny|sameorigin/i.test(read.headers['x-frame-options'] ?? '');
      return { holds: framed, saw: framed ? 'framing is forbidden' : 'no rule against framing' };
    },
  },
  {
    id: 'A19',
    says: 'an embedded web view is refused',
    source: 'spec/sign-in#errors-3',
    run: async (probe) => {
      const agent =
        'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36';
      const read = await open(probe, requestTo(probe), agent);
      return outcome(read.status >= 400, read);
    },
  },
  {
    id: 'A20',
    says: 'parameters are escaped in error pages',
    source: 'RFC 9700 4.18',
    run: async (probe) => {
      const read = await open(
        probe,
        requestTo(probe, {
          client_id: '"><script>opsctl()</script>',
          redirect_uri: 'https://x.example/"><script>opsctl()</script>',
        }),
      );
      return { holds: !read.text.includes('<script>opsctl()'), saw: `HTTP ${read.status}` };
    },
  },
];

export const conformanceChecks: readonly Check[] = [...authorizationChecks, ...tokenChecks, ...revokeChecks];
/** A check whose request fails has failed. The other checks continue. */
export const rowOf = async (check: Check, probe: Probe): Promise<Row> => {
  const { id, says, source } = check;
  try {
    return { id, ...(await check.run(probe)), says, source };
  } catch (error) {
    return {
      id,
      holds: false,
      says,
      source,
      saw: error instanceof Error ? cutText(error.message, 120) : 'failed',
    };
  }
};
