/**
 * Clusters of real servers for the tests: processes with PID files and log files, a cluster file, and a constant writer whose
 * history is checked.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, Agent } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../../src/platform/node/ports.ts';
import { realServers } from '../real/etcd.mjs';
import { type CertificateFiles, certificateFiles, type CertificateOptions } from './certificates.ts';
import { hangTimer, unhurried } from './hang.ts';
import { makeDirectory } from './directory.ts';

export type Binaries = { readonly server: string; readonly ctl: string; readonly version: string };
type Found = { missing: { minor: string; reason: string }[] } & Record<string, Binaries>;
let known: Found | undefined;
/**
 * The binaries for 3.2 → 3.3 and for 3.6 (`OPSCTL_KV_36`) come only from the environment. The ctl of 3.2 does too
 * (`OPSCTL_KV_CTL`); without it, its tests are skipped.
 */
const given = (minor: string): string | undefined =>
  ({
    '3.2': process.env.OPSCTL_KV_OLD,
    '3.3': process.env.OPSCTL_KV_NEW,
    '3.6': process.env.OPSCTL_KV_36,
  })[minor];
const versionOf = (server: string): string =>
  / Version: (\S+)/.exec(execFileSync(server, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'not known';
/**
 * The versions of the fault tests: 3.3 → 3.4, or 3.2 → 3.3 if a 3.2 binary is set. `beyond` is one minor version too new. Both
 * versions serve `prefix`.
 */
export const pair =
  process.env.OPSCTL_KV_OLD === undefined
    ? { older: '3.2', from: '3.3', to: '3.4', beyond: '3.5', prefix: '/v3beta' }
    : { older: '3.1', from: '3.2', to: '3.3', beyond: '3.4', prefix: '/v3alpha' };
/**
 * Returns the paths of the server and the ctl of one minor version, or the reason why they are unavailable. On CI, that is a
 * failure, not a skip.
 */
export const binariesOf = (minor: string): Binaries | { missing: string } => {
  known ??= realServers() as Found;
  const [server, found] = [given(minor), known[minor]];
  if (server !== undefined)
    return { server, ctl: found?.ctl ?? process.env.OPSCTL_KV_CTL ?? '', version: versionOf(server) };
  if (found !== undefined) return found;
  const reason =
    known.missing.find((row) => row.minor === minor)?.reason ??
    (minor === '3.6' ? 'set OPSCTL_KV_36' : 'set OPSCTL_KV_OLD and OPSCTL_KV_NEW');
  if (process.env.OPSCTL_TEST_IN_CI === 'true' && !['3.2', '3.6'].includes(minor))
    throw new Error(`no server of ${minor}: ${reason}`);
  process.stderr.write(`left out: real servers of ${minor}: ${reason}\n`);
  return { missing: reason };
};
export const hasBinaries = (...minors: string[]): boolean =>
  minors.every((minor) => !('missing' in binariesOf(minor)));

export type RealMember = {
  readonly name: string;
  readonly client_url: string;
  readonly peer_url: string;
  readonly data_dir: string;
  readonly pid_file: string;
  readonly log_file: string;
  readonly old_binary: string;
  readonly new_binary: string;
  readonly old_command: string[];
  readonly new_command: string[];
};
export type RealCluster = {
  readonly directory: string;
  /** The path of the cluster file for `--cluster`. */
  readonly file: string;
  readonly members: readonly RealMember[];
  readonly urls: readonly string[];
  /** Set only for a cluster with certificates. */
  readonly certificates?: CertificateFiles;
  pid(member: RealMember): number | undefined;
  isAlive(member: RealMember): boolean;
  /** If a flag is repeated, the last value applies, so `extra` changes a setting of this start. */
  start(member: RealMember, which?: 'old' | 'new', extra?: readonly string[]): void;
  kill(member: RealMember, signal: NodeJS.Signals): void;
  gone(member: RealMember): Promise<void>;
  healthy(): Promise<void>;
  /** Rewrites the cluster file with different settings. */
  write(settings: Record<string, unknown>, members?: readonly Record<string, unknown>[]): void;
  stop(): Promise<void>;
};

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
export type Reply = { readonly status: number; readonly text: string };
const agent = new Agent({ keepAlive: true });
/** Agents by origin. Requests to members that serve TLS use the certificates of their cluster. */
const secureAgents = new Map<string, SecureAgent>();
/** Sends one request. Rejects if the server does not respond. */
export const call = (
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
  timeoutMs = 60_000,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const secure = secureAgents.get(new URL(url).origin);
    const options = {
      method: body === undefined ? 'GET' : 'POST',
      agent: secure ?? agent,
      headers,
      timeout: timeoutMs,
    };
    const sent = (secure === undefined ? request : secureRequest)(url, options, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('end', () =>
        resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
      reply.on('error', reject);
    });
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('timeout')));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });

