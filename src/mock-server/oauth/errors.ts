import type { AuthorizationError, TokenErrorCode } from '../../api-specs/oauth/errors.ts';

export type PageError = AuthorizationError | 'invalid_client' | 'invalid_scope' | 'method_not_allowed';

/** A rule of the authorization endpoint refuses: the user sees a page instead of the flow. */
export class OAuthPageError extends Error {
  readonly code: PageError;
  constructor(code: PageError, detail: string) {
    super(detail);
    this.name = 'OAuthPageError';
    this.code = code;
  }
}

/** A rule after the redirect URI was checked refuses, and the application is told by redirect. */
export class RedirectError extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.name = 'RedirectError';
    this.code = code;
  }
}

/** A rule of the token or revoke endpoint refuses. spec/sign-in#errors-10: `{"error","error_description"}`. */
export class OAuthError extends Error {
  readonly code: TokenErrorCode;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly subtype: string | undefined;
  constructor(
    code: TokenErrorCode,
    description: string,
    status?: number,
    headers: Readonly<Record<string, string>> = {},
    subtype?: string,
  ) {
    super(description);
    this.subtype = subtype;
    this.name = 'OAuthError';
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}
