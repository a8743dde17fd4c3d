import type { MockRequest } from '../service.ts';
import { readParams } from './params.ts';

/** spec/sign-in#data-api: the header, or the query parameter `access_token`. RFC 6750 2: one way at a time. */
export const bearerOf = (request: MockRequest): { readonly token?: string; readonly problem?: string } => {
  const query = readParams(request.query);
  const inQuery = query.all('access_token');
  const header = request.headers.authorization;
  if (header === undefined) {
    if (inQuery.length > 1) return { problem: 'access_token was given more than once' };
    return inQuery[0] ? { token: inQuery[0] } : {};
  }
  if (inQuery.length > 0) return { problem: 'An access token was given in the header and in the query' };
  // RFC 7235: the scheme in any case.
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(header)?.[1];
  return token === undefined ? {} : { token };
};
