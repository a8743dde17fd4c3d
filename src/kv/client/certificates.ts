import { type KeyObject, X509Certificate, createPrivateKey } from 'node:crypto';
import type { Host, Tls } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { decodeUtf8 } from '../../core/text.ts';
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
