import { limits } from '../core/limits.ts';
import type { Handler, Host, Listener } from '../platform/host.ts';

type Where = {
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly isPrivate?: boolean;
};

/** Also on ::1, at the same port where that is free: browsers and libraries try it first for `localhost`. */
export const listenBoth = async (
  host: Host,
  handler: Handler,
  { port, tls, isPrivate }: Where,
): Promise<Listener[]> => {
  const at = { tls, maxConnections: limits.connections };
  const first = await host.network.listen(handler, { ...at, host: '127.0.0.1', port });
  if (isPrivate) return [first];
  try {
    return [first, await host.network.listen(handler, { ...at, host: '::1', port: first.port })];
  } catch {
    return [first];
  }
};
