import type { ExternalUrl } from '../core/external-url.ts';
import type { BaseAccount } from './keep-account.ts';
import type { ListenOptions } from './loopback/listen.ts';
import type { Secrets } from './pkce.ts';
import type { LoginServer } from './settings.ts';

export type LoginPlan = {
  readonly server: LoginServer;
  readonly scopes: readonly string[];
  /** Name to store the account under; from the identity when absent. */
  readonly account?: string;
  /** The account that scopes are added to. */
  readonly base?: BaseAccount;
  readonly loginHint?: string;
  /** Further parameters of the authorization request, as other servers want them. */
  readonly params?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly path: string;
  readonly redirectHost?: ListenOptions['redirectHost'];
  readonly timeoutMs: number;
  readonly browser?: boolean;
  readonly noBrowser?: boolean;
  /** True when stdin is free for a pasted address. */
  readonly readsPaste: boolean;
  readonly hasTerminal: boolean;
  /** Walks the embedded server's own pages where nobody sits at a browser. */
  readonly scripted?: (url: string, redirectUri: string) => Promise<void>;
};

/** One authorization request: what must be remembered until its answer. */
export type Attempt = {
  readonly secrets: Secrets;
  readonly redirectUri: string;
  readonly requested: readonly string[];
  readonly url: ExternalUrl;
};
