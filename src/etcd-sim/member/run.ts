import type { Handler, Host, Listener, Outgoing } from '../../platform/host.ts';
import { isFromPage } from '../../platform/trust.ts';
import { Faults, type Form, formOf, type MemberLog, memberLog, minorOf, readFaults } from '../forms.ts';
import { clientHandler, routesOf, grpcHandler, isGrpcCall } from '../gateway/client-handler.ts';
import { type Api, Tokens } from '../gateway/rpc.ts';
import { Lessor, Node } from '../node/node.ts';
import {
  checkConfig,
  checkRetention,
  configFrom,
  flagsFrom,
  type ServerSettings,
  settingsFrom,
  StartRefused,
} from '../server-flags.ts';
import { identify, openData, v2Sizes, writeDatabase, peerHandler } from './bootstrap.ts';
import { announce, type Fatal, follow, logVersion, mustNotBeOlder, watch } from './monitor.ts';

/** spec/store#states: the member publishes its information to the cluster. After that it serves clients. */
const publish = async (api: Api, signal: AbortSignal): Promise<void> => {
  const { node, settings } = api;
  while (!signal.aborted) {
    const done = await node
      .propose({
        op: 'publish',
        member: node.id,
        name: settings.name,
        clientUrls: settings.advertisedClientUrls,
      })
      .catch(() => undefined);
    if (done === undefined) continue;
    api.log(
      'I',
      `${api.word}server`,
      `published {Name:${settings.name} ClientURLs:[${settings.advertisedClientUrls.join(' ')}]} to cluster ${api.clusterId}`,
    );
    api.log('I', 'embed', 'ready to serve client requests');
    return;
  }
};
/** spec/store#measured-upgrade: in every version, a leader transfers its leadership before it exits. */
const leave = async (host: Host, api: Api, signal: string): Promise<void> => {
  const { node, log, word } = api;
  log(
    'N',
    'pkg/osutil',
    `received ${signal === 'SIGINT' ? 'interrupt' : 'terminated'} signal, shutting down...`,
  );
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
  log(
    'I',
    source,
    isDone
      ? `finished leadership transfer from ${node.id} to ${target} (took ${took}ms)`
      : `leadership transfer failed: timed out (${took}ms)`,
  );
};
/** A removed member exits with code 0. */
const logRemoval = ({ log, word }: Api): void => {
  log('W', `${word}server`, 'server error: the member has been permanently removed from the cluster');
  log('W', `${word}server`, 'data-dir used by this member must be removed');
};
/** Waits for a signal, an error that ends the member, its removal, or the fault that ends it. */
const untilTheEnd = (
  host: Host,
  api: Api,
  fatal: Promise<string>,
  removal: Promise<void>,
): Promise<{ signal?: string; error?: string; isRemoved?: true }> => {
  const { log, faults } = api;
  const signalled = new Promise<{ signal: string }>((resolve) => {
    host.onSignal((signal) => {
      if (signal === 'SIGTERM' && faults.find('ignore-sigterm') !== undefined)
        log('W', 'simulation', 'SIGTERM ignored on demand');
      else resolve({ signal });
    });
  });
  const exitAfter = faults.find('exit-after')?.ms;
  const ended =
    exitAfter === undefined
      ? []
      : [host.sleep(exitAfter).then(() => ({ error: `ended on demand ${exitAfter} ms after the start` }))];
  const removed = removal.then(() => ({ isRemoved: true }) as const);
  return Promise.race([signalled, fatal.then((error) => ({ error })), removed, ...ended]);
};

export type MemberOptions = {
  /** `3.3.27`: decides how the member speaks and what it takes. */
  readonly version: string;
  readonly word: string;
  /** How often the leader checks the versions of the members. */
  readonly monitorMs: number;
  /** The file with a member's faults. */
  readonly faultFile?: (member: string) => string;
  /** The file in which the member records its version. */
  readonly versionFile?: (member: string) => string;
  /** The real server's own command line. */
  readonly serverArgs: readonly string[];
};
const TICK_MS = 20;
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
  if (text === undefined)
    throw new StartRefused(1, `error verifying flags, open ${configFile}: no such file or directory`);
  const config = checkConfig(configFrom(text), minor);
  checkRetention(config, minor, true);
  return settingsFrom(config);
};
const portOf = (url: string): { host: string; port: number } => {
  const { hostname, port } = new URL(url);
  return { host: hostname === 'localhost' ? '127.0.0.1' : hostname, port: Number(port) };
};
const listenOn = async (
  host: Host,
  url: string,
  handler: Parameters<Host['network']['listen']>[0],
  protocols: { readonly http2?: true } = {},
): Promise<Listener> => {
  try {
    return await host.network.listen(handler, { ...portOf(url), requestTimeoutMs: 300_000, ...protocols });
  } catch {
    throw new StartRefused(1, `listen tcp ${new URL(url).host}: bind: address already in use`);
  }
};
const assemble = async (
  host: Host,
  options: MemberOptions,
  form: Form,
  log: MemberLog,
  faults: Faults,
  settings: ServerSettings,
) => {
  const { wal, stored, isNew } = await openData(host, settings, log, options.word);
  wal.isFull = () => faults.find('disk-full') !== undefined;
  const { id, cluster, first } = await identify(host, settings, stored);
  if (isNew) wal.write([{ meta: { member: id, cluster, members: first } }]);
  const node = new Node(host, { ...settings, id, first }, { wal, stored, log, faults });
  const lessor = new Lessor(host, node);
  const v2Bytes = Math.max(0, ...(await v2Sizes(host, settings.dataDir)));
  const counters = new Map<string, number>();
  const common = {
    host,
    form,
    settings,
    faults,
    log,
    lessor,
    node,
    first,
    v2Bytes,
    counters,
    startedAt: host.now(),
    clusterId: cluster,
  };
  const api: Api = { ...common, tokens: new Tokens(host), version: options.version, word: options.word };
  return { api, stored, isNew };
};
/** 3.6 has no v2 interface and does not start on v2 data, unless this check is disabled. */
const refuseV2Data = ({ form, v2Bytes, settings }: Api): void => {
  if (!form.has.downgrade || v2Bytes === 0 || settings.v2Deprecation === 'write-only-skip-check') return;
  throw new StartRefused(
    1,
    'illegal v2store content: detected disallowed custom content in v2store for stage --v2-deprecation=write-only',
  );
};
/** False when the member must not start: the cluster is newer than it. */
const isAllowed = (api: Api): boolean => {
  let allowed = true;
  mustNotBeOlder(api, () => (allowed = false));
  return allowed;
};
/**
 * A browser adds the origin of the page to each POST, and every call of the gateway is a POST. No client of the store is a
 * page, so a page is refused whatever its name: a name can be directed to this machine, and a rehearsal contains real data.
 */