export type ClusterOptions = {
  readonly size: number;
  readonly from: string;
  readonly to: string;
  readonly extra?: readonly string[];
  readonly settings?: Record<string, unknown>;
  /** Uses HTTPS with client certificates for clients and between members. The value sets the options of the servers' certificate. */
  readonly tls?: CertificateOptions;
  /** The host name in the peer URLs of the members (default: 127.0.0.1). */
  readonly peerHost?: string;
  /**
   * Members listen on other ports. This function opens each advertised port and forwards all traffic, so that a test can cut
   * the network.
   */
  readonly front?: (door: Door) => Promise<void>;
};
export type Door = {
  readonly member: string;
  readonly kind: 'client' | 'peer';
  readonly at: number;
  readonly behind: number;
};

const memberOf = (
  directory: string,
  name: string,
  options: ClusterOptions,
  client: number,
  peer: number,
): RealMember => {
  const [from, to] = [binariesOf(options.from), binariesOf(options.to)];
  if ('missing' in from || 'missing' in to) throw new Error('no binaries');
  const scheme = options.tls === undefined ? 'http' : 'https';
  return {
    name,
    client_url: `${scheme}://127.0.0.1:${client}`,
    peer_url: `${scheme}://${options.peerHost ?? '127.0.0.1'}:${peer}`,
    data_dir: join(directory, `${name}.data`),
    pid_file: join(directory, `${name}.pid`),
    log_file: join(directory, `${name}.log`),
    old_binary: from.server,
    new_binary: to.server,
    old_command: [],
    new_command: [],
  };
};

type Listening = (member: RealMember) => { readonly client: string; readonly peer: string };
const withCommands = (
  members: readonly RealMember[],
  extra: readonly string[],
  listening: Listening,
): RealMember[] => {
  const initial = members.map((member) => `${member.name}=${member.peer_url}`).join(',');
  const words = (member: RealMember): string[] => [
    ...['--name', member.name, '--data-dir', member.data_dir],
    ...['--listen-client-urls', listening(member).client, '--advertise-client-urls', member.client_url],
    ...['--listen-peer-urls', listening(member).peer, '--initial-advertise-peer-urls', member.peer_url],
    ...['--initial-cluster', initial, '--initial-cluster-state', 'new', '--initial-cluster-token', 'test'],
    ...extra,
  ];
  return members.map((member) => ({
    ...member,
    old_command: [member.old_binary, ...words(member)],
    new_command: [member.new_binary, ...words(member)],
  }));
};

const tlsFlags = ({ ca, serverCert, serverKey }: CertificateFiles): string[] =>
  ['', 'peer-'].flatMap((of) => [
    ...[`--${of}cert-file`, serverCert, `--${of}key-file`, serverKey],
    ...[`--${of}client-cert-auth`, `--${of}trusted-ca-file`, ca],
  ]);

