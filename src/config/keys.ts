export type Key = {
  readonly key: string;
  readonly env?: string;
  readonly summary: string;
  readonly secret?: true;
  readonly fallback?: string;
};

/** decisions 4: every setting, its environment name and its default. `config list`, help and the README are made from it. */
export const keys: readonly Key[] = [
  { key: 'tracker.url', env: 'OPSCTL_TRACKER_URL', summary: 'Base URL of the tracker' },
  { key: 'tracker.token', env: 'OPSCTL_TRACKER_TOKEN', summary: 'Token of the tracker', secret: true },
  { key: 'tracker.token_header', env: 'OPSCTL_TRACKER_TOKEN_HEADER', summary: 'Header that carries the tracker token', fallback: 'Tracker-Token' },
  { key: 'tracker.base_path', summary: 'Path before every tracker endpoint', fallback: '/api/v3' },
  { key: 'tracker.planning_word', summary: 'Word for `planningtool` in paths and fields of a real deployment', fallback: 'planningtool' },
  { key: 'labels.url', env: 'OPSCTL_LABELS_URL', summary: 'Base URL of the label service' },
  { key: 'labels.token', env: 'OPSCTL_LABELS_TOKEN', summary: 'Bearer token of the label service', secret: true },
  { key: 'auth.url', env: 'OPSCTL_AUTH_URL', summary: 'Authorization endpoint' },
  { key: 'auth.token_url', env: 'OPSCTL_TOKEN_URL', summary: 'Token endpoint' },
  { key: 'auth.revoke_url', env: 'OPSCTL_REVOKE_URL', summary: 'Revocation endpoint' },
  { key: 'auth.client_id', env: 'OPSCTL_CLIENT_ID', summary: 'OAuth client id' },
  { key: 'auth.client_secret', env: 'OPSCTL_CLIENT_SECRET', summary: 'OAuth client secret', secret: true },
  { key: 'api.url', env: 'OPSCTL_API_URL', summary: 'Base URL of the data API' },
  { key: 'access_token', env: 'OPSCTL_ACCESS_TOKEN', summary: 'Access token to use instead of a sign-in', secret: true },
  { key: 'ca_file', env: 'OPSCTL_CA_FILE', summary: 'Certificate authority to trust in addition (PEM file)' },
  { key: 'timeout', env: 'OPSCTL_TIMEOUT', summary: 'Longest wait for an answer', fallback: '30s' },
  { key: 'mock', env: 'OPSCTL_MOCK', summary: '`never` turns the embedded mock server off' },
  {
    key: 'rate_per_minute',
    env: 'OPSCTL_RATE_PER_MINUTE',
    summary: 'Requests a minute of all commands of this profile together, or `off`',
    fallback: '195',
  },
];
export const keyNamed = (name: string): Key | undefined => keys.find(({ key }) => key === name);
