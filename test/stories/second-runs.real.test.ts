/**
 * Imports of 300 rows through the built program that stop at a random row, and that start again with the same command, as a
 * job of a CI system does. A proxy counts the creates, so each cell stops at its row and not after a time.
 */
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Program, program, type RunningProgram } from '../support/built-program.ts';
import { testSeed } from '../support/seeded.ts';
import { slice } from '../support/slice.ts';
import { errorOf } from '../support/facts.ts';

const ROWS = 300;
const PLACES = 40;
let state = testSeed >>> 0;
/** Returns a number from 0 to 1 that depends on the seed of the run. */
const next = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const key = (i: number): string => `P-${i + 1}`;
const ndjson = Array.from(
  { length: ROWS },
  (_, i) => `${JSON.stringify({ external_id: key(i), name: `row ${i + 1}` })}\n`,
).join('');
const csv = `external_id,name\n${Array.from({ length: ROWS }, (_, i) => `${key(i)},"row, ${i + 1}"\n`).join('')}`;
const files: Readonly<Record<string, string>> = { 'rows.ndjson': ndjson, 'rows.csv': csv };
const commands = [
  'sync -f rows.ndjson --resource epics',
  'sync -f rows.csv --resource epics',
  'bulk -f rows.ndjson --resource epics --op upsert',
  'bulk -f rows.csv --resource epics --op upsert',
  'bulk -f rows.ndjson --resource epics --op create',
  'bulk -f rows.csv --resource epics --op create',
];
/** How a run stops: after the request left the client, and before or after the service applied it. */
const causes = ['client killed', 'connections lost', 'server killed'] as const;
const cells = Array.from({ length: PLACES }, (_, i) => ({
  command: commands[i % commands.length] ?? '',
  cause: causes[Math.floor(i / commands.length) % causes.length] ?? causes[0],
  isApplied: i % 4 < 2,
  place: 1 + Math.floor(next() * ROWS),
}));

type Stop = { readonly place: number; readonly isApplied: boolean; readonly action: () => void };
type Proxy = {
  readonly url: string;
  /** Forwards to this port; each request fails while it is undefined. */
  target: number | undefined;
  /** Performs the action at a create, and answers no request from then on. */
  stop: Stop | undefined;
  /** The external ID of the create that stopped the run. */
  lastKey(): string;
  /** Waits until the service has finished each forwarded request. */
  idle(): Promise<void>;
  close(): Promise<void>;
};
const startCountingProxy = async (): Promise<Proxy> => {
  const [sockets, running] = [new Set<Socket>(), new Set<Promise<void>>()];
  const last: Buffer[] = [];
  let [creates, isStopped] = [0, false];
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const endAll = ({ action }: Stop): void => {
    isStopped = true;
    action();
    cut();
  };
  const server = createServer((incoming, outgoing) => {
    const { target, stop } = proxy;
    if (target === undefined || isStopped) return void incoming.socket.destroy();
    if (incoming.method === 'POST') creates += 1;
    const isLast = stop !== undefined && incoming.method === 'POST' && creates === stop.place;
    if (isLast) incoming.on('data', (part: Buffer) => last.push(part));
    // The whole request left the client, and the service never receives it.
    if (isLast && !stop.isApplied) return void incoming.once('end', () => endAll(stop));
    const { method, url: path, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port: target, method, path, headers, agent: false });
    const done = new Promise<void>((resolve) => onward.once('close', () => resolve()));
    running.add(done);
    void done.then(() => running.delete(done));
    onward.on('response', (reply) => {
      if (isLast && stop.isApplied) endAll(stop);
      if (isStopped) return void reply.resume();
      reply.on('error', () => outgoing.destroy());
      reply.pipe(outgoing.writeHead(reply.statusCode ?? 0, reply.headers));
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: Proxy = {
    lastKey: () => JSON.parse(Buffer.concat(last).toString()).external_id,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: undefined,
    stop: undefined,
    idle: async () => {
      await Promise.all(running);
      proxy.stop = undefined;
      isStopped = false;
    },
    close: () =>
      new Promise((resolve) => {
        cut();
        server.close(() => resolve());
      }),
  };
  return proxy;
};

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
/** Starts the mock server on its state directory, and sends the proxy to it. */
const serve = async (home: Program, proxy: Proxy): Promise<{ server: RunningProgram; token: string }> => {
  const server = home.start(['mock', 'serve', '--seed', 'empty', '--rate-limit', 'off', '-o', 'json']);
  const { tracker } = await server.first;
  proxy.target = Number(new URL(tracker.base_url).port);
  return { server, token: tracker.token };
};
/** Returns the external IDs of all epics in the service. */
const keysIn = async (proxy: Proxy, token: string): Promise<string[]> => {
  const reply = await fetch(`http://127.0.0.1:${proxy.target}/api/v3/epics`, {
    headers: { 'Tracker-Token': token },
  });
  return ((await reply.json()) as { readonly external_id: string }[]).map((one) => one.external_id);
};

test.each(slice(cells, 2))(
  '$command makes each record once when row $place is the last ($cause, applied: $isApplied)',
  async ({ command, cause, place, isApplied }) => {
    const [home, client, proxy] = [program(), program(), await startCountingProxy()];
    open.push(home, client, proxy);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(client.home, name), text);
    let { server, token } = await serve(home, proxy);
    const env = { OPSCTL_TRACKER_URL: proxy.url, OPSCTL_RATE_PER_MINUTE: 'off', OPSCTL_TRACKER_TOKEN: token };
    const words = ['tracker', ...command.split(' '), '-o', 'json'];
    const first = client.start(words, { env });
    const action = {
      'client killed': () => first.kill('SIGKILL'),
      'server killed': () => server.kill('SIGKILL'),
      'connections lost': () => {},
    }[cause];
    proxy.stop = { place, isApplied, action };
    const { code, signal } = await first.ended;
    expect(cause === 'client killed' ? signal : code).toBe(cause === 'client killed' ? 'SIGKILL' : 11);
    await proxy.idle();
    if (cause === 'server killed') {
      await server.ended;
      ({ server, token } = await serve(home, proxy));
    }
    expect((await keysIn(proxy, token)).includes(proxy.lastKey())).toBe(isApplied);
    const again = { env: { ...env, OPSCTL_TRACKER_TOKEN: token } };
    let second = await client.run(words, again);
    if (second.code === 10) {
      // A create that the service may have applied is never repeated without a decision; the error prints the command.
      const before = await keysIn(proxy, token);
      const { code: name, hints } = errorOf(second);
      expect([name, hints[0]]).toEqual(['UNFINISHED_RUN', `opsctl tracker ${command} --resume`]);
      expect(await keysIn(proxy, token)).toEqual(before);
      second = await client.run([...words, '--resume'], again);
    }
    expect([second.code, second.code === 0 ? '' : second.stderr]).toEqual([0, '']);
    const keys = await keysIn(proxy, token);
    expect([keys.length, new Set(keys).size]).toEqual([ROWS, ROWS]);
  },
);
