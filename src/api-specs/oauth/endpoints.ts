import { type Field, bool, help, int, list, map, maybe, any, record, req, str } from '../../core/field.ts';
import { type Service, type Table, op } from '../../core/operation.ts';

/** Paths of the authorization service; spec/sign-in#authorize. The token and revoke paths carry no version (spec/sign-in#versions). */
export const authPaths = {
  authorize: '/o/oauth2/v2/auth',
  token: '/token',
  revoke: '/revoke',
  keys: '/oauth2/certs',
  userinfo: '/oauth2/userinfo',
  metadata: '/.well-known/oauth-authorization-server',
  openidMetadata: '/.well-known/openid-configuration',
  media: '/media/v3',
  device: '/device/code',
  /** Authorization requests are pushed here (RFC 9126). */
  pushed: '/par',
  devicePage: '/device',
  /** A simulated CI system that issues identity tokens to its jobs. */
  ci: '/ci',
  console: '/__opsctl/oauth',
} as const;
/** spec/sign-in#pkce. */
export const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/;
export const s256ChallengePattern = /^[A-Za-z0-9_-]{43}$/;
export const challengeMethods = ['S256', 'plain'] as const;
/** spec/sign-in#authorize to spec/sign-in#revoke: the parameters and fields of each endpoint. */
export const oauthParams = {
  authorize: [
    'client_id',
    'redirect_uri',
    'response_type',
    'scope',
    'code_challenge',
    'code_challenge_method',
    'state',
    'login_hint',
  ],
  exchange: ['client_id', 'client_secret', 'code', 'code_verifier', 'grant_type', 'redirect_uri'],
  refresh: ['client_id', 'client_secret', 'grant_type', 'refresh_token'],
  revoke: ['token'],
} as const;
/** Beyond the document: OpenID Connect's nonce, a narrower scope at refresh (RFC 6749 6), the integrity check, and the fields of RFC 7523, 8693 and 8628. */
type Further =
  | 'nonce'
  | 'scope'
  | 'integrity_token'
  | 'assertion'
  | 'client_assertion'
  | 'client_assertion_type'
  | 'subject_token'
  | 'subject_token_type'
  | 'requested_token_type'
  | 'audience'
  | 'device_code'
  | 'user_code'
  | 'dpop_jkt'
  | 'response_mode'
  | 'request_uri';
/**
 * The names of checks that the mock server may apply to a request. The compiler rejects a name that is not in
 * a list.
 */
export type OauthParam = (typeof oauthParams)[keyof typeof oauthParams][number] | Further;

/** spec/sign-in#scope. `{scope_base}` is open in the document; this is the embedded server's. A client may use any base: only the last part is known. */
export const scopeBase = 'https://scopes.opsctl.example/auth';
export type ScopeRow = {
  /** The last part of the scope, case-sensitive. */
  readonly name: string;
  /** spec/sign-in#scope-2. */
  readonly meaning: string;
  /** The error message of the consent page. */
  readonly consent: string;
  readonly family: 'media' | 'labels' | 'identity';
};
export const scopeRows: readonly ScopeRow[] = [
  { name: 'media', meaning: 'manage the account', consent: 'Manage your media account', family: 'media' },
  {
    name: 'media.channel-memberships.creator',
    meaning: 'list current active channel members, their level and membership start time',
    consent: 'See the members of your channels, their levels and when they joined',
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
    consent: 'See private information about your channel for a partner audition',
    family: 'media',
  },
  // spec/labels#scopes: the label service knows four scopes.
  {
    name: 'labels',
    meaning: 'view and manage labels',
    consent: 'See, create and change labels',
    family: 'labels',
  },
  { name: 'labels.readonly', meaning: 'view labels', consent: 'See labels', family: 'labels' },
  {
    name: 'admin.labels',
    meaning: 'view and manage all labels as administrator',
    consent: 'See, create and change all labels of your organization',
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
    meaning: 'view the email address',
    consent: 'See your email address',
    family: 'identity',
  },
];
const byName = new Map(scopeRows.map((row) => [row.name, row]));
const BASE = /^(?:https:\/\/[^\s/]+(?:\/[^\s/]+)*\/|\{scope_base\}\/)/;
/** `https://host/auth/media.readonly` → `media.readonly`; identity and bare scopes stay as they are. */
export const scopeName = (scope: string): string => scope.replace(BASE, '');
/**
 * Returns the row of a requested scope; undefined if the service does not know the scope. Case is significant
 * (spec/sign-in#scope).
 */
export const scopeRow = (scope: string): ScopeRow | undefined => {
  const row = byName.get(scopeName(scope));
  // Identity scopes have no base.
  return row?.family === 'identity' && row.name !== scope ? undefined : row;
};
/** The full form of a scope's name: `media.readonly` → `{scope_base}/media.readonly`. */
export const fullScope = (name: string): string =>
  byName.get(name)?.family === 'identity' ? name : `${scopeBase}/${name}`;
export const knownScopes: readonly string[] = scopeRows.map(({ name }) => fullScope(name));
export const isIdentityScope = (scope: string): boolean => byName.get(scope)?.family === 'identity';
/** A space-delimited list without empty and repeated entries, in its own order. */
export const splitScopes = (text: string): string[] => [
  ...new Set(text.split(' ').filter((scope) => scope !== '')),
];

/**
 * Well-known values of the demo. `mock serve` prints the passwords and the secret, which protect no real
 * data.
 */
