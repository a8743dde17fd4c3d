import type { Ready } from './ready.ts';

/** What makes any opsctl below this one, and scripts that read the same names, talk to the server. */
export const clientEnvironment = (ready: Ready): Record<string, string> => ({
  OPSCTL_TRACKER_URL: ready.tracker.base_url,
  OPSCTL_TRACKER_TOKEN: ready.tracker.token,
  ...(ready.tracker.rate_limit === 'off' ? { OPSCTL_RATE_PER_MINUTE: 'off' } : {}),
  OPSCTL_LABELS_URL: ready.labels.base_url,
  OPSCTL_LABELS_TOKEN: ready.labels.token,
  OPSCTL_AUTH_URL: ready.auth.authorization_endpoint,
  OPSCTL_TOKEN_URL: ready.auth.token_endpoint,
  OPSCTL_REVOKE_URL: ready.auth.revocation_endpoint,
  OPSCTL_CLIENT_ID: ready.auth.client_id,
  OPSCTL_API_URL: ready.media.base_url,
  OPSCTL_MOCK_URL: ready.url,
  ...(ready.ca_file === undefined
    ? {}
    : { OPSCTL_CA_FILE: ready.ca_file, NODE_EXTRA_CA_CERTS: ready.ca_file }),
});
