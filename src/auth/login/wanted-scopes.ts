import type { Account } from '../credential-store/account.ts';
import { isOver } from '../credential-store/compare-and-swap.ts';
import { otherServer } from '../keep-account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import type { LoginPlan } from '../login-plan.ts';
import { scopesFrom, union } from '../scopes.ts';
import type { LoginServer } from '../settings.ts';
import { fullScope, scopeName, scopeRow } from '../../api-specs/oauth/scopes.ts';
import type { Context } from '../../cli/command.ts';
import type { AskedLogin } from './asked.ts';

/** What reading commands need, and at the embedded server who signed in. */
const defaultScopes = (server: LoginServer): string[] => [
  ...(server.isMock ? ['openid', 'email'] : []),
  fullScope('media.readonly'),
];

type Wanted = Pick<LoginPlan, 'account' | 'base' | 'loginHint'> & { readonly scopes: string[] };
/** `--add-scope` keeps the union: an account loses nothing by asking for more. */
export const wanted = async (context: Context, server: LoginServer, values: AskedLogin): Promise<Wanted> => {
  // The embedded server's scopes may be named without their base.
  const scopesOf = (flag: 'scope' | 'add-scope'): string[] =>
    (values[flag] ?? [])
      .flatMap(scopesFrom)
      .map((scope) => (server.isMock && scopeRow(scope) ? fullScope(scopeName(scope)) : scope));
  const [asked, more] = [scopesOf('scope'), scopesOf('add-scope')];
  const { accounts, current } = await openCredentialStore(context, server.key).read();
  // The name of another server's account: reported before somebody signs in.
  const named = accounts.find(({ name }) => name === values.account);
  if (named !== undefined && named.server !== server.key && !isOver(named))
    throw otherServer(named.name, named, server.key);
  if (more.length === 0)
    return {
      scopes: asked.length > 0 ? asked : defaultScopes(server),
      account: values.account,
      loginHint: values['login-hint'],
    };
  const known = accounts.filter((each) => each.server === server.key);
  const before =
    known.find(({ name }) => name === (values.account ?? current)) ??
    (values.account === undefined ? known[0] : undefined);
  const kept =
    before === undefined
      ? []
      : union(
          before.granted,
          before.idToken === undefined ? [] : before.requested.filter((scope) => scope === 'openid'),
          // Servers often omit it from the granted scopes; without it the new sign-in has no refresh token.
          before.refreshToken === undefined
            ? []
            : before.requested.filter((scope) => scope === 'offline_access'),
        );
  return {
    scopes: union(kept, asked, more),
    account: values.account ?? before?.name,
    ...(before === undefined ? {} : { base: baseFrom(before) }),
    loginHint: values['login-hint'] ?? before?.email ?? before?.subject,
  };
};

const baseFrom = ({ name, signIn, subject, email }: Account) => ({ name, signIn, subject, email });
