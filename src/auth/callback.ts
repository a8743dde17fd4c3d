import { createHash, timingSafeEqual } from 'node:crypto';
import { type ExternalUrl, externalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import { isIdentity, scopeText } from './auth-context.ts';

declare const checked: unique symbol;
/** A response with the correct state (or typed by the user). `exchange` accepts no other value. */
export type CheckedCallback = {
  readonly [checked]: true;
  readonly code: string;
  /** The parameters as they came, for the protocol checks of the exchange. */
  readonly params: URLSearchParams;
  /** `typed`: a bare code from the keyboard, which has no state; PKCE alone binds it to this login. */
  readonly source: 'redirect' | 'typed';
  /** The response came as a form (`response_mode=form_post`), which no request asks for. */
  readonly isForm?: true;
};
/**
 * An error of the server with the correct state, which ends the login. `params` are unchanged, because their
 * issuer must also be checked.
 */
export type CheckedRefusal = {
  readonly error: string;
  readonly description?: string;
  readonly params: URLSearchParams;
};
export type Verdict =
  | { readonly kind: 'code'; readonly callback: CheckedCallback }
  | { readonly kind: 'refused'; readonly refusal: CheckedRefusal }
  /** A code or an error without state: the state may be in the fragment, which only the browser sees. */
  | { readonly kind: 'relay' }
  /** It has the state of this login but is unusable, so no other response will follow. */
  | { readonly kind: 'failed'; readonly error: AppError }
  /** It does not belong to this login and is ignored. */
  | { readonly kind: 'ignored'; readonly why: string };
export type Expected = { readonly state: string };
/** Marks a request that has been through the relay page, so that it goes round once. */
export const relayMark = 'opsctl_relayed';
const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
/** Takes the same time for every incorrect value of any length. */
export const sameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(digest(given), digest(expected));
const ignore = (why: string): Verdict => ({ kind: 'ignored', why });
const fail = (why: string): Verdict => ({
  kind: 'failed',
  error: new AppError('refused', `the response of the authorization server cannot be used: ${why}`, {
    code: 'BAD_CALLBACK',
    tryThis: ['opsctl login', 'opsctl doctor auth'],
  }),
});
/** RFC 6749 3.1: a parameter must not be repeated. Only the parameters with a meaning here are checked. */
const single = ['state', 'code', 'error', 'error_description', 'iss', relayMark] as const;
const findRepeated = (params: URLSearchParams): string | undefined =>
  single.find((name) => params.getAll(name).length > 1);
/** RFC 6749 4.1.2: a client assumes no size; the address around it has a limit (loopback/decide.ts). */
const codeForm = /^[\x20-\x7e]{1,8192}$/;
const refusalFrom = (params: URLSearchParams): CheckedRefusal => {
  const description = params.get('error_description');
  return { error: params.get('error') ?? '', ...(description === null ? {} : { description }), params };
};
/**
 * spec/sign-in#authorize-7: code or error, with the state unchanged. The order matters: the state is checked
 * before any other value of the request.
 */
export const checkCallback = (params: URLSearchParams, expected: Expected): Verdict => {
  const states = params.getAll('state');
  if (states.length === 0) return withoutState(params, params.has('code') || params.has('error'));
  const isOurs = states.map((state) => sameSecret(state, expected.state)).includes(true);
  return isOurs ? checkOwn(params) : ignore('the state belongs to another login');
};
/** The state is right, so that this response ends the login in any case. */
const checkOwn = (params: URLSearchParams): Verdict => {
  const twice = findRepeated(params);
  if (twice !== undefined) return fail(`${twice} is given more than once`);
  if (params.get('iss') === '') return fail('iss is empty');
  if (!params.has('code') && !params.has('error')) return fail('it contains neither a code nor an error');
  if (params.has('code') && params.has('error')) return fail('it contains a code and an error');
  return params.has('error') ? { kind: 'refused', refusal: refusalFrom(params) } : codeFrom(params);
};
const withoutState = (params: URLSearchParams, hasAnswer: boolean): Verdict => {
  if (!hasAnswer) return ignore('it carries neither code nor state');
  return params.has(relayMark)
    ? ignore('it carries no state, in the query or the fragment')
    : { kind: 'relay' };
};
const codeFrom = (params: URLSearchParams): Verdict => {
  const code = params.get('code') ?? '';
  if (!codeForm.test(code))
    return fail('the code is empty, too long, or contains characters that no code has');
  return { kind: 'code', callback: { code, params, source: 'redirect' } as CheckedCallback };
};
/** A bare code from the keyboard: the state is filled in, because the person who types is the one who asked. */
export const typedCode = (code: string, expected: Expected): Verdict =>
  !/\s/.test(code) && codeFrom(new URLSearchParams({ code, state: expected.state })).kind === 'code'
    ? {
        kind: 'code',
        callback: {
          code,
          params: new URLSearchParams({ code, state: expected.state }),
          source: 'typed',
        } as CheckedCallback,
      }
    : ignore('this is neither an address nor a code');

export type AuthorizationRequest = {
  readonly endpoint: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly secrets: Pick<Secrets, 'challenge' | 'state' | 'nonce'>;
  readonly loginHint?: string;
  /** RFC 9449 10: the code becomes useless without the key of this thumbprint. */
  readonly dpopThumbprint?: string;
  /** Parameters of other servers: `prompt`, `audience`, `resource`. */
  readonly extra?: RequestParams;
};
/**
 * Additional parameters in order. RFC 8707 2 and RFC 8693 2.1 allow several values of `resource` and
 * `audience`.
 */
export type RequestParams = readonly (readonly [name: string, value: string])[];
export const valuesOf = (params: RequestParams = [], wanted: string): string[] =>
  params.filter(([name]) => name === wanted).map(([, value]) => value);
/** spec/sign-in#authorize. Both PKCE parameters are always sent: the method would default to `plain`. */
export const authorizeUrl = (request: AuthorizationRequest): ExternalUrl => {
  const url = new URL(request.endpoint);
  const setParam = (name: string, value: string | undefined) => {
    if (value !== undefined) url.searchParams.set(name, value);
  };
  setParam('client_id', request.clientId);
  setParam('redirect_uri', request.redirectUri);
  setParam('response_type', 'code');
  // RFC 6749 3.3: an omitted scope means the default of the server; an empty one is not allowed.
  setParam('scope', request.scopes.length === 0 ? undefined : scopeText(request.scopes));
  setParam('code_challenge', request.secrets.challenge);
  setParam('code_challenge_method', 'S256');
  setParam('state', request.secrets.state);
  setParam(
    'nonce',
    request.scopes.includes('openid') || request.scopes.some(isIdentity) ? request.secrets.nonce : undefined,
  );
  setParam('login_hint', request.loginHint);
  setParam('dpop_jkt', request.dpopThumbprint);
  const extra = request.extra ?? [];
  for (const [name] of extra) url.searchParams.delete(name);
  for (const [name, value] of extra) url.searchParams.append(name, value);
  // A space may be + or %20 (spec/sign-in); %20 survives every mail program and terminal.
  const address = externalUrl(url.href.replaceAll('+', '%20'));
  if (address !== undefined) return address;
  throw new AppError(
    'config',
    `invalid authorization endpoint ${JSON.stringify(request.endpoint)}: must be an http or https URL without user information`,
    { code: 'AUTH_URL', tryThis: ['--auth-url https://HOST/PATH'] },
  );
};

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
/** 32 random bytes give the 43 characters of spec/sign-in; fewer bytes would be refused by the service. */
export const verifierFrom = (random: Uint8Array): string => base64url(random);
/** spec/sign-in#pkce-2: base64url without padding of the SHA-256 of the ASCII verifier. */
export const challengeFrom = (verifier: string): string =>
  createHash('sha256').update(verifier, 'ascii').digest('base64url');
/**
 * The secrets of one authorization request, created for each request (spec/sign-in: unique per authorization
 * request).
 */
export type Secrets = {
  readonly verifier: string;
  readonly challenge: string;
  readonly state: string;
  readonly nonce: string;
};
export const secretsFrom = (random: (bytes: number) => Uint8Array): Secrets => {
  const verifier = verifierFrom(random(32));
  return {
    verifier,
    challenge: challengeFrom(verifier),
    state: base64url(random(32)),
    nonce: base64url(random(24)),
  };
};
