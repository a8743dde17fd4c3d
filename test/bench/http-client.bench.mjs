// Compares opsctl's HTTP/1.1 client with an undici pool: CPU of one small request on kept connections, and CPU of a
// process that sends a single request. The rounds alternate, and each program runs in a process of its own.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const ROUNDS = Number(process.env.OPSCTL_BENCH_ROUNDS ?? 7);
const REQUESTS = Number(process.env.OPSCTL_BENCH_REQUESTS ?? 20_000);
const root = fileURLToPath(new URL('../../', import.meta.url));
const directory = `${root}.cache/http-client-bench`;
mkdirSync(directory, { recursive: true });

const senders = {
  own: `import { nodeHost } from '../../src/platform/node/host.ts';
const { network } = nodeHost();
export const send = async (url) => (await network.request({ method: 'GET', url })).text();
`,
  undici: `import { Pool } from 'undici';
let pool;
export const send = async (url) => {
  const { origin, pathname } = new URL(url);
  pool ??= new Pool(origin, { connections: 8 });
  return (await pool.request({ method: 'GET', path: pathname })).body.text();
};
`,
};
const loop = `
const [, , url, count] = process.argv;
let left = Number(count);
const work = async () => {
  while (left-- > 0) await send(url);
};
await Promise.all(Array.from({ length: 8 }, work));
const { user, system } = process.cpuUsage();
process.stdout.write(String(user + system));
process.exit(0);
`;
const programOf = (name) => {
  const entry = `${directory}/${name}.ts`;
  writeFileSync(entry, `${senders[name]}${loop}`);
  buildSync({
    entryPoints: [entry],
    outdir: `${directory}/${name}`,
    outExtension: { '.js': '.mjs' },
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    external: ['@napi-rs/keyring'],
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  });
  return `${directory}/${name}/${name}.mjs`;
};
const cpu = (program, url, count) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, url, String(count)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
};
const server = spawn(process.execPath, [
  '-e',
  `const body = JSON.stringify({ id: 1, name: 'bug', color: '#1a2b3c' });
require('node:http').createServer((_, answer) => { answer.setHeader('content-type', 'application/json'); answer.end(body); })
  .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`,
]);
try {
  const [port] = await once(createInterface({ input: server.stdout }), 'line');
  const url = `http://127.0.0.1:${port}/labels`;
  const names = Object.keys(senders);
  const programs = names.map(programOf);
  const many = names.map(() => []);
  const single = names.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [i, program] of programs.entries()) {
      const one = cpu(program, url, 1);
      single[i].push(one);
      many[i].push((cpu(program, url, REQUESTS) - one) / REQUESTS);
    }
  for (const [i, name] of names.entries())
    process.stdout.write(
      `${name.padEnd(8)} ${Math.min(...many[i]).toFixed(0)} µs CPU a request, ${(Math.min(...single[i]) / 1000).toFixed(0)} ms CPU for a process with one request\n`,
    );
  const ratio = (values) => (Math.min(...values[0]) / Math.min(...values[1])).toFixed(2);
  process.stdout.write(
    `own to undici: ${ratio(many)} a request, ${ratio(single)} for one request (minima of ${ROUNDS} rounds)\n`,
  );
} finally {
  server.kill();
  rmSync(directory, { recursive: true, force: true });
}
