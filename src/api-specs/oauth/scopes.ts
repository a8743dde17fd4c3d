/** spec/sign-in#scope. `{scope_base}` is open in the document; this is the embedded server's. A client may use any base: only the last part is known. */
export const scopeBase = 'https://scopes.opsctl.example/auth';

export type ScopeRow = {
  /** The last part of the scope, case-sensitive. */
  readonly name: string;
  /** spec/sign-in#scope-2. */
  readonly meaning: string;
  /** What the consent page says to the user. */
  readonly consent: string;
  readonly family: 'media' | 'labels' | 'identity';
};

export const scopeRows: readonly ScopeRow[] = [
  { name: 'media', meaning: 'manage the account', consent: 'Manage your media account', family: 'media' },
  {
    name: 'media.channel-memberships.creator',
    meaning: 'list current active channel members, their level and membership start time',
    consent: 'See the members of your channels, their level and since when they are members',
    family: 'media',
  },
  {
    name: 'media.force-ssl',
    meaning: 'view, edit and permanently delete videos, ratings, comments and captions',
    consent: 'See, edit and permanently delete your videos, ratings, comments and captions',
    family: 'media',
  },
  { name: 'media.readonly', meaning: 'view the account', consent: 'See your media account', family: 'media' },
  { name: 'media.upload', meaning: 'manage videos', consent: 'Manage your videos', family: 'media' },
  {
    name: 'mediapartner',
    meaning: 'view and manage assets and associated content',
    consent: 'See and manage your assets and their content',
    family: 'media',
  },
  {
    name: 'mediapartner-channel-audit',
    meaning: 'view private channel information relevant to partner audition',
    consent: 'See private information of your channel that matters for an audition as partner',
    family: 'media',
  },
  // spec/labels#scopes: the label service knows four scopes.
  {
    name: 'labels',
    meaning: 'view and manage labels',
    consent: 'See, make and change labels',
    family: 'labels',
  },
  { name: 'labels.readonly', meaning: 'view labels', consent: 'See labels', family: 'labels' },
  {
    name: 'admin.labels',
    meaning: 'view and manage all labels as administrator',
    consent: 'See, make and change all labels of your organization',
    family: 'labels',
  },
  {
    name: 'admin.labels.readonly',
    meaning: 'view all labels as administrator',
    consent: 'See all labels of your organization',
    family: 'labels',
  },
  // spec/sign-in#token: id_token for "an identity scope such as openid, profile or email".
  {
    name: 'openid',
    meaning: 'know who the user is',
    consent: 'Know who you are on this service',
    family: 'identity',
  },
  { name: 'profile', meaning: 'view name and picture', consent: 'See your name', family: 'identity' },
  {
    name: 'email',
    meaning: 'view the e-mail address',
    consent: 'See your e-mail address',
    family: 'identity',
  },
];

const byName = new Map(scopeRows.map((row) => [row.name, row]));
const BASE = /^(?:https:\/\/[^\s/]+(?:\/[^\s/]+)*\/|\{scope_base\}\/)/;

/** `https://host/auth/media.readonly` → `media.readonly`; identity and bare scopes stay as they are. */
export const scopeName = (scope: string): string => scope.replace(BASE, '');
/** The row of a scope as it was asked for; undefined when the service does not know it. Case counts (spec/sign-in#scope). */
export const scopeRow = (scope: string): ScopeRow | undefined => {
  const row = byName.get(scopeName(scope));
  // Identity scopes have no base.
  return row?.family === 'identity' && row.name !== scope ? undefined : row;
};
/** The full form of a scope's name: `media.readonly` → `{scope_base}/media.readonly`. */
export const fullScope = (name: string): string =>
  byName.get(name)?.family === 'identity' ? name : `${scopeBase}/${name}`;
export const allScopes: readonly string[] = scopeRows.map(({ name }) => fullScope(name));
export const isIdentityScope = (scope: string): boolean => byName.get(scope)?.family === 'identity';
/** A space-delimited list without empty and repeated entries, in its own order. */
export const splitScopes = (text: string): string[] => [
  ...new Set(text.split(' ').filter((scope) => scope !== '')),
];
