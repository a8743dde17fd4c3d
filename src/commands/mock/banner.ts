import { demo } from '../../api-specs/oauth/demo.ts';
import type { Ready } from './ready.ts';

/** What a person reads; every address can be copied. */
export const banner = (ready: Ready, directory: string | undefined): string => {
  const [user] = demo.users;
  const isTls = ready.ca_file !== undefined;
  return [
    `mock server at ${ready.url} (process ${ready.pid})`,
    `  tracker   ${ready.tracker.base_url}/api/v3   Tracker-Token: ${ready.tracker.token}`,
    `  labels    ${ready.labels.base_url}/v2beta   Authorization: Bearer ${ready.labels.token}`,
    `  sign-in   ${ready.auth.authorization_endpoint}   client_id ${ready.auth.client_id}`,
    `            ${user.email}, password ${user.password}`,
    `  media     ${ready.media.base_url}/media/v3`,
    `  documents tracker: ${ready.url}/openapi.json  /swagger.json`,
    `            labels:  ${ready.url}/openapi/labels.json  /discovery/labels/v2beta`,
    isTls
      ? `  TLS       trust ${ready.ca_file}`
      : '  plain HTTP: for this machine only (real services require TLS: --tls)',
    directory === undefined ? '  state     none is kept' : `  state     ${directory}`,
    'Ctrl-C or SIGTERM ends it.',
    '',
  ].join('\n');
};
