// The three authorization servers. Each runs in a separate process and can respond to a signed-in browser immediately.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runAtExit, temporaryDirectory } from '../temporary.mjs';

const bin = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../../bin/opsctl.js', import.meta.url));
const directory = temporaryDirectory('opsctl-bench-');
const running = [];
export const redirectUri = 'http://127.0.0.1:4567/callback';
export const verifier = 'v'.repeat(64);
const challenge = createHash('sha256').update(verifier).digest('base64url');
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
const start = async (args, env = {}) => {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  running.push(child);
  runAtExit(() => child.kill('SIGKILL'));
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
  });
  return JSON.parse(line);
};
export const stopAll = () => {
  agent.destroy();
  for (const child of running) child.kill('SIGKILL');
};

/** Sends one request on a persistent connection; does not follow redirects. */
export const send = (url, { method = 'GET', headers = {}, form } = {}) =>
  new Promise((resolve, reject) => {
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    const type =
      body === undefined
        ? {}
        : { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) };
    const asked = request(url, { method, agent, headers: { ...type, ...headers } }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      reply.on('end', () => resolve({ status: reply.statusCode, headers: reply.headers, text }));
    });
    asked.on('error', reject).end(body);
  });
const query = (values) => new URLSearchParams(values).toString();
const asked = (client, scope) => ({
  client_id: client,
  redirect_uri: redirectUri,
  response_type: 'code',
  scope,
  state: 'state-of-the-bench',
  code_challenge: challenge,
  code_challenge_method: 'S256',
});

/** Starts opsctl with `--seed demo` and without consent pages, which matches a signed-in browser with a remembered consent. */
export const opsctl = async (scope) => {
  const flags = ['--ephemeral', '--seed', 'demo', '--rate-limit', 'off', '-o', 'json'];
  const { auth, url } = await start([bin, 'mock', 'serve', ...flags], { OPSCTL_HOME: directory });
  const body = JSON.stringify({ mode: 'auto' });
  await fetch(`${url}/__opsctl/oauth/consent`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return {
    name: 'opsctl mock',
    authorize: `${auth.authorization_endpoint}?${query(asked(auth.client_id, scope))}`,
    token: auth.token_endpoint,
    client: auth.client_id,
    headers: {},
  };
};

export const oauth2MockServer = async (scope) => {
  const port = await freePort();
  await start([fileURLToPath(new URL('oauth2-mock-server.mjs', import.meta.url)), String(port)]);
  const url = `http://127.0.0.1:${port}`;
  return {
    name: 'oauth2-mock-server 8.2.3',
    authorize: `${url}/authorize?${query(asked('bench', scope))}`,
    token: `${url}/token`,
    client: 'bench',
    headers: {},
  };
};

/** Signs in once through the development pages. The session cookie then carries the sign-in and the consent. */
const signIn = async (origin, authorize) => {
  const cookies = new Map();
  let next = authorize;
  let form;
  for (let i = 0; i < 12; i++) {
    const headers = {
      cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      accept: 'text/html',
    };
    const reply = await send(next, { method: form ? 'POST' : 'GET', headers, form });
    for (const line of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    form = undefined;
    if (reply.headers.location?.startsWith(redirectUri))
      return headers.cookie === ''
        ? {}
        : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
    if (reply.headers.location) next = new URL(reply.headers.location, origin).href;
    else {
      const prompt = /name="prompt" value="([^"]+)"/.exec(reply.text)?.[1];
      next = new URL(/action="([^"]+)"/.exec(reply.text)?.[1] ?? '', origin).href;
      form = prompt === 'login' ? { prompt, login: 'ada', password: 'x' } : { prompt };
    }
  }
  throw new Error('the sign-in of oidc-provider does not end');
};
export const oidcProvider = async (scope) => {
  const port = await freePort();
  await start([fileURLToPath(new URL('oidc-provider.mjs', import.meta.url)), String(port), redirectUri]);
  const origin = `http://127.0.0.1:${port}`;
  const authorize = `${origin}/auth?${query(asked('bench', scope))}`;
  return {
    name: 'oidc-provider 9.13.3',
    authorize,
    token: `${origin}/token`,
    client: 'bench',
    headers: await signIn(origin, authorize),
  };
};

/** Runs one login: the authorization request of a signed-in browser and the code exchange. Returns the tokens. */
export const login = async ({ authorize, token, client, headers }) => {
  const reply = await send(authorize, { headers });
  const code = new URL(reply.headers.location ?? 'http://none/').searchParams.get('code');
  if (code === null)
    throw new Error(`no code: ${reply.status} ${reply.headers.location} ${reply.text.slice(0, 200)}`);
  const form = {
    client_id: client,
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  const answer = await send(token, { method: 'POST', form });
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text);
};
