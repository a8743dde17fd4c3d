import type { Host } from '../../platform/host.ts';
import type { Api } from '../gateway/rpc.ts';

/** spec/store#states: the member publishes its information to the cluster; from then on it serves clients. */
export const publish = async (api: Api, signal: AbortSignal): Promise<void> => {
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

/** spec/store#measured-upgrade: a leader hands over by itself before it ends, in every version. */
export const leave = async (host: Host, api: Api, signal: string): Promise<void> => {
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

/** A member that was removed ends by itself, with exit code 0. */
export const logRemoval = ({ log, word }: Api): void => {
  log('W', `${word}server`, 'server error: the member has been permanently removed from the cluster');
  log('W', `${word}server`, 'data-dir used by this member must be removed');
};

/** Waits for a signal, an error that ends the member, its removal, or the fault that ends it. */
export const untilTheEnd = (
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
