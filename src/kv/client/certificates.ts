import { type KeyObject, X509Certificate, createPrivateKey } from 'node:crypto';
import { type Host, type Tls, NetworkError, type TlsFailure } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { decodeUtf8 } from '../../core/text.ts';
import { hostOf } from './errors.ts';

/** Paths of the certificate files from the cluster file or the flags. */
export type TlsFiles = {
  readonly ca_file?: string;
  readonly cert_file?: string;
  readonly key_file?: string;
  readonly server_name?: string;
};
type FileKey = 'ca_file' | 'cert_file' | 'key_file';
/**
 * The flag that specified each file, for example `--cacert`. Absent for a file that the cluster file
 * specifies.
 */
export type Flagged = Readonly<Partial<Record<FileKey | 'password_file', string>>>;
/** Certificates with their source (flag or cluster file key) for error messages. */
export type ClusterTls = Tls & { readonly named: { readonly ca?: string; readonly cert?: string } };

type Given = { readonly path: string; readonly flag?: string; readonly key: FileKey };
/** Returns `--cacert /etc/kv/ca.pem` or `tls.ca_file (/etc/kv/ca.pem)`. */
const nameOf = ({ path, flag, key }: Given): string =>
  flag === undefined ? `tls.${key} (${path})` : `${flag} ${path}`;
const wrong = (given: Given, why: string, ...tryThis: string[]): AppError =>
  new AppError(given.flag === undefined ? 'config' : 'usage', `${nameOf(given)} ${why}`, {
    code: 'CERTIFICATE_FILE',
    tryThis,
  });

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'cannot be read: permission denied; give the user that runs opsctl read access',
  EPERM: 'cannot be read: permission denied; give the user that runs opsctl read access',
  EISDIR: 'is a directory; use the path of the file in it',
};
const textOf = async (host: Host, given: Given): Promise<string> => {
  const bytes = await host.files.readBytes(given.path).catch((error: Error & { code?: string }) => {
    throw wrong(given, reasons[error.code ?? ''] ?? `cannot be read: ${error.message}`);
  });
  if (bytes === undefined)
    throw wrong(
      given,
      'does not exist',
      given.flag === undefined ? 'paths in a cluster file are relative to it' : 'check the path',
    );
  if (bytes[0] === 0x30 && bytes[1] === 0x82)
    throw wrong(given, 'is not in PEM form but in DER form; convert it with openssl (-inform der)');
  return decodeUtf8(bytes, given.path, 'config');
};

const hasKey = (text: string): boolean => /-----BEGIN (?:[A-Z]+ ){0,5}PRIVATE KEY-----/.test(text);
const certificatesIn = (given: Given, text: string): X509Certificate[] => {
  const blocks =
    text.match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[\s\S]*?-----END (TRUSTED )?CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    throw wrong(
      given,
      hasKey(text)
        ? 'contains a private key and no certificate: check whether the two files are swapped'
        : 'holds no certificate in PEM form (BEGIN CERTIFICATE)',
    );
  }
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw wrong(given, 'contains a malformed certificate: the file is corrupted or truncated');
  }
};

/** Rejects a bundle only if all its authorities have expired. A bundle may contain expired certificates. */
const checkAuthorities = (given: Given, text: string, now: number): void => {
  const ends = certificatesIn(given, text).map(({ validTo }) => Date.parse(validTo));
  if (ends.every((end) => end < now))
    throw wrong(
      given,
      `contains only authorities that have expired (${dayOf(Math.max(...ends))}); use the new one`,
    );
};
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const checkOwn = (given: Given, text: string, now: number): X509Certificate => {
  const [own] = certificatesIn(given, text) as [X509Certificate];
  const [from, until] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  if (until < now)
    throw wrong(given, `is a client certificate that has expired (${dayOf(until)}); issue a new one`);
  if (from > now)
    throw wrong(
      given,
      `is a client certificate that is not valid before ${new Date(from).toISOString()}; check this machine's clock`,
    );
  return own;
};