export const startCluster = async (options: ClusterOptions): Promise<RealCluster> => {
  const directory = makeDirectory('kv-cluster-');
  const certificates = options.tls === undefined ? undefined : certificateFiles(directory, options.tls);
  const ports = await freePorts(2 * options.size);
  const bare = Array.from({ length: options.size }, (_, i) =>
    memberOf(directory, `n${i + 1}`, options, ports[2 * i] as number, ports[2 * i + 1] as number),
  );
  const behind = options.front === undefined ? undefined : await freePorts(2 * options.size);
  const portOf = (member: RealMember, kind: Door['kind']): number =>
    Number(new URL(member[`${kind}_url`]).port);
  const listening = (member: RealMember, kind: Door['kind']): number =>
    behind?.[ports.indexOf(portOf(member, kind))] ?? portOf(member, kind);
  for (const member of bare)
    for (const kind of ['client', 'peer'] as const)
      await options.front?.({
        member: member.name,
        kind,
        at: portOf(member, kind),
        behind: listening(member, kind),
      });
  const url = (port: number): string => `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const urls: Listening = (member) => ({
    client: url(listening(member, 'client')),
    peer: url(listening(member, 'peer')),
  });
  const extra = [...(certificates === undefined ? [] : tlsFlags(certificates)), ...(options.extra ?? [])];
  const cluster = clusterOf(directory, withCommands(bare, extra, urls), options, certificates);
  for (const member of cluster.members) cluster.start(member);
  try {
    await cluster.healthy();
    await versionDecided(cluster.members);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
};

const tlsSettings = ({ ca, cert, key }: CertificateFiles): Record<string, unknown> => ({
  tls: { ca_file: ca, cert_file: cert, key_file: key },
});
/** Accepts the servers' certificates in the test process even if they are invalid. */
const trustCluster = (members: readonly RealMember[], { ca, cert, key }: CertificateFiles): void => {
  const [own, client, secret] = [ca, cert, key].map((path) => readFileSync(path));
  const secure = new SecureAgent({
    keepAlive: true,
    ca: own,
    cert: client,
    key: secret,
    rejectUnauthorized: false,
  });
  for (const { client_url } of members) secureAgents.set(client_url, secure);
};

const clusterOf = (
  directory: string,
  members: readonly RealMember[],
  options: ClusterOptions,
  certificates?: CertificateFiles,
): RealCluster => {
  const file = join(directory, 'cluster.yaml');
  const secured = certificates === undefined ? {} : tlsSettings(certificates);
  if (certificates !== undefined) trustCluster(members, certificates);
  const pid = (member: RealMember): number | undefined =>
    existsSync(member.pid_file) ? Number(readFileSync(member.pid_file, 'utf8')) : undefined;
  const isAlive = (member: RealMember): boolean => isRunning(pid(member));
  const kill = (member: RealMember, signal: NodeJS.Signals): void => {
    if (isAlive(member)) process.kill(pid(member) as number, signal);
  };
  const gone = async (member: RealMember): Promise<void> => {
    for (const isHung = hangTimer(); !isHung() && isAlive(member); ) await pause(25);
  };
  const timeoutsOf = (given: Record<string, unknown> | undefined): object =>
    (given?.['timeouts'] ?? {}) as object;
  const write: RealCluster['write'] = (settings, rows = members) =>
    writeFileSync(
      file,
      stringify({
        name: 'test',
        to: options.to,
        driver: 'local',
        ...secured,
        ...options.settings,
        ...settings,
        // A wait of ten seconds before the last member of every run would take most of the time of the suite. A test about a
        // member that does not become healthy sets its own time limit.
        timeouts: { ...unhurried, ...timeoutsOf(options.settings), ...timeoutsOf(settings) },
        members: rows,
      }),
    );
  mkdirSync(directory, { recursive: true });
  write({});
  return {
    directory,
    file,
    members,
    urls: members.map((member) => member.client_url),
    ...(certificates === undefined ? {} : { certificates }),
    pid,
    isAlive,
    kill,
    gone,
    write,
    start: (member, which = 'old', extra = []) => {
      const log = openSync(member.log_file, 'a');
      const [command, ...args] = which === 'old' ? member.old_command : member.new_command;
      const child = spawn(command as string, [...args, ...extra], {
        detached: true,
        stdio: ['ignore', log, log],
      });
      child.unref();
      writeFileSync(member.pid_file, `${child.pid}\n`);
    },
    healthy: () => waitHealthy(members, directory),
    stop: async () => {
      for (const member of members) kill(member, 'SIGCONT');
      for (const member of members) kill(member, 'SIGKILL');
      await Promise.all(members.map(gone));
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

const isRunning = (pid: number | undefined): boolean => {
  if (pid === undefined || !(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    // A child process of the test that has exited is a zombie until it is reaped. It is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const waitHealthy = async (members: readonly RealMember[], directory: string): Promise<void> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    const answers = await Promise.all(
      members.map((member) => call(`${member.client_url}/health`).catch(() => ({ status: 0, text: '' }))),
    );
    if (answers.every((answer) => answer.status === 200)) return;
    await pause(50);
  }
  const log = members.map((member) => readFileSync(member.log_file, 'utf8').slice(-2000)).join('\n');
  throw new Error(`cluster in ${directory} did not become healthy\n${log}`);
};

/** A leader that could not reach every member in its first check reports version 3.0 until the next check, four seconds later. */
const versionDecided = async (members: readonly RealMember[]): Promise<void> => {
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  for (const isHung = hangTimer(); !isHung(); ) {
    const texts = await Promise.all(
      members.map((member) => call(`${member.client_url}/version`).catch(() => undefined)),
    );
    const isDecided = texts.every((reply) => {
      const { etcdserver = '', etcdcluster = '' } = JSON.parse(reply?.text ?? '{}') as Record<string, string>;
      return etcdserver !== '' && minor(etcdserver) === minor(etcdcluster);
    });
    if (isDecided) return;
    await pause(50);
  }
  throw new Error('the version of the cluster was not decided');
};

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
/** 3.3, 3.4 and 3.5 serve /v3beta. 3.2 supports only /v3alpha, which 3.3 still serves. */
export const gatewayPut = async (
  url: string,
  key: string,
  value: string,
  prefix = pair.prefix,
  timeoutMs?: number,
): Promise<void> => {
  const body = { key: base64(key), value: base64(value) };
  const reply = await call(`${url}${prefix}/kv/put`, body, {}, timeoutMs);
  if (reply.status !== 200) throw new Error(`put ${key}: ${reply.status} ${reply.text}`);
};

export type Writer = { stop(): Promise<{ acknowledged: string[]; failed: number; longestGapMs: number }> };
/** Writes continuously and fails over to the next member, like a client that knows all members. */
export const startWriter = (urls: readonly string[], prefix = pair.prefix, everyMs = 25): Writer => {
  const acknowledged: string[] = [];
  let [failed, longestGapMs, isRunningNow] = [0, 0, true];
  const writeOnce = async (n: number, at: number): Promise<number> => {
    for (let tries = 0; tries < urls.length * 3; tries += 1) {
      const target = (at + tries) % urls.length;
      // A client does not wait long for a member that is suspended or cut off.
      const isWritten = await gatewayPut(urls[target] as string, `w/${n}`, String(n), prefix, 2000).then(
        () => true,
        () => false,
      );
      if (isWritten) {
        acknowledged.push(`w/${n}`);
        return target;
      }
      // A real client would not try all members again within a millisecond.
      if (tries % urls.length === urls.length - 1) await pause(20);
    }
    failed += 1;
    return at;
  };
  const work = (async () => {
    let last = performance.now();
    for (let [n, at] = [0, 0]; isRunningNow; n += 1) {
      at = await writeOnce(n, at);
      longestGapMs = Math.max(longestGapMs, performance.now() - last);
      last = performance.now();
      await pause(everyMs);
    }
  })();
  return {
    stop: async () => {
      isRunningNow = false;
      await work;
      return { acknowledged, failed, longestGapMs };
    },
  };
};

/** Returns the acknowledged writes that are missing from a member. */
export const missingWrites = async (
  url: string,
  acknowledged: readonly string[],
  prefix = pair.prefix,
): Promise<string[]> => {
  const reply = await call(`${url}${prefix}/kv/range`, {
    key: base64('w/'),
    range_end: base64('w0'),
    keys_only: true,
  });
  const kvs = (JSON.parse(reply.text) as { kvs?: { key: string }[] }).kvs ?? [];
  const there = new Set(kvs.map((kv) => Buffer.from(kv.key, 'base64').toString()));
  return acknowledged.filter((key) => !there.has(key));
};
