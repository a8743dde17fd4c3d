import { NetworkError, type HttpRequest } from '../../../src/platform/host.ts';
import type { ScriptedReply } from '../../support/fake-host.ts';

type Family = {
  readonly id: number;
  readonly user: string;
  readonly scopes: string;
  refresh: string;
  isRevoked: boolean;
  readonly access: { readonly token: string; readonly issued: number }[];
};

/** An in-memory token server with rotation and reuse detection: the strictest server that a client encounters. */
export type RotatingServer = {
  reply(request: HttpRequest): ScriptedReply;
  /** Returns the family of a refresh or access token. */
  familyOf(token: string): Family | undefined;
  isCurrent(refreshToken: string): boolean;
  revokeUser(user: string): void;
  /** Returns the families that can still be refreshed. */
  live(): Family[];
  begin(user: string, scopes: string): { readonly refresh: string; readonly access: string };
  /** Counts the issued tokens, so that a test can distinguish the tokens before and after an event. */
  count(): number;
  issuedAt(access: string): number;
};

export const rotatingServer = (rotates: boolean): RotatingServer => {
  const families: Family[] = [];
  let count = 0;
  const issueAccess = (family: Family): string => {
    const token = `at-${family.id}-${++count}`;
    family.access.push({ token, issued: count });
    return token;
  };
  const begin = (user: string, scopes: string) => {
    const family: Family = {
      id: families.length + 1,
      user,
      scopes,
      refresh: '',
      isRevoked: false,
      access: [],
    };
    family.refresh = `rt-${family.id}-0`;
    families.push(family);
    return { refresh: family.refresh, access: issueAccess(family) };
  };
  const familyOf = (token: string): Family | undefined => families[Number(token.split('-')[1]) - 1];
  const isCurrent = (token: string): boolean => {
    const family = familyOf(token);
    return family !== undefined && !family.isRevoked && family.refresh === token;
  };
  const tokens = (family: Family, access: string): ScriptedReply => ({
    body: {
      access_token: access,
      refresh_token: family.refresh,
      expires_in: 3600,
      scope: family.scopes,
      token_type: 'Bearer',
    },
  });
  const refresh = (token: string): ScriptedReply => {
    const family = familyOf(token);
    if (family === undefined || !isCurrent(token)) {
      if (family !== undefined) family.isRevoked = true;
      return { status: 400, body: { error: 'invalid_grant' } };
    }
    if (rotates) family.refresh = `rt-${family.id}-${++count}`;
    return tokens(family, issueAccess(family));
  };
  const revoke = (token: string): ScriptedReply => {
    const family = familyOf(token);
    if (family === undefined) return { status: 400, body: { error: 'invalid_token' } };
    // A strict server revokes the family only for its current token.
    if (token.startsWith('rt-') && family.refresh !== token && !family.isRevoked)
      return { status: 400, body: { error: 'invalid_token' } };
    family.isRevoked = true;
    return { status: 200, body: {} };
  };
  return {
    begin,
    familyOf,
    isCurrent,
    count: () => count,
    issuedAt: (access) =>
      familyOf(access)?.access.find(({ token }) => token === access)?.issued ?? Number.NaN,
    revokeUser: (user) => {
      for (const family of families) if (family.user === user) family.isRevoked = true;
    },
    live: () => families.filter(({ isRevoked }) => !isRevoked),
    reply: (request) => {
      const url = new URL(request.url);
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      if (url.pathname === '/revoke') return revoke(url.searchParams.get('token') ?? form.get('token') ?? '');
      if (url.pathname !== '/token') throw new NetworkError('REFUSED', 'no such page', false);
      if (form.get('grant_type') === 'refresh_token') return refresh(form.get('refresh_token') ?? '');
      // The code contains the user and the granted scopes.
      const [user = '', scopes = ''] = (form.get('code') ?? '').split('~');
      const { access, refresh: first } = begin(user, scopes.replaceAll('+', ' '));
      const family = familyOf(first) as Family;
      return tokens(family, access);
    },
  };
};
