import { compareVersions } from '../../api-specs/etcd/versions.ts';
import type { Outgoing } from '../../platform/host.ts';
import { decimal } from '../disk/identity.ts';
import { listedMembers } from './cluster.ts';
import type { Api } from './rpc.ts';

const HEALTH_LIMIT_MS = 1_000;

const sickness = async (api: Api): Promise<string | undefined> => {
  const { machine, raft } = api.node;
  if (api.form.healthSeesAlarms && machine.alarms.length > 0) return `ALARM ${machine.alarms[0]?.alarm}`;
  if (raft.leader === undefined) return 'RAFT NO LEADER';
  try {
    await api.node.linearize(HEALTH_LIMIT_MS);
    return undefined;
  } catch {
    return 'RAFT NO LEADER';
  }
};

/** spec/store#interfaces: 200 with a string field `health`; 503 without a quorum (spec/store#measured-versions). Open also where auth is on. */
export const health = async (api: Api, headers: Readonly<Record<string, string>>): Promise<Outgoing> => {
  const reason = await sickness(api);
  const isHealthy = reason === undefined;
  if (api.form.logsHealth) {
    const text = isHealthy ? '/health OK (status code 200)' : '/health error; no leader (status code 503)';
    api.log(isHealthy ? 'I' : 'W', `${api.word}server/api/${api.word}http`, text);
  }
  return { status: isHealthy ? 200 : 503, headers, body: api.form.health(isHealthy, reason ?? '') };
};

/** spec/store#interfaces: string fields kvserver and kvcluster; the same without a quorum. */
export const version = ({ word, version: own, form, node: { machine } }: Api): string =>
  JSON.stringify({
    [`${word}server`]: own,
    [`${word}cluster`]: machine.clusterVersion ?? 'not_decided',
    // It follows the cluster's version within the same look of the monitor.
    ...(form.has.downgrade ? { storage: machine.clusterVersion ?? '' } : {}),
  });

/** A learner is not ready from 3.5.18 on (spec/store#measured-answers). */
const isUnreadyLearner = ({ node, version: own }: Api): boolean =>
  node.machine.membership.isLearner(node.id) && compareVersions(own, '3.5.18') >= 0;

/** Whether it can serve: a linearizable read. Of the alarms only damaged data counts. */
export const readiness = async (api: Api, headers: Readonly<Record<string, string>>): Promise<Outgoing> => {
  const { machine } = api.node;
  const isReading = await api.node.linearize().then(
    () => true,
    () => false,
  );
  if (isReading && !machine.has('CORRUPT') && !isUnreadyLearner(api))
    return { status: 200, headers, body: 'ok\n' };
  if (isReading && isUnreadyLearner(api))
    return { status: 503, headers, body: '[-]non_learner failed: not supported for learner\n' };
  const failed = isReading
    ? 'data_corruption failed: alarm activated: CORRUPT'
    : 'linearizable_read failed: context deadline exceeded';
  return { status: 503, headers, body: `[-]${failed}\n` };
};

/** From 3.4 on a member counts the connections that it opened itself, and those that it lost. */
const peerMetrics = ({ node, form }: Api): (readonly [string, number])[] =>
  node.links.values().flatMap((link): (readonly [string, number])[] => {
    const labels = `{Local="${node.id}",Remote="${link.id}"}`;
    const failures = [`network_peer_sent_failures_total{To="${link.id}"}`, link.failures] as const;
    if (!form.has.learners) return [failures];
    return [
      [`network_active_peers${labels}`, link.isActive ? 1 : 0],
      [`network_disconnected_peers_total${labels}`, link.disconnects],
      failures,
    ];
  });

export const metrics = (api: Api): string => {
  const { raft, machine } = api.node;
  const keys = machine.keys.range({ key: '\0', end: '\0', countOnly: true });
  const lines: readonly (readonly [string, number])[] = [
    ['server_has_leader', raft.leader === undefined ? 0 : 1],
    ['server_is_leader', raft.isLeading ? 1 : 0],
    ['server_proposals_applied_total', machine.applied],
    ['server_proposals_committed_total', raft.commit],
    ['mvcc_db_total_size_in_bytes', machine.fileBytes],
    ['debugging_mvcc_keys_total', 'count' in keys ? keys.count : 0],
  ];
  const text = [...lines, ...peerMetrics(api)].map(([name, value]) => `${api.word}_${name} ${value}\n`);
  return `${text.join('')}${api.word}_server_version{server_version="${api.version}"} 1\n`;
};

export const v2Members = (api: Api): string => {
  const members = listedMembers(api).map(({ isLearner: _, ...member }) => member);
  return JSON.stringify({ members });
};

export const v2Stats = (api: Api, path: string): string => {
  const { raft } = api.node;
  if (path.endsWith('/self')) {
    return JSON.stringify({
      name: api.settings.name,
      id: api.node.id,
      state: raft.isLeading ? 'StateLeader' : 'StateFollower',
      leaderInfo: { leader: raft.leader ?? '' },
    });
  }
  if (path.endsWith('/leader')) return JSON.stringify({ leader: decimal(raft.leader ?? ''), followers: {} });
  return JSON.stringify({
    getsSuccess: 0,
    setsSuccess: Math.ceil(api.v2Bytes / V2_VALUE),
    createSuccess: Math.ceil(api.v2Bytes / V2_VALUE),
    watchers: 0,
  });
};

export const v2Missing = (api: Api, path: string): string =>
  `${JSON.stringify({ errorCode: 100, message: 'Key not found', cause: path.slice('/v2/keys'.length), index: api.node.machine.applied })}\n`;

const V2_VALUE = 64 * 1024;
/** The v2 data, made up in values of 64 KiB as it is read. */
export const v2Keys = (api: Api, query: string): AsyncIterable<Uint8Array> | string => {
  const dir = { key: '/rehearsal', dir: true, modifiedIndex: 4, createdIndex: 4 };
  const nodes = api.v2Bytes === 0 ? [] : [dir];
  if (!/recursive=true/.test(query) || api.v2Bytes === 0)
    return JSON.stringify({ action: 'get', node: { dir: true, nodes } });
  return (async function* () {
    yield Buffer.from('{"action":"get","node":{"dir":true,"nodes":[{"key":"/rehearsal","dir":true,"nodes":[');
    const value = 'x'.repeat(V2_VALUE);
    for (let i = 0, left = api.v2Bytes; left > 0; i += 1, left -= V2_VALUE) {
      const node = {
        key: `/rehearsal/${i}`,
        value: value.slice(0, Math.min(V2_VALUE, left)),
        modifiedIndex: i + 5,
        createdIndex: i + 5,
      };
      yield Buffer.from(`${i === 0 ? '' : ','}${JSON.stringify(node)}`);
    }
    yield Buffer.from('],"modifiedIndex":4,"createdIndex":4}]}}');
  })();
};
