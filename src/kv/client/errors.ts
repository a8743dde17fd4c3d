import { type Advice, after, next } from '../../core/next.ts';
import { AppError, type Category, messageOf } from '../../core/problem.ts';
import { NetworkError } from '../../platform/host.ts';

/** gRPC status codes with their name and error category. */
const codes: Readonly<Record<number, { readonly name: string; readonly category: Category }>> = {
  1: { name: 'CANCELED', category: 'interrupted' },
  2: { name: 'UNKNOWN', category: 'unknown' },
  3: { name: 'INVALID_ARGUMENT', category: 'refused' },
  4: { name: 'DEADLINE_EXCEEDED', category: 'network' },
  5: { name: 'NOT_FOUND', category: 'not-found' },
  7: { name: 'PERMISSION_DENIED', category: 'auth' },
  8: { name: 'RESOURCE_EXHAUSTED', category: 'refused' },
  9: { name: 'FAILED_PRECONDITION', category: 'refused' },
  11: { name: 'OUT_OF_RANGE', category: 'refused' },
  12: { name: 'UNIMPLEMENTED', category: 'refused' },
  14: { name: 'UNAVAILABLE', category: 'network' },
  16: { name: 'UNAUTHENTICATED', category: 'auth' },
};

type Known = {
  readonly text: RegExp;
  readonly code: string;
  readonly category: Category;
  readonly tryThis: readonly Advice[];
  readonly adds?: string;
  /** On plain connections, a gateway that loses its member returns the same text for other reasons. */
  readonly isTlsOnly?: true;
};
/** Error texts that are more specific than their status code. The first match applies. */
const known: readonly Known[] = [
  {
    // spec/store#errors: the server rejects a write above its --max-request-bytes with the text `request is
    // too large`.
    text: /request is too large/,
    code: 'REQUEST_TOO_LARGE',
    category: 'refused',
    tryThis: ['write a smaller value', 'raise --max-request-bytes of every server (default: 1.5 MiB)'],
  },
  {
    text: /larger than max/,
    code: 'RESOURCE_EXHAUSTED',
    category: 'refused',
    tryThis: ['write a smaller value'],
  },
  {
    text: /database space exceeded/,
    code: 'NO_SPACE',
    category: 'refused',
    tryThis: [next(['kv', 'recover-space']), after('raise the quota, then', ['kv', 'alarm', 'disarm'])],
  },
  {
    // While the alarm is active, every member rejects all writes.
    text: /corrupt cluster/,
    code: 'CORRUPT',
    category: 'refused',
    tryThis: [
      next(
        ['kv', 'alarm', 'list'],
        after('shows the member whose data differs,', ['kv', 'replace-member', 'NAME'], 'ends it'),
      ),
    ],
  },
  { text: /no leader/, code: 'NO_LEADER', category: 'network', tryThis: [next(['kv', 'status'])] },
  {
    text: /request timed out|context deadline exceeded/,
    code: 'DEADLINE_EXCEEDED',
    category: 'network',
    tryThis: [next(['kv', 'status'], 'shows whether a majority of the members is up')],
  },
  { text: /invalid auth token/, code: 'UNAUTHENTICATED', category: 'auth', tryThis: [] },
  {
    text: /user name is empty/,
    code: 'USER_NEEDED',
    category: 'auth',
    tryThis: ['set a user with --user, or in the cluster file under `user:`'],
  },
  {
    text: /invalid user ID or password/,
    code: 'WRONG_PASSWORD',
    category: 'auth',
    tryThis: ['check the user and the password'],
  },
  {
    text: /permission denied/,
    code: 'PERMISSION_DENIED',
    category: 'auth',
    tryThis: ['use a user with the root role: --user, or `user:` in the cluster file'],
  },
  {
    text: /not leader/,
    code: 'NOT_LEADER',
    category: 'refused',
    tryThis: [after('ask the leader:', ['kv', 'status'])],
  },
  {
    // The gateway calls its own member with the member's server certificate (seen with `--client-cert-auth`).
    // 3.2 reports only that the transport is closing or the connection is unavailable.
    text: /(transport: authentication handshake failed|error reading server preface): .*bad certificate|^(connection closed|transport is closing|grpc: the connection is unavailable)$/,
    code: 'GATEWAY_CERTIFICATE',
    isTlsOnly: true,
    category: 'network',
    adds: 'the certificate of the member must also allow client authentication (extended key usage clientAuth), because its gateway uses it to call the member',
    tryThis: [],
  },
  {
    // From 3.4 on, the gateway returns this as plain text with status 400.
    text: /CommonName of client sending a request against gateway/,
    code: 'CERTIFICATE_NAME',
    category: 'auth',
    adds: 'while authentication is enabled, the gateway does not accept a client certificate with a Common Name',
    tryThis: [],
  },
  { text: /lease not found/, code: 'LEASE_NOT_FOUND', category: 'not-found', tryThis: [] },
];

/**
 * Returns the message and code of an error body in any of its formats: `{error, code}`, `{error, message,
 * code}`, `{code, message}`, or `{error: {…}}` in a stream.
 */
