import type { Host, Listener } from '../../../host/host.ts';
import { clusterId, memberId } from '../disk/identity.ts';
import { snapshotFile } from '../disk/snapshot.ts';
import { type Stored, Wal } from '../disk/wal.ts';
import { Faults, readFaults } from '../faults.ts';
import { type Form, compareMinors, formOf, minorOf } from '../forms.ts';
import { clientHandler } from '../gateway/client-handler.ts';
import type { Api } from '../gateway/rpc.ts';
import { routesOf } from '../gateway/routes.ts';
import { Tokens } from '../gateway/tokens.ts';
import { type MemberLog, memberLog } from '../log.ts';
import { Lessor } from './lessor.ts';
import { watch } from './monitor.ts';
import { Node } from './node.ts';
import { isKnownToOthers, peerHandler } from './peer-handler.ts';
import { type ServerSettings, StartRefused, checkConfig, checkRetention, configFrom, flagsFrom, settingsFrom } from './server-flags.ts';

export type MemberOptions = {
  /** `3.3.27`: decides how the member speaks and what it takes. */
  readonly version: string;
  readonly word: string;
  /** How often the leader looks at the members' versions. */
  readonly monitorMs: number;
  /** The file with a member's faults. */
  readonly faultFile?: (member: string) => string;
  /** The real server's own command line. */
  readonly serverArgs: readonly string[];
};
type Fatal = (text: string) => void;
const TICK_MS = 20;
/** Above this the database file is not written again at the end: a restart reads the log anyway. */
const MOST_DB_BYTES = 64 * 1024 * 1024;

const readSettings = async (host: Host, options: MemberOptions): Promise<ServerSettings> => {
  const minor = minorOf(options.version);
  const flags = flagsFrom(options.serverArgs, minor);
  const configFile = flags.get('config-file');
  if (configFile === undefined) {
    checkRetention(flags, minor, false);
    return settingsFrom(flags);
  }
  // With a configuration file every other flag is ignored, as the real servers do.
  const text = await host.files.read(configFile);
  if (text === undefined) throw new StartRefused(1, `error verifying flags, open ${configFile}: no such file or directory`);
  const config = checkConfig(configFrom(text), minor);
  checkRetention(config, minor, true);
  return settingsFrom(config);
};

/** doc3 Errors: the v3 database file is missing after a migration from v2: the server panics. */
const checkDatabase = async (host: Host, dataDir: string): Promise<void> => {
  const folder = `${dataDir}/member/snap`;
  const names = await host.files.list(folder);
  if (names.includes('db') || !names.some((name) => name.endsWith('.snap'))) return;
  throw new StartRefused(2, 'recovering backend from snapshot error: database snapshot file path error: snap: snapshot file doesn\'t exist');
};

