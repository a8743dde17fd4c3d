import type { HttpResponse } from '../protocol/token-client.ts';
import { goodVerifier, type Probe } from '../probe.ts';
import { type Check, errorOf, outcome, type Outcome } from './check.ts';

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

export const tokenChecks: readonly Check[] = [
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
    saw: (read.headers['content-type'] ?? 'no content type').slice(0, 60),
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

export const revokeChecks: readonly Check[] = [
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
