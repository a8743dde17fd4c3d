import type { Store } from '../client/etcd-client.ts';

/** A member under the address that was typed for it. */
export type Endpoint = { readonly endpoint: string; readonly store: Store };

/** The message without the address in front of it: the line begins with the endpoint already. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^[^ ]+:\d+: /, '') : String(error);