export const errorIn = (body: unknown): { readonly message: string; readonly code: number } | undefined => {
  if (typeof body !== 'object' || body === null) return undefined;
  const { error, message, code, grpc_code } = body as Record<string, unknown>;
  if (typeof error === 'object' && error !== null) return errorIn(error);
  const text = typeof message === 'string' && message !== '' ? message : error;
  const number = typeof code === 'number' ? code : grpc_code;
  return typeof text === 'string'
    ? { message: text, code: typeof number === 'number' ? number : 2 }
    : undefined;
};

/**
 * A member also serves /version on its peer URL and returns 404 without an etcd error body for all other
 * paths there.
 */
const noGateway = (url: string): AppError =>
  new AppError(
    'network',
    `${hostOf(url)} does not serve the client interface (404): it is a peer URL, or its JSON gateway is disabled`,
    {
      code: 'NO_GATEWAY',
      httpStatus: 404,
      tryThis: [
        'use the client URL of the member; the member list of another member shows it',
        'start the server without --enable-grpc-gateway=false',
      ],
    },
  );

/** Converts an etcd error response into an AppError. */
export const storeError = (url: string, httpStatus: number, body: unknown): AppError => {
  const given = errorIn(body);
  if (httpStatus === 404 && (given === undefined || /^(404 page )?not found$/i.test(given.message.trim())))
    return noGateway(url);
  const message = given?.message ?? `the server returned status ${httpStatus}`;
  const row = known.find(
    ({ text, isTlsOnly }) => text.test(message) && (isTlsOnly !== true || url.startsWith('https:')),
  );
  const byCode = codes[given?.code ?? -1];
  const fallback: Category =
    httpStatus >= 500 || httpStatus < 400 ? 'network' : httpStatus === 404 ? 'not-found' : 'refused';
  return new AppError(
    row?.category ?? byCode?.category ?? fallback,
    `${hostOf(url)}: ${message}${row?.adds === undefined ? '' : `; ${row.adds}`}`,
    {
      code: row?.code ?? byCode?.name ?? `HTTP_${httpStatus}`,
      httpStatus,
      tryThis: row?.tryThis ?? [],
    },
  );
};

export const hostOf = (url: string): string => url.replace(/^[a-z]+:\/\//, '').replace(/\/.*$/, '');

/**
 * spec/store#errors: a dial timeout is a deadline-exceeded error. A canceled read and an expired read are
 * different errors.
 */
export const networkFailure = (url: string, error: unknown): AppError => {
  if (error instanceof AppError) return error;
  const at = hostOf(url);
  if (!(error instanceof NetworkError))
    return new AppError('network', `${at}: ${messageOf(error)}`, {
      cause: error,
    });
  if (error.code === 'ABORTED')
    return new AppError('interrupted', `${at}: context canceled`, { code: 'CANCELED', cause: error });
  if (error.code === 'TIMEOUT' || error.code === 'CONNECT_TIMEOUT') {
    const what = error.code === 'TIMEOUT' ? 'no response in time' : 'could not connect in time';
    return new AppError('network', `${at}: context deadline exceeded (${what})`, {
      code: 'DEADLINE_EXCEEDED',
      retryable: true,
      cause: error,
    });
  }
  if (error.code === 'PLAIN_HTTP')
    return new AppError('config', `${at}: ${error.message}`, {
      code: 'PLAIN_HTTP',
      tryThis: ['use an https URL, and TLS in the cluster'],
      cause: error,
    });
  const message = error.message.includes(at) ? error.message : `${at}: ${error.message}`;
  return new AppError('network', message, {
    code: error.code === 'REFUSED' ? 'UNAVAILABLE' : error.code,
    retryable: true,
    tryThis: [after('check that the member runs', ['kv', 'status'])],
    cause: error,
  });
};

/**
 * spec/store#errors: a write above the client's send limit fails with a client-side ResourceExhausted error
 * that includes both sizes.
 */
export const sendLimitError = (sizeBytes: number, limitBytes: number): AppError =>
  new AppError(
    'refused',
    `ResourceExhausted: trying to send message larger than max (${sizeBytes} vs. ${limitBytes})`,
    {
      code: 'RESOURCE_EXHAUSTED',
      tryThis: [
        'write a smaller value',
        '--max-send-bytes N, if the servers run with a larger --max-request-bytes',
      ],
      data: { size_bytes: sizeBytes, limit_bytes: limitBytes },
    },
  );

/**
 * spec/store#errors: a read above the client's receive limit fails with a client-side ResourceExhausted
 * error.
 */
export const receiveLimitError = (limitBytes: number): AppError =>
  new AppError(
    'refused',
    `ResourceExhausted: received message larger than max (over ${limitBytes} vs. ${limitBytes})`,
    {
      code: 'RESOURCE_EXHAUSTED',
      tryThis: ['read fewer keys with --limit', 'raise --max-receive-bytes'],
      data: { limit_bytes: limitBytes },
    },
  );
