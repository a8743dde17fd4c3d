import type { Host } from '../../platform/host.ts';
import type { Stored } from '../disk/db-file.ts';
import { compareMinors, minorOf } from '../forms.ts';
import type { Api } from '../gateway/rpc.ts';
import type { PeerInfo } from '../node/peer-link.ts';
import { type Command, isMembershipChange, type MembershipChange } from '../state/command.ts';

export type Monitor = { readonly everyMs: number };
/** The lowest of the members' versions as a cluster version; undefined while a member does not respond. */
export const decideVersion = (own: string, others: readonly (PeerInfo | undefined)[]): string | undefined => {
  const versions = [own, ...others.map((one) => one?.version)];
  if (versions.some((one) => one === undefined)) return undefined;
  const minors = (versions as string[]).map(minorOf).sort(compareMinors);
  return `${minors[0]}.0`;
};
const warnOfHigher = (api: Api, others: readonly (PeerInfo | undefined)[]): void => {
  const higher = others.filter(
    (one) => one !== undefined && compareMinors(minorOf(one.version), minorOf(api.version)) > 0,
  );
  if (higher.length === 0) return;
  const source = `${api.word}server`;
  api.log('W', source, `the local ${api.word} version ${api.version} is not up-to-date`);
  for (const one of higher) api.log('W', source, `member ${one?.id} has a higher version ${one?.version}`);
};
/** The version that the cluster should have now; undefined: it stays. */
const chooseVersion = (api: Api, lowest: string): string | undefined => {
  const { clusterVersion: now, downgradeTo: target } = api.node.machine;
  if (now === undefined) return lowest;
  if (target === undefined) return compareMinors(minorOf(lowest), minorOf(now)) > 0 ? lowest : undefined;
  if (minorOf(now) === minorOf(target)) return undefined;
  // A member of the older version that came too early: the data of the others were never made fit for it.
  if (compareMinors(minorOf(lowest), minorOf(now)) < 0) {
    api.log('E', `${api.word}server`, `Cannot downgrade from ${lowest} to ${target}`);
    return undefined;
  }
  return target;
};
/** Every member runs the older version, so the downgrade is complete. */
const endDowngrade = async (api: Api, versions: readonly string[]): Promise<void> => {
  const target = api.node.machine.downgradeTo;
  if (target === undefined || versions.some((version) => minorOf(version) !== minorOf(target))) return;
  api.log('I', `${api.word}server`, 'the cluster has been downgraded');
  await api.node.propose({ op: 'downgrade' });
};
/**
 * spec/store#states: mixed clusters run at the lowest version. After all members are new, the cluster version
 * follows. It only increases, unless a downgrade was requested.
 */
const checkClusterVersion = async (api: Api): Promise<void> => {
  const others = await Promise.all([...api.node.links.values()].map((link) => link.hello()));
  if (!api.node.raft.isLeading) return;
  warnOfHigher(api, others);
  const now = api.node.machine.clusterVersion;
  const lowest = decideVersion(api.version, others);
  if (lowest === undefined) return;
  await endDowngrade(api, [api.version, ...others.map((one) => one?.version ?? '')]);
  const next = chooseVersion(api, lowest);
  if (next === undefined) return;
  if (now === undefined)
    api.log('I', `${api.word}server`, `setting up the initial cluster version to ${minorOf(next)}`);
  else
    api.log(
      'I',
      `${api.word}server`,
      `updating the cluster version from ${minorOf(now)} to ${minorOf(next)}`,
    );
  await api.node.propose({ op: 'cluster-version', version: next });
};
const HELLO_MS = 500;
const MOST_DRIFT_MS = 1_000;
/** Logged at each check in the wording of each version. */
const warnOfDrift = (api: Api, other: PeerInfo | undefined): void => {
  const driftMs = Math.abs((other?.now ?? api.host.now()) - api.host.now());
  if (driftMs <= MOST_DRIFT_MS) return;
  const text =
    api.form.logLines === 'json'
      ? `prober found high clock drift (${other?.id}, ${driftMs / 1000}s)`
      : `the clock difference against peer ${other?.id} is too high [${driftMs / 1000}s > 1s]`;
  api.log('W', 'rafthttp', text);
};
/** The slow work of a member: the cluster version on the leader, leases, and a word with each other member. */
export const watch = async (
  host: Host,
  api: Api,
  { everyMs }: Monitor,
  signal: AbortSignal,
): Promise<void> => {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let helloAt = host.elapsed();
  const ignoreError = (): void => {};
  while (!signal.aborted) {
    await host.sleep(50, signal).catch(ignoreError);
    if (signal.aborted) return;
    api.lessor.tick();
    const now = host.elapsed();
    // The first cluster version is set as soon as there is a leader; later ones at the interval of the
    // monitor.
    const isFirst = api.node.machine.clusterVersion === undefined && now - checkedAt > 200;
    if (api.node.raft.isLeading && (isFirst || now - checkedAt > everyMs)) {
      checkedAt = now;
      checkClusterVersion(api).catch(ignoreError);
    } else if (now - helloAt > HELLO_MS) {
      helloAt = now;
      for (const link of api.node.links.values()) void link.hello().then((other) => warnOfDrift(api, other));
    }
  }
};