const openData = async (host: Host, settings: ServerSettings, log: MemberLog, word: string): Promise<{ wal: Wal; stored: Stored; isNew: boolean }> => {
  try {
    await host.files.makeFolder(`${settings.dataDir}/member/snap`, 0o700);
    await checkDatabase(host, settings.dataDir);
    const { wal, stored } = await Wal.open(host, settings.dataDir);
    const isNew = stored.member === undefined;
    if (!isNew) log('N', `${word}main`, `the server is already initialized as member before, starting as ${word} member...`);
    return { wal, stored, isNew };
  } catch (error) {
    if (error instanceof StartRefused) throw error;
    throw new StartRefused(1, `cannot write to data directory: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const portOf = (url: string): { host: string; port: number } => {
  const { hostname, port } = new URL(url);
  return { host: hostname === 'localhost' ? '127.0.0.1' : hostname, port: Number(port) };
};
const listenOn = async (host: Host, url: string, handler: Parameters<Host['network']['listen']>[0]): Promise<Listener> => {
  try {
    return await host.network.listen(handler, { ...portOf(url), requestTimeoutMs: 300_000 });
  } catch {
    throw new StartRefused(1, `listen tcp ${new URL(url).host}: bind: address already in use`);
  }
};

const announce = (api: Api, stored: Stored, isNew: boolean): void => {
  const { node, log, word } = api;
  log('I', `${word}server`, `name = ${api.settings.name}`);
  log('I', `${word}server`, `data dir = ${api.settings.dataDir}`);
  if (isNew) log('I', `${word}server`, `starting member ${node.id} in cluster ${api.clusterId}`);
  else log('I', `${word}server`, `restarting member ${node.id} in cluster ${api.clusterId} at commit index ${stored.commit}`);
  log('I', `${word}server`, `starting server... [version: ${api.version}, cluster version: ${node.machine.clusterVersion ?? 'to_be_decided'}]`);
};
const sayVersion = ({ log, word }: Api, before: string | undefined, now: string): void => {
  if (before === undefined) log('N', `${word}server/membership`, `set the initial cluster version to ${minorOf(now)}`);
  else log('N', `${word}server/membership`, `updated the cluster version from ${minorOf(before)} to ${minorOf(now)}`);
  log('I', `${word}server/api`, `enabled capabilities for version ${minorOf(now)}`);
};

/** doc3 Versioning 2: no way back once the cluster has the new version. */
const mustNotBeOlder = (api: Api, fatal: Fatal): void => {
  const determined = api.node.machine.clusterVersion;
  if (determined === undefined || compareMinors(minorOf(api.version), minorOf(determined)) >= 0) return;
  const text = `cluster cannot be downgraded (current version: ${api.version} is lower than determined cluster version: ${minorOf(determined)}).`;
  api.log('C', 'membership', text);
  fatal(text);
};

const follow = (api: Api, fatal: Fatal): void => {
  let before = api.node.machine.clusterVersion;
  api.node.onApplied = (command, result) => {
    if (command.op === 'cluster-version') {
      sayVersion(api, before, command.version);
      before = command.version;
      mustNotBeOlder(api, fatal);
    } else if (command.op === 'alarm' && result.ok) {
      const text = `alarm ${command.alarm} ${command.action === 'ACTIVATE' ? 'raised by peer' : 'disarmed for'} ${BigInt(command.member).toString(16)}`;
      api.log('W', `${api.word}server`, text);
      // facts kv A2: this one call ends every 3.2 member for good.
      if (command.alarm === 'NONE' && command.action === 'ACTIVATE' && api.form.minor === '3.2') {
        api.log('C', 'mvcc/backend', 'cannot put key into bucket (key required)');
        // The others must hear of it first, or they would live on.
        void api.host.sleep(5 * api.settings.heartbeatMs).then(() => fatal('cannot put key into bucket (key required)'));
      }
    }
  };
};

const publish = async (api: Api, signal: AbortSignal): Promise<void> => {
  const { node, settings } = api;
  while (!signal.aborted) {
    const done = await node.propose({ op: 'publish', member: node.id, name: settings.name, clientUrls: settings.advertisedClientUrls }).catch(() => undefined);
    if (done === undefined) continue;
    api.log('I', `${api.word}server`, `published {Name:${settings.name} ClientURLs:[${settings.advertisedClientUrls.join(' ')}]} to cluster ${api.clusterId}`);
    api.log('I', 'embed', 'ready to serve client requests');
    return;
  }
};

/** facts kv A5: a leader hands over by itself before it ends, in every version. */
const leave = async (host: Host, api: Api, signal: string): Promise<void> => {
  const { node, log, word } = api;
  log('N', 'pkg/osutil', `received ${signal === 'SIGINT' ? 'interrupt' : 'terminated'} signal, shutting down...`);
  const source = `${word}server`;
  if (!node.raft.isLeading) {
    log('I', source, 'skipped leadership transfer for stopping non-leader member');
    return;
  }
  const target = node.raft.successor(host.elapsed());
  if (target === undefined) {
    log('W', source, 'skipped leadership transfer: no other member answers');
    return;
  }
  const from = host.elapsed();
  log('I', source, `starts leadership transfer from ${node.id} to ${target}`);
  const isDone = await node.handOver(target);
  const took = (host.elapsed() - from).toFixed(6);
  log('I', source, isDone ? `finished leadership transfer from ${node.id} to ${target} (took ${took}ms)` : `leadership transfer failed: timed out (${took}ms)`);
};

const assemble = async (host: Host, options: MemberOptions, form: Form, log: MemberLog, faults: Faults, settings: ServerSettings) => {
  const ids = new Map([...settings.cluster].map(([name, urls]) => [name, memberId(urls, settings.token)]));
  const id = ids.get(settings.name) as string;
  const peers = new Map([...settings.cluster].map(([name, urls]) => [ids.get(name) as string, urls[0] as string]));
  const { wal, stored, isNew } = await openData(host, settings, log, options.word);
  const cluster = clusterId([...ids.values()]);
  if (isNew) {
    const others = [...peers].filter(([peer]) => peer !== id).map(([, url]) => url);
    if (await isKnownToOthers(host, id, others, 300)) throw new StartRefused(1, `member ${id} has already been bootstrapped`);
    wal.write([{ meta: { member: id, cluster } }]);
  }
  const node = new Node(host, { ...settings, id, peers }, { wal, stored, log, faults });
  const lessor = new Lessor(host, node);
  const v2Bytes = Math.max(0, ...(await v2Sizes(host, settings.dataDir)));
  const common = { host, form, settings, faults, log, lessor, node, ids, v2Bytes, clusterId: cluster };
  const api: Api = { ...common, tokens: new Tokens(host), version: options.version, word: options.word };
  return { api, stored, isNew };
};
const v2Sizes = async (host: Host, dataDir: string): Promise<number[]> => {
  const folder = `${dataDir}/member/snap`;
  const names = (await host.files.list(folder)).filter((name) => name.endsWith('.snap'));
  return Promise.all(names.map(async (name) => (await host.files.info(`${folder}/${name}`))?.sizeBytes ?? 0));
};
const writeDatabase = async (host: Host, api: Api): Promise<void> => {
  if (api.node.machine.keys.sizeBytes < MOST_DB_BYTES) await host.files.replace(`${api.settings.dataDir}/member/snap/db`, snapshotFile(api.node.machine), 0o600);
};

/** Waits for a signal, an error that ends the member, or the fault that ends it. */
const untilTheEnd = (host: Host, api: Api, fatal: Promise<string>): Promise<{ signal?: string; error?: string }> => {
  const { log, faults } = api;
  const signalled = new Promise<{ signal: string }>((resolve) => {
    host.onSignal((signal) => {
      if (signal === 'SIGTERM' && faults.find('ignore-sigterm') !== undefined) log('W', 'simulation', 'SIGTERM ignored on demand');
      else resolve({ signal });
    });
  });
  const exitAfter = faults.find('exit-after')?.ms;
  const ended = exitAfter === undefined ? [] : [host.sleep(exitAfter).then(() => ({ error: `ended on demand ${exitAfter} ms after the start` }))];
  return Promise.race([signalled, fatal.then((error) => ({ error })), ...ended]);
};

const serve = async (host: Host, options: MemberOptions, form: Form, log: MemberLog): Promise<number> => {
  const settings = await readSettings(host, options);
  const currentFaults = async () => (options.faultFile === undefined ? [] : readFaults(host, options.faultFile(settings.name)));
  const faults = new Faults(await currentFaults(), options.version);
  log('I', `${options.word}main`, `${options.word} Version: ${options.version}`);
  log('I', `${options.word}main`, 'Simulated: this is a rehearsal, not a database');
  if (faults.find('crash-at-start') !== undefined) throw new StartRefused(1, 'crashed on demand at its start');
  const { api, stored, isNew } = await assemble(host, options, form, log, faults, settings);
  let fatal: Fatal = () => {};
  const fatalEnd = new Promise<string>((resolve) => (fatal = resolve));
  announce(api, stored, isNew);
  let isTooOld = false;
  mustNotBeOlder(api, () => (isTooOld = true));
  if (isTooOld) return 1;
  if (api.node.machine.clusterVersion !== undefined) sayVersion(api, undefined, api.node.machine.clusterVersion);
  follow(api, fatal);
  if ((await host.files.info(`${settings.dataDir}/member/snap/db`)) === undefined) await writeDatabase(host, api);
  const stopping = new AbortController();
  const changeFaults = async (): Promise<void> => faults.replace(await currentFaults());
  const ready = publish(api, stopping.signal);
  const listeners = await Promise.all([
    ...settings.peerUrls.map((url) => listenOn(host, url, peerHandler(api, changeFaults))),
    ...settings.clientUrls.map((url) => listenOn(host, url, clientHandler(api, routesOf(form), ready))),
  ]);
  const ticking = ticks(host, api, stopping.signal);
  const watching = watch(host, api, { everyMs: options.monitorMs }, stopping.signal);
  const end = await untilTheEnd(host, api, fatalEnd);
  if (end.signal !== undefined) {
    await leave(host, api, end.signal);
  } else log('C', `${options.word}main`, end.error ?? '');
  // Requests under way get their answers; kept-alive connections are not waited for.
  await Promise.race([Promise.all(listeners.map((one) => one.close())), host.sleep(100)]);
  if (end.signal !== undefined) await writeDatabase(host, api);
  stopping.abort();
  await Promise.all([ticking, watching]);
  api.node.stop();
  return end.signal === undefined ? 1 : 0;
};
const ticks = async (host: Host, api: Api, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    api.node.tick();
    await host.sleep(TICK_MS, signal).catch(() => {});
  }
};

/** The whole life of one simulated member; resolves with its exit code. */
export const runMember = async (host: Host, options: MemberOptions): Promise<number> => {
  const form = formOf(options.version);
  if (form === undefined) throw new StartRefused(2, `there is no simulated version ${options.version}`);
  const log = memberLog(host, form);
  try {
    return await serve(host, options, form, log);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    if (error.code === 2 && error.message.startsWith('flag')) await host.terminal.stderr.write(`${error.message}\n`);
    else log('C', `${options.word}main`, error.message);
    return error.code;
  }
};
