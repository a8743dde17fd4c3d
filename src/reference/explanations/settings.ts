import type { Explanation, SettingExplanation } from '../../core/problem.ts';

/** One row for each category of exit codes. `src/core/problem.ts` contains the code and the short meaning. */
export const exitExplanations: Readonly<Record<string, Explanation>> = {
  done: {
    causes: ['The command succeeded.'],
    fix: 'No action is required.',
    example: 'opsctl tracker labels list',
  },
  unknown: {
    causes: ['opsctl has a fault, or an error occurred that has no category.'],
    fix: 'Run the command with --debug and report the output.',
    example: 'opsctl doctor --bundle report.tar.gz',
  },
  usage: {
    causes: ['A flag is unknown, a value breaks a rule, or an argument is missing.'],
    fix: 'Fix the flag or argument that the message names.',
    example: 'opsctl tracker labels create --help',
  },
  config: {
    causes: ['A setting is missing or invalid.', 'A file is unreadable or corrupted, or a disk is full.'],
    fix: 'Fix the setting or the file that the message names.',
    example: 'opsctl config list --show-origin',
  },
  auth: {
    causes: ['You are not signed in, the sign-in has expired, or the token lacks a scope.'],
    fix: 'Check the account and sign in again.',
    example: 'opsctl auth status',
  },
  refused: {
    causes: [
      'The request breaks a rule of the service.',
      'The record changed, or its state does not allow the change.',
    ],
    fix: 'Fix the field that the message names.',
    example: 'opsctl reference tracker labels create',
  },
  'not-found': {
    causes: ['The record, file or run does not exist, or its name is misspelled.'],
    fix: 'List the records and use an existing name or ID.',
    example: 'opsctl tracker labels list',
  },
  'rate-limit': {
    causes: ['The token has used its rate limit, and retries did not help.'],
    fix: 'Wait a minute, or lower the rate of this profile.',
    example: 'opsctl config set rate_per_minute 100',
  },
  stopped: {
    causes: ['The run was interrupted or held, or a step failed.'],
    fix: 'Fix the cause, then run the command that the message contains.',
    example: 'opsctl kv resume',
  },
  partial: {
    causes: ['Some rows or clusters failed, and the others succeeded.'],
    fix: 'Fix the failed rows and repeat only them.',
    example: 'opsctl tracker bulk -f rows.csv --resume',
  },
  unsafe: {
    causes: ['A preflight check failed.', 'Another user or command changed the object in the meantime.'],
    fix: 'Read the check that the message names, fix its cause and run the command again.',
    example: 'opsctl explain quorum-survives',
  },
  network: {
    causes: [
      'The service cannot be reached, or does not respond in time.',
      'A proxy or another service responds at the URL.',
    ],
    fix: 'Check the URL, the proxy and the certificates.',
    example: 'opsctl doctor',
  },
  'rolled-back': {
    causes: ['A member did not become healthy on the new version, or you ran a rollback.'],
    fix: 'Read the report and fix the cause before the next attempt.',
    example: 'opsctl kv report',
  },
  no: {
    causes: ['A comparison found a difference.', 'A health check or an assertion failed.'],
    fix: 'Read the findings in the output. This code is not an error in scripts that test a condition.',
    example: 'opsctl kv check',
  },
  interrupted: {
    causes: ['The user pressed Ctrl-C, or the process received a signal.'],
    fix: 'Run the command again.',
    example: 'opsctl tracker labels list',
  },
  terminated: {
    causes: ['The process received SIGTERM, for example from a supervisor or a CI job.'],
    fix: 'Run the command again.',
    example: 'opsctl tracker labels list',
  },
};

