import { isSecretName } from './redact-secrets.ts';
import { hasHiddenHost } from './format.ts';

declare const externalUrlBrand: unique symbol;
/**
 * A web address that may be shown, encoded in a QR code, or passed to a browser. Only `externalUrl` makes values of this type.
 * The text is ASCII, starts with `http://` or `https://`, and contains no space, so that it is neither a flag nor two arguments.
 */
export type ExternalUrl = string & { readonly [externalUrlBrand]: true };

/** Longer than any sign-in URL, and shorter than what an operating system accepts as one argument. */
const LONGEST = 32_768;
/** A parser drops tabs and line breaks and turns backslashes into slashes, and a reader does not see bidi marks: text with them is not an address. */
const isMisleading = (text: string): boolean =>
  !/^[!-[\]-~]*$/.test(text) && /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\]/u.test(text);
const PRINTABLE = /^https?:\/\/[!-~]+$/;

/**
 * Parses a URL; undefined if the text is not one, or if its host has invisible characters. `URL.canParse` must not be used: after some thousand calls, Node 20 reads
 * text with letters such as "ü" in the wrong encoding and reports that it is not a URL.
 */
export const parseUrl = (text: string, base?: string): URL | undefined => {
  if (hasHiddenHost(text)) return undefined;
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
};
/** Parses text from a service, a file or the environment. Undefined for anything but an http or https URL without user information. */
export const externalUrl = (text: unknown): ExternalUrl | undefined => {
  if (typeof text !== 'string' || text.length > LONGEST || isMisleading(text)) return undefined;
  if (!/^https?:\/\//i.test(text)) return undefined;
  const url = parseUrl(text);
  if (url === undefined) return undefined;
  if (url.username !== '' || url.password !== '' || /^https?:\/\/[^/?#]*@/i.test(text)) return undefined;
  return PRINTABLE.test(url.href) ? (url.href as ExternalUrl) : undefined;
};

type Env = Readonly<Record<string, string | undefined>>;
/** The parts of a request that decide whether others may read it. */
type SecretRequest = {
  readonly needsTls?: boolean | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};
/** Names hosts that may get secrets without encryption, separated by commas. The one exception to the rule below. */
const PLAIN_HTTP_SETTING = 'OPSCTL_PLAIN_HTTP_HOSTS';
const hostsIn = (env: Env): string[] =>
  (env[PLAIN_HTTP_SETTING] ?? '')
    .split(/[\s,]+/)
    .map((host) => host.toLowerCase())
    .filter((host) => host !== '');
/** An IPv6 address in a URL has brackets. */
export const hostWithoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
/** Four numbers, whatever their size. */
export const hasIpv4Form = (hostname: string): boolean => /^\d+(\.\d+){3}$/.test(hostname);
/** Addresses that never leave this machine. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  hostname === '::1' ||
  /^127(\.\d{1,3}){3}$/.test(hostname);
/**
 * The host to connect to for an address. A name below localhost is this machine (RFC 6761), but a resolver may ask
 * the network for it, so it is never looked up.
 */
export const connectHost = (permitted: PermittedRequest): string => {
  assertPermitted(permitted);
  const { hostname } = permitted.to.url;
  return hostname.endsWith('.localhost') ? 'localhost' : hostWithoutBrackets(hostname);
};
/** Names of headers with a secret that no general rule recognizes. */
const secretHeaders = new Set(['dpop', 'x-trackertoken']);
/** The signature of a delivery is readable by design: it proves the body and cannot be used again. */
const isSecretHeader = (name: string): boolean =>
  secretHeaders.has(name.toLowerCase()) ||
  (!/signature$/i.test(name) && (isSecretName(name) || isSecretName(name.replace(/^x-/i, ''))));
const carriesSecret = (url: URL, { needsTls, headers = {} }: SecretRequest): boolean =>
  needsTls === true ||
  Object.keys(headers).some(isSecretHeader) ||
  [...url.searchParams.keys()].some((name) => isSecretName(name));
/**
 * Returns why a request must not be sent: it carries a secret, or its response is trusted, and the connection
 * is not encrypted. Undefined if it may be sent.
 */
export const plainHttpProblem = (url: URL, request: SecretRequest, env: Env): string | undefined => {
  if (url.protocol !== 'http:' || isLoopbackHost(url.hostname) || !carriesSecret(url, request))
    return undefined;
  const allowed = hostsIn(env);
  if (allowed.includes(url.hostname.toLowerCase()) || allowed.includes(url.host.toLowerCase()))
    return undefined;
  return `${url.origin} is not encrypted: opsctl sends secrets and reads keys over https only (${PLAIN_HTTP_SETTING}=${url.hostname} makes an exception for this host)`;
};
type Sendable = { readonly to: { readonly url: URL }; readonly request: SecretRequest };
declare const permittedBrand: unique symbol;
/** A request that the rule allows. Only `permitRequest` makes it, and every connection needs it. */
export type PermittedRequest = Sendable & { readonly [permittedBrand]: true };
const permitted = new WeakSet<object>();
/** Throws for a request that did not go through `permitRequest`: a cast changes a type, and not this record. */
export const assertPermitted = (request: object): void => {
  if (!permitted.has(request)) throw new TypeError('a request is sent only after permitRequest');
};
/** Returns the request, or why it must not be sent. */
export const permitRequest = <Prepared extends Sendable>(
  prepared: Prepared,
  env: Env,
): (Prepared & PermittedRequest) | string => {
  const problem = plainHttpProblem(prepared.to.url, prepared.request, env);
  if (problem !== undefined) return problem;
  permitted.add(prepared);
  return prepared as Prepared & PermittedRequest;
};
/** The warning for a run in which the exception is set. */
export const plainHttpWarning = (env: Env): string | undefined => {
  const hosts = hostsIn(env);
  return hosts.length === 0
    ? undefined
    : `${PLAIN_HTTP_SETTING} is set: opsctl sends secrets without encryption to ${hosts.join(', ')}, where others on the network can read them`;
};
