import type { Host } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { browserChoice, forwardLine, browserEnvironment } from './methods/browser-environment.ts';
import { fails, type Finding, ok, warns } from './finding.ts';

const listens = async (host: Host, address: string, port: number): Promise<string | undefined> => {
  try {
    const listener = await host.network.listen(() => ({ status: 204 }), { host: address, port });
    await listener.close();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? 'UNKNOWN';
  }
};

/** Can the redirect reach us? Both literals, because browsers and tunnels differ in which one they take. */
export const portFindings = async ({ host }: AuthContext, port: number): Promise<Finding[]> => {
  const name = port === 0 ? 'a free port' : `port ${port}`;
  const v4 = await listens(host, '127.0.0.1', port);
  const v6 = await listens(host, '::1', port);
  const taken = `another program has it; opsctl login without --port, or find it: ss -ltnp 'sport = :${port}'`;
  return [
    v4 === undefined
      ? ok('listen on 127.0.0.1', name)
      : fails(
          'listen on 127.0.0.1',
          v4,
          v4 === 'EADDRINUSE' ? taken : 'opsctl login --no-browser, and paste the address',
        ),
    v6 === undefined
      ? ok('listen on ::1', name)
      : warns(
          'listen on ::1',
          v6,
          v6 === 'EADDRINUSE' ? taken : 'not needed: the redirect goes to 127.0.0.1',
        ),
  ];
};

export const browserFinding = async ({ host }: AuthContext, hasTerminal: boolean): Promise<Finding> => {
  const at = await browserEnvironment(host);
  const { open, why } = browserChoice(at, {}, hasTerminal);
  if (open) return ok('browser', host.env.BROWSER === undefined ? why : `BROWSER=${host.env.BROWSER}`);
  const remedy = at.isSsh
    ? `opsctl login --port 8400, and on your computer: ${forwardLine(8400, at, host.hostname)}`
    : 'opsctl login --no-browser, open the address elsewhere and paste the result; or opsctl login --start';
  return warns('browser', `is not opened: ${why}`, remedy);
};

export const keychainFinding = async ({ host }: AuthContext): Promise<Finding> => {
  const otherwise = 'not needed: credentials go to an encrypted file that only you can read';
  if (host.env.OPSCTL_KEYCHAIN === 'never') return ok('keychain', 'switched off by OPSCTL_KEYCHAIN=never');
  if (host.keychain === undefined) return warns('keychain', 'this system offers none', otherwise);
  try {
    await host.keychain.get('opsctl', 'doctor');
    return ok('keychain', 'answers');
  } catch (error) {
    return warns(
      'keychain',
      error instanceof Error ? error.message.slice(0, 120) : 'does not answer',
      'unlock it, or set OPSCTL_KEYCHAIN=never',
    );
  }
};

export const credentialStoreFinding = async (context: AuthContext): Promise<Finding> => {
  const credentials = openCredentialStore(context);
  try {
    const { accounts } = await credentials.read();
    return ok(
      'stored credentials',
      accounts.length === 0
        ? 'none yet'
        : `${accounts.length} account${accounts.length === 1 ? '' : 's'}, key in the ${(await credentials.keyLocation()) ?? 'file'}`,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return fails('stored credentials', error.message, error.detail.tryThis?.[0] ?? '');
  }
};
