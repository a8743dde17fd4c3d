/** doc1 Scope: space-delimited and case-sensitive. */
export const scopesFrom = (text: string): string[] => [...new Set(text.split(' ').filter((scope) => scope !== ''))];

export const scopeText = (scopes: readonly string[]): string => scopes.join(' ');

export const union = (...lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];

export const missing = (wanted: readonly string[], granted: readonly string[]): string[] => wanted.filter((scope) => !granted.includes(scope));

/** Identity scopes come back under other names or not at all: they show in the id_token. */
const identity = new Set(['openid', 'profile', 'email']);
export const isIdentity = (scope: string): boolean => identity.has(scope) || /\/auth\/userinfo\.(email|profile)$/.test(scope);

export type ScopeRow = { readonly scope: string; readonly granted: boolean };

/** doc1 Authentication 5: which of the asked scopes the user granted; extra ones that came along are listed too. */
export const scopeTable = (requested: readonly string[], granted: readonly string[]): ScopeRow[] =>
  union(requested, granted).map((scope) => ({ scope, granted: granted.includes(scope) }));

/** The exact line that mends a missing scope. */
export const addScopeLine = (scopes: readonly string[], account?: string): string =>
  ['opsctl login', ...(account === undefined ? [] : [`--account ${account}`]), ...scopes.map((scope) => `--add-scope ${scope}`)].join(' ');

/** doc1 Scope table, without the prefix: what the data API offers. */
export const mediaScopes = [
  'media',
  'media.channel-memberships.creator',
  'media.force-ssl',
  'media.readonly',
  'media.upload',
  'mediapartner',
  'mediapartner-channel-audit',
] as const;

/** A broader scope of the same family covers reading: `…/media` and `…/media.force-ssl` cover `…/media.readonly`. */
export const covers = (granted: readonly string[], wanted: string): boolean => {
  if (granted.includes(wanted)) return true;
  if (!wanted.endsWith('/media.readonly')) return false;
  const base = wanted.slice(0, -'/media.readonly'.length);
  return granted.includes(`${base}/media`) || granted.includes(`${base}/media.force-ssl`);
};
