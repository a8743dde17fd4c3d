import { builtin } from './builtin.ts';
import { readFileNow } from './read-file.ts';

/** What Node trusts without being told: its own list and NODE_EXTRA_CA_CERTS (both known to Node itself from 22.15 on). */
export const usualAuthorities = (): readonly string[] => {
  const tls = builtin.tls as typeof builtin.tls & { getCACertificates?(type: 'default'): string[] };
  if (tls.getCACertificates !== undefined) return tls.getCACertificates('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  if (!extra) return tls.rootCertificates;
  try {
    return [...tls.rootCertificates, readFileNow(extra)];
  } catch {
    // Node has said at start that the file cannot be read.
    return tls.rootCertificates;
  }
};
