import { AppError } from '../core/problem.ts';
import type { HttpResponse } from '../auth/protocol/token-client.ts';
import { addScopeLine } from '../auth/scopes.ts';
import type { AccessToken } from '../auth/token.ts';
import { scopesFor } from './request.ts';

const errorText = (read: HttpResponse): string => {
  try {
    const body = JSON.parse(read.text) as {
      error?: { message?: unknown } | string;
      error_description?: unknown;
    };
    const said = typeof body.error === 'object' ? body.error.message : (body.error_description ?? body.error);
    return typeof said === 'string' ? said : 'no reason given';
  } catch {
    return 'no reason given';
  }
};

export const refusal = (read: HttpResponse, path: string, token: AccessToken): AppError => {
  const why = errorText(read);
  const base = { httpStatus: read.status };
  if (read.status === 401)
    return new AppError('auth', `the data API refuses the access token (${token.origin}): ${why}`, {
      ...base,
      code: 'TOKEN_REFUSED',
      tryThis: ['opsctl auth status', 'opsctl login'],
    });
  const isScope =
    read.status === 403 &&
    /insufficient[_ ]?(scope|permission|authentication scope)/i.test(
      `${read.headers['www-authenticate'] ?? ''} ${read.text}`,
    );
  if (isScope) {
    const wanted = /scope="([^"]+)"/.exec(read.headers['www-authenticate'] ?? '')?.[1]?.split(' ') ?? [
      ...scopesFor(path),
    ];
    const named = wanted.length > 0 ? ` ${wanted.join(' or ')}` : '';
    return new AppError('auth', `the access token lacks the scope${named}`, {
      ...base,
      code: 'MISSING_SCOPE',
      tryThis: [addScopeLine(wanted.slice(0, 1), token.account?.name)],
      data: { missing: wanted },
    });
  }
  if (read.status === 404) return new AppError('not-found', `the data API has no ${path}: ${why}`, base);
  if (read.status === 429)
    return new AppError('rate-limit', `the data API: ${why}`, { ...base, retryable: true });
  if (read.status >= 500)
    return new AppError('network', `the data API fails: ${why}`, { ...base, retryable: true });
  return new AppError('refused', `the data API refuses ${path}: ${why}`, base);
};
