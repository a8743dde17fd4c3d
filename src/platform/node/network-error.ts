import { NetworkError, type TlsFailure } from '../host.ts';

type SystemError = {
  code?: string;
  message?: string;
  errors?: unknown[];
  cause?: unknown;
  reason?: string;
  cert?: { subjectaltname?: string };
};
type Kind = { readonly code: NetworkError['code']; readonly says: string };

const kinds: Readonly<Record<string, Kind>> = {
  ECONNREFUSED: { code: 'REFUSED', says: 'connection refused: nothing listens there' },
  EHOSTUNREACH: { code: 'REFUSED', says: 'no route to the host' },
  ENETUNREACH: { code: 'REFUSED', says: 'the network is unreachable' },
  EADDRNOTAVAIL: { code: 'REFUSED', says: 'the address is not available' },
  ENOTFOUND: { code: 'DNS', says: 'the host name is not known' },
  EAI_AGAIN: { code: 'DNS', says: 'the host name could not be looked up (the name server did not answer)' },
  ETIMEDOUT: { code: 'CONNECT_TIMEOUT', says: 'the connection could not be made in time' },
  UND_ERR_CONNECT_TIMEOUT: { code: 'CONNECT_TIMEOUT', says: 'the connection could not be made in time' },
  ECONNRESET: { code: 'RESET', says: 'the connection was closed before the answer was complete' },
  EPIPE: { code: 'RESET', says: 'the connection was closed before the request was complete' },
  ERR_STREAM_PREMATURE_CLOSE: {
    code: 'RESET',
    says: 'the connection was closed before the answer was complete',
  },
  UND_ERR_SOCKET: { code: 'RESET', says: 'the connection was closed before the answer was complete' },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: { code: 'RESET', says: 'the answer is shorter than it said' },
  EPROTO: { code: 'TLS', says: 'no secure connection could be agreed on' },
};

const certificateCodes =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_)/;
// A signature that fails: an authority of the same name that was made anew.
const untrusted =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|INVALID_CA)/;
const CA_HINT =
  'if your network uses its own certificate authority, name its file in NODE_EXTRA_CA_CERTS or in the setting `ca_file`';

const innermost = (error: SystemError): SystemError => {
  const first = error.errors?.[0] as SystemError | undefined;
  if (error.code === undefined && first !== undefined) return innermost(first);
  const cause = error.cause as SystemError | undefined;
  return error.code === undefined && typeof cause?.code === 'string' ? cause : error;
};

/** OpenSSL's own line has file names and addresses of its code in it: `…:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:…`. */
const reasonOf = ({ reason, message }: SystemError): string =>
  reason ??
  /SSL routines:[^:]*:([^:]+):/.exec(message ?? '')?.[1] ??
  message?.split('\n')[0] ??
  'the certificate was not accepted';

/** Alerts with which a server turns a client's certificate, or the lack of one, down (RFC 8446 6.2). */
const clientAlert =
  /alert (bad certificate|unsupported certificate|certificate (revoked|expired|unknown|required)|unknown ca|access denied|no certificate)/i;

const troubleIn = (error: SystemError): TlsFailure => {
  const [code, reason] = [error.code ?? '', reasonOf(error)];
  if (untrusted.test(code)) return { kind: 'untrusted', reason };
  if (code === 'CERT_HAS_EXPIRED') return { kind: 'expired', reason };
  if (code === 'CERT_NOT_YET_VALID') return { kind: 'too-early', reason };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = error.cert?.subjectaltname
      ?.split(', ')
      .map((name) => name.replace(/^(DNS|IP Address|URI|email):/, ''));
    return { kind: 'name', reason, ...(names === undefined ? {} : { names }) };
  }
  return { kind: clientAlert.test(reason) ? 'client-certificate' : 'protocol', reason };
};

const says: Readonly<Partial<Record<TlsFailure['kind'], (reason: string) => string>>> = {
  untrusted: (reason) => `its certificate is not trusted (${reason}); ${CA_HINT}`,
  expired: () => 'its certificate has expired',
  'too-early': () => 'its certificate is not valid yet; check the clocks',
  name: (reason) => `its certificate is for another name (${reason})`,
  protocol: (reason) =>
    /wrong version number/.test(reason) ? `it does not speak TLS (${reason}); is its URL http://?` : reason,
};

/** A proxied request opens no connection but the one to the proxy. */
const isProxys = (code: NetworkError['code']): boolean =>
  code === 'REFUSED' || code === 'DNS' || code === 'CONNECT_TIMEOUT';

/** What a proxy did wrong; undefined when it is not the proxy's failure. `proxy` is absent once a byte was sent. */
const proxyFailure = (
  { code, message }: SystemError,
  kind: Kind | undefined,
  where: string,
  proxy: string | undefined,
): string | undefined => {
  const check = 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY';
  if (/^Proxy response|Proxy Authentication/.test(message ?? ''))
    return `cannot reach ${where}: the proxy refused (${message}); ${check}`;
  if (kind === undefined || proxy === undefined || !isProxys(kind.code)) return undefined;
  return `cannot reach ${where}: its proxy ${new URL(proxy).host} cannot be used: ${kind.says} (${code}); ${check}`;
};

/**
 * What happened on the wire, in words a user can act on. `where` is the origin only: paths and queries may hold secrets.
 * @param sent whether a byte of the request may have left this machine
 * @param proxy the proxy it went through, if any
 */
export const networkErrorFrom = (
  thrown: unknown,
  where: string,
  sent: boolean,
  proxy?: string,
): NetworkError => {
  if (thrown instanceof NetworkError) return thrown;
  const error = innermost((thrown ?? {}) as SystemError);
  const code = error.code ?? '';
  const kind = kinds[code];
  const viaProxy = proxyFailure(error, kind, where, sent ? undefined : proxy);
  if (viaProxy !== undefined) return new NetworkError('PROXY', viaProxy, false, thrown);
  if (kind?.code === 'TLS' || (kind === undefined && certificateCodes.test(code))) {
    const trouble = troubleIn(error);
    const text = says[trouble.kind]?.(trouble.reason) ?? trouble.reason;
    return new NetworkError('TLS', `cannot reach ${where} safely: ${text}`, sent, thrown, trouble);
  }
  if (kind !== undefined)
    return new NetworkError(kind.code, `cannot reach ${where}: ${kind.says} (${code})`, sent, thrown);
  const text = error.message ?? String(thrown);
  return new NetworkError('OTHER', `the request to ${where} failed: ${text}`, sent, thrown);
};
