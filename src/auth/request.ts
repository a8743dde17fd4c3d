import { invalidArguments, problem } from '../core/problem.ts';
import { media, mediaScopes, mediaTable } from '../api-specs/oauth/media.ts';
import type { HttpRequest } from '../platform/host.ts';
import type { Target } from '../cli/command.ts';

export const pathOf = (given: string): string => {
  const path = given.startsWith('/') ? given : `/${given}`;
  return path.startsWith(`${media.basePath}/`) ? path : media.basePath + path;
};

export const queryOf = (pairs: readonly string[]): URLSearchParams => {
  const query = new URLSearchParams();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1)
      throw invalidArguments([
        problem('--param', 'format', `must be name=value; got ${JSON.stringify(pair)}`),
      ]);
    // spec/sign-in#data-api: the header is preferred because query strings appear in server logs.
    if (pair.slice(0, at) === 'access_token')
      throw invalidArguments([problem('--param', 'rule', 'must not carry the token; it goes in the header')]);
    query.append(pair.slice(0, at), pair.slice(at + 1));
  }
  return query;
};

/** Scopes of which one opens the path; none when the tables do not know it. */
export const scopesFor = (path: string): readonly string[] => {
  for (const [resource, verbs] of Object.entries(mediaTable)) {
    for (const [verb, row] of Object.entries(verbs)) {
      if (row.method === 'GET' && media.basePath + row.path === path)
        return mediaScopes[`${resource}.${verb}`] ?? [];
    }
  }
  return [];
};

export const requestTo = (
  target: Target,
  path: string,
  query: URLSearchParams,
  token: string,
): HttpRequest => ({
  method: 'GET',
  url: `${target.baseUrl.replace(/\/+$/, '')}${path}${query.size === 0 ? '' : `?${query}`}`,
  headers: { accept: 'application/json', authorization: `Bearer ${token}` },
});
