import type { Host } from '../platform/host.ts';

/** What signing in needs of the run it is part of; a command's context has all of it. */
export type AuthContext = {
  readonly host: Host;
  readonly settings: {
    readonly profile: { readonly name: string; readonly origin: string };
    readonly directories: { readonly config: string; readonly state: string; readonly cache: string };
    get(key: string): { readonly value: string; readonly origin: string } | undefined;
  };
  readonly log: {
    info(text: string): void;
    warn(text: string): void;
    warnOnce(key: string, text: string): void;
    debug(text: string): void;
    hide(secret: string): void;
  };
  readonly signal: AbortSignal;
  target(service: 'auth' | 'api'): Promise<{
    readonly baseUrl: string;
    readonly isMock: boolean;
    readonly headers: Readonly<Record<string, string>>;
    readonly origin: string;
  }>;
};
