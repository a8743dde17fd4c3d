import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { PythonPackages } from '../python.ts';
import { followed, isOk, type PeerServer } from './peer-server.ts';

/** Authlib in Flask, in a separate process: a tenant below a path, required PKCE, rotation, and HTTP Basic. */
export const authlibServer = async (python: PythonPackages): Promise<PeerServer> => {
  const script = new URL('./authlib-server.py', import.meta.url).pathname;
  const child = spawn(python.command, ['-W', 'ignore', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, PYTHONPATH: python.path },
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (said += part));
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`Authlib ended with ${code}: ${said}`)));
  });
  const origin = `http://127.0.0.1:${JSON.parse(line).port}`;
  return {
    issuer: `${origin}/tenants/one`,
    client: { id: 'opsctl', secret: 'secret-of-the-test' },
    scopes: ['read'],
    endsUsedTokens: true,
    revocation: 'published',
    signIn: followed,
    isAlive: (token) => isOk(`${origin}/me`, token),
    issued: async () => (await (await fetch(`${origin}/issued`)).json()) as string[],
    close: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.stdin.end();
      }),
  };
};
