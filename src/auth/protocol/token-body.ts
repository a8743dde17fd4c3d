import type { HttpResponse } from './token-client.ts';

/** spec/sign-in#token. */
const fields = [
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
  'refresh_token_expires_in',
  'scope',
  'id_token',
];

export const isJson = (read: HttpResponse): boolean =>
  /^application\/([a-z.+-]*\+)?json\b/i.test(read.headers['content-type'] ?? '');

/** Servers that give none of these send an empty one instead of leaving it out. */
const mayBeEmpty = ['refresh_token', 'id_token'];

/** The body of a token answer: a field that is null counts as left out. Undefined when it is no JSON, for example cut off. */
export const bodyOf = (read: HttpResponse): unknown => {
  try {
    const body: unknown = JSON.parse(read.text.replace(/^\uFEFF/, ''));
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
    return Object.fromEntries(
      Object.entries(body).filter(
        ([name, value]) =>
          !(value === null && fields.includes(name)) && !(value === '' && mayBeEmpty.includes(name)),
      ),
    );
  } catch {
    return undefined;
  }
};

/** RFC 6749 5.2. Some servers send it with status 200. */
export const errorIn = (body: unknown): { error: string; description?: string } | undefined => {
  const { error, error_description: description } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Record<string, unknown>;
  if (typeof error !== 'string') return undefined;
  return { error, ...(typeof description === 'string' ? { description } : {}) };
};

/** RFC 6750 2.1: what goes into an Authorization header as it is. */
export const isSendable = (token: string): boolean => /^[\x21-\x7e]+$/.test(token);
