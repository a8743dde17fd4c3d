import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import { nodeHost } from '../../../src/platform/node/host.ts';
import { contextOn } from '../../auth/schedules/environment.ts';
import type { OperationName, Outcome } from '../../auth/schedules/operations.ts';
import { brokenPromises } from '../../auth/schedules/promises.ts';
import { type RotatingServer, rotatingServer } from '../../auth/schedules/rotating-server.ts';
import type { Order } from './account-worker.ts';
import { testSeed } from '../../support/seeded.ts';
import { makeDirectory } from '../../support/directory.ts';

const rounds = process.env['OPSCTL_SOAK'] === '1' ? 10_000 : 60;
const processCount = 4;
const seed = testSeed;
const directory = makeDirectory();
const host = nodeHost({ env: { ...process.env, OPSCTL_KEYCHAIN: 'never' }, cwd: directory });

let rotating: RotatingServer = rotatingServer(true);
let server: Server;
let origin = '';
type Reply = { readonly outcome: Outcome; readonly generations: readonly number[] };
type Worker = { readonly child: ChildProcess; order(order: Order): Promise<Reply> };
let workers: Worker[] = [];

const workerFrom = (script: string): Worker => {
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: { resolve(reply: Reply): void; reject(error: Error): void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.resolve(JSON.parse(line) as Reply),
  );
  // A process that exits is a finding of the round and must not block the round.
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`a process ended: ${code ?? signal}`));
  });
  return {
    child,
    order: (order) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin.write(`${JSON.stringify(order)}\n`);
      }),
  };
};

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString();
      const reply = rotating.reply({ method: 'POST', url: `${origin}${request.url}`, body });
      // An idle connection that is closed when it is used would be a fault of this test and not of a schedule.
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script = join(directory, 'account-worker.mjs');
  await build({
    entryPoints: [new URL('account-worker.ts', import.meta.url).pathname],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: ['@napi-rs/keyring'],
    define: { OPSCTL_VERSION: '"0.0.0-test"' },
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    logLevel: 'error',
  });
  workers = Array.from({ length: processCount }, () => workerFrom(script));
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await new Promise((resolve) => server.close(resolve));
});

const chooser = (from: number) => {
  let state = (from * 2_654_435_761 + 1) >>> 0;
  return (of: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % of;
  };
};
const contextIn = (home: string) => ({
  ...contextOn(host),
  settings: { ...contextOn(host).settings, directories: { config: home, state: home, cache: home } },
});
const uses: readonly OperationName[] = ['refresh', 'refresh', 'addScope', 'addOther'];
const all: readonly OperationName[] = [...uses, 'login', 'logout', 'sessionsRevoked'];

/** Ada is signed in. Four processes change her account at about the same time. */
const round = async (number: number): Promise<void> => {
  const pick = chooser(seed + number);
  const home = join(directory, `home-${number}`);
  mkdirSync(home, { mode: 0o700 });
  rotating = rotatingServer(pick(2) === 0);
  const { refresh, access } = rotating.begin('ada', 'a');
  const endpoints = { authorize: `${origin}/auth`, token: `${origin}/token`, revoke: `${origin}/revoke` };
  const account: Account = {
    name: 'work',
    generation: 0,
    signIn: 'first',
    server: origin,
    endpoints,
    clientId: 'client-1',
    subject: 'ada',
    requested: ['a'],
    granted: ['a'],
    obtainedMs: host.now(),
    accessToken: access,
    accessExpiresMs: host.now() + 3_600_000,
    refreshToken: refresh,
  };
  const credentials = openCredentialStore(contextIn(home));
  await credentials.swap((data) => ({ data: withAccount(data, account) }));
  const from = pick(2) === 0 ? uses : all;
  const orders = workers.map(() => ({
    operation: from[pick(from.length)] as OperationName,
    directory: home,
    origin,
    delayMs: pick(4) * 2,
  }));
  const replies = await Promise.all(workers.map((worker, i) => worker.order(orders[i] as Order)));
  const names = orders.map(({ operation }) => operation);
  const stored = (await credentials.read()).accounts.find(({ name }) => name === 'work');
  const outcomes = Object.fromEntries(replies.map(({ outcome }, i) => [`${names[i]}${i}`, outcome]));
  const generations = replies.flatMap((reply) => reply.generations).sort((a, b) => a - b);
  const ended = { outcomes, account: stored, rotating, eventAt: 0, generations, trace: '' };
  expect(
    brokenPromises(ended, names),
    `round ${number} of seed ${seed}: ${JSON.stringify(outcomes)}`,
  ).toEqual([]);
  expect(stored?.generation ?? 0, 'the newest generation is the stored one').toBe(
    stored === undefined ? 0 : (generations.at(-1) ?? 1),
  );
  rmSync(home, { recursive: true });
};

test(
  `${rounds} random schedules of ${processCount} processes on one account keep every promise`,
  async () => {
    for (let number = 0; number < rounds; number++) {
      await round(number);
      if ((number + 1) % 1000 === 0)
        process.stderr.write(`seed ${seed}: ${number + 1} of ${rounds} rounds\n`);
    }
  },
  4 * 3_600_000,
);
