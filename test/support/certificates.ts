/**
 * Authorities, server certificates and client certificates for the tests. They are created here, are valid for one day and are
 * not stored.
 */
import { type KeyObject, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bits,
  boolean,
  der,
  integer,
  octets,
  oid,
  sequence,
  setOf,
  time,
  utf8,
} from '../../src/mock-server/local-authority.ts';

const HOUR_MS = 3_600_000;
const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const usage = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' };

export type Pair = { readonly cert: string; readonly key: string };
export type CertificateOptions = {
  readonly common?: string;
  readonly hosts?: readonly string[];
  readonly uses?: readonly (keyof typeof usage)[];
  /** Hours from now. A negative value is in the past. */
  readonly from?: number;
  readonly until?: number;
};

const extension = (id: string, value: Uint8Array, critical = false): Uint8Array =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
const hostName = (host: string): Uint8Array =>
  /^[\d.]+$/.test(host)
    ? der(0x87, Uint8Array.from(host.split('.').map(Number)))
    : der(0x82, Buffer.from(host));
const nameOf = (common: string): Uint8Array =>
  common === '' ? sequence() : sequence(setOf(sequence(oid('2.5.4.3'), utf8(common))));
const pem = (bytes: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;

type Content = {
  readonly issuer: string;
  readonly common: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Uint8Array[];
};
const signed = (
  { issuer, common, publicKey, extensions }: Content,
  { from = -1, until = 24 }: CertificateOptions,
  authority: KeyObject,
): string => {
  const now = Date.now();
  const content = sequence(
    der(0xa0, integer(Uint8Array.of(2))),
    integer(Uint8Array.of(1, ...randomBytes(15))),
    ECDSA_SHA256,
    nameOf(issuer),
    sequence(time(now + from * HOUR_MS), time(now + until * HOUR_MS)),
    nameOf(common),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  return pem(sequence(content, ECDSA_SHA256, bits(sign('sha256', content, authority))));
};

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
export type Authority = { readonly cert: string; issue(options?: CertificateOptions): Pair };
export const makeAuthority = (name = 'test authority', times: CertificateOptions = {}): Authority => {
  const own = newKeys();
  const extensions = [
    extension('2.5.29.19', sequence(boolean(true)), true),
    extension('2.5.29.15', bits(Uint8Array.of(0x06), 1), true),
  ];
  return {
    cert: signed({ issuer: name, common: name, publicKey: own.publicKey, extensions }, times, own.privateKey),
    issue: (options = {}) => {
      const { common = '', hosts = [], uses = ['server', 'client'] } = options;
      const { publicKey, privateKey } = newKeys();
      const leaf = [
        extension('2.5.29.15', bits(Uint8Array.of(0x80), 7), true),
        extension('2.5.29.37', sequence(...uses.map((use) => oid(usage[use])))),
        ...(hosts.length === 0 ? [] : [extension('2.5.29.17', sequence(...hosts.map(hostName)))]),
      ];
      const cert = signed({ issuer: name, common, publicKey, extensions: leaf }, options, own.privateKey);
      return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
    },
  };
};

export type CertificateFiles = {
  readonly directory: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** The certificate of the servers. Members and their gateway also use it as a client certificate. */
  readonly serverCert: string;
  readonly serverKey: string;
  readonly authority: Authority;
  /** Writes another file to the directory and returns its path. */
  add(name: string, text: string): string;
};
/** Creates the files that a cluster with certificates needs in one directory. */
export const certificateFiles = (directory: string, server: CertificateOptions = {}): CertificateFiles => {
  const authority = makeAuthority();
  const add = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const [served, client] = [
    authority.issue({ hosts: ['127.0.0.1', 'localhost'], ...server }),
    authority.issue({ uses: ['client'] }),
  ];
  return {
    ...{ directory, authority, add, ca: add('ca.pem', authority.cert) },
    ...{ cert: add('client.pem', client.cert), key: add('client-key.pem', client.key) },
    ...{ serverCert: add('server.pem', served.cert), serverKey: add('server-key.pem', served.key) },
  };
};
