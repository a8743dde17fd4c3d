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

/** spec/store#states: mixed clusters run at the lowest version; all members new: the cluster version follows, and only upwards. */
const checkClusterVersion = async (api: Api): Promise<void> => {
  const others = await Promise.all([...api.node.links.values()].map((link) => link.hello()));
  if (!api.node.raft.isLeading) return;
  warnOfHigher(api, others);
  const now = api.node.machine.clusterVersion;
  const next = decided(api.version, others);
  if (next === undefined || (now !== undefined && compareMinors(minorOf(next), minorOf(now)) <= 0)) return;
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
      for (const link of api.node.links.values()) void link.hello();
    }
  }
};