const pageRefused: Outgoing = {
  status: 403,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: 'a simulated member does not serve web pages\n',
};
/** Both interfaces share the port of the clients. */
export const clients = (api: Api, ready: Promise<void>): Handler => {
  const [grpc, json] = [grpcHandler(api, ready), clientHandler(api, routesOf(api.form), ready)];
  return (request) => {
    if (isFromPage(request.headers)) return pageRefused;
    return isGrpcCall(request) ? grpc(request) : json(request);
  };
};
/** Everything a running member does, until a signal or an error ends it. */
const live = async (api: Api, options: MemberOptions, changeFaults: () => Promise<void>): Promise<number> => {
  const { host, settings } = api;
  let [fatal, removed]: [Fatal, () => void] = [() => {}, () => {}];
  const fatalEnd = new Promise<string>((resolve) => (fatal = resolve));
  const removal = new Promise<void>((resolve) => (removed = resolve));
  follow(api, fatal, removed);
  const stopping = new AbortController();
  const ready = publish(api, stopping.signal);
  const listeners = await Promise.all([
    ...settings.peerUrls.map((url) => listenOn(host, url, peerHandler(api, changeFaults))),
    ...settings.clientUrls.map((url) => listenOn(host, url, clients(api, ready), { http2: true })),
  ]);
  const working = [
    ticks(host, api, stopping.signal),
    watch(host, api, { everyMs: options.monitorMs }, stopping.signal),
  ];
  const end = await untilTheEnd(host, api, fatalEnd, removal);
  if (end.isRemoved) logRemoval(api);
  else if (end.signal === undefined) api.log('C', `${api.word}main`, end.error ?? '');
  else await leave(host, api, end.signal);
  // Active requests get their responses. Idle connections are closed immediately.
  await Promise.race([Promise.all(listeners.map((one) => one.close())), host.sleep(100)]);
  if (end.error === undefined) await writeDatabase(host, api);
  stopping.abort();
  await Promise.all(working);
  api.node.stop();
  return end.error === undefined ? 0 : 1;
};
/** The host as a member with a wrong clock sees it. */
type Skewed = { readonly host: Host; readonly skew: { ms: number } };
const skewClock = (host: Host): Skewed => {
  const skew = { ms: 0 };
  const skewed = Object.create(host, { now: { value: () => host.now() + skew.ms } }) as Host;
  return { host: skewed, skew };
};
const serve = async (
  { host, skew }: Skewed,
  options: MemberOptions,
  form: Form,
  log: MemberLog,
): Promise<number> => {
  const settings = await readSettings(host, options);
  const currentFaults = async () =>
    options.faultFile === undefined ? [] : readFaults(host, options.faultFile(settings.name));
  const faults = new Faults(await currentFaults(), options.version);
  skew.ms = faults.skewMs;
  log('I', `${options.word}main`, `${options.word} Version: ${options.version}`);
  log('I', `${options.word}main`, 'Simulated: this is a rehearsal, not a database');
  if (faults.find('crash-at-start') !== undefined)
    throw new StartRefused(1, 'crashed on demand at its start');
  await host.sleep(faults.find('slow-start')?.ms ?? 0);
  const { api, stored, isNew } = await assemble(host, options, form, log, faults, settings);
  announce(api, stored, isNew);
  refuseV2Data(api);
  if (!isAllowed(api)) return 1;
  // A full disk is a separate fault: it takes effect at the next write of the log.
  if (options.versionFile !== undefined)
    await host.files.replace(options.versionFile(settings.name), `${options.version}\n`).catch(() => {});
  if (api.node.machine.clusterVersion !== undefined)
    logVersion(api, undefined, api.node.machine.clusterVersion);
  if ((await host.files.info(`${settings.dataDir}/member/snap/db`)) === undefined)
    await writeDatabase(host, api);
  return live(api, options, async () => {
    faults.replace(await currentFaults());
    skew.ms = faults.skewMs;
  });
};
const ticks = async (host: Host, api: Api, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      api.node.tick();
    } catch {
      // onFailure has ended the member.
    }
    await host.sleep(TICK_MS, signal).catch(() => {});
  }
};
/** The whole life of one simulated member; resolves with its exit code. */
export const runMember = async (host: Host, options: MemberOptions): Promise<number> => {
  const form = formOf(options.version);
  if (form === undefined) throw new StartRefused(2, `there is no simulated version ${options.version}`);
  const own = skewClock(host);
  const log = memberLog(own.host, form);
  try {
    return await serve(own, options, form, log);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    if (error.code === 2 && error.message.startsWith('flag'))
      await host.terminal.stderr.write(`${error.message}\n`);
    else log('C', `${options.word}main`, error.message);
    return error.code;
  }
};
