import type { MockRequest } from '../../service.ts';
import type { Params } from '../params.ts';
import { type Credentials, given } from './rule.ts';

export const basicChallenge = { 'www-authenticate': 'Basic realm="oauth", charset="UTF-8"' } as const;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};

/** RFC 6749 2.3.1: HTTP Basic with form-encoded ID and secret, or both in the body. */
export const credentialsOf = (request: MockRequest, params: Params): Credentials => {
  const basic = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (basic === undefined)
    return { id: given(params, 'client_id'), secret: given(params, 'client_secret'), isBasic: false };
  const text = Buffer.from(basic, 'base64').toString('utf8');
  const cut = text.indexOf(':');
  const [id, secret] = cut < 0 ? [text, ''] : [text.slice(0, cut), text.slice(cut + 1)];
  return { id: decoded(id), secret: secret === '' ? undefined : decoded(secret), isBasic: true };
};
