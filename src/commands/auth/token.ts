import { bool, duration, list, oneOf, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

export const token = defineCommand({
  path: ['auth', 'token'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Print an access token, or the identity token, for scripts',
  about:
    'The token is refreshed first when it would end before --min-ttl. The token goes to standard output and nowhere else.',
  flags: {
    account: accountFlag,
    'min-ttl': {
      field: duration(),
      value: 'duration',
      summary: 'The token must live at least this long, for example 10m',
    },
    // Its own flag: a pipe means json elsewhere, and here it means the bare token.
    output: {
      field: oneOf('text', 'json'),
      short: 'o',
      value: 'text|json',
      summary: 'The token alone, or with its scopes and its end',
    },
    'id-token': { field: bool(), summary: 'The identity token in place of the access token' },
    scope: {
      field: list(str()),
      repeat: true,
      value: 'scope',
      summary: 'Fail unless one of these scopes was granted',
    },
  },
  examples: [
    { line: 'opsctl auth token --min-ttl 10m', says: 'A token that is good for ten minutes at least' },
    { line: 'curl -H "Authorization: Bearer $(opsctl auth token)" …', says: 'With another program' },
    { line: 'opsctl auth token -o json', says: 'With its scopes and its end' },
  ],
  run: async (context, values) => {
    const { accessToken } = await import('../../auth/token.ts');
    const { parseDuration } = await import('../../core/duration.ts');
    const minTtlMs = values['min-ttl'] === undefined ? 0 : parseDuration(values['min-ttl'], '--min-ttl');
    if (values['id-token'] === true) {
      const { idTokenOf } = await import('../../auth/id-token.ts');
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
    const expiresIn =
      found.expiresMs === undefined ? null : Math.floor((found.expiresMs - context.host.now()) / 1000);
    const asJson = {
      access_token: found.token,
      token_type: found.account?.tokenType ?? 'Bearer',
      expires_in: expiresIn,
      expires_at: found.expiresMs === undefined ? null : new Date(found.expiresMs).toISOString(),
      scope: found.account?.granted.join(' ') ?? null,
      account: found.account?.name ?? null,
    };
    // Results are redacted by value; this one is the single place where the secret is what was asked for.
    await context.host.terminal.stdout.write(
      `${values.output === 'json' ? JSON.stringify(asJson, null, 2) : found.token}\n`,
    );
    return nothing();
  },
});
