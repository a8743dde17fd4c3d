// oidc-provider with its in-memory adapter: one client, refresh tokens that do not rotate, and its built-in development
// pages.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../peers/package.json', import.meta.url));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')).href);
const [port, redirectUri] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'bench',
      token_endpoint_auth_method: 'none',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  ],
  scopes: ['openid', 'offline_access', 'email'],
  claims: { openid: ['sub'], email: ['email'] },
  /**
   * @param {unknown} _
   * @param {string} id
   */
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id, email: `${id}@demo.example` }) }),
  issueRefreshToken: async () => true,
  rotateRefreshToken: false,
  pkce: { required: () => true },
});
provider.listen(Number(port), '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`),
);
