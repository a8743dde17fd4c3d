import type { AppError } from '../../core/problem.ts';
import { NetworkError } from '../../platform/host.ts';
import type { Host } from '../../platform/host.ts';
import type { ClusterTls } from './certificates.ts';
import { hostOf } from './errors.ts';
import { type Speaks, tlsFailure } from './tls-failure.ts';

const probeMs = 500;
/** The other scheme, once, without credentials: a TLS port drops plain requests without a word, and a plain one a handshake. */
const speaksAt = async (host: Host, base: string, tls: ClusterTls | undefined): Promise<Speaks> => {
  const isHttps = base.startsWith('https:');
  const other = `${isHttps ? base.replace('https:', 'http:') : base.replace('http:', 'https:')}/version`;
  try {
    await (
      await host.network.request({
        method: 'GET',
        url: other,
        tls,
        timeoutMs: probeMs,
        connectTimeoutMs: probeMs,
      })
    ).bytes();
  } catch (error) {
    return !isHttps && error instanceof NetworkError && error.code === 'TLS' ? 'tls' : undefined;
  }
  return isHttps ? 'plain' : 'tls';
};

/** The first failure of a connection, when TLS has to do with it. */
export const asTlsFailure = async (
  host: Host,
  base: string,
  tls: ClusterTls | undefined,
  error: unknown,
): Promise<AppError | undefined> => {
  if (!(error instanceof NetworkError)) return undefined;
  const isUnclear = error.code === 'RESET' || error.trouble?.kind === 'protocol';
  const speaks = isUnclear ? await speaksAt(host, base, tls) : undefined;
  return tlsFailure(error, { at: hostOf(base), isHttps: base.startsWith('https:'), tls, speaks });
};
