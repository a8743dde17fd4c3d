/** Simulated clusters for stories. The program itself starts them, with a constant writer whose history is checked. */
import { consent } from './consent.ts';
import { hangMs, unhurried } from './hang.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended, Program } from './built-program.ts';
import { errorOf } from './facts.ts';

export const text64 = (text: string): string => Buffer.from(text).toString('base64');
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** 3.3 redirects /v3alpha, so one path works for every member of a 3.2 → 3.3 upgrade. */
export const post = async (
  url: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  prefix = '/v3alpha',
  timeoutMs = 60_000,
) => {
  const reply = await fetch(`${url}${prefix}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await reply.text();
  return { status: reply.status, json: JSON.parse(text) };
};

export type Simulated = {
  readonly dir: string;
  readonly file: string;
  readonly urls: readonly string[];
  readonly names: readonly string[];
  /** Adds to the timeouts of the cluster file. */
  timeouts(more: Record<string, number>): void;
  /** Runs `mock kv VERB --dir …`. */
  mock(verb: string, ...args: string[]): Promise<Ended>;
  /** Runs `kv VERB --cluster … --yes`. */
  kv(verb: string, ...args: string[]): Promise<Ended>;
  versions(): Promise<string[]>;
  clusterVersions(): Promise<string[]>;
  log(name: string): string;
  stop(): Promise<void>;
};
export const simulated = async (program: Program, ...flags: string[]): Promise<Simulated> => {
  const dir = join(program.home, `cluster-${flags.join('').replaceAll(/[^a-z0-9]/g, '')}`);
  const started = await program.json(['mock', 'kv', 'start', '--dir', dir, ...flags]);
  const urls: string[] = started.endpoints;
  const text = readFileSync(started.cluster_file, 'utf8');
  // A wait of ten seconds before the last member of every run would take most of the time of the suite. A test about a member
  // that does not become healthy sets its own time limit.
  const timeouts = (more: Record<string, number>): void =>
    writeFileSync(started.cluster_file, `timeouts: ${JSON.stringify({ ...unhurried, ...more })}\n${text}`);
  timeouts({});
  const field =
    (name: string) =>
    async (url: string): Promise<string> => {
      const answer = await fetch(`${url}/version`, { signal: AbortSignal.timeout(60_000) })
        .then((reply) => reply.json() as Promise<Record<string, string>>)
        .catch((): Record<string, string> => ({}));
      return answer[name] ?? 'off';
    };
  return {
    dir,
    file: started.cluster_file,
    urls,
    names: started.members.map(({ name }: { name: string }) => name),
    timeouts,
    mock: (verb, ...args) => program.run(['mock', 'kv', verb, ...args, '--dir', dir, '-o', 'json']),
    kv: (verb, ...args) =>
      program.run(['kv', verb, '--cluster', started.cluster_file, ...consent(verb), '-o', 'json', ...args]),
    versions: () => Promise.all(urls.map(field('kvserver'))),
    clusterVersions: () => Promise.all(urls.map(field('kvcluster'))),
    log: (name) => readFileSync(join(dir, `${name}.log`), 'utf8'),
    stop: async () => void (await program.run(['mock', 'kv', 'stop', '--kill', '--dir', dir])),
  };
};
/** The error object at the end of stderr with -o json. */
type Complaint = {
  readonly code: string;
  readonly message: string;
  readonly exit_code: number;
  readonly hint: string | null;
  readonly problems: readonly { readonly message: string }[];
};
export const complaint = ({ stderr }: Ended): Complaint => errorOf({ stderr });

export type History = { readonly acknowledged: string[]; readonly failed: number };
/** A client does not wait longer for a member that is suspended or cut off. */
const replyMs = 10_000;
/**
 * Writes continuously with failover. A write is repeated until a member acknowledges it, and counts as failed only if none
 * does before the limit of a hang: an election has no limit on a busy machine. `stop` returns the acknowledged writes.
 */
export const startWriting = (
  urls: readonly string[],
  headers: Record<string, string> = {},
  prefix = '/v3alpha',
) => {
  const acknowledged: string[] = [];
  let [failed, isOver] = [0, false];
  const write = async (n: number): Promise<void> => {
    const began = Date.now();
    for (let tries = 0; Date.now() - began < hangMs; tries += 1) {
      const reply = await post(
        urls[(n + tries) % urls.length] as string,
        '/kv/put',
        { key: text64(`w/${n}`), value: text64(String(n)) },
        headers,
        prefix,
        replyMs,
      ).catch(() => undefined);
      if (reply?.status === 200) return void acknowledged.push(`w/${n}`);
      await pause(20);
    }
    failed += 1;
  };
  const work = (async () => {
    for (let n = 0; !isOver; n += 1) {
      await write(n);
      await pause(25);
    }
  })();
  return {
    stop: async (): Promise<History> => {
      isOver = true;
      await work;
      return { acknowledged, failed };
    },
  };
};
/** Returns the acknowledged writes that are missing from a member. */
export const lostAt = async (
  url: string,
  { acknowledged }: History,
  prefix = '/v3alpha',
): Promise<string[]> => {
  const all = { key: text64('w/'), range_end: text64('w0'), keys_only: true };
  const { json } = await post(url, '/kv/range', all, {}, prefix);
  const there = new Set(
    (json.kvs ?? []).map((kv: { key: string }) => Buffer.from(kv.key, 'base64').toString()),
  );
  return acknowledged.filter((key) => !there.has(key));
};