/** One row for each key of the configuration. */
export const settingExplanations: Readonly<Record<string, SettingExplanation>> = {
  access_token: {
    effect: 'opsctl sends this token instead of the token of a signed-in account.',
    example: 'OPSCTL_ACCESS_TOKEN="$TOKEN" opsctl media get /media/v3/channels',
  },
  'api.url': {
    effect: 'Requests to the data API use this URL.',
    example: 'opsctl config set api.url https://api.example.com',
  },
  'auth.audience': {
    effect: 'The server issues identity tokens and access tokens for this audience.',
    example: 'opsctl config set auth.audience https://api.example.com',
  },
  'auth.client_auth': {
    effect: 'Selects how the client authenticates at the token endpoint.',
    example: 'opsctl config set auth.client_auth basic',
  },
  'auth.client_id': {
    effect: 'Identifies this client at the authorization server.',
    example: 'opsctl config set auth.client_id my-client',
  },
  'auth.client_key': {
    effect: 'opsctl signs client assertions with this key.',
    example: 'opsctl config set auth.client_key --stdin',
  },
  'auth.client_key_id': {
    effect: 'The server uses this ID to select the public key of the client.',
    example: 'opsctl config set auth.client_key_id key-1',
  },
  'auth.client_secret': {
    effect:
      'Authenticates the client at the token endpoint. Desktop clients with PKCE may not need a secret.',
    example: 'opsctl config set auth.client_secret --stdin',
  },
  'auth.identity_token': {
    effect: 'opsctl exchanges this token for an access token.',
    example: 'opsctl login --method token-exchange',
  },
  'auth.identity_token_command': {
    effect: 'opsctl runs this command and exchanges the token that it prints.',
    example: 'opsctl config set auth.identity_token_command "gcloud auth print-identity-token"',
  },
  'auth.identity_token_file': {
    effect: 'opsctl reads this file at each exchange.',
    example: 'opsctl config set auth.identity_token_file /run/secrets/token',
  },
  'auth.issuer': {
    effect: 'opsctl reads the endpoints and keys from the metadata of this issuer.',
    example: 'opsctl config set auth.issuer https://login.example.com',
  },
  'auth.dpop': {
    effect:
      'With `true`, opsctl binds new tokens to a key of this machine (DPoP) and rejects Bearer tokens of the server.',
    example: 'opsctl config set auth.dpop true',
  },
  'auth.method': {
    effect: 'Selects the method that opsctl login uses without --method.',
    example: 'opsctl config set auth.method device',
  },
  'auth.resource': {
    effect: 'A non-interactive sign-in requests a token for these resources (RFC 8707).',
    example: 'OPSCTL_RESOURCE="https://api.example.com" opsctl auth token',
  },
  'auth.subject_audience': {
    effect:
      'The CI provider issues the identity token for this audience; auth.audience is then the audience of the requested token.',
    example: 'OPSCTL_SUBJECT_AUDIENCE=https://oauth2.example.com opsctl auth token',
  },
  'auth.subject_token_type': {
    effect:
      'Specifies the form of the token to exchange. Tokens other than jwt and id_token can have any form.',
    example: 'OPSCTL_SUBJECT_TOKEN_TYPE=access_token opsctl auth token',
  },
  'auth.token_params': {
    effect: 'Adds fields to the token request of a non-interactive sign-in.',
    example:
      "OPSCTL_TOKEN_PARAMS='requested_token_type=urn:ietf:params:oauth:token-type:jwt' opsctl auth token",
  },
  'auth.revoke_url': {
    effect: 'opsctl logout sends tokens to this endpoint.',
    example: 'opsctl config set auth.revoke_url https://login.example.com/revoke',
  },
  'auth.scopes': {
    effect: 'Methods for service accounts request these scopes.',
    example: 'opsctl config set auth.scopes "openid email"',
  },
  'auth.service_account_key': {
    effect: 'opsctl signs in with this key without a browser.',
    example: 'opsctl config set auth.service_account_key --stdin',
  },
  'auth.token_url': {
    effect: 'opsctl exchanges codes and refresh tokens at this endpoint.',
    example: 'opsctl config set auth.token_url https://login.example.com/token',
  },
  'auth.url': {
    effect: 'opsctl login opens this endpoint in the browser.',
    example: 'opsctl config set auth.url https://login.example.com/authorize',
  },
  ca_file: {
    effect: 'opsctl trusts these CA certificates in addition to the built-in CAs.',
    example: 'opsctl config set ca_file /etc/ssl/corporate-ca.pem',
  },
  'kv.versions_file': {
    effect: 'Replaces the built-in data of single etcd versions.',
    example: 'opsctl config set kv.versions_file versions.yaml',
  },
  'labels.token': {
    effect: 'Authenticates requests to the label service without a sign-in.',
    example: 'opsctl config set labels.token --stdin',
  },
  'labels.url': {
    effect: 'Requests to the label service use this URL.',
    example: 'opsctl config set labels.url https://labels.example.com',
  },
  max_time: {
    effect: 'opsctl stops a command after this time, as with Ctrl-C.',
    example: 'opsctl config set max_time 5m',
  },
  mock: {
    effect: 'With never, opsctl does not use the embedded mock server if no service is configured.',
    example: 'opsctl config set mock never',
  },
  rate_per_minute: {
    effect: 'All commands of this profile together send at most this number of requests per minute.',
    example: 'opsctl config set rate_per_minute 195',
  },
  rate_share: {
    effect: 'If the store of the rate limit is unreachable, each machine uses its part of the rate.',
    example: 'opsctl config set rate_share 10',
  },
  rate_store: {
    effect: 'Machines with the same token share one rate limit through this store.',
    example: 'opsctl config set rate_store --stdin',
  },
  timeout: {
    effect: 'A request fails if the service does not respond within this time.',
    example: 'opsctl config set timeout 30s',
  },
  'tracker.base_path': {
    effect: 'opsctl puts this path before every tracker endpoint.',
    example: 'opsctl config set tracker.base_path /api/v3',
  },
  'tracker.planning_word': {
    effect: 'A deployment may use another word for planningtool in paths and fields.',
    example: 'opsctl config set tracker.planning_word planningtool',
  },
  'tracker.token': {
    effect: 'Authenticates requests to the tracker.',
    example: 'opsctl config set tracker.token --stdin',
  },
  'tracker.token_header': {
    effect: 'opsctl sends the tracker token in this header.',
    example: 'opsctl config set tracker.token_header Tracker-Token',
  },
  'tracker.url': {
    effect: 'Requests to the tracker use this URL.',
    example: 'opsctl config set tracker.url https://tracker.example.com',
  },
  update_notice: {
    effect:
      'On a terminal and outside of CI, opsctl queries the newest version once a day and prints one line if it is newer. The query ends after 2 seconds, sends no data about you, and never changes the result of a command.',
    example: 'opsctl config set update_notice on',
  },
  update_url: {
    effect:
      'opsctl reads the newest version from the field version or tag_name of this JSON page instead of the npm registry.',
    example: 'opsctl config set update_url https://releases.example.com/opsctl/latest.json',
  },
};