const checkKey = (given: Given, text: string, own: X509Certificate, cert: Given): void => {
  if (!hasKey(text)) {
    const swapped = text.includes('BEGIN CERTIFICATE')
      ? 'contains a certificate and no private key: check whether the two files are swapped'
      : undefined;
    throw wrong(given, swapped ?? 'holds no private key in PEM form (BEGIN PRIVATE KEY)');
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (error) {
    const isLocked =
      (error as { code?: string }).code === 'ERR_MISSING_PASSPHRASE' || text.includes('ENCRYPTED');
    throw wrong(
      given,
      isLocked
        ? 'is encrypted with a passphrase; write a decrypted copy with openssl pkey'
        : 'contains a malformed private key',
    );
  }
  if (!own.checkPrivateKey(key))
    throw wrong(given, `is not the key of ${nameOf(cert)}; use the key that belongs to that certificate`);
};

const checkPair = (part: TlsFiles, flagged: Flagged): void => {
  const [missing, there] =
    part.key_file === undefined ? (['key_file', 'cert_file'] as const) : (['cert_file', 'key_file'] as const);
  if (part[missing] !== undefined || part[there] === undefined) return;
  const [flag, other] = [flagged[there], missing === 'key_file' ? '--key' : '--cert'];
  throw flag === undefined
    ? new AppError('config', `tls.${missing} is required with tls.${there}`, { code: 'CLUSTER_FILE' })
    : new AppError('usage', `${other} is required with ${flag}: a client certificate needs its key`, {
        tryThis: [`${other} FILE`],
      });
};

/**
 * Reads and checks the certificates of the cluster file and the flags before the first request. A TLS
 * handshake would report the same problems only as OpenSSL errors. Paths are absolute.
 */
export const readCertificates = async (host: Host, part: TlsFiles, flagged: Flagged): Promise<ClusterTls> => {
  checkPair(part, flagged);
  const readGiven = (key: FileKey): Given | undefined =>
    part[key] === undefined ? undefined : { path: part[key], flag: flagged[key], key };
  const read = async (file: Given | undefined): Promise<string | undefined> =>
    file === undefined ? undefined : textOf(host, file);
  const [caFile, certFile, keyFile] = [readGiven('ca_file'), readGiven('cert_file'), readGiven('key_file')];
  const [ca, cert, key] = [await read(caFile), await read(certFile), await read(keyFile)];
  if (caFile !== undefined) checkAuthorities(caFile, ca as string, host.now());
  if (certFile !== undefined && keyFile !== undefined)
    checkKey(keyFile, key as string, checkOwn(certFile, cert as string, host.now()), certFile);
  const named = { ca: caFile && nameOf(caFile), cert: certFile && nameOf(certFile) };
  return { ca, cert, key, serverName: part.server_name, named };
};
/** The protocol of the server at an address; undefined if the probe could not detect it. */
type Speaks = 'tls' | 'plain' | undefined;
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
      ? `its certificate is not signed by a trusted authority; set the file of its authority with --cacert, or as ca_file ${PLACES}`
      : `its certificate is not signed by an authority in ${tls.named.ca}; use the file of the authority that signed it`,
  expired: () => 'its certificate has expired; renew it on the member, and check the clock of this machine',
  'too-early': () => 'its certificate is not valid yet; check the clocks of the member and of this machine',
  name: ({ names = [], reason }, { at }) =>
    names.length === 0
      ? `its certificate is for another name (${reason}); set that name as server_name ${PLACES}, or with --server-name`
      : `its certificate is for ${names.join(', ')}, not for ${at.replace(/:\d+$/, '')}; set one of its names as server_name ${PLACES}, or with --server-name`,
  'client-certificate': ({ reason }, { tls }) =>
    tls?.named.cert === undefined
      ? `it requires a client certificate; set one with --cert and --key, or as cert_file and key_file ${PLACES}`
      : `it rejected the client certificate of ${tls.named.cert} (${reason}); the certificate must be valid, allow client authentication, and be signed by the authority that the member trusts`,
  protocol: ({ reason }) =>
    `the TLS handshake failed (${reason}); check that this is the client URL of a member`,
};
/**
 * Returns whether the server rejected plain HTTP on a TLS port. Depending on their build, servers close the
 * connection or return 400 with this text.
 */
export const answersPlainToTls = (status: number, text: string): boolean =>
  status === 400 && text.includes('HTTP request to an HTTPS server');
export const wantsHttps =
  'it uses TLS; write https:// in its URL (client_url in the cluster file, or --endpoints), and set certificates';
const wrongScheme = ({ isHttps, speaks }: Failed): string | undefined => {
  if (isHttps && speaks === 'plain')
    return 'it does not use TLS; write http:// in its URL (client_url in the cluster file, or --endpoints)';
  if (!isHttps && speaks === 'tls') return wantsHttps;
  return undefined;
};
/**
 * Converts a TLS failure into an error that names the file or flag to change. Returns undefined if TLS did
 * not cause the failure. Members of 3.3 and 3.4 may close the connection before the client reads their alert.
 * Then only the missing client certificate indicates the cause.
 */
export const tlsFailure = (error: NetworkError, failed: Failed): AppError | undefined => {
  const { trouble } = error;
  const isDropped = error.code === 'RESET' && failed.isHttps && error.sent && failed.tls?.cert === undefined;
  const text =
    wrongScheme(failed) ??
    (trouble === undefined ? undefined : texts[trouble.kind](trouble, failed)) ??
    (isDropped
      ? `it closed the connection; if it requires a client certificate: --cert and --key, or cert_file and key_file ${PLACES}`
      : undefined);
  if (text === undefined) return undefined;
  return new AppError('network', `${failed.at}: ${text}`, {
    code: isDropped ? 'RESET' : 'TLS',
    retryable: isDropped,
    cause: error,
  });
};

const probeMs = 500;
/**
 * Tries the other scheme once, without credentials. A TLS port drops plain requests without an error, and a
 * plain port drops handshakes.
 */
const speaksAt = async (host: Host, base: string, tls: ClusterTls | undefined): Promise<Speaks> => {
  const isHttps = base.startsWith('https:');
  const address = `${isHttps ? base.replace('https:', 'http:') : base.replace('http:', 'https:')}/version`;
  try {
    await (
      await host.network.request({
        method: 'GET',
        url: address,
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
/** Converts the first failure of a connection if TLS caused it. */
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
