import { parseUrl } from '../../core/external-url.ts';
import { instantNow } from '../../auth/auth-context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, duration, list, oneOf, str } from '../../core/field.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { nothing, recordResult } from '../../core/result.ts';
import type { AccessToken } from '../../auth/token.ts';
import { accountFlag } from './account.ts';

const describeToken = (found: AccessToken, nowMs: number) => ({
  access_token: found.token,
  token_type: found.prover === undefined ? 'Bearer' : 'DPoP',
  expires_in: found.expiresMs === undefined ? null : Math.floor((found.expiresMs - nowMs) / 1000),
  expires_at: found.expiresMs === undefined ? null : new Date(found.expiresMs).toISOString(),
  scope: found.account?.granted.join(' ') ?? null,
  account: found.account?.name ?? null,
});
export const token = defineCommand({
  path: ['auth', 'token'],
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Print an access token or identity token for scripts',
  about:
    'Refreshes the token first if it expires before --min-ttl. Prints the token to standard output only.',
  flags: {
    account: accountFlag,
    'min-ttl': {
      field: duration(),
      value: 'duration',
      summary: 'Minimum remaining lifetime, for example 10m',
    },
    // A separate flag: for other commands a pipe means JSON, here it means the bare token.
    output: {
      field: oneOf('text', 'json'),
      short: 'o',
      value: 'text|json',
      summary: 'Print only the token, or the token with its scopes and expiry',
    },
    'id-token': { field: bool(), summary: 'Print the identity token instead of the access token' },
    scope: {
      field: list(str()),
      repeat: true,
      value: 'scope',
      summary: 'Fail unless one of these scopes is granted',
    },
  },
  examples: [
    { line: 'opsctl auth token --min-ttl 10m', says: 'Print a token that is valid for at least ten minutes' },
    {
      line: 'curl -H "Authorization: Bearer $(opsctl auth token)" …',
      says: 'Pass the token to another program',
    },
    { line: 'opsctl auth token -o json', says: 'Print the token with its scopes and expiry' },
  ],
  run: async (context, values) => {
    const { accessToken } = await import('../../auth/token.ts');
    const { parseDuration } = await import('../../core/format.ts');
    const minTtlMs = values['min-ttl'] === undefined ? 0 : parseDuration(values['min-ttl'], '--min-ttl');
    if (values['id-token'] === true) {
      const { idTokenOf } = await import('../../auth/token.ts');
      const {
        token: idToken,
        expiresMs,
        account,
      } = await idTokenOf(context, { account: values.account, minTtlMs });
      const shown = {
        id_token: idToken,
        expires_at: new Date(expiresMs).toISOString(),
        account: account.name,
      };
      await context.host.terminal.stdout.write(
        `${values.output === 'json' ? JSON.stringify(shown, null, 2) : idToken}\n`,
      );
      return nothing();
    }
    const found = await accessToken(context, { minTtlMs, scopes: values.scope, account: values.account });
    if (found.prover !== undefined)
      context.log.warn(
        'This token is bound to a key (DPoP): a server rejects it without a proof for each request. `opsctl auth header --url URL` prints both.',
      );
    // Results are redacted by value. This is the only command that prints the requested secret.
    await context.host.terminal.stdout.write(
      `${values.output === 'json' ? JSON.stringify(describeToken(found, context.host.now()), null, 2) : found.token}\n`,
    );
    return nothing();
  },
});

