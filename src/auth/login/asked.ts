import type { MachineMethodName } from '../../core/sign-in-words.ts';

/** Which authorization server is meant; the names are those of the flags, which messages repeat. */
export type AskedServer = {
  readonly issuer?: string | undefined;
  readonly 'auth-url'?: string | undefined;
  readonly 'token-url'?: string | undefined;
  readonly 'revoke-url'?: string | undefined;
  readonly 'client-id'?: string | undefined;
  readonly 'client-secret-stdin'?: boolean | undefined;
};

/** What `opsctl login` is asked for. */
export type AskedLogin = AskedServer & {
  readonly method?: 'browser' | 'device' | MachineMethodName | undefined;
  readonly 'key-file'?: string | undefined;
  readonly audience?: string | undefined;
  readonly param?: readonly string[] | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly 'add-scope'?: readonly string[] | undefined;
  readonly 'require-scopes'?: boolean | undefined;
  readonly 'login-hint'?: string | undefined;
  readonly account?: string | undefined;
  readonly browser?: boolean | undefined;
  readonly port?: number | undefined;
  readonly 'redirect-path'?: string | undefined;
  readonly 'redirect-host'?: '127.0.0.1' | '[::1]' | 'localhost' | undefined;
  readonly timeout?: string | undefined;
  readonly start?: boolean | undefined;
  readonly finish?: string | undefined;
  readonly replace?: boolean | undefined;
  readonly 'token-stdin'?: boolean | undefined;
  readonly scripted?: boolean | undefined;
};
