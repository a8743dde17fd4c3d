import { clientAuthentications, machineMethodNames } from '../core/shape.ts';

/** One setting. A flag beats its environment name, that the profile, that the fallback. */
export type Key = {
  readonly key: string;
  readonly env?: string;
  /** The flag that sets it, without dashes. */
  readonly flag?: string;
  readonly summary: string;
  readonly fallback?: string;
  /** Masked in every listing and refused as an argument, where other users of the machine could read it. */
  readonly secret?: true;
  /** The value may be a path instead of the secret. A path is not secret, and messages name it. */
  readonly orPath?: true;
  readonly kind?: 'url' | 'file' | 'duration' | 'header' | 'token' | 'count' | 'rate';
  /** The only values there are. */
  readonly words?: readonly string[];
};

/** spec/program#settings: every setting, its environment name and its default. `config list`, help and the README are made from it. */
export const keys: readonly Key[] = [
  {
    key: 'tracker.url',
    env: 'OPSCTL_TRACKER_URL',
    flag: 'tracker-url',
    kind: 'url',
    summary: 'Base URL of the tracker',
  },
  {
    key: 'tracker.token',
    env: 'OPSCTL_TRACKER_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Token of the tracker',
  },
  {
    key: 'tracker.token_header',
    env: 'OPSCTL_TRACKER_TOKEN_HEADER',
    kind: 'header',
    fallback: 'Tracker-Token',
    summary: 'Header that contains the tracker token',
  },
  { key: 'tracker.base_path', summary: 'Path prefix of every tracker endpoint', fallback: '/api/v3' },
  {
    key: 'tracker.planning_word',
    summary: 'Name that a real deployment uses for `planningtool` in paths and fields',
    fallback: 'planningtool',
  },
  {
    key: 'labels.url',
    env: 'OPSCTL_LABELS_URL',
    flag: 'labels-url',
    kind: 'url',
    summary: 'Base URL of the label service',
  },
  {
    key: 'labels.token',
    env: 'OPSCTL_LABELS_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Bearer token of the label service',
  },
  {
    key: 'auth.url',
    env: 'OPSCTL_AUTH_URL',
    flag: 'auth-url',
    kind: 'url',
    summary: 'Authorization endpoint',
  },
  {
    key: 'auth.token_url',
    env: 'OPSCTL_TOKEN_URL',
    flag: 'token-url',
    kind: 'url',
    summary: 'Token endpoint',
  },
  {
    key: 'auth.revoke_url',
    env: 'OPSCTL_REVOKE_URL',
    flag: 'revoke-url',
    kind: 'url',
    summary: 'Revocation endpoint',
  },
  { key: 'auth.client_id', env: 'OPSCTL_CLIENT_ID', flag: 'client-id', summary: 'OAuth client ID' },
  { key: 'auth.client_secret', env: 'OPSCTL_CLIENT_SECRET', secret: true, summary: 'OAuth client secret' },
  {
    key: 'auth.issuer',
    env: 'OPSCTL_ISSUER',
    flag: 'issuer',
    kind: 'url',
    summary: 'Issuer URL of the authorization server; its metadata lists the endpoints',
  },
  {
    key: 'auth.client_auth',
    env: 'OPSCTL_CLIENT_AUTH',
    words: clientAuthentications,
    summary: 'Client authentication: body, basic or private_key_jwt (default: from the metadata)',
  },
  {
    key: 'auth.client_key',
    env: 'OPSCTL_CLIENT_KEY',
    secret: true,
    orPath: true,
    summary: 'Private key for private_key_jwt: a PEM file or its content',
  },
  { key: 'auth.client_key_id', env: 'OPSCTL_CLIENT_KEY_ID', summary: 'Key ID of the private key' },
  {
    key: 'auth.dpop',
    env: 'OPSCTL_DPOP',
    flag: 'dpop',
    words: ['true', 'false'],
    summary: 'Bind tokens to a key (DPoP) and reject Bearer tokens: true or false (default)',
  },
  {
    key: 'auth.method',
    env: 'OPSCTL_AUTH_METHOD',
    flag: 'method',
    words: ['browser', ...machineMethodNames],
    summary: `Sign-in method: browser, ${machineMethodNames.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`,
  },
  {
    key: 'auth.service_account_key',
    env: 'OPSCTL_SERVICE_ACCOUNT_KEY',
    secret: true,
    orPath: true,
    summary: 'Key file of a service account: a path, or the content as JSON or base64',
  },
  {
    key: 'auth.identity_token',
    env: 'OPSCTL_IDENTITY_TOKEN',
    secret: true,
    summary: 'Identity token of the CI job to exchange',
  },
  {
    key: 'auth.identity_token_file',
    env: 'OPSCTL_IDENTITY_TOKEN_FILE',
    kind: 'file',
    summary: 'File that contains the identity token',
  },
  {
    key: 'auth.identity_token_command',
    env: 'OPSCTL_IDENTITY_TOKEN_COMMAND',
    summary: 'Command that prints the identity token',
  },
  {
    key: 'auth.audience',
    env: 'OPSCTL_AUDIENCE',
    flag: 'audience',
    summary: 'Audience of the identity token and of the requested token',
  },
  {
    key: 'auth.subject_audience',
    env: 'OPSCTL_SUBJECT_AUDIENCE',
    summary: 'Audience of the identity token of the CI job (default: auth.audience)',
  },
  {
    key: 'auth.subject_token_type',
    env: 'OPSCTL_SUBJECT_TOKEN_TYPE',
    summary:
      'Type of the token to exchange: jwt (default), id_token, access_token, refresh_token, saml2 or a URI',
  },
  {
    key: 'auth.resource',
    env: 'OPSCTL_RESOURCE',
    summary: 'Resources of a non-interactive sign-in (RFC 8707), separated by spaces',
  },
  {
    key: 'auth.token_params',
    env: 'OPSCTL_TOKEN_PARAMS',
    summary: 'Additional fields of the token request of a non-interactive sign-in: name=value&name=value',
  },
  {
    key: 'auth.scopes',
    env: 'OPSCTL_SCOPES',
    summary: 'Scopes of a sign-in without --scope, separated by spaces',
  },
  {
    key: 'api.url',
    env: 'OPSCTL_API_URL',
    flag: 'api-url',
    kind: 'url',
    summary: 'Base URL of the data API',
  },
  {
    key: 'access_token',
    env: 'OPSCTL_ACCESS_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Access token to use instead of a sign-in',
  },
  {
    key: 'ca_file',
    env: 'OPSCTL_CA_FILE',
    kind: 'file',
    summary: 'Additional trusted CA certificate (PEM file)',
  },
  {
    key: 'timeout',
    env: 'OPSCTL_TIMEOUT',
    flag: 'timeout',
    kind: 'duration',
    fallback: '30s',
    summary: 'Request timeout',
  },
  {
    key: 'max_time',
    env: 'OPSCTL_MAX_TIME',
    flag: 'max-time',
    kind: 'duration',
    summary: 'Maximum duration of a command',
  },
  {
    key: 'kv.versions_file',
    env: 'OPSCTL_KV_VERSIONS_FILE',
    kind: 'file',
    summary: 'File with newer version data of the cluster',
  },
  {
    key: 'mock',
    env: 'OPSCTL_MOCK',
    words: ['never'],
    summary: '`never` disables the embedded mock server',
  },
  {
    key: 'rate_per_minute',
    env: 'OPSCTL_RATE_PER_MINUTE',
    kind: 'rate',
    summary: 'Requests per minute for all commands of this profile together, or `off`',
    fallback: '195',
  },
  {
    key: 'rate_store',
    env: 'OPSCTL_RATE_STORE',
    secret: true,
    summary:
      'Store in which machines with the same token share the rate limit: redis://…, rediss://… or etcd://…',
  },
  {
    key: 'rate_share',
    env: 'OPSCTL_RATE_SHARE',
    kind: 'count',
    summary: 'Number of machines that share the rate limit while the store is unreachable',
    fallback: '10',
  },
];

export const keyNamed = (name: string): Key | undefined => keys.find(({ key }) => key === name);
