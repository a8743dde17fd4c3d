// The compared servers. Each runs in a separate process.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { peers } from '../../peers/install.mjs';
import { runAtExit, temporaryDirectory } from '../temporary.mjs';

const bin = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../../bin/opsctl.js', import.meta.url));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
export const directory = temporaryDirectory('opsctl-bench-');
const running = [];

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts a server. If `port` is set, polls it until the server responds; otherwise reads the address from the first output line. */
const start = async (args, { env = {}, port, isReady } = {}) => {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.push(child);
  runAtExit(() => child.kill('SIGKILL'));
  if (port === undefined) {
    const [line] = await new Promise((resolve) =>
      createInterface({ input: child.stdout }).once('line', (text) => resolve([text])),
    );
    return { pid: child.pid, ...JSON.parse(line) };
  }
  child.stdout.resume();
  for (let i = 0; i < 600; i++) {
    const ok = await fetch(`http://127.0.0.1:${port}${isReady}`).then(
      (reply) => reply.status < 500,
      () => false,
    );
    if (ok) return { pid: child.pid, port };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no answer from ${args[0]}`);
};

export const opsctl = async (name, ...flags) => {
  const env = { OPSCTL_HOME: join(directory, name) };
  const ready = await start(
    [
      bin,
      'mock',
      'serve',
      '--seed',
      'empty',
      '--rate-limit',
      'off',
      '--token',
      'bench',
      '-o',
      'json',
      ...flags,
    ],
    { env },
  );
  return { ...ready, port: Number(new URL(ready.tracker.base_url).port) };
};
export const bare = () => start([here('bare-server.mjs')]);
export const fastify = () => start([here('fastify-server.mjs')]);
export const jsonServer = async (labels) => {
  const require = peers();
  const db = join(directory, 'db.json');
  writeFileSync(db, JSON.stringify({ labels }));
  const port = await freePort();
  return start(
    [
      require.resolve('json-server/lib/cli/bin.js'),
      '--quiet',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      db,
    ],
    {
      port,
      isReady: '/labels/1',
    },
  );
};
export const prism = async (openApi) => {
  const require = peers();
  const file = join(directory, 'openapi.json');
  writeFileSync(file, openApi);
  const port = await freePort();
  const cli = require.resolve('@stoplight/prism-cli/dist/index.js');
  return start(
    [cli, 'mock', '--host', '127.0.0.1', '--port', String(port), '--verboseLevel', 'silent', file],
    { port, isReady: '/labels' },
  );
};
/** Stops a process as a supervisor does; resolves when the process has exited. */
export const stop = (pid) => {
  const child = running.find((one) => one.pid === pid);
  return new Promise((resolve) => {
    child.once('close', resolve);
    child.kill('SIGTERM');
  });
};
export const stopAll = () => {
  for (const child of running) child.kill('SIGKILL');
};
