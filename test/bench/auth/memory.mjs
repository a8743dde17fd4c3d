// Measures memory over a million expired tokens. The service runs without a socket, so the run takes a minute instead of
// an hour.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { randomBytes } from 'node:crypto';
import { build } from 'esbuild';
import { temporaryDirectory } from '../temporary.mjs';

const TOKENS = Number(process.env.OPSCTL_BENCH_TOKENS ?? 1_000_000);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const directory = temporaryDirectory('opsctl-memory-');
const contents = [
  "export { makeAuth } from './src/mock-server/oauth/service.ts';",
  "export { Store } from './src/mock-server/store.ts';",
  "export { defaultOptions } from './src/mock-server/service-set.ts';",
];
const outfile = join(directory, 'service.mjs');
await build({
  stdin: { contents: contents.join('\n'), resolveDir: root, loader: 'ts' },
  outfile,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  logLevel: 'error',
});
const { makeAuth, Store, defaultOptions } = await import(pathToFileURL(outfile).href);

let now = 1_800_000_000_000;
const store = new Store();
const origin = 'http://127.0.0.1:1';
const world = {
  host: {},
  store,
  options: defaultOptions,
  now: () => now,
  random: (bytes) => randomBytes(bytes),
  uuid: () => '',
  origin: () => origin,
  later: () => {},
};
const service = makeAuth(world);
service.seed('demo');
const call = (method, path, query, fields, type = 'application/x-www-form-urlencoded') => {
  const body = Buffer.from(
    fields === undefined ? '' : typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
  );
  const headers = { host: '127.0.0.1', ...(body.length > 0 ? { 'content-type': type } : {}) };
  return service.handle({ method, path, query, headers, body, remoteAddress: '127.0.0.1', isTls: false });
};
const client = '417000000001-demodesktop000000000000000000000.apps.opsctl.example';
const redirect_uri = 'http://127.0.0.1:4567/callback';
const query = new URLSearchParams({
  client_id: client,
  redirect_uri,
  response_type: 'code',
  scope: 'https://scopes.opsctl.example/auth/media.readonly',
}).toString();
call(
  'PUT',
  '/__opsctl/oauth/consent',
  '',
  JSON.stringify({ mode: 'auto', access_for_seconds: 60 }),
  'application/json',
);
const login = () => {
  const code = new URL(call('GET', '/o/oauth2/v2/auth', query).headers.location).searchParams.get('code');
  return JSON.parse(
    call('POST', '/token', '', { client_id: client, grant_type: 'authorization_code', code, redirect_uri })
      .body,
  ).refresh_token;
};
const heapMb = () => {
  global.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
};

/** New logins create a tenth of the tokens and refreshes create the rest. The clock advances so that all tokens expire. */
let made = 0;
const some = (count) => {
  const end = made + count;
  while (made < end) {
    const token = login();
    for (let i = 0; i < 9; i++)
      call('POST', '/token', '', { client_id: client, grant_type: 'refresh_token', refresh_token: token });
    made += 10;
    now += 1000;
  }
};
some(TOKENS / 10);
const before = heapMb();
const figures = [before];
for (let i = 0; i < 9; i++) {
  some(TOKENS / 10);
  figures.push(heapMb());
}
const records = [...store.collections()].reduce((sum, { size }) => sum + size, 0);
process.stdout.write(
  `${JSON.stringify({ tokens: made, heap_mb: figures.map((mb) => Number(mb.toFixed(1))), growth: figures.at(-1) / before, records })}\n`,
);
