import { pemText } from '../core/text.ts';
import { makeOwnDirectory } from '../platform/process-identity.ts';
import { Buffer } from 'node:buffer';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import { fittingJson } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';

/** The subset of ASN.1 DER (X.690) that a certificate needs. */
export const der = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const content = joinParts(parts);
  return joinParts([Uint8Array.of(tag), lengthOf(content.length), content]);
};
const joinParts = (parts: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
};
const lengthOf = (length: number): Uint8Array => {
  if (length < 0x80) return Uint8Array.of(length);
  const digits: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return Uint8Array.of(0x80 | digits.length, ...digits);
};
const base128 = (value: number): number[] => {
  const digits = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
};
export const sequence = (...parts: Uint8Array[]): Uint8Array => der(0x30, ...parts);
export const setOf = (...parts: Uint8Array[]): Uint8Array => der(0x31, ...parts);
/** A positive whole number, most significant byte first. */
export const integer = (bytes: Uint8Array): Uint8Array =>
  (bytes[0] ?? 0) & 0x80 ? der(0x02, Uint8Array.of(0), bytes) : der(0x02, bytes);
export const boolean = (value: boolean): Uint8Array => der(0x01, Uint8Array.of(value ? 0xff : 0));
export const oid = (dotted: string): Uint8Array => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return der(0x06, Uint8Array.of(first * 40 + second, ...rest.flatMap(base128)));
};
export const utf8 = (text: string): Uint8Array => der(0x0c, new TextEncoder().encode(text));
export const octets = (bytes: Uint8Array): Uint8Array => der(0x04, bytes);
export const bits = (bytes: Uint8Array, unused = 0): Uint8Array => der(0x03, Uint8Array.of(unused), bytes);
/** Years up to 2049 have two digits (RFC 5280 4.1.2.5). */
export const time = (ms: number): Uint8Array => {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? der(0x17, new TextEncoder().encode(text.slice(2)))
    : der(0x18, new TextEncoder().encode(text));
};

/** PEM texts: the authority's certificate that clients trust, and the server's certificate with its key. */
export type Identity = { readonly ca: string; readonly cert: string; readonly key: string };
const DAY_MS = 86_400_000;
/** Platforms refuse server certificates that last longer than 825 days. */
const LIFE_DAYS = 397;
const RENEW_DAYS = 30;
const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));
const AUTHORITY = 'opsctl mock authority';
const SERVER = 'opsctl mock server';
const nameOf = (common: string): Uint8Array => sequence(setOf(sequence(oid('2.5.4.3'), utf8(common))));
const extension = (id: string, value: Uint8Array, critical = false): Uint8Array =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
const publicBytes = (key: KeyObject): Uint8Array => key.export({ type: 'spki', format: 'der' });
const keyId = (key: KeyObject): Uint8Array => createHash('sha1').update(publicBytes(key)).digest();
type Wanted = {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Uint8Array[];
  readonly serial: Uint8Array;
  readonly nowMs: number;
};
/** RFC 5280 4.1: an X.509 certificate of version 3, signed by the authority's key. */
const certificate = (
  { subject, publicKey, extensions, serial, nowMs }: Wanted,
  authorityKey: KeyObject,
): string => {
  const content = sequence(
    der(0xa0, integer(Uint8Array.of(2))),
    integer(serial),
    ECDSA_SHA256,
    nameOf(AUTHORITY),
    sequence(time(nowMs - DAY_MS), time(nowMs + LIFE_DAYS * DAY_MS)),
    nameOf(subject),
    publicBytes(publicKey),
    der(0xa3, sequence(...extensions)),
  );
  const signed = sequence(content, ECDSA_SHA256, bits(sign('sha256', content, authorityKey)));
  return pemText('CERTIFICATE', Buffer.from(signed).toString('base64'));
};
/** The authority may sign only for this machine's own names (RFC 5280 4.2.1.10), and its key is thrown away after one use. */
const loopbackOnly = sequence(
  der(
    0xa0,
    sequence(der(0x82, Buffer.from('localhost'))),
    sequence(der(0x87, Uint8Array.of(127, 0, 0, 0, 255, 0, 0, 0))),
    sequence(der(0x87, Uint8Array.of(...new Uint8Array(15), 1, ...new Uint8Array(16).fill(255)))),
  ),
);
const names = sequence(
  der(0x82, Buffer.from('localhost')),
  der(0x87, Uint8Array.of(127, 0, 0, 1)),
  der(0x87, Uint8Array.of(...new Uint8Array(15), 1)),
);
const ofAuthority = (key: KeyObject): Uint8Array[] => [
  extension('2.5.29.19', sequence(boolean(true)), true),
  extension('2.5.29.15', bits(Uint8Array.of(0x06), 1), true),
  extension('2.5.29.30', loopbackOnly, true),
  extension('2.5.29.14', octets(keyId(key))),
];
const ofServer = (key: KeyObject, authority: KeyObject): Uint8Array[] => [
  extension('2.5.29.19', sequence(), true),
  extension('2.5.29.15', bits(Uint8Array.of(0x80), 7), true),
  extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
  extension('2.5.29.17', names),
  extension('2.5.29.35', sequence(der(0x80, keyId(authority)))),
  extension('2.5.29.14', octets(keyId(key))),
];
/** A new authority for this machine's loopback addresses and one server certificate of it. */
export const makeIdentity = (nowMs: number, random: (bytes: number) => Uint8Array): Identity => {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issue = (subject: string, publicKey: KeyObject, extensions: readonly Uint8Array[]): string =>
    certificate(
      { subject, publicKey, extensions, nowMs, serial: Uint8Array.of(1, ...random(15)) },
      authority.privateKey,
    );
  return {
    ca: issue(AUTHORITY, authority.publicKey, ofAuthority(authority.publicKey)),
    cert: issue(SERVER, server.publicKey, ofServer(server.publicKey, authority.publicKey)),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
};
type Kept = Identity & { readonly until_ms: number };
const keptShape = { ca: 'text', cert: 'text', key: 'text', until_ms: 'number' } as const;
/**
 * The directory's identity, created at first use and again before it expires, so that a client can continue
 * to trust one file.
 */
export const identityIn = async (
  host: Host,
  directory: string,
): Promise<Identity & { readonly caFile: string }> => {
  const caFile = join(directory, 'mock-ca.pem');
  const path = join(directory, 'tls.json');
  await host.files.makeDirectory(directory, 0o700);
  const kept = fittingJson<Kept>(host.files.readNow(path), keptShape);
  if (kept !== undefined && kept.until_ms > host.now() && host.files.readNow(caFile) === kept.ca)
    return { ...kept, caFile };
  const made = makeIdentity(host.now(), (bytes) => host.random(bytes));
  await host.files.replace(
    path,
    JSON.stringify({ ...made, until_ms: host.now() + (LIFE_DAYS - RENEW_DAYS) * DAY_MS }),
    0o600,
  );
  await host.files.replace(caFile, made.ca, 0o644);
  return { ...made, caFile };
};

type Asked = { readonly tls: boolean; readonly directory: string | undefined };
/**
 * The certificate of an HTTPS server. The certificate of an ephemeral server is deleted when the server
 * stops.
 */
export const identityOf = async (host: Host, { tls, directory }: Asked) => {
  if (!tls) return { identity: undefined, forgetIdentity: async () => {} };
  // Certificates of an ephemeral server are valid while it runs.
  const path = directory ?? (await makeOwnDirectory(host, 'mock'));
  return {
    identity: await identityIn(host, path),
    forgetIdentity: async () => (directory === undefined ? host.files.remove(path) : undefined),
  };
};