export const demo = {
  project: 'demo-project',
  clients: {
    desktop: '417000000001-demodesktop000000000000000000000.apps.opsctl.example',
    desktopWithSecret: '417000000001-demosecret0000000000000000000000.apps.opsctl.example',
    mobileA: '417000000001-demomobilea000000000000000000000.apps.opsctl.example',
    mobileB: '417000000001-demomobileb000000000000000000000.apps.opsctl.example',
    universal: '417000000001-demouniversal0000000000000000000.apps.opsctl.example',
    extension: '417000000001-demoextension0000000000000000000.apps.opsctl.example',
  },
  secret: 'OCS-demo-secret-that-protects-nothing',
  users: [
    {
      id: '100001000000000000001',
      email: 'ada@demo.example',
      name: 'Ada Demo',
      password: 'ada-demo',
      organization: 'demo.example',
      channels: 1,
    },
    {
      id: '100002000000000000002',
      email: 'bob@demo.example',
      name: 'Bob Demo',
      password: 'bob-demo',
      channels: 2,
    },
  ],
  /** Owns content, so that it may use the data API; the embedded CI's jobs of demo/* may act as it. */
  serviceAccount: { id: '100003000000000000003', email: 'ci@demo.example', name: 'Demo CI' },
  ci: { audience: 'opsctl-demo', subjects: ['repo:demo/*', 'project_path:demo/*'] },
  scopes: ['media', 'media.readonly', 'media.upload', 'openid', 'email', 'profile'].map(fullScope),
} as const;

const page = record('Page', { totalResults: int(), resultsPerPage: int() });
const listOf = <const F extends Field>(name: string, item: F) =>
  record(name, { kind: str(), etag: str(), pageInfo: page, items: list(item) });
/** spec/sign-in: "Payload shapes of the data API resources: not shown"; every resource has kind, id and one object for each part asked for. */
const resource = (name: string) =>
  record(name, {
    kind: str(),
    id: str(),
    snippet: maybe(map(any())),
    status: maybe(map(any())),
    statistics: maybe(map(any())),
    auditDetails: maybe(map(any())),
    contentDetails: maybe(map(any())),
  });

const part = req(
  help(
    str(),
    'Parts of the response, separated by commas: id, snippet, status, statistics, contentDetails; channels also auditDetails',
  ),
);
const mine = help(bool(), 'Only resources of the signed-in user');

/** spec/sign-in#data-api: the data API. */
export const mediaTable = {
  channels: {
    list: op({
      method: 'GET',
      path: '/channels',
      summary: 'List channels',
      cites: 'spec/sign-in#data-api',
      query: { part, mine, id: help(str(), 'Channel IDs, separated by commas') },
      ok: 200,
      returns: listOf('ChannelList', resource('Channel')),
      cli: { columns: ['id', 'snippet.title', 'statistics.videoCount'] },
    }),
  },
  members: {
    list: op({
      method: 'GET',
      path: '/members',
      summary: 'List active channel members with level and start time',
      cites: 'spec/sign-in#scope-2',
      query: { part },
      ok: 200,
      returns: listOf('MemberList', resource('Member')),
      cli: { columns: ['id', 'snippet.displayName', 'snippet.level', 'snippet.memberSince'] },
    }),
  },
  videos: {
    list: op({
      method: 'GET',
      path: '/videos',
      summary: 'List videos',
      cites: 'spec/sign-in#scope-2',
      query: { part, mine, id: help(str(), 'Video IDs, separated by commas') },
      ok: 200,
      returns: listOf('VideoList', resource('Video')),
      cli: { columns: ['id', 'snippet.title', 'status.privacyStatus'] },
    }),
    create: op({
      method: 'POST',
      path: '/videos',
      summary: 'Add a video',
      cites: 'spec/sign-in#scope-2',
      body: { title: req(help(str(100, { min: 1 }), 'Title')), description: help(str(5000), 'Description') },
      ok: 200,
      returns: resource('Video'),
    }),
    delete: op({
      method: 'DELETE',
      path: '/videos',
      summary: 'Delete a video permanently',
      cites: 'spec/sign-in#scope-2',
      query: { id: req(help(str(), 'The video')) },
      ok: 204,
      cli: { confirm: 'Delete video {id} permanently?' },
    }),
  },
  assets: {
    list: op({
      method: 'GET',
      path: '/assets',
      summary: 'List assets of the partner account',
      cites: 'spec/sign-in#scope-2',
      query: { part },
      ok: 200,
      returns: listOf('AssetList', resource('Asset')),
      cli: { columns: ['id', 'snippet.title'] },
    }),
  },
} as const satisfies Table;

export const media = {
  name: 'media',
  title: 'Media Data API',
  version: '3',
  basePath: '/media/v3',
  tokenHeader: { name: 'Authorization', prefix: 'Bearer ' },
  table: mediaTable,
} as const satisfies Service;

/**
 * Scopes that permit each operation; one of them is enough. spec/sign-in#scope; spec/sign-in#check-4.5:
 * `media` covers `media.readonly`.
 */
export const mediaScopes: Readonly<Record<string, readonly string[]>> = {
  'channels.list': ['media', 'media.readonly', 'media.force-ssl'],
  'members.list': ['media.channel-memberships.creator'],
  'videos.list': ['media', 'media.readonly', 'media.force-ssl'],
  'videos.create': ['media', 'media.upload', 'media.force-ssl'],
  'videos.delete': ['media', 'media.force-ssl'],
  'assets.list': ['mediapartner'],
};
/** Parts that need an additional scope. spec/sign-in#scope-2 */
export const partScopes: Readonly<Record<string, string>> = { auditDetails: 'mediapartner-channel-audit' };
