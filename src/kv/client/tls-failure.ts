import type { NetworkError, TlsFailure } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { ClusterTls } from './certificates.ts';

/** What answers at an address, when that could be found out. */
export type Speaks = 'tls' | 'plain' | undefined;
export type Failed = {
  readonly at: string;
  readonly isHttps: boolean;
  readonly tls: ClusterTls | undefined;
  readonly speaks: Speaks;
};

const PLACES = 'under `tls:` in the cluster file';
const texts: Readonly<Record<TlsFailure['kind'], (trouble: TlsFailure, failed: Failed) => string>> = {
  untrusted: (_, { tls }) =>
    tls?.named.ca === undefined
      ? `its certificate is not signed by an authority that is known here; name the authority's file with --cacert, or as ca_file ${PLACES}`
      : `its certificate is not signed by an authority in ${tls.named.ca}; name the file of the one that signed it`,
  expired: () => 'its certificate has expired; renew it on the member, and check the clock of this machine',
  'too-early': () => 'its certificate is not valid yet; check the clocks of the member and of this machine',
  name: ({ names = [], reason }, { at }) =>
    names.length === 0
      ? `its certificate is for another name (${reason}); write that name as server_name ${PLACES}, or give --server-name`
      : `its certificate is for ${names.join(', ')}, not for ${at.replace(/:\d+$/, '')}; write one of its names as server_name ${PLACES}, or give --server-name`,
  'client-certificate': ({ reason }, { tls }) =>
    tls?.named.cert === undefined
      ? `it demands a client certificate; name one with --cert and --key, or as cert_file and key_file ${PLACES}`
      : `it refused the client certificate of ${tls.named.cert} (${reason}); it must be signed by the authority that the member trusts, be valid, and be made for clients`,
  protocol: ({ reason }) =>
    `no secure connection could be agreed on (${reason}); is this the client URL of a member?`,
};

/** Servers close such a connection, or answer 400 and say it in plain text; that depends on what they were built with. */
export const answersPlainToTls = (status: number, text: string): boolean =>
  status === 400 && text.includes('HTTP request to an HTTPS server');
export const wantsHttps =
  'it speaks TLS; write https:// in its URL (client_url in the cluster file, or --endpoints), and name certificates';

const wrongScheme = ({ isHttps, speaks }: Failed): string | undefined => {
  if (isHttps && speaks === 'plain')
    return 'it does not speak TLS; write http:// in its URL (client_url in the cluster file, or --endpoints)';
  if (!isHttps && speaks === 'tls') return wantsHttps;
  return undefined;
};

/**
 * The failure in words that name the file or flag to change; undefined when it has nothing to do with TLS.
 * Members of 3.3 and 3.4 may close the connection before their alert is read: then only the missing certificate gives the hint.
 */
export const tlsFailure = (error: NetworkError, failed: Failed): AppError | undefined => {
  const { trouble } = error;
  const isDropped = error.code === 'RESET' && failed.isHttps && error.sent && failed.tls?.cert === undefined;
  const text =
    wrongScheme(failed) ??
    (trouble === undefined ? undefined : texts[trouble.kind](trouble, failed)) ??
    (isDropped
      ? `it closed the connection; if it demands a client certificate: --cert and --key, or cert_file and key_file ${PLACES}`
      : undefined);
  if (text === undefined) return undefined;
  return new AppError('network', `${failed.at}: ${text}`, {
    code: isDropped ? 'RESET' : 'TLS',
    retryable: isDropped,
    cause: error,
  });
};
