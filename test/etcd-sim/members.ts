import { memberId } from '../../src/etcd-sim/disk/db-file.ts';
import { type Fault, faultFile, printedIds } from '../../src/etcd-sim/forms.ts';
import { runMember } from '../../src/etcd-sim/member/run.ts';
import type { Host } from '../../src/platform/host.ts';
import { closeAtEnd } from '../support/closing.ts';
import { hangTimer, serviceHangMs } from '../support/hang.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

export type Answer = {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly json: any;
};
export type TestMember = {
  readonly name: string;
  /** As the member prints it: hexadecimal without leading zeros. */
  readonly id: string;
  readonly url: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  /** Lines that the member logged. */
  readonly log: string[];
  version: string;
  /** Resolves to the exit code when the member exits. */
  ended: Promise<number>;
  signal(name: 'SIGTERM' | 'SIGINT'): void;
  /** Advances the clock of the member, so that its timers expire sooner. */
  passes(ms: number): void;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
};
export type TestCluster = {
  readonly members: TestMember[];
  /** Returns the member with this name. */
  member(name: string): TestMember;
  leader(): Promise<TestMember>;
  /** Returns the peer URL of a member, including a member that does not exist yet. */
  peerUrl(name: string): string;
  /** `monitorMs`: the time between two checks of the versions while this member leads (default: that of the cluster). */
  start(name: string, version: string, more?: readonly string[], monitorMs?: number): Promise<TestMember>;
  stop(name: string): Promise<number>;
  fault(name: string, faults: readonly Fault[]): Promise<void>;
  healthy(): Promise<void>;
  close(): Promise<void>;
};
type Options = {
  readonly word?: string;
  readonly monitorMs?: number;
  readonly args?: readonly string[];
  readonly wait?: boolean;
};

export const b64 = (text: string): string => Buffer.from(text).toString('base64');
export const until = async (what: string, test: () => boolean | Promise<boolean>): Promise<void> => {
  for (const isHung = hangTimer(serviceHangMs); !isHung(); ) {
    if (await test()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never came true: ${what}`);
};
const ask = async (url: string, init?: RequestInit): Promise<Answer> => {
  const reply = await fetch(url, { redirect: 'manual', ...init });
  const text = await reply.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: reply.status, text, headers: reply.headers, json };
};

/** Number of members that a test may add, for example n4 to a cluster of three. */
const SPARE = 2;
/** Runs members in this process with real HTTP and real files. Only their signals and logs are simulated. */
export const testCluster = async (
  versions: readonly string[],
  options: Options = {},
): Promise<TestCluster> => {
  const real: RealHost = await realHost();
  const free = await real.host.network.freePorts(2 * (versions.length + SPARE));
  const names = versions.map((_, i) => `n${i + 1}`);
  const peer = (i: number): string => `http://127.0.0.1:${free[2 * i + 1]}`;
  const initial = names.map((name, i) => `${name}=${peer(i)}`).join(',');
  const found = new Map<string, TestMember>();
  const hosts: RealHost[] = [real];
  const faultPath = (name: string): string => faultFile(`${real.directory}/faults`, name);

  const launch: TestCluster['start'] = async (
    name,
    version,
    more = [],
    monitorMs = options.monitorMs ?? 200,
  ) => {
    const i = Number(name.slice(1)) - 1;
    const own = await realHost();
    hosts.push(own);
    const log: string[] = [];
    let jumpedMs = 0;
    let listener: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void = () => {};
    const stderr = {
      isTty: false,
      columns: 80,
      write: async (text: string | Uint8Array) => void log.push(String(text).trimEnd()),
    };
    const host: Host = {
      ...own.host,
      elapsed: () => own.host.elapsed() + jumpedMs,
      terminal: { ...own.host.terminal, stderr },
      onSignal: (heard) => {
        listener = heard;
        return () => {};
      },
    };
    const url = `http://127.0.0.1:${free[2 * i]}`;
    const dataDir = `${real.directory}/${name}.data`;
    const serverArgs = [
      ...['--name', name, '--data-dir', dataDir, '--listen-client-urls', url, '--advertise-client-urls', url],
      ...[
        '--listen-peer-urls',
        peer(i),
        '--initial-advertise-peer-urls',
        peer(i),
        '--initial-cluster',
        initial,
      ],
      ...['--heartbeat-interval', '40', '--election-timeout', '800'],
      ...(options.args ?? []),
      ...more,
    ];
    const ended = runMember(host, {
      version,
      word: options.word ?? 'kv',
      monitorMs,
      serverArgs,
      faultFile: faultPath,
    });
    const member: TestMember = {
      name,
      id: printedIds(memberId([peer(i)], 'etcd-cluster')),
      url,
      peerUrl: peer(i),
      dataDir,
      log,
      version,
      ended,
      signal: (signal) => listener(signal),
      passes: (ms) => {
        jumpedMs += ms;
      },
      get: (path) => ask(`${url}${path}`),
      post: (path, body = {}, headers = {}) =>
        ask(`${url}${path}`, {
          method: 'POST',
          body: typeof body === 'string' ? body : JSON.stringify(body),
          headers,
        }),
    };
    found.set(name, member);
    return member;
  };
  const cluster = closeAtEnd<TestCluster>({
    get members() {
      return names.map((name) => found.get(name) as TestMember);
    },
    member: (name) => found.get(name) as TestMember,
    async leader() {
      let leads: TestMember | undefined;
      await until('somebody leads', async () => {
        const states = await Promise.all(
          [...found.values()].map((member) =>
            ask(`${member.peerUrl}/simulation/state`).catch(() => undefined),
          ),
        );
        leads = [...found.values()].find(
          (_, i) => states[i] !== undefined && states[i]?.json.leader === states[i]?.json.id,
        );
        return leads !== undefined;
      });
      return leads as TestMember;
    },
    peerUrl: (name) => peer(Number(name.slice(1)) - 1),
    start: launch,
    async stop(name) {
      const member = found.get(name) as TestMember;
      member.signal('SIGTERM');
      return member.ended;
    },
    async fault(name, faults) {
      await real.host.files.makeDirectory(`${real.directory}/faults`);
      await real.host.files.replace(faultPath(name), JSON.stringify(faults));
      await ask(`${found.get(name)?.peerUrl}/simulation/faults`, { method: 'POST' }).catch(() => undefined);
    },
    async healthy() {
      for (const member of found.values()) {
        await until(`${member.name} is healthy and knows the cluster version`, async () => {
          const [health, version] = [
            await member.get('/health').catch(() => undefined),
            await member.get('/version').catch(() => undefined),
          ];
          return health?.status === 200 && !version?.text.includes('not_decided');
        });
      }
    },
    async close() {
      let left = found.size;
      for (const member of found.values()) void member.ended.then(() => (left -= 1));
      // A member that is still starting does not handle signals yet.
      await until('all members ended', () => {
        for (const member of found.values()) member.signal('SIGTERM');
        return left === 0;
      });
      await Promise.all(hosts.map((one) => one.close()));
    },
  });
  await Promise.all(names.map((name, i) => launch(name, versions[i] as string)));
  if (options.wait !== false) {
    const first = cluster.member('n1');
    // The cluster has no leader yet. Advancing the clock of n1 skips its election timeout.
    await until('n1 answers', async () => (await first.get('/version').catch(() => undefined)) !== undefined);
    first.passes(400);
    await cluster.healthy();
  }
  return cluster;
};
