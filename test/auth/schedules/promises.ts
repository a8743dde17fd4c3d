import type { Ended } from './environment.ts';
import type { OperationName } from './operations.ts';

/** Errors that are allowed when two commands use one account. Any other error is a defect. */
const expected = new Set([
  'NOT_SIGNED_IN',
  'SIGN_IN_ENDED',
  'NO_REFRESH_TOKEN',
  'ACCOUNT_CHANGED',
  'INVALID_GRANT',
]);

const ended = ({ outcomes }: Ended, operation: OperationName) =>
  Object.entries(outcomes)
    .filter(([name]) => name.replace(/\d+$/, '') === operation)
    .map(([, outcome]) => outcome);
const succeeded = (run: Ended, operation: OperationName): boolean =>
  ended(run, operation).some(({ ok, removed }) => ok && removed !== false);

/** Returns the broken promises at the end of a schedule; an empty list if every promise was kept. */
export const brokenPromises = (run: Ended, names: readonly OperationName[]): string[] => {
  const { account, rotating, generations } = run;
  const found: string[] = [];
  const has = (operation: OperationName): boolean => names.includes(operation);
  for (const [name, { ok, code }] of Object.entries(run.outcomes))
    if (!ok && !expected.has(code ?? '')) found.push(`${name} failed with ${code}`);
  if (generations.some((generation, i) => i > 0 && generation <= (generations[i - 1] ?? 0)))
    found.push(`a generation was written twice: ${generations}`);

  const owner = account?.refreshToken === undefined ? undefined : rotating.familyOf(account.refreshToken);
  const isOver = has('logout') || has('tokenRevoked');
  // Two commands that only use the account do not sign the user out.
  if (!isOver && owner === undefined) found.push('nobody is signed in any more');
  if (
    account?.refreshToken !== undefined &&
    !rotating.isCurrent(account.refreshToken) &&
    !has('tokenRevoked')
  )
    found.push(`the stored refresh token ${account.refreshToken} is dead`);
  if (account?.accessToken !== undefined && rotating.familyOf(account.accessToken) !== owner)
    found.push('access and refresh token belong to different sign-ins');

  // A refresh of the previous sign-in never undoes a sign-in that reported success.
  if (
    succeeded(run, 'login') &&
    !succeeded(run, 'logout') &&
    !has('addScope') &&
    !has('addOther') &&
    owner?.user !== 'bob'
  )
    found.push(`bob signed in, and the account is ${owner?.user ?? 'empty'}`);
  // Added scopes are present, unless another command signed in or out.
  for (const [operation, scope] of [
    ['addScope', 'x'],
    ['addOther', 'y'],
  ] as const)
    if (succeeded(run, operation) && !has('login') && !isOver && account?.granted.includes(scope) !== true)
      found.push(`the scope ${scope} was granted and is lost`);
  if (account !== undefined && owner !== undefined && account.granted.join(' ') !== owner.scopes)
    found.push(`the account claims ${account.granted.join(' ')}, its tokens have ${owner.scopes}`);

  // After a sign-out, no token of that sign-in can be refreshed, neither here nor from a copy.
  const adas = rotating.live().filter(({ user, id }) => user === 'ada' && id === 1);
  if (succeeded(run, 'logout') && !has('login') && !has('addScope') && !has('addOther')) {
    if (account !== undefined && account.ended === undefined)
      found.push('the account is back after its sign-out');
    if (adas.length > 0) found.push('tokens stay valid after the sign-out');
  }
  if (
    has('tokenRevoked') &&
    account?.signIn === 'first' &&
    account.refreshToken !== undefined &&
    succeeded(run, 'tokenRevoked')
  )
    found.push('a revoked credential is back');
  if (
    succeeded(run, 'sessionsRevoked') &&
    account?.signIn === 'first' &&
    account.accessToken !== undefined &&
    rotating.issuedAt(account.accessToken) <= run.eventAt
  )
    found.push('the stored access token is older than the event that ended it');
  return found;
};
