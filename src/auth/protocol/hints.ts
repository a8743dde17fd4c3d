import type { Category } from '../../core/problem.ts';

/**
 * The current step and method: a person has several steps, and each non-interactive method has one. The
 * messages use these names.
 */
export const steps = [
  'authorization',
  'pushed authorization request',
  'code exchange',
  'refresh',
  'device flow',
  'revoke',
  'service-account',
  'client-credentials',
  'token-exchange',
] as const;
export type Step = (typeof steps)[number];
/** `person`: hints may ask for a sign-in with a browser. */
const kindOf: Readonly<Record<Step, 'person' | 'machine'>> = {
  authorization: 'person',
  'pushed authorization request': 'person',
  'code exchange': 'person',
  refresh: 'person',
  'device flow': 'person',
  revoke: 'person',
  'service-account': 'machine',
  'client-credentials': 'machine',
  'token-exchange': 'machine',
};
export type Rule = { readonly category: Category; readonly tryThis: readonly string[] };
/** Hints for an error: one list for all steps, or by step with `person`, `machine` and single steps. The most exact one counts. */
type Row = {
  readonly category: Category;
  readonly all?: readonly string[];
} & Partial<Readonly<Record<Step | 'person' | 'machine', readonly string[]>>>;

const clock = 'check the clock of this machine';
const deviceAgain = 'opsctl login --method device (shows a new code)';
const checkKey = 'check that the service account and its key still exist at the server';
const newIdentity = 'get a new identity token from the CI: most expire after 5 to 10 minutes';
const trust = 'check that the server trusts the issuer, the subject and the audience of the identity token';
const secret = 'check --client-id and the client secret (OPSCTL_CLIENT_SECRET, --client-secret-stdin)';
const clientAuth =
  'if both are right, the server may expect them in another form: OPSCTL_CLIENT_AUTH=basic, body or private_key_jwt';
const signInAgain: Row = {
  category: 'auth',
  person: ['opsctl login'],
  'device flow': [deviceAgain],
  machine: [
    'the server wants a person to sign in or to agree, which this method cannot do',
    'ask the administrator to exclude the client or the service account from that policy (for example MFA)',
  ],
};
const outage: Row = { category: 'network', all: ['try again in a minute'] };

/** spec/sign-in#errors and RFC 6749 5.2: who can fix it, and how. Never decided by the description: its text changes with time. */
export const errorRows: Readonly<Record<string, Row>> = {
  invalid_grant: {
    category: 'auth',
    authorization: ['opsctl login'],
    'code exchange': ['opsctl login (the code expired or was used already)', clock],
    refresh: ['opsctl login'],
    'device flow': [deviceAgain],
    revoke: ['opsctl logout --local'],
    'service-account': [checkKey, clock, 'opsctl doctor auth'],
    'client-credentials': [secret, 'opsctl doctor auth'],
    'token-exchange': [newIdentity, trust, clock],
  },
  access_denied: {
    category: 'auth',
    person: ['opsctl login, and allow at least one permission'],
    'device flow': [`${deviceAgain}, and allow the sign-in`],
    revoke: ['opsctl logout --local'],
    machine: ['ask the administrator of the server to allow the scopes for this client'],
  },
  interaction_required: signInAgain,
  login_required: signInAgain,
  consent_required: signInAgain,
  account_selection_required: signInAgain,
  expired_token: {
    category: 'auth',
    person: ['opsctl login'],
    'device flow': [deviceAgain],
    machine: [newIdentity, clock],
  },
  admin_policy_enforced: {
    category: 'auth',
    all: ['ask the administrator of your organization to allow the permission'],
    person: [
      'ask the administrator of your organization to allow the permission',
      'opsctl login with fewer --scope',
    ],
  },
  org_internal: {
    category: 'auth',
    person: ['opsctl login --login-hint with an account of the organization'],
    machine: ['use a client or a service account of the organization'],
  },
  disallowed_useragent: {
    category: 'auth',
    all: ['open the address in the system browser, not in an embedded view'],
  },
  deleted_client: {
    category: 'auth',
    all: ['restore the client in the developer console (30 days), or use another --client-id'],
  },
  invalid_client: { category: 'auth', all: [secret, clientAuth] },
  unauthorized_client: {
    category: 'refused',
    person: ['check --client-id: the token belongs to another client'],
    authorization: ['allow the authorization code grant for the client at the server, or check --client-id'],
    'device flow': ['allow the device flow for the client at the server', 'opsctl login --no-browser'],
    machine: ['allow this grant type for the client at the server', 'check --client-id'],
  },
  unsupported_grant_type: {
    category: 'refused',
    person: ['opsctl doctor auth'],
    'device flow': ['opsctl login --no-browser'],
    machine: ['the server does not offer this sign-in method: choose another OPSCTL_AUTH_METHOD'],
  },
  redirect_uri_mismatch: {
    category: 'refused',
    all: [
      'opsctl doctor auth',
      'register http://127.0.0.1 for the client, or set --redirect-path and --port to what is registered',
    ],
  },
  invalid_target: {
    category: 'refused',
    person: ['check --param resource=… and --param audience=…: the server must know the value'],
    machine: ['check the audience (--audience, OPSCTL_AUDIENCE): the server must expect it'],
  },
  invalid_scope: {
    category: 'refused',
    person: ['check the spelling and the case of --scope and OPSCTL_SCOPES'],
    machine: ['check the spelling and the case of OPSCTL_SCOPES, and that the client may have these scopes'],
  },
  invalid_request: {
    category: 'refused',
    all: ['opsctl doctor auth'],
    authorization: ['opsctl doctor auth', 'opsctl login --scope SCOPE, if the server requires a scope'],
  },
  invalid_dpop_proof: {
    category: 'refused',
    person: ['opsctl login --dpop, if the client has to use DPoP', clock],
    machine: ['opsctl config set auth.dpop true, if the client has to use DPoP', clock],
  },
  use_dpop_nonce: {
    category: 'refused',
    person: ['opsctl login --dpop', 'opsctl doctor auth'],
    machine: ['opsctl config set auth.dpop true', 'opsctl doctor auth'],
  },
  temporarily_unavailable: outage,
  server_error: outage,
};
/** What to do about an error of the server, by the step in which it came. */
export const ruleFor = (step: Step, error: string): Rule => {
  const row = Object.hasOwn(errorRows, error) ? errorRows[error] : undefined;
  if (row === undefined) return { category: 'refused', tryThis: ['opsctl doctor auth'] };
  return {
    category: row.category,
    tryThis: row[step] ?? row[kindOf[step]] ?? row.all ?? ['opsctl doctor auth'],
  };
};
export const parseStep = (what: string): Step =>
  (steps as readonly string[]).includes(what) ? (what as Step) : 'authorization';
