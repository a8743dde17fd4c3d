/** A client of the members that reads and writes a few keys continuously. It records the time of each request and the response. */
import { NetworkError } from '../../../src/platform/host.ts';
import type { RegisterCall } from '../../support/linearizable.ts';
import type { History } from '../history.ts';
import { type SimulatedHost, machineNamed } from '../kernel/machine.ts';

export type ClientHistory = Map<string, RegisterCall[]>;
const text64 = (text: string): string => Buffer.from(text).toString('base64');
const TIMEOUT_MS = 2_000;

/** 3.2 supports only the first prefix. 3.3 redirects from the first prefix to the second. */
const post = async (
  host: SimulatedHost,
  url: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> => {
  for (const prefix of ['/v3alpha', '/v3beta']) {
    const reply = await host.network.request({
      ...{ method: 'POST', url: url + prefix + path, timeoutMs: TIMEOUT_MS },
      body: JSON.stringify(body),
    });
    if (reply.status === 200) return JSON.parse(await reply.text()) as Record<string, unknown>;
    if (reply.status !== 308) throw new NetworkError('OTHER', `status ${reply.status}`, true);
  }
  throw new NetworkError('OTHER', 'no prefix', false);
};
export const readKey = async (host: SimulatedHost, url: string, key: string): Promise<string | undefined> => {
  const { kvs } = (await post(host, url, '/kv/range', { key: text64(key) })) as {
    kvs?: { value?: string }[];
  };
  return kvs?.[0] === undefined ? undefined : Buffer.from(kvs[0].value ?? '', 'base64').toString();
};

export const writeKey = async (
  host: SimulatedHost,
  url: string,
  key: string,
  value: string,
): Promise<void> => {
  await post(host, url, '/kv/put', { key: text64(key), value: text64(value) });
};

/** Starts two clients, which run until `stop` has received their last responses. */
export const startClients = (
  history: History,
  urls: readonly string[],
  { pauseMs = 150, keys = 3 }: { readonly pauseMs?: number; readonly keys?: number } = {},
): { readonly seen: ClientHistory; stop(): Promise<void> } => {
  let isOver = false;
  const { kernel, act } = history;
  const seen: ClientHistory = new Map();
  const one = async (host: SimulatedHost, n: number, random: (count: number) => number): Promise<void> => {
    const key = `key-${random(keys)}`;
    const url = urls[random(urls.length)] as string;
    const calls = seen.get(key) ?? [];
    seen.set(key, calls);
    const called = kernel.steps;
    if (random(2) === 0) {
      const value = await readKey(host, url, key).catch(() => null);
      if (value !== null) calls.push({ kind: 'read', value, called, returned: kernel.steps });
      return;
    }
    const value = `${n}`;
    const isDone = await writeKey(host, url, key, value).then(
      () => true,
      () => false,
    );
    calls.push({ kind: 'write', value, called, returned: isDone ? kernel.steps : Number.POSITIVE_INFINITY });
  };
  const clients = ['client 1', 'client 2'].map((name) =>
    act(
      name,
      async (host) => {
        for (let n = 0; !isOver; n += 1) {
          await one(host, n * 10 + Number(name.at(-1)), (count) => kernel.random.below(count));
          await host.sleep(pauseMs);
        }
      },
      { isSafe: true, machine: machineNamed(name) },
    ),
  );
  return {
    seen,
    stop: async () => {
      isOver = true;
      await kernel.until(Promise.all(clients));
    },
  };
};
