import { type AuthContext, safeText } from './auth-context.ts';
import { sh } from '../core/shell.ts';
import type { Host } from '../platform/host.ts';
import { usageError, AppError } from '../core/problem.ts';
import { refuseLongSecret, isKeyContent } from '../core/field.ts';
import { decodeUtf8, withoutByteOrderMark } from '../core/text.ts';
import { limits } from '../core/limits.ts';

/**
 * Reads a secret from stdin, so that no process list shows it: one line, without its end. `forbidden` lists
 * the characters that this kind of secret cannot contain; RFC 6749 A.2 allows spaces in a client secret.
 */
export const readSecret = async (host: Host, flag: string, forbidden = /[\s\p{Cc}]/u): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > limits.secretBytes + 2) break;
  }
  const line = decodeUtf8(Buffer.concat(parts), 'standard input', 'usage').replace(/\r?\n$/, '');
  const text = forbidden.test(' ') ? line.trim() : line;
  refuseLongSecret('usage', `--${flag}`, line);
  if (text === '' || forbidden.test(text))
    throw usageError(
      `--${flag} needs one secret on standard input`,
      [],
      [String(sh`printf %s "$SECRET" | opsctl … --${[flag]}`)],
    );
  return text;
};

/** A key that every user of the machine can read is not a secret any more. Windows has no such mode. */
export const warnOfReadableKey = async (
  { host, log }: Pick<AuthContext, 'host' | 'log'>,
  path: string,
): Promise<void> => {
  if (host.platform === 'win32') return;
  const target = await host.files.realPath(path).catch(() => undefined);
  const info = target === undefined ? undefined : await host.files.info(target).catch(() => undefined);
  if (info !== undefined && (info.mode & 0o004) !== 0)
    log.warnOnce(
      `readable ${path}`,
      `Every user of this machine can read the private key ${path}. Run: chmod 600 ${path}`,
    );
};

/** The file that a service account signs in with, in the form in which consoles give it out. */
export type KeyFile = {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId?: string;
  readonly tokenUri?: string;
};
const usualHelp =
  'download the key of the service account again; it is a JSON file with client_email and private_key';
const makeBrokenKeyError = (origin: string, why: string, help: readonly string[] = [usualHelp]): AppError =>
  new AppError('config', `the service account key of ${origin} cannot be used: ${why}`, {
    code: 'BAD_KEY_FILE',
    tryThis: help,
  });
const textOf = async (context: AuthContext, value: string, origin: string): Promise<string> => {
  if (isKeyContent(value)) return value;
  const text = await context.host.files.read(value).catch((error: unknown) => {
    throw makeBrokenKeyError(
      origin,
      `${value} cannot be read (${(error as { code?: string }).code ?? 'unknown cause'})`,
    );
  });
  if (text === undefined)
    throw makeBrokenKeyError(origin, `the file ${value} does not exist`, [
      'check the path; a relative path starts at the working directory',
      'or set the content of the file instead of its path',
    ]);
  if (text.trim() === '') throw makeBrokenKeyError(origin, `the file ${value} is empty`);
  await warnOfReadableKey(context, value);
  return text;
};

