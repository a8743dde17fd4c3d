import { NetworkError } from '../../host/host.ts';
import { AppError, type Category } from '../../kernel/problem.ts';
import { safeText } from '../terminal-text.ts';
import type { Read } from './party.ts';

/** doc1 Errors and RFC 6749 5.2: who can mend it, and how. Never decided by the description: its text changes with time. */
const known: Readonly<Record<string, { readonly category: Category; readonly tryThis: readonly string[] }>> = {
  invalid_grant: { category: 'auth', tryThis: ['opsctl login'] },
  access_denied: { category: 'auth', tryThis: ['opsctl login, and allow at least one permission'] },
  admin_policy_enforced: {
    category: 'auth',
    tryThis: ['ask the administrator of your organization to allow the permission', 'opsctl login with fewer --scope'],
  },
  org_internal: { category: 'auth', tryThis: ['opsctl login --login-hint with an account of the organization'] },
  disallowed_useragent: { category: 'auth', tryThis: ['open the address in the system browser, not in an embedded view'] },
  deleted_client: { category: 'auth', tryThis: ['restore the client in the developer console (30 days), or use another --client-id'] },
  invalid_client: { category: 'auth', tryThis: ['check --client-id and the client secret (OPSCTL_CLIENT_SECRET, --client-secret-stdin)'] },
  unauthorized_client: { category: 'refused', tryThis: ['check --client-id: the token belongs to another client'] },
  redirect_uri_mismatch: {
    category: 'refused',
    tryThis: ['opsctl doctor auth', 'register http://127.0.0.1 for the client, or set --redirect-path and --port to what is registered'],
  },
  invalid_scope: { category: 'refused', tryThis: ['check the spelling and the case of --scope'] },
  invalid_request: { category: 'refused', tryThis: ['opsctl doctor auth'] },
  temporarily_unavailable: { category: 'network', tryThis: ['try again in a minute'] },
  server_error: { category: 'network', tryThis: ['try again in a minute'] },
};

/** An error code of the service as an expected failure. */
export const serviceFailure = (what: string, error: string, description: string | undefined, httpStatus?: number): AppError => {
  const code = safeText(error, 60);
  const rule = known[error] ?? { category: 'refused' as const, tryThis: ['opsctl doctor auth'] };
  const text = description === undefined || description === '' ? '' : ` (${safeText(description, 200)})`;
  return new AppError(rule.category, `${what}: ${code}${text}`, {
    code: code.toUpperCase(),
    tryThis: rule.tryThis,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    retryable: rule.category === 'network',
  });
};

const tlsHelp = ['set ca_file or NODE_EXTRA_CA_CERTS to the certificate of your company', 'opsctl doctor auth'];
/** The browser may get through where this process does not: proxies that open TLS are the usual cause. */
export const networkFailure = (what: string, error: unknown): unknown => {
  if (!(error instanceof NetworkError)) return error;
  if (error.code === 'ABORTED') return error;
  return new AppError('network', `${what}: ${error.message}`, {
    code: error.code,
    retryable: true,
    tryThis: error.code === 'TLS' ? tlsHelp : ['opsctl doctor auth'],
    cause: error,
  });
};

/** Answers that no OAuth error describes: an outage, or a page of something in between. */
export const strangeReply = (what: string, read: Read): AppError => {
  const type = safeText(read.headers['content-type'] ?? 'no content type', 60);
  const isOutage = read.status >= 500 || read.status === 429;
  return new AppError(read.status === 429 ? 'rate-limit' : 'network', `${what}: HTTP ${read.status} with ${type} instead of JSON`, {
    code: isOutage ? 'SERVER_ERROR' : 'NOT_JSON',
    httpStatus: read.status,
    retryable: isOutage,
    tryThis: isOutage ? ['try again in a minute'] : ['check --token-url', 'opsctl doctor auth'],
  });
};
