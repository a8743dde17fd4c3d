/** spec/sign-in#scope: space-delimited and case-sensitive. */
export const scopesFrom = (text: string): string[] => [
  ...new Set(text.split(' ').filter((scope) => scope !== '')),
];
export const scopeText = (scopes: readonly string[]): string => scopes.join(' ');
export const union = (...lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];
export const missing = (wanted: readonly string[], granted: readonly string[]): string[] =>
  wanted.filter((scope) => !granted.includes(scope));
/**
 * spec/sign-in#token: an identity scope returns an id_token, including under the long names of real services.
 */
const identity = new Set(['openid', 'profile', 'email']);
export const isIdentity = (scope: string): boolean =>
  identity.has(scope) || /\/userinfo\.(email|profile)$/.test(scope);
export type ScopeRow = { readonly scope: string; readonly granted: boolean };
/** spec/sign-in#authentication-5: which of the asked scopes the user granted; extra ones that came along are listed too. */
export const scopeTable = (requested: readonly string[], granted: readonly string[]): ScopeRow[] =>
  union(requested, granted).map((scope) => ({ scope, granted: granted.includes(scope) }));
/** The exact line that fixes a missing scope. */
export const addScopeLine = (scopes: readonly string[], account?: string): string =>
  [
    'opsctl login',
    ...(account === undefined ? [] : [`--account ${account}`]),
    ...scopes.map((scope) => `--add-scope ${scope}`),
  ].join(' ');
/** `https://…/media.readonly` → `media.readonly`: the base differs between deployments ({scope_base}). */
export const lastPart = (scope: string): string => scope.slice(scope.lastIndexOf('/') + 1);

/** Text of strangers for the terminal: control characters, direction marks and line ends shown as codes, at most `max` characters. */
export const safeText = (text: string, max = 80): string => {
  const shown = text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
  const marks = [...shown];
  return marks.length <= max ? shown : `${marks.slice(0, max).join('')}…`;
};