type Json = Readonly<Record<string, unknown>>;
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};
const objectIn = (text: string): Json | undefined => {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
};
const isBase64 = (text: string): boolean => /^[\w+/-]+={0,2}$/.test(text);
/** Text in base64, with or without line ends and in either alphabet; any other text unchanged. */
const decodeIfBase64 = (text: string): string => {
  const bare = text.replace(/\s+/g, '');
  return isBase64(bare) ? Buffer.from(bare, 'base64').toString('utf8') : text;
};
const unquote = (text: string): string => {
  const inner = /^(['"])([\s\S]*)\1$/.exec(text);
  if (inner === null) return text;
  const value = parseJson(text);
  return typeof value === 'string' ? value : (inner[2] ?? '');
};
/** A CI that expands escapes puts line ends into a JSON string, which JSON forbids. */
const escapeLineEnds = (text: string): string =>
  text
    .replace(/-----BEGIN[\s\S]*?-----END[^-"]*-----/g, (pem) => pem.replace(/\r?\n/g, '\\n'))
    .replace(/-----(?:\r?\n)+"/g, '-----\\n"');
/**
 * CI systems keep a key file as a variable, and change it on the way: in quotes, in base64, with escaped quotes, or with
 * line ends inside a string. Each form has one meaning only. Undefined for anything else.
 */
const readForms = (given: string): Json | undefined => {
  const bare = withoutByteOrderMark(given).trim();
  const texts = [bare, unquote(bare), unquote(bare).replaceAll('\\"', '"'), decodeIfBase64(unquote(bare))];
  return texts
    .flatMap((text) => [objectIn(text.trim()), objectIn(escapeLineEnds(text.trim()))])
    .find(Boolean);
};
/** Files of other kinds that consoles and command lines write: what each is for, and what to do with it here. */
const kinds: Readonly<Record<string, readonly [what: string, help: string]>> = {
  external_account: [
    'describes a workload identity federation and contains no key',
    'OPSCTL_AUTH_METHOD=token-exchange, with the identity token of the CI (OPSCTL_IDENTITY_TOKEN_FILE, OPSCTL_IDENTITY_TOKEN_COMMAND)',
  ],
  external_account_authorized_user: ['contains the sign-in of a person', 'opsctl login'],
  authorized_user: ['contains the sign-in of a person, made by another program', 'opsctl login'],
  impersonated_service_account: [
    'lets one account act as another and contains no key',
    'use the key of a service account, or OPSCTL_AUTH_METHOD=token-exchange',
  ],
  gdch_service_account: ['is for a service in a private data center', usualHelp],
};
const clientFile = (name: string): readonly [string, string] => [
  `is the file of an OAuth client (${name}), not of a service account`,
  'OPSCTL_CLIENT_ID and OPSCTL_CLIENT_SECRET take its client_id and client_secret; then opsctl login',
];
const otherKind = (body: Json): string | undefined => {
  if (typeof body.type === 'string' && body.type !== 'service_account') return body.type;
  return ['installed', 'web'].find((name) => typeof body[name] === 'object');
};
const refuseOtherKind = (origin: string, body: Json): void => {
  const kind = otherKind(body);
  if (kind === undefined) return;
  const isClient = kind === 'installed' || kind === 'web';
  const [what, help] = isClient ? clientFile(kind) : (kinds[kind] ?? ['is of another kind', usualHelp]);
  const named = isClient ? 'it' : `it has the type ${JSON.stringify(safeText(kind, 60))} and`;
  throw makeBrokenKeyError(origin, `${named} ${what}`, [help]);
};
const notJson = (text: string): string => {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text))
    return 'it is only a private key, without the client_email of the service account';
  if (/-----BEGIN CERTIFICATE-----/.test(text)) return 'it is a certificate';
  return text.includes('\0') || text.includes('\uFFFD')
    ? 'it is a binary file, for example PKCS#12'
    : 'it is not JSON';
};
const field = (origin: string, body: Json, name: 'client_email' | 'private_key'): string => {
  const value = body[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  const fault = value === undefined ? 'is missing' : value === '' ? 'is empty' : 'is not a text';
  throw makeBrokenKeyError(origin, `${name} ${fault}`);
};
const optional = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
/** `value` is the key file itself or its path. */
export const readKeyFile = async (context: AuthContext, value: string, origin: string): Promise<KeyFile> => {
  const text = await textOf(context, value, origin);
  const body = readForms(text);
  if (body === undefined)
    throw makeBrokenKeyError(origin, notJson(text), [
      usualHelp,
      'a client with a private key uses OPSCTL_CLIENT_KEY and OPSCTL_CLIENT_ID instead',
    ]);
  refuseOtherKind(origin, body);
  const email = field(origin, body, 'client_email');
  const privateKey = field(origin, body, 'private_key');
  refuseLongSecret('config', `private_key of ${origin}`, privateKey);
  context.log.hide(privateKey);
  const [keyId, tokenUri] = [optional(body.private_key_id), optional(body.token_uri)];
  return {
    email,
    privateKey,
    ...(keyId === undefined ? {} : { keyId }),
    ...(tokenUri === undefined ? {} : { tokenUri }),
  };
};
