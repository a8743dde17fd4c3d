/**
 * During an upgrade of real or simulated members, the responses to clients and the canary must be consistent
 * with a single register.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type RealCluster, base64, call, hasBinaries, pause, startCluster } from '../support/cluster.ts';
import { type RegisterCall, brokenRegisters, withoutOrder } from '../support/linearizable.ts';
import { opsctl } from '../support/program.ts';
import { slice } from '../support/slice.ts';
import { makeDirectory } from '../support/directory.ts';

type Registers = Map<string, RegisterCall[]>;
const PREFIX = '/v3beta';
/** Number of calls per key. Short histories keep the checker fast. */
const CALLS_OF_A_KEY = 60;

let cluster: RealCluster | undefined;
let home = '';
afterEach(async () => {
  await cluster?.stop();
});

const read = async (url: string, key: string): Promise<string | undefined> => {
  const reply = await call(`${url}${PREFIX}/kv/range`, { key: base64(key) });
  if (reply.status !== 200) throw new Error(reply.text);
  const kvs = (JSON.parse(reply.text) as { kvs?: { value: string }[] }).kvs ?? [];
  return kvs[0] === undefined ? undefined : Buffer.from(kvs[0].value, 'base64').toString();
};
const write = async (url: string, key: string, value: string): Promise<void> => {
  const reply = await call(`${url}${PREFIX}/kv/put`, { key: base64(key), value: base64(value) });
  if (reply.status !== 200) throw new Error(reply.text);
};

/**
 * Clients that try each call once through every member in turn. A call without a response may or may not have
 * taken effect.
 */
const startClients = (urls: readonly string[]): { stop(): Promise<Registers> } => {
  const seen: Registers = new Map();
  let [isOver, count] = [false, 0];
  const one = async (client: number, n: number): Promise<void> => {
    const key = `register/${Math.floor(count / CALLS_OF_A_KEY)}`;
    count += 1;
    const calls = seen.get(key) ?? [];
    seen.set(key, calls);
    const url = urls[(client + n) % urls.length] as string;
    const called = performance.now();
    if ((client + n) % 2 === 0) {
      const value = await read(url, key).catch(() => null);
      if (value !== null) calls.push({ kind: 'read', value, called, returned: performance.now() });
      return;
    }
    const value = `${client}-${n}`;
    const isDone = await write(url, key, value).then(
      () => true,
      () => false,
    );
    const returned = isDone ? performance.now() : Number.POSITIVE_INFINITY;
    calls.push({ kind: 'write', value, called, returned });
  };
  const clients = [0, 1, 2].map(async (client) => {
    for (let n = 0; !isOver; n += 1) {
      await one(client, n);
      await pause(3);
    }
  });
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      return seen;
    },
  };
};

const wordsOf = (file: string): string[] => [
  ...['kv', 'upgrade', '--cluster', file, '--yes', '--accept-point-of-no-return', '-o', 'ndjson'],
];

const ways = [
  ['3.3', '3.4'],
  ['3.4', '3.5'],
].filter(([from, to]) => hasBinaries(from as string, to as string));

describe.each(slice(ways, 1))('%s to %s', (from, to) => {
  it('clients during the upgrade see a linearizable store', async () => {
    home = makeDirectory();
    cluster = await startCluster({ size: 3, from: from as string, to: to as string });
    const clients = startClients(cluster.urls);
    const ran = await opsctl(wordsOf(cluster.file), { home });
    const seen = await clients.stop();
    expect(ran.code).toBe(0);
    expect(brokenRegisters(seen)).toEqual([]);
    const all = [...seen.values()].flat();
    expect(all.filter(({ kind }) => kind === 'read').length).toBeGreaterThan(20);
    expect(all.filter(({ kind }) => kind === 'write').length).toBeGreaterThan(20);
    // The checker must detect one stale response in the same history.
    const [calls] = [...seen.values()].filter((one) => one.filter(({ kind }) => kind === 'write').length > 3);
    const writes = (calls ?? []).filter(
      ({ kind, returned }) => kind === 'write' && Number.isFinite(returned),
    );
    const stale = { kind: 'read', value: writes[0]?.value, called: 1e12, returned: 1e12 + 1 } as const;
    expect(withoutOrder([...(calls ?? []), stale])).toBeDefined();
    process.stdout.write(`${from} → ${to}: ${all.length} calls of ${seen.size} registers\n`);
  });

  it('the canary is linearizable too, and another reader sees its writes', async () => {
    home = makeDirectory();
    cluster = await startCluster({ size: 3, from: from as string, to: to as string });
    const { urls } = cluster;
    let isOver = false;
    const reads: number[][] = [];
    const watching = Promise.all(
      urls.map(async (url) => {
        const own: number[] = [];
        reads.push(own);
        while (!isOver) {
          const range = { key: base64('opsctl/canary/'), range_end: base64('opsctl/canary0') };
          const reply = await call(`${url}${PREFIX}/kv/range`, range).catch(() => undefined);
          const [kv] = reply?.status === 200 ? (JSON.parse(reply.text).kvs ?? []) : [];
          if (kv !== undefined) own.push(Number(Buffer.from(kv.value, 'base64').toString()));
          await pause(5);
        }
      }),
    );
    const ran = await opsctl(wordsOf(cluster.file), { home });
    isOver = true;
    await watching;
    expect(ran.code).toBe(0);
    const events = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const written = events.filter(({ event }) => event === 'canary');
    // The first attempt of a repeated write may take effect after later writes.
    const isRetried = (value: number): boolean =>
      written[value]?.ok !== true || written[value]?.member !== written[value - 1]?.member;
    // One writer writes increasing values, so no reader may see a smaller value than before.
    for (const own of reads) {
      expect(own.length).toBeGreaterThan(5);
      expect(own.filter((value, i) => i > 0 && value < (own[i - 1] as number) && !isRetried(value))).toEqual(
        [],
      );
      expect(Math.max(...own)).toBeLessThanOrEqual(written.length);
    }
  });
});
