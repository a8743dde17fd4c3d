import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, test } from 'vitest';
import { type AuthServer, authServer, clients, control, scopes, secret } from '../support/auth-server.ts';
import { signInAt } from './browser-of-clients.ts';
import { isLeftOut, oauthPackages } from './python.ts';

const python = oauthPackages();
let server: AuthServer;
beforeAll(async () => {
  server = await authServer();
});

/** One client in a separate process. It requests a page and receives the final address of the browser. */
const run = async (client: string, key: unknown): Promise<readonly number[]> => {
  const script = new URL('./python-clients.py', import.meta.url).pathname;
  const child = spawn(python.command, ['-W', 'ignore', script, client], {
    env: { PATH: process.env.PATH, PYTHONPATH: python.path },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
  const given = {
    origin: server.origin,
    client: clients.withSecret,
    secret,
    scope: scopes.readonly,
    redirect: 'http://127.0.0.1:4567/callback',
    key,
  };
  child.stdin.write(`${JSON.stringify(given)}\n`);
  for await (const line of createInterface({ input: child.stdout })) {
    const { open, done } = JSON.parse(line) as { open?: string; done?: number[] };
    if (done !== undefined) return done;
    const at = await signInAt(server, open ?? '');
    child.stdin.write(`${JSON.stringify({ at: at.href })}\n`);
  }
  throw new Error(`${client} said nothing more: ${said}`);
};

describe.skipIf(isLeftOut(python))('clients of Python at the embedded server', () => {
  test.each(['requests-oauthlib', 'Authlib', 'google-auth'])(
    '%s: code with PKCE, data API, refresh, revoke',
    async (client) => {
      expect(await run(client, undefined)).toEqual([200, 200, 200, 401]);
    },
  );
  test('google-auth: a service account by its key file', async () => {
    const { json } = await control(server, 'POST', '/service-keys', { user: 'ci@demo.example' });
    expect(await run('google-auth service account', json)).toEqual([200]);
  });
});