/** The header of a token, and the proof of a bound one. A proof needs a URL. */
const headerLines = async (
  found: AccessToken,
  {
    url,
    method = 'GET',
    nonce,
  }: { readonly url?: string; readonly method?: string; readonly nonce?: string },
): Promise<readonly string[]> => {
  const { authorizationOf, refuseBound } = await import('../../auth/token.ts');
  const authorization = `Authorization: ${authorizationOf(found)}`;
  if (found.prover === undefined) return [authorization];
  if (url === undefined) refuseBound(found, 'a header without --url');
  if (!/^https?:$/.test(parseUrl(url ?? '')?.protocol ?? ''))
    throw invalidArguments([problem('--url', 'format', 'must be an http or https URL')]);
  const request = { method: method.toUpperCase(), url: url ?? '', headers: {} };
  if (nonce !== undefined)
    found.prover.notesNonce(request.url, { headers: { 'dpop-nonce': nonce }, text: '' });
  const { headers = {} } = found.prover.prove<Parameters<typeof found.prover.prove>[0]>(request);
  return [authorization, `DPoP: ${headers.dpop ?? ''}`];
};
export const header = defineCommand({
  path: ['auth', 'header'],
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Print an Authorization header for another program',
  about:
    'Prints one line for a file or a pipe, so that the token does not appear in a process list. For a token that is bound to a key (DPoP), prints a second line with the proof for one request to --url with --method.',
  flags: {
    account: accountFlag,
    url: {
      effects: [],
      field: str(2000, { min: 1 }),
      value: 'url',
      summary: 'URL of the request, for the proof of a token that is bound to a key',
    },
    method: {
      effects: [],
      field: str(20, { min: 1 }),
      value: 'method',
      summary: 'HTTP method of the request (default GET)',
    },
    nonce: {
      effects: [],
      field: str(1024, { min: 1 }),
      value: 'nonce',
      summary: 'Nonce that the server sent in its DPoP-Nonce header',
    },
    'min-ttl': { field: duration(), value: 'duration', summary: 'Minimum remaining lifetime of the token' },
  },
  examples: [
    {
      line: 'opsctl auth header | curl -H @- https://api.example.com/',
      says: 'Let curl read the header from a pipe',
    },
    {
      line: 'opsctl auth header --url https://api.example.com/items | curl -H @- https://api.example.com/items',
      says: 'Send a token that is bound to a key, with the proof for this request',
    },
  ],
  run: async (context, values) => {
    const { parseDuration } = await import('../../core/format.ts');
    const { accessToken } = await import('../../auth/token.ts');
    const minTtlMs = values['min-ttl'] === undefined ? 0 : parseDuration(values['min-ttl'], '--min-ttl');
    const found = await accessToken(context, { account: values.account, minTtlMs });
    const lines = await headerLines(found, values);
    await context.host.terminal.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return nothing();
  },
});

export const inspect = defineCommand({
  path: ['auth', 'inspect'],
  summary: 'Decode a JWT and show its header and claims',
  about:
    'Reads the token of the account, or a token from standard input. Does not verify the signature and does not print the token.',
  flags: {
    account: accountFlag,
    'id-token': {
      effects: [],
      field: bool(),
      summary: 'Decode the identity token of the account instead of the access token',
    },
    stdin: { effects: ['reads', 'sends'], field: bool(), summary: 'Read the token from standard input' },
  },
  examples: [
    { line: 'opsctl auth inspect --id-token', says: 'Show the user, the issuer and the expiry' },
    {
      line: 'printenv OPSCTL_IDENTITY_TOKEN | opsctl auth inspect --stdin',
      says: 'Show the claims of a CI job token',
    },
  ],
  run: async (context, values) => {
    const { jwtView } = await import('../../auth/sign-jwt.ts');
    const now = context.host.now();
    const readGivenToken = async (): Promise<string> => {
      if (values.stdin === true)
        return (await import('../../auth/read-secret.ts')).readSecret(context.host, 'stdin');
      if (values['id-token'] === true) {
        const { idTokenOf } = await import('../../auth/token.ts');
        return (await idTokenOf(context, { account: values.account, minTtlMs: 0 })).token;
      }
      const { accessToken } = await import('../../auth/token.ts');
      return (await accessToken(context, { account: values.account })).token;
    };
    return recordResult(jwtView(await readGivenToken(), now));
  },
});

export const refresh = defineCommand({
  path: ['auth', 'refresh'],
  summary: 'Get a new access token now',
  flags: { account: accountFlag },
  examples: [{ line: 'opsctl auth refresh', says: 'Refresh a token that is still valid' }],
  run: async (context, values) => {
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { renewAccount: renewed } = await import('../../auth/renew.ts');
    const { describeAccount, lifeText } = await import('../../auth/credential-store/account.ts');
    const stored = await storedAccount(context, values.account);
    if (context.isDryRun) {
      const { shownRequests } = await import('./account.ts');
      return shownRequests(
        context,
        [stored],
        (await import('../../auth/protocol/token-client.ts')).refreshRequest,
      );
    }
    const account = await renewed(context, stored, { minTtlMs: 0, force: true });
    return recordResult(describeAccount(account, instantNow(context.host)), {
      message: `${account.name}: ${lifeText(account, instantNow(context.host))}`,
      name: 'account',
    });
  },
});