export type Fatal = (text: string) => void;
/** spec/store#measured-upgrade: what a member logs when it starts. */
export const announce = (api: Api, stored: Stored, isNew: boolean): void => {
  const { node, log, word } = api;
  log('I', `${word}server`, `name = ${api.settings.name}`);
  log('I', `${word}server`, `data dir = ${api.settings.dataDir}`);
  if (isNew) log('I', `${word}server`, `starting member ${node.id} in cluster ${api.clusterId}`);
  else
    log(
      'I',
      `${word}server`,
      `restarting member ${node.id} in cluster ${api.clusterId} at commit index ${stored.commit}`,
    );
  log(
    'I',
    `${word}server`,
    `starting server... [version: ${api.version}, cluster version: ${node.machine.clusterVersion ?? 'to_be_decided'}]`,
  );
};
export const logVersion = ({ log, word }: Api, before: string | undefined, now: string): void => {
  if (before === undefined)
    log('N', `${word}server/membership`, `set the initial cluster version to ${minorOf(now)}`);
  else
    log(
      'N',
      `${word}server/membership`,
      `updated the cluster version from ${minorOf(before)} to ${minorOf(now)}`,
    );
  log('I', `${word}server/api`, `enabled capabilities for version ${minorOf(now)}`);
};
const logStorage = ({ log, word, node }: Api, version: string): void => {
  const isDown = node.machine.downgradeTo !== undefined;
  log(
    'I',
    `${word}server`,
    isDown ? 'The server is ready to downgrade' : `updated storage version to ${version}`,
  );
};
/** spec/store#versions-2: no way back once the cluster has the new version. */
export const mustNotBeOlder = (api: Api, fatal: Fatal): void => {
  const { clusterVersion: determined, membership } = api.node.machine;
  // A new member replays the history of the cluster: versions before its own addition, such as those before a downgrade, are not about it.
  if (membership.get(api.node.id) === undefined) return;
  if (determined === undefined || compareMinors(minorOf(api.version), minorOf(determined)) >= 0) return;
  // Members accept the older version during a downgrade to it.
  if (minorOf(api.node.machine.downgradeTo ?? '') === minorOf(api.version)) return;
  const text =
    compareMinors(minorOf(api.version), '3.5') >= 0
      ? 'invalid downgrade; server version is lower than determined cluster version'
      : `cluster cannot be downgraded (current version: ${api.version} is lower than determined cluster version: ${minorOf(determined)}).`;
  api.log('C', 'membership', text);
  fatal(text);
};
/**
 * How long a removed member still responds: the client that requested the removal gets its response, and the
 * other members get the entry.
 */
const LAST_BEATS = 10;
const lastWords = async (api: Api, removed: () => void): Promise<void> => {
  const { node, host, settings } = api;
  await host.sleep((LAST_BEATS / 2) * settings.heartbeatMs);
  if (node.raft.isLeading) await node.handOver();
  await host.sleep((LAST_BEATS / 2) * settings.heartbeatMs);
  removed();
};
const words = {
  'member-add': 'added member',
  'member-promote': 'promote member',
  'member-update': 'updated member',
  'member-remove': 'removed member',
} as const satisfies Record<MembershipChange['op'], string>;
const followChange = (api: Api, change: MembershipChange, removed: () => void): void => {
  const urls = 'peerUrls' in change ? ` [${change.peerUrls.join(' ')}]` : '';
  api.log('I', 'membership', `${words[change.op]} ${change.member}${urls}`);
  if (change.op === 'member-remove' && change.member === api.node.id) void lastWords(api, removed);
};
/** An alarm that was raised or disarmed. */
const followAlarm = (api: Api, command: Command & { op: 'alarm' }, fatal: Fatal): void => {
  const text = `alarm ${command.alarm} ${command.action === 'ACTIVATE' ? 'raised by peer' : 'disarmed for'} ${BigInt(command.member).toString(16)}`;
  api.log('W', `${api.word}server`, text);
  // spec/store#measured-answers: this one call stops every 3.2 member permanently.
  if (command.alarm === 'NONE' && command.action === 'ACTIVATE' && api.form.minor === '3.2') {
    api.log('C', 'mvcc/backend', 'cannot put key into bucket (key required)');
    // The others must hear of it first, or they would live on.
    void api.host
      .sleep(5 * api.settings.heartbeatMs)
      .then(() => fatal('cannot put key into bucket (key required)'));
  }
};
/** Logs and applies the decisions of the cluster while the member runs. */
export const follow = (api: Api, fatal: Fatal, removed: () => void): void => {
  api.node.onRemoved = removed;
  let before = api.node.machine.clusterVersion;
  api.node.onFailure = (text) => {
    api.log('C', `${api.word}server`, `failed to save Raft hard state and entries (write: ${text})`);
    fatal(text);
  };
  api.node.onApplied = (command, result) => {
    if (command.op === 'cluster-version') {
      logVersion(api, before, command.version);
      before = command.version;
      if (api.form.has.downgrade) logStorage(api, command.version);
      mustNotBeOlder(api, fatal);
    } else if (isMembershipChange(command)) {
      if (result.ok) followChange(api, command, removed);
      mustNotBeOlder(api, fatal);
    } else if (command.op === 'alarm' && result.ok) followAlarm(api, command, fatal);
  };
};
