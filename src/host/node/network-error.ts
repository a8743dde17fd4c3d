import { NetworkError } from '../host.ts';

type SystemError = { code?: string; message?: string; errors?: unknown[]; cause?: unknown; reason?: string };
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
  ERR_STREAM_PREMATURE_CLOSE: { code: 'RESET', says: 'the connection was closed before the answer was complete' },
  UND_ERR_SOCKET: { code: 'RESET', says: 'the connection was closed before the answer was complete' },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: { code: 'RESET', says: 'the answer is shorter than it said' },
  EPROTO: { code: 'TLS', says: 'no secure connection could be agreed on' },
};

const certificateCodes =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_)/;
const untrusted = /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_UNTRUSTED|INVALID_CA)/;
const CA_HINT = 'if your network uses its own certificate authority, name its file in NODE_EXTRA_CA_CERTS or in the setting `ca_file`';

const innermost = (error: SystemError): SystemError => {
  const first = error.errors?.[0] as SystemError | undefined;
  if (error.code === undefined && first !== undefined) return innermost(first);
  const cause = error.cause as SystemError | undefined;
  return error.code === undefined && typeof cause?.code === 'string' ? cause : error;
};

const tlsText = ({ code = '', reason, message }: SystemError): string => {
  const why = reason ?? message ?? 'the certificate was not accepted';
  if (untrusted.test(code)) return `its certificate is not trusted (${why}); ${CA_HINT}`;
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `its certificate is for another name (${why})`;
  return why;
};

/** A proxied request opens no connection but the one to the proxy. */
const isProxys = (code: NetworkError['code']): boolean => code === 'REFUSED' || code === 'DNS' || code === 'CONNECT_TIMEOUT';

/**
 * What happened on the wire, in words a user can act on. `where` is the origin only: paths and queries may hold secrets.
 * @param sent whether a byte of the request may have left this machine
 * @param proxy the proxy it went through, if any
 */
export const networkErrorFrom = (thrown: unknown, where: string, sent: boolean, proxy?: string): NetworkError => {
  if (thrown instanceof NetworkError) return thrown;
  const error = innermost((thrown ?? {}) as SystemError);
  const code = error.code ?? '';
  const kind = kinds[code];
  if (/^Proxy response|Proxy Authentication/.test(error.message ?? '')) {
    return new NetworkError(
      'PROXY',
      `cannot reach ${where}: the proxy refused (${error.message}); check HTTPS_PROXY, HTTP_PROXY and NO_PROXY`,
      false,
      thrown,
    );
  }
  if (kind?.code === 'TLS' || (kind === undefined && certificateCodes.test(code))) {
    return new NetworkError('TLS', `cannot reach ${where} safely: ${tlsText(error)}`, sent, thrown);
  }
  if (kind !== undefined && proxy !== undefined && !sent && isProxys(kind.code)) {
    const { host } = new URL(proxy);
    return new NetworkError(
      'PROXY',
      `cannot reach ${where}: its proxy ${host} cannot be used: ${kind.says} (${code}); check HTTPS_PROXY, HTTP_PROXY and NO_PROXY`,
      false,
      thrown,
    );
  }
  if (kind !== undefined) return new NetworkError(kind.code, `cannot reach ${where}: ${kind.says} (${code})`, sent, thrown);
  return new NetworkError('OTHER', `the request to ${where} failed: ${error.message ?? String(thrown)}`, sent, thrown);
};
