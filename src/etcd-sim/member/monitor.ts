import type { Host } from '../../platform/host.ts';
import { compareMinors, minorOf } from '../forms.ts';
import type { Api } from '../gateway/rpc.ts';
import type { PeerInfo } from '../node/peer-link.ts';

export type Monitor = { readonly everyMs: number };

/** The lowest of the members' versions as a cluster version; undefined while a member does not answer. */
export const decided = (own: string, others: readonly (PeerInfo | undefined)[]): string | undefined => {
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
const wanted = (api: Api, lowest: string): string | undefined => {
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

/** Every member runs the older version: nothing is left to do. */
const endDowngrade = async (api: Api, versions: readonly string[]): Promise<void> => {
  const target = api.node.machine.downgradeTo;
  if (target === undefined || versions.some((version) => minorOf(version) !== minorOf(target))) return;
  api.log('I', `${api.word}server`, 'the cluster has been downgraded');
  await api.node.propose({ op: 'downgrade' });
};

/** spec/store#states: mixed clusters run at the lowest version; all members new: the cluster version follows, and only upwards, unless a downgrade was asked for. */
const checkClusterVersion = async (api: Api): Promise<void> => {
  const others = await Promise.all([...api.node.links.values()].map((link) => link.hello()));
  if (!api.node.raft.isLeading) return;
  warnOfHigher(api, others);
  const now = api.node.machine.clusterVersion;
  const lowest = decided(api.version, others);
  if (lowest === undefined) return;
  await endDowngrade(api, [api.version, ...others.map((one) => one?.version ?? '')]);
  const next = wanted(api, lowest);
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
/** Said in the words of each version, at each look while it lasts. */
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
  const ignored = (): void => {};
  while (!signal.aborted) {
    await host.sleep(50, signal).catch(ignored);
    if (signal.aborted) return;
    api.lessor.tick();
    const now = host.elapsed();
    // The first cluster version is set as soon as somebody leads; later ones at the pace of the monitor.
    const isFirst = api.node.machine.clusterVersion === undefined && now - checkedAt > 200;
    if (api.node.raft.isLeading && (isFirst || now - checkedAt > everyMs)) {
      checkedAt = now;
      checkClusterVersion(api).catch(ignored);
    } else if (now - helloAt > HELLO_MS) {
      helloAt = now;
      for (const link of api.node.links.values()) void link.hello().then((other) => warnOfDrift(api, other));
    }
  }
};
