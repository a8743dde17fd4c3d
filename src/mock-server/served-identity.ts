import { childPath, pathPart } from '../core/file-name.ts';
import { Buffer } from 'node:buffer';
import type { Host } from '../platform/host.ts';

type Asked = { readonly tls: boolean; readonly directory: string | undefined };

/** Certificates of a server that keeps nothing live as long as it does. */
const temporaryDirectory = (host: Host): string =>
  childPath(
    host.files.temporaryDirectory(),
    pathPart(`opsctl-mock-${host.pid}-${Buffer.from(host.random(6)).toString('hex')}`),
  );

/** The certificate of an HTTPS server; one of a server without state goes when the server stops. */
export const identityOf = async (host: Host, { tls, directory }: Asked) => {
  if (!tls) return { identity: undefined, forgetIdentity: async () => {} };
  const { identityIn } = await import('./local-authority.ts');
  const path = directory ?? temporaryDirectory(host);
  return {
    identity: await identityIn(host, path),
    forgetIdentity: async () => (directory === undefined ? host.files.remove(path) : undefined),
  };
};
